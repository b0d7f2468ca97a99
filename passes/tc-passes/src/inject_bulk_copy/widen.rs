//! Short rows that lie side by side in the tensor and in the buffer, seen as long ones: the copy engine moves a row of 32 bytes in
//! the time of one of 128.

use super::find::Way;
use super::join::Dim;
use super::place::Place;
use tc_dialects::algebra::Algebra;
use tc_ir::{AttrData, Elem, Func, Op};

/// The longest row that is swizzled, in bytes.
const LONGEST: i64 = 128;

/// Lets the last two dimensions of the box be rows as long as the directive says, where all of both is copied, in their order.
/// `shape` is that of the tensor as the copy engine sees it, `extents` that of the buffer. Products expect the rows that they
/// read, so what comes in has longer ones on request alone.
pub(super) fn widen(
    func: &Func,
    (alloc, way): (Op, Way),
    elem: Elem,
    algebra: &Algebra,
    (place, shape): (&mut Place, &mut [Dim]),
    extents: &mut [i64],
) -> bool {
    let (n, m, size) = (place.sides.len(), extents.len(), i64::from(elem.bytes()));
    let width = match func.attr_of(alloc, way.key()).map(|attr| func.attr_data(attr)) {
        Some(&AttrData::Int(width, _)) => i64::try_from(width).unwrap_or(0),
        _ if way == Way::Out => LONGEST,
        _ => return false,
    };
    if n < 3 || m < 2 || place.apart.is_some() {
        return false;
    }
    let zero = |start| algebra.analyzer.pool.as_const(start) == Some(0);
    let is_all = |dim: usize| {
        let extent = match shape[n - dim] {
            Dim::One(extent) => func.as_int(extent),
            Dim::Joined(extent) => Some(extent),
        };
        let side = place.sides[n - dim];
        extent == Some(side)
            && (extents[m - dim], place.lengths[m - dim], place.steps[n - dim]) == (side, side, 1)
            && zero(place.starts[n - dim])
            && zero(place.offsets[m - dim])
    };
    let row = extents[m - 1].saturating_mul(size);
    let bytes = extents[m - 2].saturating_mul(row);
    if !is_all(1) || !is_all(2) || width <= row || bytes % width != 0 {
        return false;
    }
    for (dim, extent) in [(2, bytes / width), (1, width / size)] {
        place.sides[n - dim] = extent;
        shape[n - dim] = Dim::Joined(extent);
        extents[m - dim] = extent;
    }
    true
}
