//! Shuffles: what lanes of a warp read from one another.
//!
//! CUDA wants the lanes that take part told by a mask: all 32 where the block is made of whole warps, else those of the
//! last warp that there are. What a lane that is not there would give is undefined in CUDA and the own value in a program,
//! so that in such a block the helpers of the preamble look first. CUDA exchanges numbers of 32 and 64 bits; smaller ones
//! go as an `int`, and halves by their bits.

use crate::expr::{self, Expr};
use crate::kernel::Kernel;
use crate::preamble::{Helper, ShuffleMode};
use crate::types;
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Op, Scalar, keys};

/// Lanes of a warp.
const WARP: u64 = 32;

impl Kernel<'_> {
    /// The call that stands for the shuffle `op`.
    pub(crate) fn shuffle(&mut self, op: Op) -> Expr {
        let func = self.func;
        let [value, lane] = *func.operands(op) else { return self.stray("a shuffle without operands") };
        let Some(Scalar { elem, .. }) = func.value_scalar(value) else {
            return self.stray("a shuffle of something that is no number");
        };
        let Some(mode) = func.word_of(op, keys::MODE).and_then(ShuffleMode::parse) else {
            return self.stray("a shuffle of an unknown kind");
        };
        let width = func.int_of(op, keys::WIDTH).unwrap_or(WARP as i64);
        let value = self.lane(value, 0);
        let value = self.exchanged(elem, value);
        let wide = func.value_scalar(lane).is_some_and(|scalar| scalar.bytes() > 4);
        let mut lane = self.lane(lane, 0);
        if wide {
            lane = expr::cast("int", lane);
        }
        let (mask, partial) = self.lanes();
        // Lanes further down are always there.
        let guarded = partial && mode != ShuffleMode::Up;
        let function = if guarded { self.needs.helper(Helper::Shuffle(mode)) } else { mode.intrinsic().to_string() };
        let mut args = vec![mask, value, lane];
        if guarded || width != WARP as i64 {
            args.push(Expr::name(&width.to_string()));
        }
        let call = expr::call(&function, &args);
        self.received(elem, call)
    }

    /// The lanes of the warp that there are, and whether some may be missing.
    fn lanes(&mut self) -> (Expr, bool) {
        match self.facts.n_threads() {
            n if n % WARP == 0 => (Expr::name("0xffffffffu"), false),
            n if n < WARP => (Expr::name(&format!("0x{:x}u", (1u64 << n) - 1)), true),
            n => (expr::call(&self.needs.helper(Helper::Lanes), &[Expr::name(&n.to_string())]), true),
        }
    }

    /// `value` as CUDA exchanges it.
    fn exchanged(&mut self, elem: Elem, value: Expr) -> Expr {
        match types::half(elem) {
            Some(half) => expr::cast("int", expr::call(half.bits[0], &[value])),
            None if elem.kind() != ElemKind::Float && elem.bits() < 32 => expr::cast("int", value),
            None => value,
        }
    }

    /// What `exchanged` made, as a number of its type again.
    fn received(&mut self, elem: Elem, value: Expr) -> Expr {
        match types::half(elem) {
            Some(half) => expr::call(half.bits[1], &[expr::cast("unsigned short", value)]),
            None if elem == Elem::Bool => expr::binary(tc_ir::attrs::BinOp::Ne, value, Expr::name("0")),
            None if elem.kind() != ElemKind::Float && elem.bits() < 32 => {
                expr::cast(&self.needs.type_name(Scalar::of(elem)), value)
            }
            None => value,
        }
    }
}
