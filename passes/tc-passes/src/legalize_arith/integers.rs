//! Ops on integers that machines or C++ leave undefined, or warn of.

use super::{operand, operand_type};
use crate::analysis::numbers::{Numbers, cast, splat};
use tc_dialects::arith::{self, Predicate};
use tc_ir::types::ElemKind;
use tc_ir::{Builder, Elem, Func, Op, Scalar, Value};

fn is_unsigned(func: &Func, op: Op) -> bool {
    operand_type(func, op, 0).is_some_and(|scalar| scalar.elem.kind() == ElemKind::Unsigned)
}

pub(super) fn is_narrow_division(func: &Func, op: Op) -> bool {
    matches!(func.opcode(op), arith::TDIV | arith::TMOD)
        && operand_type(func, op, 0)
            .is_some_and(|scalar| scalar.elem.kind() == ElemKind::Signed && scalar.elem.bits() < 32)
}

/// The quotient or remainder of numbers of 8 or 16 bits, in 32.
pub(super) fn narrow_division(b: &mut Builder<'_>, op: Op) -> Value {
    let opcode = b.func.opcode(op);
    let (lhs, own) = operand(b, op, 0);
    let (rhs, _) = operand(b, op, 1);
    let wide = Scalar { elem: Elem::I32, ..own };
    let [lhs, rhs] = [lhs, rhs].map(|side| cast(b, side, wide));
    let value = b.value(opcode, &[lhs, rhs], &[]);
    cast(b, value, own)
}

pub(super) fn is_unsigned_negation(func: &Func, op: Op) -> bool {
    func.opcode(op) == arith::NEG && is_unsigned(func, op)
}

/// `0 - x`, which wraps as `-x` does.
pub(super) fn unsigned_negation(b: &mut Builder<'_>, op: Op) -> Value {
    let (value, scalar) = operand(b, op, 0);
    let mut make = Numbers { b, scalar };
    let zero = make.int(0);
    make.op(arith::SUB, &[zero, value])
}

pub(super) fn is_unsigned_absolute(func: &Func, op: Op) -> bool {
    func.opcode(op) == arith::ABS && is_unsigned(func, op)
}

/// `x`.
pub(super) fn unsigned_absolute(b: &mut Builder<'_>, op: Op) -> Value {
    b.func.operand(op, 0)
}

/// What a comparison of an unsigned number with 0 gives, where it always gives the same: no such number is less.
fn settled_as(func: &Func, op: Op) -> Option<bool> {
    if func.opcode(op) != arith::CMP || !is_unsigned(func, op) {
        return None;
    }
    let &[lhs, rhs] = func.operands(op) else { return None };
    let is_zero = |value: Value| splat(func, value) == Some(0);
    match Predicate::of(func, op)? {
        Predicate::Lt if is_zero(rhs) => Some(false),
        Predicate::Gt if is_zero(lhs) => Some(false),
        Predicate::Ge if is_zero(rhs) => Some(true),
        Predicate::Le if is_zero(lhs) => Some(true),
        _ => None,
    }
}

pub(super) fn is_settled(func: &Func, op: Op) -> bool {
    settled_as(func, op).is_some()
}

/// The truth value.
pub(super) fn settled(b: &mut Builder<'_>, op: Op) -> Value {
    let holds = settled_as(b.func, op).expect("the rule fits");
    let (_, scalar) = operand(b, op, 0);
    let truth = b.bool(holds);
    Numbers { b, scalar: Scalar { elem: Elem::Bool, ..scalar } }.spread(truth)
}

/// The remainder by 1 where the divisor is -1.
pub(super) fn remainder_by_another(b: &mut Builder<'_>, op: Op) -> Value {
    let (dividend, scalar) = operand(b, op, 0);
    let (divisor, _) = operand(b, op, 1);
    let is_known = splat(b.func, divisor).is_some();
    let mut make = Numbers { b, scalar };
    let one = make.int(1);
    if is_known {
        return make.op(arith::TMOD, &[dividend, one]);
    }
    let minus_one = make.int(-1);
    let is_minus_one = make.compare(Predicate::Eq, divisor, minus_one);
    let divisor = make.op(arith::SELECT, &[is_minus_one, one, divisor]);
    make.op(arith::TMOD, &[dividend, divisor])
}
