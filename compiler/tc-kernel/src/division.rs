//! The one remainder that machines and C++ leave undefined though it is a number: of the least number by -1, which is 0.
//!
//! The quotient of the same two does not fit and is an error of the program, so that only remainders are asked about.

use tc_dialects::algebra::Algebra;
use tc_dialects::arith;
use tc_ir::{Elem, Func, Op, Value};

/// May the op `op`, a remainder that truncates, be asked for the remainder of the least number of its type by -1? Types
/// of 8 and 16 bits are computed in 32, which are enough.
pub fn may_overflow(func: &Func, op: Op) -> bool {
    if func.opcode(op) != arith::TMOD {
        return false;
    }
    let (dividend, divisor) = (splat(func, func.operand(op, 0)), splat(func, func.operand(op, 1)));
    let least = match func.value_scalar(dividend).map(|scalar| scalar.elem) {
        Some(Elem::I32) => i64::from(i32::MIN),
        Some(Elem::I64) => i64::MIN,
        _ => return false,
    };
    if let Some(divisor) = func.const_int(divisor) {
        return divisor == -1;
    }
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, op);
    let mut may_be = |value: Value, number: i64| {
        let is_scalar = func.value_scalar(value).is_some_and(|scalar| scalar.lanes == 1);
        !is_scalar || {
            let expr = algebra.expr(func, value);
            algebra.analyzer.bounds(expr).contains(number)
        }
    };
    may_be(divisor, -1) && may_be(dividend, least)
}

/// The number that every lane of `value` is, where it was made of one, else `value` itself.
fn splat(func: &Func, value: Value) -> Value {
    match func.def_op(value) {
        Some(op) if func.opcode(op) == arith::BROADCAST => func.operand(op, 0),
        _ => value,
    }
}
