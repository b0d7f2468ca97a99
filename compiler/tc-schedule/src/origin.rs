//! Stages whose axes are not those that the operator declares.
//!
//! `rfactor` makes loops of a reduction the axes of a new tensor, and `cache_write` those of data that was split. What
//! the stage computes is still the operator's text, over the axes that stand there; an [`Origin`] says what these are over
//! the root axes of the stage. A copy of such a tensor goes the other way: from its own axes to those loops.

use crate::body::Vars;
use crate::graph::{AxisId, Graph, Relation, StageId};
use crate::size::Size;
use rustc_hash::FxHashMap;
use tc_arith::{Expr, Pool};
use tc_ir::Loc;

/// How the axes that a `te.compute` declares come from the root axes of a stage, or those of a tensor from the root axes
/// of its copy.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The axes in question; of a `te.compute` those of the data, then those of the reduction. Each is a root axis of the
    /// stage, or stands in one of the relations.
    pub declared: Vec<AxisId>,
    /// The relations from the declared axes down to root axes, in the order in which they were made.
    pub relations: Vec<Relation>,
    /// The extents of the axes that occur in the relations.
    pub extents: FxHashMap<AxisId, Size>,
}

impl Origin {
    /// The same of other axes.
    pub(crate) fn map(&self, mut of: impl FnMut(AxisId) -> AxisId) -> Origin {
        let declared = self.declared.iter().map(|&axis| of(axis)).collect();
        let relations = map_relations(&self.relations, &mut of);
        Origin {
            declared,
            relations,
            extents: self.extents.iter().map(|(&axis, &extent)| (of(axis), extent)).collect(),
        }
    }
}

/// The extents of `roots`, root axes of `stage` at their declared extents, and of all that was made of them, with the pool
/// of their expressions; `None` where they overflow.
pub(crate) fn extents(graph: &Graph, stage: StageId, roots: &[AxisId]) -> Option<(FxHashMap<AxisId, Size>, Pool)> {
    let mut pool = graph.pool.clone();
    let domain = |&axis: &AxisId| (axis, graph[axis].domain.map_or(Size::Int(1), |(_, extent)| extent));
    let mut extents: FxHashMap<AxisId, Size> = roots.iter().map(domain).collect();
    for relation in &graph[stage].relations {
        match *relation {
            Relation::Split { parent, outer, inner, factor, nparts, .. } => {
                let Some(&extent) = extents.get(&parent) else { continue };
                let (given, other) = if nparts { (outer, inner) } else { (inner, outer) };
                extents.insert(given, extent.at_most(factor));
                extents.insert(other, extent.parts_of(&mut pool, factor));
            }
            Relation::Fuse { outer, inner, fused } => {
                let (Some(&o), Some(&i)) = (extents.get(&outer), extents.get(&inner)) else { continue };
                extents.insert(fused, o.product(&mut pool, i)?);
            }
        }
    }
    Some((extents, pool))
}

/// `relations` with every axis replaced.
pub(crate) fn map_relations(relations: &[Relation], mut of: impl FnMut(AxisId) -> AxisId) -> Vec<Relation> {
    let map = |relation: &Relation| match *relation {
        Relation::Split { parent, outer, inner, factor, nparts, loc } => {
            Relation::Split { parent: of(parent), outer: of(outer), inner: of(inner), factor, nparts, loc }
        }
        Relation::Fuse { outer, inner, fused } => {
            Relation::Fuse { outer: of(outer), inner: of(inner), fused: of(fused) }
        }
    };
    relations.iter().map(map).collect()
}

/// The relations of `stage` that are about the axes in `known`, and those that are not.
pub(crate) fn about(graph: &Graph, stage: StageId, known: &FxHashMap<AxisId, Size>) -> (Vec<Relation>, Vec<Relation>) {
    graph[stage].relations.iter().partition(|relation| match relation {
        Relation::Split { parent, .. } => known.contains_key(parent),
        Relation::Fuse { fused, .. } => known.contains_key(fused),
    })
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
    let extent = |axis: AxisId| origin.extents.get(&axis).map_or(Size::Int(1), |extent| extent.at_least_one());
    for relation in origin.relations.iter().rev() {
        match *relation {
            Relation::Split { parent, outer, inner, .. } => {
                let (Some(&o), Some(&i)) = (values.get(&outer), values.get(&inner)) else { continue };
                let factor = extent(inner).expr(pool);
                let scaled = pool.mul(o, factor);
                values.insert(parent, pool.add(scaled, i));
            }
            Relation::Fuse { outer, inner, fused } => {
                let Some(&value) = values.get(&fused) else { continue };
                let row = extent(inner).expr(pool);
                let (quotient, remainder) = (pool.floor_div(value, row), pool.floor_mod(value, row));
                values.insert(outer, quotient);
                values.insert(inner, remainder);
            }
        }
    }
    values
}

/// The index, in each dimension, at which a copy reads what it copies: `through` leads from its root axes there.
pub(crate) fn indices_through(graph: &Graph, stage: StageId, through: &Origin, pool: &mut Pool) -> Vec<Expr> {
    let mut values: FxHashMap<AxisId, Expr> = FxHashMap::default();
    for &axis in &graph[stage].data {
        let value = pool.named_var(Vars::value(axis), &graph[axis].name);
        let lo = pool.int(graph[axis].domain.map_or(0, |(lo, _)| lo));
        values.insert(axis, pool.sub(value, lo));
    }
    let zero = pool.int(0);
    let extent = |axis: AxisId| through.extents.get(&axis).map_or(Size::Int(1), |extent| extent.at_least_one());
    for relation in &through.relations {
        match *relation {
            Relation::Split { parent, outer, inner, .. } => {
                let value = values.get(&parent).copied().unwrap_or(zero);
                let factor = extent(inner).expr(pool);
                values.insert(outer, pool.floor_div(value, factor));
                values.insert(inner, pool.floor_mod(value, factor));
            }
            Relation::Fuse { outer, inner, fused } => {
                let (o, i) = [outer, inner].map(|axis| values.get(&axis).copied().unwrap_or(zero)).into();
                let row = extent(inner).expr(pool);
                let scaled = pool.mul(o, row);
                values.insert(fused, pool.add(scaled, i));
            }
        }
    }
    through.declared.iter().map(|axis| values.get(axis).copied().unwrap_or(zero)).collect()
}

/// The axes of the origin of `stage` of which its loops may make more values than there are: the extent of each, and the
/// directive that split it.
pub(crate) fn tails(graph: &Graph, stage: StageId) -> Vec<(AxisId, Size, Loc)> {
    let Some(origin) = &graph[stage].origin else { return Vec::new() };
    let extent = |axis: AxisId| origin.extents.get(&axis).copied().unwrap_or(Size::Int(1));
    let tail = |relation: &Relation| match *relation {
        Relation::Split { parent, outer, inner, loc, .. } => {
            // Whether parts of a size that stays open cover it, their values tell.
            let covered = extent(outer).int().zip(extent(inner).int()).and_then(|(o, i)| o.checked_mul(i));
            let covers = covered.is_some_and(|covered| extent(parent) == covered);
            (!covers).then_some((parent, extent(parent), loc))
        }
        Relation::Fuse { .. } => None,
    };
    origin.relations.iter().filter_map(tail).collect()
}
