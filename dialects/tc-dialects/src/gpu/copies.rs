//! Asynchronous copies.

use crate::scope::{Scope, scope_text};
use crate::tir::place_type;
use tc_ir::{AttrData, Func, Op, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// The most groups that a thread may leave outstanding.
pub const MAX_PENDING: i64 = 64;

/// The number of elements that the place `place` covers, a reference to a region or to an element.
fn elements(func: &Func, place: Value) -> Option<i64> {
    let (_, shape, _) = place_type(func, place)?;
    shape.iter().try_fold(1i64, |product, &dim| product.checked_mul(func.as_int(dim)?))
}

/// The bytes that one `copy_async` copies; `None` where it is not well formed.
pub fn copied_bytes(func: &Func, op: Op) -> Option<i64> {
    let to = func.operand(op, 0);
    let (elem, _, _) = place_type(func, to)?;
    elements(func, to)?.checked_mul(i64::from(func.as_scalar(elem)?.bytes()))
}

pub(super) fn copy_async(func: &Func, op: Op, found: &mut Diagnostics) {
    let error = |code: &'static str, text: String| Diagnostic::error(code, func.op_location(op), text);
    let (to, from) = (func.operand(op, 0), func.operand(op, 1));
    let (Some((to_elem, _, to_scope)), Some((from_elem, _, from_scope))) =
        (place_type(func, to), place_type(func, from))
    else {
        return found.push(error("type", "an asynchronous copy is from a place to a place".to_string()));
    };
    let [of, into] = [from_scope, to_scope].map(|scope| Scope::of_name(func, scope));
    if !into.is_some_and(Scope::is_shared) || of != Some(Scope::Global) {
        let text = format!(
            "an asynchronous copy is from global to shared memory, not from `{}` to `{}`",
            scope_text(func, from_scope),
            scope_text(func, to_scope)
        );
        found.push(error("scope", text).help("copy the elements one by one instead: `S[i] = A[j]`"));
    }
    if to_elem != from_elem || elements(func, to) != elements(func, from) {
        let text = format!(
            "an asynchronous copy converts nothing: `{}` is copied to `{}`",
            func.show_type(func.value_type(from)),
            func.show_type(func.value_type(to))
        );
        found.push(error("type", text).help("give both places the same element type and length"));
    } else if !matches!(copied_bytes(func, op), Some(4 | 8 | 16)) {
        let text = match copied_bytes(func, op) {
            Some(bytes) => format!("one asynchronous copy is of 4, 8 or 16 bytes, not {bytes}"),
            None => "one asynchronous copy is of 4, 8 or 16 bytes, known when it is compiled".to_string(),
        };
        found.push(error("extent", text).help("divide the copy, or vectorize it by fewer or more elements"));
    }
    if let Some(&when) = func.operands(op).get(2)
        && func.value_type(when) != func.bool_ty()
    {
        let text = format!("`when` is a `bool`, not `{}`", func.show_type(func.value_type(when)));
        found.push(error("type", text));
    }
}

pub(super) fn wait_group(func: &Func, op: Op, found: &mut Diagnostics) {
    let pending = func.int_of(op, keys::PENDING).unwrap_or(-1);
    if !(0..=MAX_PENDING).contains(&pending) {
        let text = match func.attr_of(op, keys::PENDING).map(|attr| func.attr_data(attr)) {
            Some(AttrData::Int(..)) => format!("0 to {MAX_PENDING} groups may be outstanding, not {pending}"),
            _ => "`pending` is a number of groups".to_string(),
        };
        found.push(Diagnostic::error("pending", func.op_location(op), text));
    }
}
