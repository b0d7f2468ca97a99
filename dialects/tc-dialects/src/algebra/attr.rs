//! Attributes over names as expressions and as numbers: extents, ranges, strides, conditions, facts, what schedules choose.
//!
//! What an operator means on numbers is [`BinaryOp::eval`]'s to say, here as everywhere; `&&` and `||` stop early.

use crate::arith::Predicate;
use tc_arith::{BinaryOp, EvalError, Expr, Pool};
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::{Attr, Func, Name};

/// How deep an expression in an attribute may be.
const MAX_DEPTH: usize = 200;

/// Why an attribute has no value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoValue {
    /// This name stands for nothing that is known.
    Name(Name),
    /// This part divides by zero.
    Zero(Attr),
    /// This part overflows.
    Overflow(Attr),
    /// This part is no arithmetic.
    Other(Attr),
}

/// The operator of the algebra that a sign stands for, and whether its operands change places.
pub fn infix_op(op: BinOp) -> (BinaryOp, bool) {
    match op {
        BinOp::OrOr => (BinaryOp::Or, false),
        BinOp::AndAnd => (BinaryOp::And, false),
        BinOp::Eq => (BinaryOp::Eq, false),
        BinOp::Ne => (BinaryOp::Ne, false),
        BinOp::Lt => (BinaryOp::Lt, false),
        BinOp::Le => (BinaryOp::Le, false),
        BinOp::Gt => (BinaryOp::Lt, true),
        BinOp::Ge => (BinaryOp::Le, true),
        BinOp::BitOr => (BinaryOp::BitOr, false),
        BinOp::BitXor => (BinaryOp::BitXor, false),
        BinOp::BitAnd => (BinaryOp::BitAnd, false),
        BinOp::Shl => (BinaryOp::Shl, false),
        BinOp::Shr => (BinaryOp::Shr, false),
        BinOp::Add => (BinaryOp::Add, false),
        BinOp::Sub => (BinaryOp::Sub, false),
        BinOp::Mul => (BinaryOp::Mul, false),
        BinOp::Div => (BinaryOp::FloorDiv, false),
        BinOp::Mod => (BinaryOp::FloorMod, false),
    }
}

/// The sign of a comparison.
pub fn predicate_op(predicate: Predicate) -> BinOp {
    match predicate {
        Predicate::Eq => BinOp::Eq,
        Predicate::Ne => BinOp::Ne,
        Predicate::Lt => BinOp::Lt,
        Predicate::Le => BinOp::Le,
        Predicate::Gt => BinOp::Gt,
        Predicate::Ge => BinOp::Ge,
    }
}

/// The expression of an attribute, with names as `of_name` says; the part that has none where there is none.
pub fn attr_expr(
    func: &Func,
    attr: Attr,
    pool: &mut Pool,
    of_name: &dyn Fn(Name) -> Option<Expr>,
) -> Result<Expr, NoValue> {
    expr_at(func, attr, pool, of_name, MAX_DEPTH)
}

fn expr_at(
    func: &Func,
    attr: Attr,
    pool: &mut Pool,
    of_name: &dyn Fn(Name) -> Option<Expr>,
    depth: usize,
) -> Result<Expr, NoValue> {
    let depth = depth.checked_sub(1).ok_or(NoValue::Other(attr))?;
    match func.attr_data(attr) {
        AttrData::Int(value, _) => {
            i64::try_from(*value).map(|value| pool.int(value)).map_err(|_| NoValue::Overflow(attr))
        }
        AttrData::Bool(value) => Ok(pool.bool(*value)),
        AttrData::Word(name) => of_name(*name).ok_or(NoValue::Name(*name)),
        AttrData::Unary(UnOp::Neg, arg) => {
            let (zero, arg) = (pool.int(0), expr_at(func, *arg, pool, of_name, depth)?);
            Ok(pool.sub(zero, arg))
        }
        AttrData::Unary(UnOp::Not, arg) => {
            let arg = expr_at(func, *arg, pool, of_name, depth)?;
            Ok(pool.not(arg))
        }
        AttrData::Binary(op, lhs, rhs) => {
            let lhs = expr_at(func, *lhs, pool, of_name, depth)?;
            let rhs = expr_at(func, *rhs, pool, of_name, depth)?;
            Ok(infix_expr(pool, *op, lhs, rhs))
        }
        AttrData::Call(name, args) => match (BinaryOp::of_name(func.text(*name)), &args[..]) {
            (Some(op), &[lhs, rhs]) => {
                let lhs = expr_at(func, lhs, pool, of_name, depth)?;
                let rhs = expr_at(func, rhs, pool, of_name, depth)?;
                Ok(pool.binary(op, lhs, rhs))
            }
            (None, &[arg]) if func.text(*name) == "abs" => {
                let (zero, arg) = (pool.int(0), expr_at(func, arg, pool, of_name, depth)?);
                let negated = pool.sub(zero, arg);
                Ok(pool.max(arg, negated))
            }
            _ => Err(NoValue::Other(attr)),
        },
        _ => Err(NoValue::Other(attr)),
    }
}

/// `lhs op rhs`.
pub fn infix_expr(pool: &mut Pool, op: BinOp, lhs: Expr, rhs: Expr) -> Expr {
    let (op, turned) = infix_op(op);
    if turned { pool.binary(op, rhs, lhs) } else { pool.binary(op, lhs, rhs) }
}

/// The number that an attribute is, with names as `of_name` says, or why it is none. A truth value is 0 or 1.
pub fn eval_attr(func: &Func, attr: Attr, of_name: &dyn Fn(Name) -> Option<i64>) -> Result<i64, NoValue> {
    eval_at(func, attr, of_name, MAX_DEPTH)
}

fn eval_at(func: &Func, attr: Attr, of_name: &dyn Fn(Name) -> Option<i64>, depth: usize) -> Result<i64, NoValue> {
    let depth = depth.checked_sub(1).ok_or(NoValue::Other(attr))?;
    let of = |attr: Attr| eval_at(func, attr, of_name, depth);
    match func.attr_data(attr) {
        AttrData::Int(value, _) => i64::try_from(*value).map_err(|_| NoValue::Overflow(attr)),
        AttrData::Bool(value) => Ok(i64::from(*value)),
        AttrData::Word(name) => of_name(*name).ok_or(NoValue::Name(*name)),
        AttrData::Unary(UnOp::Neg, arg) => of(*arg)?.checked_neg().ok_or(NoValue::Overflow(attr)),
        AttrData::Unary(UnOp::Not, arg) => Ok(i64::from(of(*arg)? == 0)),
        AttrData::Binary(op, lhs, rhs) => {
            let (op, turned) = infix_op(*op);
            let (first, second) = if turned { (*rhs, *lhs) } else { (*lhs, *rhs) };
            eval_binary(attr, op, of(first), || of(second))
        }
        AttrData::Call(name, args) => match (BinaryOp::of_name(func.text(*name)), &args[..]) {
            (Some(op), &[lhs, rhs]) => eval_binary(attr, op, of(lhs), || of(rhs)),
            (None, &[arg]) if func.text(*name) == "abs" => of(arg)?.checked_abs().ok_or(NoValue::Overflow(attr)),
            _ => Err(NoValue::Other(attr)),
        },
        _ => Err(NoValue::Other(attr)),
    }
}

/// An operator at `attr`: what the evaluator finds wrong is placed.
fn eval_binary(
    attr: Attr,
    op: BinaryOp,
    lhs: Result<i64, NoValue>,
    rhs: impl FnOnce() -> Result<i64, NoValue>,
) -> Result<i64, NoValue> {
    let lhs = lhs?;
    let mut why = NoValue::Overflow(attr);
    let value = op.eval(Ok(lhs), || {
        rhs().map_err(|no_value| {
            why = no_value;
            EvalError::Unknown
        })
    });
    value.map_err(|error| match error {
        EvalError::Unknown => why,
        EvalError::DivisionByZero => NoValue::Zero(attr),
        EvalError::Overflow => NoValue::Overflow(attr),
    })
}
