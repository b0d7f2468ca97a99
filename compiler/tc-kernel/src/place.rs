//! Places that ops are given by reference: `&A[i]`, `&A[i : 8]`, or a whole buffer.
//!
//! A reference has no variable of its own; it stands where it is used, as a position in the buffer behind it.

use tc_dialects::tir;
use tc_ir::{Func, Op, TypeData, Value};

/// Is `op` one that makes a reference?
pub fn is_reference(func: &Func, op: Op) -> bool {
    matches!(func.opcode(op), tir::REF | tir::REGION)
}

/// The references that `place` goes through, the outermost first.
pub fn references(func: &Func, place: Value) -> Vec<Op> {
    let mut found = Vec::new();
    let mut at = place;
    while let Some(op) = func.def_op(at).filter(|&op| is_reference(func, op)) {
        found.push(op);
        at = func.operand(op, 0);
    }
    found
}

/// The buffer (or view) behind the references of `place`.
pub fn buffer_of(func: &Func, place: Value) -> Value {
    references(func, place).last().map_or(place, |&op| func.operand(op, 0))
}

/// Why the reference `op` cannot be written.
pub fn unwritable(func: &Func, op: Op) -> Option<String> {
    let (&buffer, indices) = func.operands(op).split_first()?;
    let is_place = matches!(func.type_data(func.value_type(buffer)), TypeData::Shaped { .. } | TypeData::Ref { .. });
    let is_int =
        |value: Value| func.value_scalar(value).is_some_and(|scalar| scalar.elem.is_int() && scalar.lanes == 1);
    if !is_place {
        return Some(format!("`{}` is no buffer", func.show_type(func.value_type(buffer))));
    }
    let stray = indices.iter().find(|&&index| !is_int(index))?;
    Some(format!("a reference is to a number of an element, not `{}`", func.show_type(func.value_type(*stray))))
}
