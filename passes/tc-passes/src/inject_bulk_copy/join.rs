//! Tensors of more dimensions than the copy engine takes: neighbours of which a box has one element each are one to it.

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
            let fits = place.sides[dim - 1..=dim] == [1, 1] && is_inside(algebra, place.starts[dim], extents[1]);
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
        place.starts.remove(dim);
        place.sides.remove(dim);
        place.steps.remove(dim);
        shape[dim - 1] = Dim::Joined(outer.saturating_mul(inner));
        shape.remove(dim);
    }
    shape
}

/// Is the position in the dimension wherever the box is? Outside, the joined one would be inside of another row.
fn is_inside(algebra: &mut Algebra, at: Expr, extent: i64) -> bool {
    let analyzer = &mut algebra.analyzer;
    let (zero, extent) = (analyzer.pool.int(0), analyzer.pool.int(extent));
    let not_below = analyzer.pool.le(zero, at);
    let not_above = analyzer.pool.lt(at, extent);
    analyzer.can_prove(not_below) && analyzer.can_prove(not_above)
}
