//! Tensors of more dimensions than the copy engine takes: two neighbours are one to it where a box has one element of the outer
//! one and does not leave the inner one.

use super::place::Place;
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::tma::MAX_RANK;
use tc_ir::{Attr, Func, Value};

/// A dimension as the copy engine sees it.
pub(super) enum Dim {
    One(Attr),
    /// Some of the tensor's; the extent.
    Joined(i64),
}

/// Joins dimensions of the box until the copy engine takes as many as are left, if it can; gives those of the tensor.
pub(super) fn join(func: &Func, algebra: &mut Algebra, place: &mut Place, tensor: Value) -> Vec<Dim> {
    let shaped = func.as_shaped(func.value_type(tensor));
    let mut shape: Vec<Dim> =
        shaped.map_or_else(Vec::new, |(_, shape, _)| shape.iter().map(|&extent| Dim::One(extent)).collect());
    let constant = |dim: &Dim| match *dim {
        Dim::One(extent) => func.as_int(extent),
        Dim::Joined(extent) => Some(extent),
    };
    while shape.len() > MAX_RANK {
        let Some((dim, [outer, inner])) = (1..shape.len()).find_map(|dim| {
            let extents = [constant(&shape[dim - 1])?, constant(&shape[dim])?];
            let dense = place.sides[dim - 1] == 1 && (place.steps[dim] == 1 || place.sides[dim] == 1);
            let fits = dense && is_inside(algebra, (place.starts[dim], place.sides[dim]), extents[1]);
            Some((dim, extents)).filter(|_| fits)
        }) else {
            break;
        };
        let pool = &mut algebra.analyzer.pool;
        let [above, below] = [place.starts[dim - 1], place.starts[dim]];
        let length = pool.int(inner);
        let start = pool.mul(above, length);
        let start = pool.add(start, below);
        place.starts[dim - 1] = algebra.analyzer.simplify(start);
        // Of the outer dimension the box has one element, so the inner one tells what it is.
        place.starts.remove(dim);
        place.sides.remove(dim - 1);
        // The joined dimension has the inner one's elements.
        place.apart = place.apart.map(|apart| if apart >= dim { apart - 1 } else { apart });
        place.steps.remove(dim - 1);
        shape[dim - 1] = Dim::Joined(outer.saturating_mul(inner));
        shape.remove(dim);
    }
    shape
}

/// Is the box inside of the dimension wherever it is? Outside, the joined one would be inside of another row.
fn is_inside(algebra: &mut Algebra, (at, side): (Expr, i64), extent: i64) -> bool {
    let analyzer = &mut algebra.analyzer;
    let (zero, last) = (analyzer.pool.int(0), analyzer.pool.int(extent - side));
    let not_below = analyzer.pool.le(zero, at);
    let not_above = analyzer.pool.le(at, last);
    analyzer.can_prove(not_below) && analyzer.can_prove(not_above)
}
