//! Atomic updates: how what is there is combined with what comes.
//!
//! Updates of one kind and one type commute, so that no order of threads or blocks is asked for: none of them is a race with
//! another. Integers come out the same whatever the order; sums of floats are rounded in the order in which updates come.

use crate::{tir, tma};
use tc_ir::{Elem, Func, Op, keys};
use tc_support::{Diagnostic, Diagnostics};

/// How an update combines two numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum UpdateKind {
    /// The sum; integers wrap.
    Add,
    /// The lesser one.
    Min,
    /// The greater one.
    Max,
    /// Bit by bit.
    And,
    /// Bit by bit.
    Or,
    /// Bit by bit.
    Xor,
}

use UpdateKind::{Add, And, Max, Min, Or, Xor};

impl UpdateKind {
    /// All of them.
    pub const ALL: [UpdateKind; 6] = [Add, Min, Max, And, Or, Xor];

    /// The word that names it.
    pub fn name(self) -> &'static str {
        match self {
            Add => "add",
            Min => "min",
            Max => "max",
            And => "and",
            Or => "or",
            Xor => "xor",
        }
    }

    /// That of `op`, if `op` is an update.
    pub fn of(func: &Func, op: Op) -> Option<UpdateKind> {
        if !is_update(func, op) {
            return None;
        }
        let word = func.word_of(op, keys::KIND)?;
        UpdateKind::ALL.into_iter().find(|kind| kind.name() == word)
    }

    /// Does hardware update numbers of `elem`? That of threads (CUDA C++ Programming Guide 13.0, 10.14), or with `bulk` that of
    /// copies (PTX ISA 9.0, `cp.reduce.async.bulk.tensor`).
    pub fn takes(self, elem: Elem, bulk: bool) -> bool {
        match (self, elem.is_float(), elem.bits()) {
            (Add, true, 16 | 32) => elem.is_stored(),
            (Add, true, 64) => !bulk,
            (Min | Max, true, 16) => bulk,
            (Add, false, 64) if bulk => elem.int_range().is_some_and(|(low, _)| low == 0),
            (_, false, 32 | 64) => elem.is_int() && elem != Elem::Index,
            _ => false,
        }
    }
}

/// What updates have in common that are no race with each other: how they combine, and numbers of which type.
pub type UpdateClass = (UpdateKind, Elem);

/// That of `op`, if `op` is an update.
pub fn class(func: &Func, op: Op) -> Option<UpdateClass> {
    let (elem, ..) = tir::place_type(func, func.operands(op).first().copied().filter(|_| is_update(func, op))?)?;
    Some((UpdateKind::of(func, op)?, func.as_scalar(elem)?.elem))
}

/// Does `op` update memory atomically?
#[inline]
pub fn is_update(func: &Func, op: Op) -> bool {
    matches!(func.opcode(op), tir::ATOMIC_RMW | tma::REDUCE)
}

/// Finds what is wrong with the kind of the update `op` of numbers of `elem`.
pub(crate) fn verify_kind(func: &Func, op: Op, elem: Elem, found: &mut Diagnostics) {
    let is_bulk = func.opcode(op) == tma::REDUCE;
    let listed =
        |kinds: &[UpdateKind]| kinds.iter().map(|kind| format!("`{}`", kind.name())).collect::<Vec<_>>().join(", ");
    let error = |code, text: String| Diagnostic::error(code, func.op_location(op), text);
    match UpdateKind::of(func, op) {
        None => {
            let text = "`kind` names no kind of update".to_string();
            found.push(error("kind", text).help(format!("there are {}", listed(&UpdateKind::ALL))));
        }
        Some(kind) if !kind.takes(elem, is_bulk) => {
            let text = format!("hardware has no atomic update `{}` of `{}`", kind.name(), elem.name());
            let fit: Vec<_> = UpdateKind::ALL.into_iter().filter(|kind| kind.takes(elem, is_bulk)).collect();
            let help = match (fit.is_empty(), kind, is_bulk) {
                (false, ..) => format!("of `{}` there are {}", elem.name(), listed(&fit)),
                (true, Add, true) => "these are added: `i32`, `u32`, `u64`, `f16`, `bf16` and `f32`".into(),
                (true, Add, false) => "integers of 32 and of 64 bits, `f16`, `bf16`, `f32` and `f64` are added".into(),
                (true, ..) => format!("integers of 32 and of 64 bits have `{}`", kind.name()),
            };
            found.push(error("type", text).help(help));
        }
        Some(_) => {}
    }
}
