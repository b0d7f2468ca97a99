//! Splits a loop into two nested loops: the inner runs over a block of iterations, the outer over the blocks.
//!
//! # Arguments
//!
//! `outer, inner = split(axis, factor = e)` or `outer, inner = split(axis, nparts = e)`: `e` is the extent of the
//! inner loop, or with `nparts` of the outer one. The other extent is the axis' extent divided by it, rounded up.
//!
//! # Legality
//!
//! - `axis` is a loop of its stage, and no earlier directive split, fused, bound, vectorized or unrolled it.
//! - `e` is at least 1.
//!
//! If `e` does not divide the extent, a guard `if likely(…)` protects the tail, around the initialisation and the
//! computation of the stage. An inner extent greater than the axis' shrinks to it, unless the inner loop, or a loop
//! made from it, is bound to a launch coordinate, or the axis' extent depends on an open size. `rfactor` makes an axis of
//! a loop that is not bound yet: if that one is to be bound, choose a factor that is not above the extent.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..16 { A[i] = 0.0 }
//! ->
//! for io in 0..4 { for ii in 0..4 { A[io * 4 + ii] = 0.0 } }
//! ```
//!
//! # Known elsewhere as
//!
//! `split` (TVM, Halide), strip mining, `transform.structured.tile_using_for` with one size (MLIR).

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item};
use crate::graph::{AxisId, Relation};
use tc_dialects::sched::Split;

/// An axis, and what it is split by.
pub(crate) struct Factor {
    pub(super) axis: AxisId,
    pub(super) factor: i64,
    /// Is the factor the extent of the outer part?
    pub(super) nparts: bool,
}

impl Primitive for Split {
    const COMPARED: Compared = Compared::Graph;
    type Legal = Factor;

    fn legality(cx: &Cx<'_>) -> Done<Factor> {
        let axis = cx.leaf(cx.operand(0))?;
        cx.check_plain(axis)?;
        let (factor, nparts) = match (cx.param(1), cx.param(2)) {
            (Some(factor), None) => (cx.positive(factor, "factor")?, false),
            (None, Some(nparts)) => (cx.positive(nparts, "number of parts")?, true),
            _ => return Err(cx.mistyped("`split` takes one of `factor = …` and `nparts = …`").into()),
        };
        Ok(Factor { axis, factor, nparts })
    }

    fn edit(cx: &mut Cx<'_>, by: Factor) -> Vec<Item> {
        let (outer, inner) = split(cx, &by, 0, 1);
        vec![Item::Axis(outer), Item::Axis(inner)]
    }
}

/// Splits; the parts are named by results `outer` and `inner` of the directive.
pub(super) fn split(cx: &mut Cx<'_>, by: &Factor, outer: usize, inner: usize) -> (AxisId, AxisId) {
    let &Factor { axis, factor, nparts } = by;
    let stage = cx.graph[axis].stage;
    let outer = cx.derived_axis(axis, outer, "outer");
    let inner = cx.derived_axis(axis, inner, "inner");
    let loc = cx.loc();
    cx.consume(axis, vec![outer, inner]);
    let data = &mut cx.graph[stage];
    data.relations.push(Relation::Split { parent: axis, outer, inner, factor, nparts, loc });
    if let Some(at) = data.leaves.iter().position(|&leaf| leaf == axis) {
        data.leaves.splice(at..=at, [outer, inner]);
    }
    cx.touch(stage);
    (outer, inner)
}
