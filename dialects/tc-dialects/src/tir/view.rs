//! Views: buffers inside other buffers.
//!
//! The base of a view is a row of bytes, or of elements as wide as the view's; the view covers `offset` to `offset` plus
//! its size, in bytes. Two views of one base may cover the same bytes: then what is written through one is read through
//! the other, as its bits.

use crate::scope::scope_text;
use tc_ir::{AttrData, Func, Op, Value, keys};
use tc_support::{Diagnostic, Diagnostics, counted};

/// The bytes that the buffer `value` covers, the gaps between its elements included; `None` where they are not constant
/// or its elements are no numbers.
pub fn view_bytes(func: &Func, value: Value) -> Option<i64> {
    let (elem, shape, _) = func.as_shaped(func.value_type(value))?;
    let extents: Vec<i64> = shape.iter().map(|&dim| func.as_int(dim)).collect::<Option<_>>()?;
    let reach = match func.buffer_attr(value, keys::STRIDES).map(|attr| func.attr_data(attr)) {
        Some(AttrData::List(strides)) if strides.len() == extents.len() && !extents.contains(&0) => {
            let mut reach = 1i64;
            for (&extent, &stride) in extents.iter().zip(strides) {
                reach = reach.max(extent.checked_mul(func.as_int(stride)?)?);
            }
            reach
        }
        Some(AttrData::List(_)) | None => extents.iter().try_fold(1i64, |product, &n| product.checked_mul(n))?,
        Some(_) => return None,
    };
    reach.checked_mul(i64::from(func.as_scalar(elem)?.bytes()))
}

pub(super) fn verify(func: &Func, op: Op, found: &mut Diagnostics) {
    let (&[base, offset], Some(view)) = (func.operands(op), func.result(op)) else { return };
    let error = |code: &'static str, text: String| Diagnostic::error(code, func.op_location(op), text);
    let (base_ty, view_ty) = (func.value_type(base), func.value_type(view));
    let (Some((base_elem, base_shape, base_scope)), Some((view_elem, _, view_scope))) =
        (func.as_shaped(base_ty), func.as_shaped(view_ty))
    else {
        let text = format!("a view is a buffer inside a buffer, not `{}`", func.show_type(view_ty));
        return found.push(error("type", text));
    };
    let scope = |scope| scope_text(func, scope);
    if scope(base_scope) != scope(view_scope) {
        let text = format!(
            "a view lies where its base does: `{}` is in `{}`, and `{}` in `{}`",
            func.value_text(view),
            scope(view_scope),
            func.value_text(base),
            scope(base_scope)
        );
        found.push(error("scope", text));
    }
    let (Some(base_scalar), Some(view_scalar)) = (func.as_scalar(base_elem), func.as_scalar(view_elem)) else {
        return found.push(error("type", "a view is of numbers, inside a buffer of numbers".to_string()));
    };
    let is_row = base_shape.len() == 1 && func.buffer_attr(base, keys::STRIDES).is_none();
    let same_width = base_scalar.bytes() == view_scalar.bytes();
    if !is_row || !(base_scalar.bytes() == 1 || same_width) {
        let text = format!(
            "the base of a view is one row of bytes, or of elements as wide as the view's, not `{}`",
            func.show_type(base_ty)
        );
        return found.push(error("type", text).help("make the base a `u8` buffer of the size of all its views"));
    }
    let Some(start) = func.const_int(offset) else {
        let text = "the offset of a view is a literal number of bytes".to_string();
        return found.push(error("offset", text).help("make one view, and add what varies to its indices"));
    };
    let align = i64::from(view_scalar.bytes());
    let declared = func.buffer_attr(view, keys::ALIGN).and_then(|attr| func.as_int(attr)).unwrap_or(1);
    let align = align.max(declared).max(1);
    if start < 0 || start % align != 0 {
        let (ty, bytes) = (func.show_type(view_elem), counted(align, "byte"));
        let text = format!("a view of `{ty}` starts at a multiple of {bytes}, not at {start}");
        found.push(error("offset", text));
    }
    if let (Some(size), Some(all)) = (view_bytes(func, view), view_bytes(func, base))
        && start.checked_add(size).is_none_or(|end| end > all)
    {
        let text = format!(
            "`{}` covers {} from byte {start} on, and `{}` has {all}",
            func.value_text(view),
            counted(size, "byte"),
            func.value_text(base)
        );
        let mut diagnostic = error("extent", text);
        if let Some(made) = func.def_op(base) {
            diagnostic = diagnostic.label(func.op_location(made), "the base");
        }
        found.push(diagnostic);
    }
}
