//! Folding: literals in, a literal or a value that is there out.
//!
//! A fold never hides an error of the program: what would overflow or divide by zero stays.

use super::eval;
use super::{CAST, Predicate, TDIV, TMOD};
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::opdef::{Folded, Role};
use tc_ir::{Elem, Func, Op, Opcode, Scalar, Value};
use tc_support::rounding::int_to_odd;

/// A literal's value.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Number {
    Bool(bool),
    Int(i128),
    Float(f64),
}

fn literal(func: &Func, value: Value) -> Option<Number> {
    Some(match func.attr_data(func.constant(value)?) {
        AttrData::Bool(value) => Number::Bool(*value),
        AttrData::Int(value, _) => Number::Int(*value),
        AttrData::Float(bits, _) => Number::Float(f64::from_bits(*bits)),
        _ => return None,
    })
}

fn result_elem(func: &Func, op: Op) -> Option<Elem> {
    match func.value_scalar(func.result(op)?)? {
        Scalar { elem, lanes: 1 } => Some(elem),
        _ => None,
    }
}

fn constant(func: &mut Func, number: Number) -> Option<Folded> {
    let data = match number {
        Number::Bool(value) => AttrData::Bool(value),
        Number::Int(value) => AttrData::Int(value, None),
        Number::Float(value) => AttrData::float(value),
    };
    Some(Folded::Constant(func.attr(data)))
}

/// What an infix op gives on truth values.
fn bool_binary(role: Role, lhs: bool, rhs: bool) -> Option<bool> {
    match role {
        Role::Binary(BinOp::AndAnd) => Some(lhs && rhs),
        Role::Binary(BinOp::OrOr) => Some(lhs || rhs),
        _ => None,
    }
}

fn int_binary(opcode: Opcode, role: Role, lhs: i128, rhs: i128, elem: Elem) -> Option<i128> {
    match role {
        Role::Binary(op) => eval::int_binary(op, lhs, rhs, elem),
        _ if opcode == TDIV || opcode == TMOD => eval::int_trunc(opcode, lhs, rhs, elem),
        _ if opcode == super::MIN => Some(lhs.min(rhs)),
        _ if opcode == super::MAX => Some(lhs.max(rhs)),
        _ => None,
    }
}

fn float_binary(opcode: Opcode, role: Role, lhs: f64, rhs: f64, elem: Elem) -> Option<f64> {
    match role {
        Role::Binary(op) => eval::float_binary(op, lhs, rhs, elem),
        // The sign of min(0, -0) is the hardware's choice; leave it.
        _ if lhs == 0.0 && rhs == 0.0 => None,
        _ if opcode == super::MIN => Some(lhs.min(rhs)),
        _ if opcode == super::MAX => Some(lhs.max(rhs)),
        _ => None,
    }
}

pub(super) fn binary(func: &mut Func, op: Op) -> Option<Folded> {
    let (opcode, role) = (func.opcode(op), func.role(op));
    let (lhs, rhs) = (func.operand(op, 0), func.operand(op, 1));
    match (literal(func, lhs), literal(func, rhs)) {
        (Some(Number::Bool(l)), Some(Number::Bool(r))) => {
            let value = bool_binary(role, l, r)?;
            constant(func, Number::Bool(value))
        }
        (Some(Number::Int(l)), Some(Number::Int(r))) => {
            let value = int_binary(opcode, role, l, r, result_elem(func, op)?)?;
            constant(func, Number::Int(value))
        }
        (Some(Number::Float(l)), Some(Number::Float(r))) => {
            let value = float_binary(opcode, role, l, r, result_elem(func, op)?)?;
            constant(func, Number::Float(value))
        }
        (l, r) => identity(role, (lhs, l), (rhs, r)),
    }
}

/// `x + 0`, `x * 1`, `true && x` and the like. Of integers and truth values only: a float zero has a sign.
fn identity(role: Role, lhs: (Value, Option<Number>), rhs: (Value, Option<Number>)) -> Option<Folded> {
    let Role::Binary(op) = role else { return None };
    let keeps = |number: Option<Number>, on_left: bool| match (op, number) {
        (BinOp::Add | BinOp::BitOr | BinOp::BitXor, Some(Number::Int(0))) => true,
        (BinOp::Sub | BinOp::Shl | BinOp::Shr, Some(Number::Int(0))) => !on_left,
        (BinOp::Mul, Some(Number::Int(1))) => true,
        (BinOp::Div, Some(Number::Int(1))) => !on_left,
        (BinOp::AndAnd, Some(Number::Bool(true))) => true,
        (BinOp::OrOr, Some(Number::Bool(false))) => true,
        _ => false,
    };
    let absorbs = |number: Option<Number>| {
        matches!(
            (op, number),
            (BinOp::Mul | BinOp::BitAnd, Some(Number::Int(0)))
                | (BinOp::AndAnd, Some(Number::Bool(false)))
                | (BinOp::OrOr, Some(Number::Bool(true)))
        )
    };
    if keeps(rhs.1, false) || absorbs(lhs.1) {
        return Some(Folded::Value(lhs.0));
    }
    (keeps(lhs.1, true) || absorbs(rhs.1)).then_some(Folded::Value(rhs.0))
}

pub(super) fn cmp(func: &mut Func, op: Op) -> Option<Folded> {
    let predicate = Predicate::of(func, op)?;
    let (lhs, rhs) = (literal(func, func.operand(op, 0))?, literal(func, func.operand(op, 1))?);
    let value = match (lhs, rhs) {
        (Number::Int(lhs), Number::Int(rhs)) => eval::int_cmp(predicate, lhs, rhs),
        (Number::Float(lhs), Number::Float(rhs)) => eval::float_cmp(predicate, lhs, rhs),
        (Number::Bool(lhs), Number::Bool(rhs)) => predicate.holds(Some(lhs.cmp(&rhs))),
        _ => return None,
    };
    constant(func, Number::Bool(value))
}

pub(super) fn unary(func: &mut Func, op: Op) -> Option<Folded> {
    let elem = result_elem(func, op)?;
    let value = match (func.role(op), literal(func, func.operand(op, 0))?) {
        (Role::Unary(UnOp::Not), Number::Bool(value)) => Number::Bool(!value),
        (Role::Unary(UnOp::Neg), Number::Int(value)) => Number::Int(elem.fit(-value)?),
        (Role::Unary(UnOp::Neg), Number::Float(value)) => Number::Float(-value),
        _ if func.opcode(op) == super::ABS => match literal(func, func.operand(op, 0))? {
            Number::Int(value) => Number::Int(elem.fit(value.abs())?),
            Number::Float(value) => Number::Float(value.abs()),
            Number::Bool(_) => return None,
        },
        _ => return None,
    };
    constant(func, value)
}

/// A function of an integer, which is given its bits.
pub(super) fn of_bits(func: &mut Func, op: Op, function: fn(u64) -> u64) -> Option<Folded> {
    let elem = result_elem(func, op)?;
    let Number::Int(value) = literal(func, func.operand(op, 0))? else { return None };
    let bits = value & ((1i128 << elem.bits()) - 1);
    constant(func, Number::Int(function(bits as u64).into()))
}

pub(super) fn cast(func: &mut Func, op: Op) -> Option<Folded> {
    debug_assert_eq!(func.opcode(op), CAST);
    let operand = func.operand(op, 0);
    let result = func.result(op)?;
    if func.value_type(operand) == func.value_type(result) {
        return Some(Folded::Value(operand));
    }
    let elem = result_elem(func, op)?;
    let value = match literal(func, operand)? {
        Number::Int(value) if elem.is_int() => Number::Int(elem.wrap(value)),
        Number::Int(value) if elem == Elem::F64 => Number::Float(value as f64),
        Number::Int(value) if elem.is_float() => Number::Float(elem.round(int_to_odd(value))),
        Number::Float(value) if elem.is_float() => Number::Float(elem.round(value)),
        Number::Float(value) if elem.is_int() => Number::Int(eval::float_to_int(value, elem)?),
        Number::Bool(value) if elem.is_int() => Number::Int(i128::from(value)),
        Number::Bool(value) if elem.is_float() => Number::Float(f64::from(u8::from(value))),
        Number::Int(value) if elem == Elem::Bool => Number::Bool(value != 0),
        _ => return None,
    };
    constant(func, value)
}

pub(super) fn select(func: &mut Func, op: Op) -> Option<Folded> {
    let (condition, on_true, on_false) = (func.operand(op, 0), func.operand(op, 1), func.operand(op, 2));
    match literal(func, condition) {
        Some(Number::Bool(true)) => Some(Folded::Value(on_true)),
        Some(Number::Bool(false)) => Some(Folded::Value(on_false)),
        _ if func.is_same_value(on_true, on_false) => Some(Folded::Value(on_true)),
        _ => None,
    }
}
