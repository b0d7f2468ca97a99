//! Strides of buffers that a program makes.

use tc_ir::attrs::AttrData;
use tc_ir::{Attr, Func, Op, keys};
use tc_support::{Diagnostic, Diagnostics};

/// No two elements of the buffer that `op` makes lie in one place, as far as extents and strides are literals.
pub(super) fn check(func: &Func, op: Op, shape: &[Attr], found: &mut Diagnostics) {
    let Some(AttrData::List(strides)) = func.attr_of(op, keys::STRIDES).map(|attr| func.attr_data(attr)) else {
        return;
    };
    let numbers = |list: &[Attr]| list.iter().map(|&attr| func.as_int(attr)).collect::<Option<Vec<i64>>>();
    let (Some(extents), Some(strides)) = (numbers(shape), numbers(strides)) else { return };
    let mut dims: Vec<(i64, i64)> = strides.into_iter().zip(extents).filter(|&(_, extent)| extent > 1).collect();
    dims.sort_unstable();
    // From the narrowest dimension outwards: how far the elements of the dimensions so far reach.
    let mut reach = 1i64;
    for (stride, extent) in dims {
        if stride < reach {
            let text = format!(
                "with a stride of {stride} elements of the buffer share a place: the dimensions below reach {reach}"
            );
            let help = format!("make the stride {reach} or more");
            return found.push(Diagnostic::error("strides", func.op_location(op), text).help(help));
        }
        reach = reach.saturating_add(stride.saturating_mul(extent - 1));
    }
}
