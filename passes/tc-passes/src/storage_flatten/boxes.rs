//! Bulk copies to and from swizzled buffers: the map of the tensor is told of the swizzle.

use super::strides::Flattening;
use tc_dialects::tma;
use tc_ir::effects::root_buffer;
use tc_ir::walk::all_ops;
use tc_ir::{Builder, Func, Op, Rewriter, keys};
use tc_support::{Diagnostic, Diagnostics};

/// Finds the swizzle of each copy, and refuses what the copy engine lacks.
pub(super) fn plan(func: &Func, plan: &mut Flattening, found: &mut Diagnostics) {
    for op in all_ops(func).filter(|&op| tma::is_copy(func, op)) {
        let [shared, boxed] = tma::sides(func, op);
        let buffer = root_buffer(func, shared);
        let Some(swizzle) = plan.buffers.get(&buffer).and_then(|flat| flat.swizzle) else { continue };
        let bytes = func.as_shaped(func.value_type(buffer)).and_then(|(elem, ..)| func.as_scalar(elem));
        let width = bytes.and_then(|scalar| tma::swizzle_mixes(swizzle.0.numbers(), scalar.bytes().into()));
        let row = tma::map_of(func, boxed).and_then(|map| tma::box_extents(func, map));
        let row = row.and_then(|extents| extents.last()?.checked_mul(bytes?.bytes().into()));
        match width {
            Some(width) if Some(width) == row => plan.boxes.push((op, width)),
            _ => {
                let text = format!(
                    "the copy engine does not swizzle `{}` as its `swizzle` says, in rows of {} bytes",
                    func.value_text(buffer),
                    row.unwrap_or(0)
                );
                let help = "mix pieces of 16 bytes by the row: for rows of 128 bytes of `f16`, `swizzle = [3, 3, 3]`";
                found.push(Diagnostic::error("swizzle", func.op_location(op), text).help(help));
            }
        }
    }
}

/// Gives each copy a map with its swizzle.
pub(super) fn apply(func: &mut Func, plan: &Flattening) {
    let mut made: Vec<(Op, i64, Op)> = Vec::new();
    for &(copy, width) in &plan.boxes {
        let [_, boxed] = tma::sides(func, copy);
        let Some(map) = tma::map_of(func, boxed) else { continue };
        let known = made.iter().find(|&&(of, known, _)| (of, known) == (map, width)).map(|&(.., new)| new);
        let new = match known {
            Some(new) => new,
            None => {
                let new = swizzled(func, map, width, made.iter().any(|&(of, ..)| of == map));
                made.push((map, width, new));
                new
            }
        };
        if new != map
            && let (Some(region), Some(value)) = (func.def_op(boxed), func.result(new))
        {
            Rewriter::new(func).set_operand(region, 0, value);
        }
    }
}

/// The map with the swizzle: itself, or, where another has it already, one more.
fn swizzled(func: &mut Func, map: Op, width: i64, is_taken: bool) -> Op {
    let width = func.int_attr(width);
    if !is_taken {
        Rewriter::new(func).set_attr(map, keys::SWIZZLE, width);
        return map;
    }
    let (buffer, ty) = (func.operand(map, 0), func.result(map).map(|value| func.value_type(value)));
    let attrs = func.op_attrs(map);
    let attrs = func.with_entry(attrs, keys::SWIZZLE, width);
    let mut b = Builder::after(func, map);
    let new = tma::Map::build(&mut b, buffer, &[], &ty.into_iter().collect::<Vec<_>>());
    Rewriter::new(func).set_attrs(new, attrs);
    new
}
