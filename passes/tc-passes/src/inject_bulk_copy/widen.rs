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
    if n < 3 || m < 2 || place.apart.is_some_and(|dim| dim + 2 >= n) {
        return false;
    }
    let zero = |start| algebra.analyzer.pool.as_const(start) == Some(0);
    let is_all = |dim: usize| {
        let extent = match shape[n - dim] {
            Dim::One(extent) => func.as_int(extent),
            Dim::Joined(extent) => Some(extent),
        };
        let of_tensor =
            extent == Some(place.sides[n - dim]) && place.steps[n - dim] == 1 && zero(place.starts[n - dim]);
        of_tensor && place.lengths[m - dim] == extents[m - dim] && zero(place.offsets[m - dim])
    };
    let row = place.sides[n - 1].saturating_mul(size);
    // The buffer may have rows of several tiles in one dimension.
    let [of_tensor, of_buffer] = [place.sides[n - 2], extents[m - 2]].map(|rows| rows.saturating_mul(row));
    if !is_all(1)
        || !is_all(2)
        || extents[m - 1] != place.sides[n - 1]
        || width <= row
        || of_tensor % width != 0
        || of_buffer % width != 0
    {
        return false;
    }
    place.sides[n - 2] = of_tensor / width;
    extents[m - 2] = of_buffer / width;
    shape[n - 2] = Dim::Joined(of_tensor / width);
    let columns = width / size;
    (place.sides[n - 1], extents[m - 1], shape[n - 1]) = (columns, columns, Dim::Joined(columns));
    true
}
