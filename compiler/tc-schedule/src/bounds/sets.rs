//! From the sets of a consumer's loops to those of its axes.

use super::infer::{Inference, Set};
use crate::body::{Extra, Vars};
use crate::graph::{AxisId, Relation, StageId};
use crate::size::Size;
use tc_arith::{Analyzer, Expr, SymInterval, Var};

impl Inference<'_> {
    /// The last value of the counter of `leaf`, and the counter.
    pub(super) fn counter(&mut self, leaf: AxisId) -> (Expr, Expr) {
        let last = self.bounds.extents[leaf.idx()].last(&mut self.bounds.analyzer);
        let pool = &mut self.bounds.analyzer.pool;
        (last, pool.named_var(Vars::counter(leaf), &self.bounds.graph[leaf].name))
    }

    /// From the sets of the leaves of `stage` to those of its root axes.
    pub(super) fn pass_up(&mut self, stage: StageId) {
        for nth in (0..self.bounds.graph[stage].relations.len()).rev() {
            match self.bounds.graph[stage].relations[nth] {
                Relation::Split { parent, outer, inner, .. } => {
                    let (Some(o), Some(i)) = (self.sets[outer.idx()], self.sets[inner.idx()]) else { continue };
                    self.sets[parent.idx()] = Some(self.split_set(parent, inner, o, i));
                }
                Relation::Fuse { outer, inner, fused } => {
                    let Some(set) = self.sets[fused.idx()] else { continue };
                    let (o, i) = self.fuse_sets(outer, inner, set);
                    self.sets[outer.idx()] = Some(o);
                    self.sets[inner.idx()] = Some(i);
                }
            }
        }
    }

    pub(super) fn full_set(&mut self, axis: AxisId) -> Set {
        let max = self.bounds.extents[axis.idx()].last(&mut self.bounds.analyzer);
        Set { min: self.bounds.analyzer.pool.int(0), max, full: true }
    }

    pub(super) fn split_set(&mut self, parent: AxisId, inner: AxisId, o: Set, i: Set) -> Set {
        if o.full && i.full && !self.beyond {
            return self.full_set(parent);
        }
        let factor = self.bounds.extents[inner.idx()];
        let az = &mut self.bounds.analyzer;
        let factor = factor.expr(&mut az.pool);
        let [min, max] = [(o.min, i.min), (o.max, i.max)].map(|(o, i)| {
            let scaled = az.pool.mul(o, factor);
            let sum = az.pool.add(scaled, i);
            az.simplify(sum)
        });
        Set { min, max, full: o.full && i.full }
    }

    pub(super) fn fuse_sets(&mut self, outer: AxisId, inner: AxisId, set: Set) -> (Set, Set) {
        if set.full {
            return (self.full_set(outer), self.full_set(inner));
        }
        let row = self.bounds.extents[inner.idx()].at_least_one();
        let whole = self.full_set(inner);
        let az = &mut self.bounds.analyzer;
        let by = row.expr(&mut az.pool);
        let [first, last] = [set.min, set.max].map(|end| {
            let quotient = az.pool.floor_div(end, by);
            az.simplify(quotient)
        });
        let outer = Set { min: first, max: last, full: false };
        let remainder = |az: &mut Analyzer, end: Expr| {
            let remainder = az.pool.floor_mod(end, by);
            az.simplify(remainder)
        };
        if set.min == set.max {
            let point = remainder(az, set.min);
            return (outer, Set { min: point, max: point, full: row == 1 });
        }
        // Within a row if the length divides a row's and the start is a multiple of it.
        let width = az.pool.sub(set.max, set.min);
        let width = az.simplify(width);
        let length = az.pool.as_const(width).and_then(|width| width.checked_add(1)).filter(|&length| length > 0);
        let aligned = length.is_some_and(|length| {
            let divides = match row {
                Size::Int(row) => row % length == 0,
                Size::Expr(row) => az.modular(row).residue(length) == Some(0),
            };
            divides && az.modular(set.min).residue(length) == Some(0)
        });
        if !aligned {
            return (outer, whole);
        }
        let (min, max) = (remainder(az, set.min), remainder(az, set.max));
        (outer, Set { min, max, full: false })
    }

    /// The sets of the root axes as intervals of their values, `running` loops around the stage included.
    pub(super) fn root_sets(&mut self, stage: StageId, running: &[(Var, SymInterval)]) -> Vec<(Var, SymInterval)> {
        let roots: Vec<AxisId> = self.bounds.graph[stage].roots().collect();
        let mins: Vec<Expr> =
            self.bounds.stages[stage.idx()].iter().flat_map(|bounds| &bounds.ranges).map(|range| range.min).collect();
        let mut relaxed = Vec::with_capacity(roots.len());
        for (axis, start) in roots.into_iter().zip(mins) {
            let set = self.sets[axis.idx()].unwrap_or_else(|| self.full_set(axis));
            let az = &mut self.bounds.analyzer;
            let (min, max) = (az.pool.add(start, set.min), az.pool.add(start, set.max));
            let interval = if running.is_empty() {
                SymInterval::new(az.simplify(min), az.simplify(max))
            } else {
                SymInterval { min: az.eval_set(min, running).min, max: az.eval_set(max, running).max }
            };
            relaxed.push((Vars::value(axis), interval));
        }
        // What the algebra does not see into may be anything.
        let opaque = self
            .bounds
            .vars
            .extras()
            .filter(|(_, (_, home, extra))| *home == stage && matches!(extra, Extra::Opaque(_)));
        relaxed.extend(opaque.map(|(var, _)| (var, SymInterval::FULL)));
        relaxed
    }
}
