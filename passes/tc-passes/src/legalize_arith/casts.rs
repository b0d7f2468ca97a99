//! Conversions that are made in steps.

use super::{operand, operand_type};
use crate::analysis::numbers::{Numbers, cast, widened};
use tc_dialects::arith::{self, Predicate};
use tc_ir::{Builder, Elem, Func, Op, Scalar, Value};

/// What the cast `op` is from and to.
fn ends(func: &Func, op: Op) -> Option<(Elem, Elem)> {
    if func.opcode(op) != arith::CAST {
        return None;
    }
    let to = func.result(op).and_then(|value| func.value_scalar(value))?;
    Some((operand_type(func, op, 0)?.elem, to.elem))
}

pub(super) fn is_to_truth(func: &Func, op: Op) -> bool {
    ends(func, op).is_some_and(|(from, to)| to == Elem::Bool && from != Elem::Bool)
}

/// `x != 0`; a NaN is not 0.
pub(super) fn to_truth(b: &mut Builder<'_>, op: Op) -> Value {
    let (value, own) = operand(b, op, 0);
    let wide = match own.elem {
        elem if elem.is_small_float() => Elem::F32,
        // A size has a width in a kernel only where it is cast.
        Elem::Index => Elem::I64,
        elem => elem,
    };
    let scalar = Scalar { elem: wide, ..own };
    let value = cast(b, value, scalar);
    let mut make = Numbers { b, scalar };
    let zero = if wide.is_float() { make.float(0.0) } else { make.int(0) };
    make.compare(Predicate::Ne, value, zero)
}

/// The type between the two of a cast that is made in steps.
fn between(from: Elem, to: Elem) -> Option<Elem> {
    match (from.is_small_float(), to.is_small_float()) {
        _ if from == to || to == Elem::Bool => None,
        (true, true) => Some(Elem::F32),
        (true, false) => Some(Elem::F32).filter(|&wide| to != wide),
        (false, true) if !from.is_float() => match from.bits() >= 32 && to.is_cut_f32() {
            // f64 holds all of 32 bits, f32 does not.
            true => to.is_for_products().then_some(Elem::F64),
            // What f32 does not hold is infinite as f16 or an 8-bit float, before and after it is rounded to f32.
            false => Some(Elem::F32),
        },
        _ => None,
    }
}

pub(super) fn is_in_steps(func: &Func, op: Op) -> bool {
    ends(func, op).is_some_and(|(from, to)| between(from, to).is_some())
}

/// The cast by way of the type between.
pub(super) fn in_steps(b: &mut Builder<'_>, op: Op) -> Value {
    let (from, to) = ends(b.func, op).expect("the rule fits");
    let wide = between(from, to).expect("the rule fits");
    let (value, own) = operand(b, op, 0);
    let value = if from.is_float() { widened(b, value, wide) } else { cast(b, value, Scalar { elem: wide, ..own }) };
    cast(b, value, Scalar { elem: to, ..own })
}
