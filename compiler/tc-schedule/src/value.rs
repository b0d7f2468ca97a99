//! Integers of headers and of straight-line code: sizes, parameters, the numbers that directives are given.
//!
//! A truth value counts as 0 or 1.

use tc_arith::BinaryOp;
use tc_dialects::algebra::{self, infix_op, int_type_of, predicate_op};
use tc_dialects::arith::{self, Predicate};
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::opdef::Role;
use tc_ir::{Attr, Func, Name, Op, keys};

pub(crate) use tc_dialects::algebra::{NoValue, eval_attr as eval_or_why};

/// The names that an expression of a header may use.
pub(crate) type Names<'a> = &'a dyn Fn(Name) -> Option<i64>;

/// The integer that `attr` is; `None` where it is none, uses an unknown name, overflows or divides by zero.
pub(crate) fn eval_attr(func: &Func, attr: Attr, names: Names<'_>) -> Option<i64> {
    algebra::eval_attr(func, attr, names).ok()
}

fn binary(op: BinOp, lhs: i64, rhs: i64) -> Option<i64> {
    let (op, turned) = infix_op(op);
    let (lhs, rhs) = if turned { (rhs, lhs) } else { (lhs, rhs) };
    op.apply(lhs, rhs).ok()
}

/// The integer that `op` computes of `args`, its operands' integers; `None` where it overflows, or is no arithmetic.
pub fn eval_op(func: &Func, op: Op, args: &[i64]) -> Option<i64> {
    let elem = func.value_scalar(func.result(op)?).filter(|scalar| scalar.lanes == 1)?.elem;
    let ty = int_type_of(elem)?;
    let opcode = func.opcode(op);
    let exact = match (func.role(op), args) {
        (Role::Constant, []) => match func.attr_data(func.attr_of(op, keys::VALUE)?) {
            AttrData::Int(value, _) => i64::try_from(*value).ok(),
            AttrData::Bool(value) => Some(i64::from(*value)),
            _ => None,
        },
        (Role::Binary(binary_op), &[lhs, rhs]) => binary(binary_op, lhs, rhs),
        (Role::Compare, &[lhs, rhs]) => binary(predicate_op(Predicate::of(func, op)?), lhs, rhs),
        (Role::Unary(UnOp::Neg), &[arg]) => arg.checked_neg(),
        (Role::Unary(UnOp::Not), &[arg]) => Some(i64::from(arg == 0)),
        (Role::Cast, &[arg]) if elem.is_int() => return ty.wrap(arg),
        _ if opcode == arith::SELECT => match args {
            &[condition, on_true, on_false] => Some(if condition != 0 { on_true } else { on_false }),
            _ => None,
        },
        _ => match (func.row(op).short?, args) {
            ("abs", &[arg]) => arg.checked_abs(),
            (name, &[lhs, rhs]) => BinaryOp::of_name(name)?.apply(lhs, rhs).ok(),
            _ => None,
        },
    }?;
    // Arithmetic of narrow types wraps; in others what leaves the type is no value.
    if ty.wraps() { ty.wrap(exact) } else { Some(exact).filter(|&value| ty.range().contains(value)) }
}
