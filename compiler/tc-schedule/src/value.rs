//! Integers of headers and of straight-line code: sizes, parameters, the numbers that directives are given.
//!
//! A truth value counts as 0 or 1.

use tc_dialects::arith::{self, Predicate, eval};
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::opdef::Role;
use tc_ir::{Attr, Elem, Func, Name, Op, keys};

/// How deep an expression of a header may be.
const MAX_DEPTH: usize = 200;

/// The names that an expression of a header may use.
pub(crate) type Names<'a> = &'a dyn Fn(Name) -> Option<i64>;

fn truth(value: bool) -> i64 {
    i64::from(value)
}

fn binary(op: BinOp, lhs: i64, rhs: i64, elem: Elem) -> Option<i64> {
    let value = match op {
        BinOp::OrOr => truth(lhs != 0 || rhs != 0),
        BinOp::AndAnd => truth(lhs != 0 && rhs != 0),
        BinOp::Eq => truth(lhs == rhs),
        BinOp::Ne => truth(lhs != rhs),
        BinOp::Lt => truth(lhs < rhs),
        BinOp::Le => truth(lhs <= rhs),
        BinOp::Gt => truth(lhs > rhs),
        BinOp::Ge => truth(lhs >= rhs),
        _ => return i64::try_from(eval::int_binary(op, lhs.into(), rhs.into(), elem)?).ok(),
    };
    Some(value)
}

fn call(name: &str, args: &[i64]) -> Option<i64> {
    match (name, args) {
        ("min", &[a, b]) => Some(a.min(b)),
        ("max", &[a, b]) => Some(a.max(b)),
        ("abs", &[a]) => a.checked_abs(),
        ("floordiv", &[a, b]) => binary(BinOp::Div, a, b, Elem::I64),
        ("floormod", &[a, b]) => binary(BinOp::Mod, a, b, Elem::I64),
        ("tdiv", &[a, b]) => a.checked_div(b),
        ("tmod", &[a, b]) => a.checked_rem(b),
        _ => None,
    }
}

/// Why an expression of a header has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoValue {
    /// This name stands for nothing.
    Name(Name),
    /// This expression divides by zero.
    Zero(Attr),
    /// This one overflows.
    Overflow(Attr),
    /// This one is no arithmetic.
    Other(Attr),
}

/// The integer that `attr` is; `None` where it is none, uses an unknown name, overflows or divides by zero.
pub(crate) fn eval_attr(func: &Func, attr: Attr, names: Names<'_>) -> Option<i64> {
    eval_or_why(func, attr, names).ok()
}

/// The integer that `attr` is, or why it is none.
pub(crate) fn eval_or_why(func: &Func, attr: Attr, names: Names<'_>) -> Result<i64, NoValue> {
    eval_deep(func, attr, names, MAX_DEPTH)
}

fn eval_deep(func: &Func, attr: Attr, names: Names<'_>, depth: usize) -> Result<i64, NoValue> {
    let depth = depth.checked_sub(1).ok_or(NoValue::Other(attr))?;
    let overflow = |value: Option<i64>| value.ok_or(NoValue::Overflow(attr));
    match func.attr_data(attr) {
        AttrData::Int(value, _) => overflow(i64::try_from(*value).ok()),
        AttrData::Bool(value) => Ok(truth(*value)),
        AttrData::Word(name) => names(*name).ok_or(NoValue::Name(*name)),
        AttrData::Unary(UnOp::Neg, arg) => overflow(eval_deep(func, *arg, names, depth)?.checked_neg()),
        AttrData::Unary(UnOp::Not, arg) => Ok(truth(eval_deep(func, *arg, names, depth)? == 0)),
        AttrData::Binary(op, lhs, rhs) => {
            let lhs = eval_deep(func, *lhs, names, depth)?;
            // `b != 0 && a % b == 0` has a value where `b` is zero.
            match op {
                BinOp::AndAnd if lhs == 0 => return Ok(0),
                BinOp::OrOr if lhs != 0 => return Ok(1),
                _ => {}
            }
            let rhs = eval_deep(func, *rhs, names, depth)?;
            if rhs == 0 && matches!(op, BinOp::Div | BinOp::Mod) {
                return Err(NoValue::Zero(attr));
            }
            overflow(binary(*op, lhs, rhs, Elem::I64))
        }
        AttrData::Call(name, args) => {
            let args: Result<Vec<i64>, NoValue> = args.iter().map(|&arg| eval_deep(func, arg, names, depth)).collect();
            let (name, args) = (func.text(*name), args?);
            match (name, &args[..]) {
                ("floordiv" | "floormod" | "tdiv" | "tmod", &[_, 0]) => Err(NoValue::Zero(attr)),
                ("min" | "max" | "floordiv" | "floormod" | "tdiv" | "tmod", &[_, _]) | ("abs", &[_]) => {
                    overflow(call(name, &args))
                }
                _ => Err(NoValue::Other(attr)),
            }
        }
        _ => Err(NoValue::Other(attr)),
    }
}

/// The integer that `op` computes of `args`, its operands' integers.
pub(crate) fn eval_op(func: &Func, op: Op, args: &[i64]) -> Option<i64> {
    let elem = func.value_scalar(func.result(op)?).filter(|scalar| scalar.lanes == 1)?.elem;
    let opcode = func.opcode(op);
    match (func.role(op), args) {
        (Role::Constant, []) => match func.attr_data(func.attr_of(op, keys::VALUE)?) {
            AttrData::Int(value, _) => i64::try_from(*value).ok(),
            AttrData::Bool(value) => Some(truth(*value)),
            _ => None,
        },
        (Role::Binary(binary_op), &[lhs, rhs]) => binary(binary_op, lhs, rhs, elem),
        (Role::Compare, &[lhs, rhs]) => Some(truth(eval::int_cmp(Predicate::of(func, op)?, lhs.into(), rhs.into()))),
        (Role::Unary(UnOp::Neg), &[arg]) => arg.checked_neg(),
        (Role::Unary(UnOp::Not), &[arg]) => Some(truth(arg == 0)),
        (Role::Cast, &[arg]) if elem.is_int() => i64::try_from(elem.wrap(arg.into())).ok(),
        _ if opcode == arith::SELECT => match args {
            &[condition, on_true, on_false] => Some(if condition != 0 { on_true } else { on_false }),
            _ => None,
        },
        _ => call(func.row(op).short?, args),
    }
}
