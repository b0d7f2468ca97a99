//! Replaces float ops that the target lacks in a narrow type by ops in f32, and rounds each result back.
//!
//! A program determines the type of each computation; a GPU has instructions for only some of these types. This pass
//! makes the conversions for the others explicit, so that other passes share and fold them.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! Arithmetic on `f16` and `bf16` is what the target has instructions for: sums, differences, products, `fma`, `min`,
//! `max`, `abs` and negation, of `bf16` from sm_80 on. `f16` is compared directly. Every other op on floats narrower
//! than f32 is one on `f32` between casts, or on `f64` if f32 would round twice. Types in memory are unchanged, except
//! with `widen-local`.
//!
//! # Example
//!
//! ```tir
//! C[i] = A[i] / B[i]
//! ->
//! C[i] = cast<f16>(cast<f32>(A[i]) / cast<f32>(B[i]))
//! ```
//!
//! # Algorithm
//!
//! 1. With `widen-local`: find the buffers to widen.
//! 2. Rebuild each op that the target lacks on cast operands and converted literals, and cast its result back. A sum,
//!    difference, product, quotient or square root of operands of at most 11 bits, rounded to the 24 of f32 and then to
//!    the narrow type, comes out as if it had been rounded once (Figueroa 1995: 24 >= 2 * 11 + 2). `floor`, `ceil`,
//!    `round`, `trunc`, `min`, `max`, `abs`, negation and comparisons are exact. A remainder, and `fma` of 8-bit
//!    floats, are computed in f64. Functions such as `exp` have the accuracy of f32.
//! 3. With `widen-local`: set the element type of the buffers to f32, and remove the casts between a computation and
//!    such a buffer. Each buffer changes together with all its accesses, so the program is well typed throughout.
//!
//! # Limits
//!
//! `fma` of `bf16` stays on every target: no wider type holds its product and sum exactly, and below sm_80 the emitter
//! writes it out. `widen-local` rounds less often than the program, so it is off by default; it applies to buffers in
//! `local` that are read and written element by element and that receive a computed value.
//!
//! # Remarks
//!
//! `not-widened`: an `fma` of `bf16` that the target lacks; and, with `widen-local`, each local buffer of narrow floats
//! that stays narrow, with the access that prevents widening.
//!
//! # References
//!
//! Samuel A. Figueroa 1995, "When is double rounding innocuous?". TVM 0.16,
//! `src/tir/transforms/unsupported_dtype_legalize.cc`, whose compute passes always widen local buffers; its storage passes
//! have no counterpart, as all types have a representation in memory here.

mod widen;

use crate::analysis::numbers::{cast, widened};
use tc_dialects::{arith, tir};
use tc_ir::rewrite::rewrite_ops;
use tc_ir::walk::all_ops;
use tc_ir::{Attr, Elem, Func, Name, Op, Opcode, Rewriter, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;
use tc_target::Target;

tc_pass::options! {
    /// What `legalize-dtype` can be told.
    pub struct Options {
        /// Leave alone what the target has instructions for; otherwise all is computed in f32.
        native: bool = true,
        /// Keep in f32 what is computed into local buffers, and round it once in the end.
        widen_local: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "legalize-dtype",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| {
        let options = Options::read(raw)?;
        Ok(PassKind::Func(tir::FUNC, Box::new(LegalizeDtype { options })))
    },
};

/// The pass.
pub struct LegalizeDtype {
    options: Options,
}

impl FuncPass for LegalizeDtype {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let target = cx.get::<Target>().copied();
        let native = Native { wanted: self.options.native, target: target.as_ref() };
        let to_widen = if self.options.widen_local { widen::find(func, cx) } else { Vec::new() };
        if cx.wants_missed() {
            all_ops(func).filter_map(|op| left_to_emitter(func, op, &native)).for_each(|found| cx.report(found));
        }
        let mut n_promoted = 0;
        let mut changed = rewrite_ops(func, |rw, op| {
            if let Some(wide) = computed_in(rw.func(), op, &native) {
                promote(rw, op, wide);
                n_promoted += 1;
            }
        });
        cx.count("ops promoted", n_promoted);
        cx.count("buffers widened", to_widen.len() as u64);
        if !to_widen.is_empty() {
            widen::apply(func, &to_widen);
            changed = true;
        }
        changed
    }
}

/// Does `target` compute all of `func` in the types that it is written in, as the pass leaves it?
pub fn is_legal(func: &Func, target: &Target) -> bool {
    let native = Native { wanted: true, target: Some(target) };
    all_ops(func).all(|op| computed_in(func, op, &native).is_none())
}

/// What is reported of a product and sum of halves without an instruction.
fn left_to_emitter(func: &Func, op: Op, native: &Native<'_>) -> Option<Diagnostic> {
    let elem = func.value_scalar(*func.operands(op).first()?)?.elem;
    if func.opcode(op) != arith::FMA || !elem.is_half() || native.has(elem, arith::FMA) {
        return None;
    }
    let name = elem.name();
    let text = format!("`fma` of `{name}` is not computed in f32: no wider type holds both its product and its sum");
    let found = Diagnostic::remark("not-widened", func.op_location(op), text);
    Some(found.help("the emitter writes it out; a product and a sum apart are computed in f32"))
}

/// The narrow types that the target computes in.
struct Native<'t> {
    /// Are they wanted?
    wanted: bool,
    /// A target that has all, where there is none.
    target: Option<&'t Target>,
}

impl Native<'_> {
    /// Does the target have an instruction for `opcode` on `elem`?
    fn has(&self, elem: Elem, opcode: Opcode) -> bool {
        let is_common = matches!(
            opcode,
            arith::ADD | arith::SUB | arith::MUL | arith::FMA | arith::MIN | arith::MAX | arith::NEG | arith::ABS
        );
        self.wanted
            && elem.is_half()
            && self.target.is_none_or(|target| target.computes_in(elem))
            && (is_common || opcode == arith::CMP && elem.is_compared())
    }
}

/// Is `opcode` arithmetic, whose result is rounded to the type of its operands, or a comparison? What else there is in the
/// dialect moves numbers, and converts them.
fn is_arithmetic(opcode: Opcode) -> bool {
    opcode.dialect() == arith::ADD.dialect()
        && !matches!(opcode, arith::CONSTANT | arith::CAST | arith::SELECT | arith::RAMP | arith::BROADCAST)
}

/// The type that `op` is to be computed in, where it is not its own.
fn computed_in(func: &Func, op: Op, native: &Native<'_>) -> Option<Elem> {
    let opcode = func.opcode(op);
    if !is_arithmetic(opcode) {
        return None;
    }
    let elem = func.value_scalar(*func.operands(op).first()?)?.elem;
    if !elem.is_small_float() || native.has(elem, opcode) {
        return None;
    }
    match opcode {
        arith::MOD => Some(Elem::F64),
        // f64 holds each product and sum of 8-bit floats, and each product of tf32.
        arith::FMA => elem.is_for_products().then_some(Elem::F64),
        _ => Some(Elem::F32),
    }
}

/// Makes `op` anew in `wide`.
fn promote(rw: &mut Rewriter<'_>, op: Op, wide: Elem) {
    let func = rw.func();
    let opcode = func.opcode(op);
    let operands = func.operands(op).to_vec();
    let attrs: Vec<(Name, Attr)> = func.entries(func.op_attrs(op)).to_vec();
    let own = func.value_scalar(operands[0]).expect("arithmetic is of numbers");
    let mut b = rw.before(op);
    let operands: Vec<Value> = operands.iter().map(|&operand| widened(&mut b, operand, wide)).collect();
    let mut value = b.value(opcode, &operands, &attrs);
    if opcode != arith::CMP {
        value = cast(&mut b, value, own);
    }
    rw.replace_op(op, &[value]);
}
