//! The conditions around statements: tails of splits, and what reaches past a tensor.

use super::{End, Guard, Writer};
use crate::body::Vars;
use crate::bounds::Bounds;
use crate::graph::{AxisId, Relation, StageId};
use crate::origin;
use crate::size::Size;
use tc_arith::Expr;
use tc_ir::Loc;

impl Writer<'_> {
    /// The guards of `stage`: tails of splits, of `init` those of the data alone; and unless it is `bare`, what reaches
    /// past the tensor.
    pub(super) fn guards(&mut self, stage: StageId, init: bool, bare: bool) -> Vec<Guard> {
        let mut guards = Vec::new();
        for (axis, loc) in self.tails(stage) {
            if !(init && self.bounds.graph[axis].reduce) {
                self.tail_guard(stage, axis, loc, &mut guards);
            }
        }
        if !bare {
            self.origin_guards(stage, &mut guards);
        }
        if !bare && !self.bounds.graph[stage].output {
            for axis in self.bounds.graph[stage].data.clone() {
                self.domain_guard(stage, axis, &mut guards);
            }
        }
        guards
    }

    /// What holds of the places that the tensor has that `stage` copies, where it goes on with zeros.
    pub(super) fn fills(&mut self, stage: StageId) -> Vec<Guard> {
        let data = &self.bounds.graph[stage];
        let of = |axis: AxisId| data.parts.iter().find_map(|part| part.filled_beyond(axis)).map(|fill| (axis, fill));
        let filled: Vec<(AxisId, (Size, Loc))> = data.data.iter().copied().filter_map(of).collect();
        let mut fills = Vec::new();
        for (axis, (end, loc)) in filled {
            let Some(&value) = self.full.get(&Vars::value(axis)) else { continue };
            if !end.is_above(&mut self.bounds.analyzer, value) {
                let var = self.bounds.analyzer.pool.var(Vars::value(axis));
                self.push_guard(var, End::High, end, loc, &mut fills);
            }
        }
        fills
    }

    /// The axes of which a split makes more values than there are, and the directive of the split.
    ///
    /// Past the end of an outer part lies past the end of what was split, so the check goes up to that; so it does from
    /// a fusion to its outer axis. An inner part is checked itself: past its end begins the next block.
    fn tails(&mut self, stage: StageId) -> Vec<(AxisId, Loc)> {
        let Bounds { graph, extents, analyzer, .. } = &mut *self.bounds;
        let data = &graph[stage];
        let mut open: Vec<(AxisId, Loc)> = Vec::new();
        let find = |open: &[(AxisId, Loc)], axis: AxisId| open.iter().position(|&(of, _)| of == axis);
        for relation in data.relations.iter().rev() {
            match *relation {
                Relation::Split { parent, outer, inner, loc, .. } => {
                    let covered = extents[outer.idx()].times(analyzer, extents[inner.idx()]);
                    let covers = covered.is_some_and(|covered| covered.is_equal(analyzer, extents[parent.idx()]));
                    let from_outer = find(&open, outer).map(|at| open.remove(at).1);
                    if !covers {
                        open.push((parent, loc));
                    } else if let Some(loc) = from_outer {
                        open.push((parent, loc));
                    }
                }
                Relation::Fuse { outer, fused, .. } => {
                    if let Some(at) = find(&open, fused) {
                        open[at].0 = outer;
                    }
                }
            }
        }
        // Root axes in their order, then inner parts.
        let position = |axis: AxisId| data.roots().position(|root| root == axis).unwrap_or(usize::MAX);
        open.sort_by_key(|&(axis, _)| (position(axis), axis));
        open
    }

    /// The guards of splits of axes that are declared, but are no axes of the stage.
    fn origin_guards(&mut self, stage: StageId, guards: &mut Vec<Guard>) {
        let tails = origin::tails(&self.bounds.graph, stage);
        if tails.is_empty() {
            return;
        }
        let values = origin::values(&self.bounds.graph, stage, &mut self.bounds.analyzer.pool);
        for (axis, extent, loc) in tails {
            let Some(&value) = values.get(&axis) else { continue };
            let full = &self.full;
            let az = &mut self.bounds.analyzer;
            let expanded = az.pool.subst_with(value, &|var| full.get(&var).copied());
            let expanded = az.simplify(expanded);
            if !extent.is_above(az, expanded) {
                self.push_guard(value, End::High, extent, loc, guards);
            }
        }
    }

    fn tail_guard(&mut self, stage: StageId, axis: AxisId, loc: Loc, guards: &mut Vec<Guard>) {
        let extent = self.bounds.extents[axis.idx()];
        let Some(relative) = self.bounds.relative[axis.idx()] else { return };
        if extent.is_above(&mut self.bounds.analyzer, relative) {
            return;
        }
        // Where the axis starts at a number, its value is compared.
        let position = self.bounds.graph[stage].roots().position(|root| root == axis);
        let min = position.and_then(|nth| {
            let range = self.bounds.stages[stage.idx()].as_ref()?.ranges[nth];
            self.bounds.analyzer.pool.as_const(range.min)
        });
        let (value, bound) = match min.and_then(|min| extent.after(&mut self.bounds.analyzer, min)) {
            Some(bound) => (self.bounds.analyzer.pool.var(Vars::value(axis)), bound),
            None => (relative, extent),
        };
        self.push_guard(value, End::High, bound, loc, guards);
    }

    fn domain_guard(&mut self, stage: StageId, axis: AxisId, guards: &mut Vec<Guard>) {
        let Some((lo, extent)) = self.bounds.graph[axis].domain else { return };
        let Some(&value) = self.full.get(&Vars::value(axis)) else { return };
        let interval = self.bounds.analyzer.bounds(value);
        let Some(hi) = extent.after(&mut self.bounds.analyzer, lo) else { return };
        let below = match hi {
            Size::Int(hi) => interval.all_at_most(hi - 1),
            Size::Expr(_) => hi.is_above(&mut self.bounds.analyzer, value),
        };
        let data = &self.bounds.graph[stage];
        let loc = data.placed_by().unwrap_or(Loc::NONE);
        let var = self.bounds.analyzer.pool.var(Vars::value(axis));
        if !interval.all_at_least(lo) {
            self.push_guard(var, End::Low, Size::Int(lo), loc, guards);
        }
        if !below {
            self.push_guard(var, End::High, hi, loc, guards);
        }
    }

    fn push_guard(&mut self, value: Expr, end: End, bound: Size, loc: Loc, guards: &mut Vec<Guard>) {
        let value = self.write(value, None);
        if !guards.iter().any(|guard| (guard.value, guard.end, guard.bound) == (value, end, bound)) {
            guards.push(Guard { value, end, bound, loc });
        }
    }
}
