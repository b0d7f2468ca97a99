//! Stages whose loops are not those that the operator declares.
//!
//! `rfactor` makes loops of a reduction the axes of a new tensor. What the stage computes is still the operator's text,
//! over the axes that stand there; an [`Origin`] says what these are over the root axes of the stage.

use crate::body::Vars;
use crate::graph::{AxisId, Graph, Relation, StageId};
use rustc_hash::FxHashMap;
use tc_arith::{Expr, Pool};
use tc_ir::Loc;

/// How the axes that a `te.compute` declares come from the root axes of a stage.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The declared axes: those of the data, then those of the reduction. Each is a root axis of the stage, or the
    /// parent in one of the relations.
    pub declared: Vec<AxisId>,
    /// The relations from the declared axes down to root axes, in the order in which they were made.
    pub relations: Vec<Relation>,
    /// The extents of the axes that occur in the relations.
    pub extents: FxHashMap<AxisId, i64>,
}

/// The value of each axis of the origin of `stage`, relative to where it starts, over the values of root axes.
pub(crate) fn values(graph: &Graph, stage: StageId, pool: &mut Pool) -> FxHashMap<AxisId, Expr> {
    let data = &graph[stage];
    let mut values: FxHashMap<AxisId, Expr> = FxHashMap::default();
    let Some(origin) = &data.origin else { return values };
    for axis in data.roots() {
        let value = pool.named_var(Vars::value(axis), &graph[axis].name);
        let lo = pool.int(graph[axis].domain.map_or(0, |(lo, _)| lo));
        values.insert(axis, pool.sub(value, lo));
    }
    let extent = |axis: AxisId| origin.extents.get(&axis).copied().unwrap_or(1).max(1);
    for relation in origin.relations.iter().rev() {
        match *relation {
            Relation::Split { parent, outer, inner, .. } => {
                let (Some(&o), Some(&i)) = (values.get(&outer), values.get(&inner)) else { continue };
                let factor = pool.int(extent(inner));
                let scaled = pool.mul(o, factor);
                values.insert(parent, pool.add(scaled, i));
            }
            Relation::Fuse { outer, inner, fused } => {
                let Some(&value) = values.get(&fused) else { continue };
                let row = pool.int(extent(inner));
                let (quotient, remainder) = (pool.floor_div(value, row), pool.floor_mod(value, row));
                values.insert(outer, quotient);
                values.insert(inner, remainder);
            }
        }
    }
    values
}

/// The axes of the origin of `stage` of which its loops make more values than there are: the extent of each, and the
/// directive that split it.
pub(crate) fn tails(graph: &Graph, stage: StageId) -> Vec<(AxisId, i64, Loc)> {
    let Some(origin) = &graph[stage].origin else { return Vec::new() };
    let extent = |axis: AxisId| origin.extents.get(&axis).copied().unwrap_or(1);
    let tail = |relation: &Relation| match *relation {
        Relation::Split { parent, outer, inner, loc, .. } => {
            let covered = extent(outer).checked_mul(extent(inner));
            (covered != Some(extent(parent))).then_some((parent, extent(parent), loc))
        }
        Relation::Fuse { .. } => None,
    };
    origin.relations.iter().filter_map(tail).collect()
}
