//! Ops on floats that are written in others.

use super::{operand, operand_type};
use crate::analysis::numbers::{Numbers, cast, widened};
use tc_dialects::arith;
use tc_ir::{Builder, Elem, Func, Op, Scalar, Value};

pub(super) fn is_sigmoid(func: &Func, op: Op) -> bool {
    func.opcode(op) == arith::SIGMOID && operand_type(func, op, 0).is_some()
}

/// `1 / (1 + exp(-x))`.
pub(super) fn sigmoid(b: &mut Builder<'_>, op: Op) -> Value {
    let (x, own) = operand(b, op, 0);
    let wide = Scalar { elem: if own.elem.is_small_float() { Elem::F32 } else { own.elem }, ..own };
    let x = cast(b, x, wide);
    let mut make = Numbers { b, scalar: wide };
    let one = make.float(1.0);
    let negated = make.op(arith::NEG, &[x]);
    let power = make.op(arith::EXP, &[negated]);
    let sum = make.op(arith::ADD, &[one, power]);
    let value = make.op(arith::DIV, &[one, sum]);
    cast(b, value, own)
}

pub(super) fn is_remainder(func: &Func, op: Op) -> bool {
    func.opcode(op) == arith::MOD && operand_type(func, op, 0).is_some_and(|scalar| scalar.elem.is_float())
}

/// `a - floor(a / b) * b`, in f64.
pub(super) fn remainder(b: &mut Builder<'_>, op: Op) -> Value {
    let (lhs, own) = operand(b, op, 0);
    let (rhs, _) = operand(b, op, 1);
    let [lhs, rhs] = [lhs, rhs].map(|side| {
        // Each step of a cast holds all that the one before it held.
        let side = if own.elem.is_small_float() { widened(b, side, Elem::F32) } else { side };
        widened(b, side, Elem::F64)
    });
    let mut make = Numbers { b, scalar: Scalar { elem: Elem::F64, ..own } };
    let quotient = make.op(arith::DIV, &[lhs, rhs]);
    let whole = make.op(arith::FLOOR, &[quotient]);
    let product = make.op(arith::MUL, &[whole, rhs]);
    let rest = make.op(arith::SUB, &[lhs, product]);
    cast(b, rest, own)
}
