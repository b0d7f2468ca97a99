//! The one remainder that machines and C++ leave undefined though it is a number: of the least number by -1, which is 0.
//!
//! The quotient of the same two does not fit and is an error of the program, so that only remainders are asked about.

use super::Algebra;
use crate::arith::{self, Predicate};
use tc_ir::{Elem, Func, Op, Value};

/// May the op `op`, a remainder that truncates, be asked for the remainder of the least number of its type by -1? Types
/// of 8 and 16 bits are computed in 32, which are enough. The function must be verified.
pub fn may_overflow(func: &Func, op: Op) -> bool {
    if func.opcode(op) != arith::TMOD {
        return false;
    }
    let (dividend, divisor) = (lane(func, func.operand(op, 0)), lane(func, func.operand(op, 1)));
    let least = match func.value_scalar(dividend).map(|scalar| scalar.elem) {
        Some(Elem::I32) => i64::from(i32::MIN),
        Some(Elem::I64) => i64::MIN,
        _ => return false,
    };
    if let Some(divisor) = func.const_int(divisor) {
        return divisor == -1;
    }
    if is_never_minus_one(func, divisor) {
        return false;
    }
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, op);
    let mut may_be = |value: Value, number: i64| {
        let is_scalar = func.value_scalar(value).is_some_and(|scalar| scalar.lanes == 1);
        if !is_scalar {
            return widened_from(func, value)
                .is_none_or(|(least, greatest)| (least..=greatest).contains(&number.into()));
        }
        let expr = algebra.expr(func, value);
        algebra.analyzer.bounds(expr).contains(number)
    };
    may_be(divisor, -1) && may_be(dividend, least)
}

/// What the numbers that `value` was cast from lie between, if it was: the algebra does not see into vectors.
fn widened_from(func: &Func, value: Value) -> Option<(i128, i128)> {
    let cast = func.def_op(value).filter(|&op| func.opcode(op) == arith::CAST)?;
    func.value_scalar(func.operand(cast, 0))?.elem.int_range()
}

/// The number that every lane of `value` is, where it was made of one, else `value` itself.
fn lane(func: &Func, value: Value) -> Value {
    match func.def_op(value) {
        Some(op) if func.opcode(op) == arith::BROADCAST => func.operand(op, 0),
        _ => value,
    }
}

/// Is `divisor` of the form `select(b == -1, 1, b)`?
fn is_never_minus_one(func: &Func, divisor: Value) -> bool {
    let made_by = |value: Value, opcode| func.def_op(value).filter(|&op| func.opcode(op) == opcode);
    let is = |value: Value, number: i64| func.const_int(lane(func, value)) == Some(number);
    let Some(choice) = made_by(divisor, arith::SELECT) else { return false };
    let [condition, on_true, on_false] = [0, 1, 2].map(|nth| func.operand(choice, nth));
    made_by(condition, arith::CMP).is_some_and(|test| {
        Predicate::of(func, test) == Some(Predicate::Eq)
            && func.operand(test, 0) == on_false
            && is(func.operand(test, 1), -1)
            && is(on_true, 1)
    })
}
