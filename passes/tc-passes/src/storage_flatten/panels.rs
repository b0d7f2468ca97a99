//! Buffers in panels: of `panel = p` columns at a time all rows follow each other, row by row.

use super::strides::{Flattening, mul};
use tc_dialects::tir;
use tc_ir::walk::all_ops;
use tc_ir::{Attr, Func, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// How a buffer lies in panels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Panels {
    /// The columns of a panel.
    pub(super) columns: i64,
    /// The elements of a panel: its columns times all rows.
    pub(super) elements: i64,
}

/// What the buffer says of its panels; `None` where it has one.
pub(super) fn of(func: &Func, buffer: Value) -> Result<Option<Panels>, String> {
    let Some(attr) = func.buffer_attr(buffer, keys::PANEL) else { return Ok(None) };
    let name = func.value_text(buffer);
    let is_alloc = func.def_op(buffer).is_some_and(|op| func.opcode(op) == tir::ALLOC);
    let has_strides = func.buffer_attr(buffer, keys::STRIDES).is_some();
    let shape = func.as_shaped(func.value_type(buffer)).map(|(_, shape, _)| shape).unwrap_or_default();
    let extents: Option<Vec<i64>> = shape.iter().map(|&extent| func.as_int(extent)).collect();
    let (Some(columns), Some(extents), true) = (func.as_int(attr), extents, is_alloc && !has_strides) else {
        return Err(format!("`{name}` has panels, and is no buffer of constant extents and without strides"));
    };
    let Some((&last, rows)) = extents.split_last() else { return Ok(None) };
    if columns < 1 || last % columns != 0 {
        return Err(format!(
            "panels of {columns} columns do not divide the last dimension of `{name}`, which has {last}"
        ));
    }
    let rows = rows.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent));
    let elements = rows.and_then(|rows| rows.checked_mul(columns));
    let Some(elements) = elements else { return Err(format!("the extents of `{name}` overflow")) };
    Ok((columns < last).then_some(Panels { columns, elements }))
}

/// Refuses vectors of elements of a buffer with panels, which need not lie side by side.
pub(super) fn check_uses(func: &Func, plan: &Flattening, found: &mut Diagnostics) {
    for op in all_ops(func).filter(|&op| matches!(func.opcode(op), tir::LOAD | tir::STORE)) {
        let buffer = func.operand(op, 0);
        let has_panels = plan.buffers.get(&buffer).is_some_and(|flat| flat.panels.is_some());
        let is_vector = |&index: &Value| func.value_scalar(index).is_some_and(|scalar| scalar.lanes > 1);
        if has_panels && func.operands(op)[1..].iter().any(is_vector) {
            let text =
                format!("elements of `{}` are accessed as a vector, and it lies in panels", func.value_text(buffer));
            let help = "run `storage-flatten` before `vectorize-loop`, as the pipeline `cuda` does";
            found.push(Diagnostic::error("panel", func.op_location(op), text).help(help));
        }
    }
}

impl Panels {
    /// The strides within a panel, and the size of the buffer.
    pub(super) fn strides(self, func: &mut Func, shape: &[Attr]) -> (Vec<Attr>, Attr) {
        let mut strides = vec![func.int_attr(1); shape.len()];
        let mut size = func.int_attr(self.columns);
        let n = shape.len().saturating_sub(1);
        for (stride, &extent) in strides[..n].iter_mut().zip(&shape[..n]).rev() {
            *stride = size;
            size = mul(func, extent, size);
        }
        let last = shape.last().and_then(|&last| func.as_int(last)).unwrap_or(self.columns);
        let count = func.int_attr(last / self.columns);
        (strides, mul(func, size, count))
    }
}
