//! The region that a stage computes, and what follows: extents of loops, values of axes, sizes of buffers.

use super::infer::Inference;
use super::{Bounds, Demand, Range, StageBounds};
use crate::body::Vars;
use crate::diagnostic::ScheduleDiagnostic;
use crate::graph::{Attach, AxisId, Graph, Relation, StageId};
use crate::scope::Scope;
use crate::size::Size;
use tc_arith::{Analyzer, BinaryOp, Expr, Interval, SymInterval};

impl Inference<'_> {
    /// The values of the root axes that `stage` computes: the hull of what is demanded; of a result, all.
    pub(super) fn ranges(&mut self, stage: StageId, demands: &[Demand]) -> Result<Vec<Range>, ScheduleDiagnostic> {
        let data = &self.bounds.graph[stage];
        let (whole, n_data) = (data.output, data.data.len());
        let beyond = reaches_beyond(&self.bounds.graph, stage);
        let roots: Vec<AxisId> = data.roots().collect();
        let mut ranges = Vec::with_capacity(roots.len());
        for (nth, axis) in roots.into_iter().enumerate() {
            let (lo, extent) = self.bounds.graph[axis].domain.unwrap_or((0, Size::Int(1)));
            let declared = Range { min: self.bounds.analyzer.pool.int(lo), extent };
            let range = if whole || nth >= n_data { declared } else { self.hull(nth, (declared, beyond), lo, demands) };
            ranges.push(self.padded(stage, axis, range));
        }
        self.check_visible(stage, &ranges)?;
        Ok(ranges)
    }

    /// The range of `axis`, up to the next multiple of what its elements are padded to, if it begins at one.
    fn padded(&mut self, stage: StageId, axis: AxisId, range: Range) -> Range {
        let multiple = self.bounds.graph[stage].parts.iter().find_map(|part| part.multiple_of(axis));
        let Some(multiple) = multiple else { return range };
        let az = &mut self.bounds.analyzer;
        if az.modular(range.min).residue(multiple) != Some(0) {
            return range;
        }
        let parts = range.extent.div_ceil(az, multiple);
        Range { extent: parts.times(az, Size::Int(multiple)).unwrap_or(range.extent), ..range }
    }

    /// What all demands come to in a dimension. A tile that may reach beyond the tensor is as large as it is demanded.
    pub(super) fn hull(&mut self, nth: usize, (declared, beyond): (Range, bool), lo: i64, demands: &[Demand]) -> Range {
        let mut hull: Option<(Expr, Expr)> = None;
        for demand in demands {
            let Some(&ends) = demand.ends.get(nth) else { continue };
            let demanded = if beyond { ends.min.zip(ends.max) } else { self.cut(ends, declared.extent) };
            let Some((min, max)) = demanded else { return declared };
            hull = Some(match hull {
                None => (min, max),
                Some((least, greatest)) => {
                    (self.pick(BinaryOp::Min, least, min), self.pick(BinaryOp::Max, greatest, max))
                }
            });
        }
        let Some((min, max)) = hull else { return declared };
        let az = &mut self.bounds.analyzer;
        let width = az.pool.sub(max, min);
        let width = az.simplify(width);
        let extent = match az.pool.as_const(width) {
            Some(width) => width.checked_add(1).map(Size::Int),
            // The region's size varies: a buffer takes the greatest; more than the tensor it never needs.
            None => super::symbolic::greatest(az, width, (min, max), declared.extent),
        };
        let extent = extent.filter(|&extent| !matches!(extent, Size::Int(..0)));
        let Some(extent) = extent else { return declared };
        let lo = az.pool.int(lo);
        let min = az.pool.add(min, lo);
        Range { min: az.simplify(min), extent }
    }

    /// The interval, or the whole dimension where both ends are known to lie on or outside it; `None` where an end is
    /// not known.
    pub(super) fn cut(&mut self, ends: SymInterval, extent: Size) -> Option<(Expr, Expr)> {
        let (min, max) = (ends.min?, ends.max?);
        let az = &mut self.bounds.analyzer;
        let low: Interval = az.bounds(min);
        let whole = match extent {
            Size::Int(extent) => low.all_at_most(0) && az.bounds(max).all_at_least(extent - 1),
            Size::Expr(_) => low.all_at_most(0) && super::symbolic::reaches_end(az, max, extent),
        };
        if whole {
            let last = match extent {
                Size::Int(extent) => az.pool.int(extent - 1),
                Size::Expr(_) => extent.last(az),
            };
            return Some((az.pool.int(0), last));
        }
        Some((min, max))
    }

    /// The lesser or the greater of two ends.
    pub(super) fn pick(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Expr {
        if a == b {
            return a;
        }
        let az = &mut self.bounds.analyzer;
        let difference = az.pool.sub(a, b);
        let interval = az.bounds(difference);
        let (a_is_less, b_is_less) = (interval.all_at_most(0), interval.all_at_least(0));
        match op {
            BinaryOp::Min if a_is_less => a,
            BinaryOp::Min if b_is_less => b,
            BinaryOp::Max if a_is_less => b,
            BinaryOp::Max if b_is_less => a,
            _ => {
                let end = az.pool.binary(op, a, b);
                az.simplify(end)
            }
        }
    }

    /// From the extents of the root axes to those of the leaves.
    pub(super) fn extents(&mut self, stage: StageId, ranges: &[Range]) -> Result<(), ScheduleDiagnostic> {
        let Bounds { graph, extents, analyzer, .. } = &mut self.bounds;
        let data = &graph[stage];
        for (axis, range) in data.roots().zip(ranges) {
            extents[axis.idx()] = range.extent;
        }
        let bound = bound_below(graph, stage);
        let whole = whole_tiles(graph, stage);
        for relation in &data.relations {
            match *relation {
                Relation::Split { parent, outer, inner, factor, nparts, .. } => {
                    let extent = extents[parent.idx()];
                    let (given, other) = if nparts { (outer, inner) } else { (inner, outer) };
                    // A launch has the extent that was asked for, so that stages agree on it.
                    // So has a loop over a tile that an intrinsic does as a whole.
                    let keeps = extent == 0 || bound.contains(&given) || whole.contains(&given);
                    extents[given.idx()] = if keeps { Size::Int(factor) } else { extent.at_most(factor) };
                    extents[other.idx()] = extent.div_ceil(analyzer, factor);
                }
                Relation::Fuse { outer, inner, fused } => {
                    let product = extents[outer.idx()].times(analyzer, extents[inner.idx()]);
                    extents[fused.idx()] = product.ok_or_else(|| self.operator.overflow(data, "the fused loop"))?;
                }
            }
        }
        let mut known = data.leaves.iter().filter_map(|leaf| extents[leaf.idx()].int());
        let total = known.try_fold(1i64, |total, extent| total.checked_mul(extent.max(1)));
        total.ok_or_else(|| self.operator.overflow(data, "the loops"))?;
        Ok(())
    }

    /// Declares the ranges of the counters of `stage`, and finds the axes' values over them.
    pub(super) fn values(&mut self, stage: StageId, ranges: &[Range]) -> Result<(), ScheduleDiagnostic> {
        self.check_private(stage)?;
        let Bounds { graph, analyzer, extents, relative, .. } = &mut self.bounds;
        let data = &graph[stage];
        for &leaf in &data.leaves {
            match extents[leaf.idx()] {
                Size::Int(extent) if extent > 1 => analyzer.bind_range(Vars::counter(leaf), Some(0), Some(extent - 1)),
                Size::Int(_) => {}
                Size::Expr(extent) => {
                    let zero = analyzer.pool.int(0);
                    analyzer.bind(Vars::counter(leaf), zero, extent);
                }
            }
        }
        for &leaf in &data.leaves {
            let counter = analyzer.pool.named_var(Vars::counter(leaf), &graph[leaf].name);
            let zero = analyzer.pool.int(0);
            relative[leaf.idx()] = Some(if extents[leaf.idx()].is_several() { counter } else { zero });
        }
        up_values(analyzer, graph, stage, extents, relative);
        for (axis, range) in data.roots().zip(ranges) {
            let relative = relative[axis.idx()].unwrap_or(range.min);
            let value = analyzer.pool.add(range.min, relative);
            let interval = analyzer.bounds(value);
            analyzer.bind_range(Vars::value(axis), interval.min(), interval.max());
        }
        Ok(())
    }

    /// Refuses a loop over threads of a stage of which each thread needs more than one of its iterations for itself.
    fn check_private(&self, stage: StageId) -> Result<(), ScheduleDiagnostic> {
        let graph = &self.bounds.graph;
        let mut leaves = graph[stage].leaves.iter().copied();
        match leaves.find(|&leaf| self.bounds.extents[leaf.idx()].is_several() && graph.is_private(leaf)) {
            Some(leaf) => Err(self.private_loop(stage, leaf)),
            None => Ok(()),
        }
    }

    pub(super) fn describe(
        &mut self,
        stage: StageId,
        ranges: Vec<Range>,
        demands: Vec<Demand>,
    ) -> Result<StageBounds, ScheduleDiagnostic> {
        let mut shape = self.shape(stage, &ranges)?;
        let data = &self.bounds.graph[stage];
        if let Some(sched) = self.sched
            && let Some(numbers) = shape.iter().map(|extent| extent.int()).collect::<Option<Vec<i64>>>()
        {
            for part in data.parts.iter() {
                if let Some(other) = part.shape(sched, data, &numbers)? {
                    shape = other.into_iter().map(Size::Int).collect();
                }
            }
        }
        let mut is_open = false;
        let mut most = Vec::with_capacity(shape.len());
        for extent in &shape {
            is_open |= extent.int().is_none();
            most.push(extent.most(&mut self.bounds.analyzer).unwrap_or(i64::MAX));
        }
        let data = &self.bounds.graph[stage];
        let strides = crate::lower::strides(&self.bounds.graph, stage, &most);
        let n_elems = match (&strides, most.first()) {
            (Some(strides), Some(&first)) => strides.first().and_then(|stride| stride.checked_mul(first)),
            _ => most.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent)),
        };
        let te = self.operator.te;
        let bytes = data.tensors.iter().try_fold(0i64, |sum, tensor| {
            let each = te.as_scalar(tensor.elem).map_or(1, |scalar| i64::from(scalar.bytes()));
            n_elems?.checked_mul(each)?.checked_mul(self.bounds.graph.n_buffers(stage))?.checked_add(sum)
        });
        let bytes = match bytes {
            None if is_open => i64::MAX,
            _ => bytes.ok_or_else(|| self.operator.overflow(data, "the buffer"))?,
        };
        Ok(StageBounds { ranges, demands, scope: self.bounds.graph.scope_of(stage), shape, bytes })
    }
}

/// May the buffer of `stage` hold more than its tensor has: sums that nothing reads, or what boxes have beyond it?
pub(super) fn reaches_beyond(graph: &Graph, stage: StageId) -> bool {
    let is_attached = matches!(graph[stage].attach, Attach::At(_));
    is_attached
        && (graph.scope_of(stage) == Scope::WgmmaAccumulator
            || graph[stage].parts.iter().any(|part| part.copied_by_boxes()))
}

/// The axes of `stage` that run over tiles of warpgroup products: those of the sums, and of what reads them inside of where
/// they are computed. A tile may reach beyond the result, and has to be whole.
fn whole_tiles(graph: &Graph, stage: StageId) -> Vec<AxisId> {
    let data = &graph[stage];
    let is_sum = |stage: StageId| graph.scope_of(stage) == Scope::WgmmaAccumulator;
    if is_sum(stage) {
        return data.leaves.clone();
    }
    let at = |other: &StageId| match graph[*other].attach {
        Attach::At(axis) if is_sum(*other) => data.leaves.iter().position(|&leaf| leaf == graph.leaf_of(axis)),
        _ => None,
    };
    let first = graph.order.iter().filter_map(at).min();
    first.map_or(Vec::new(), |first| data.leaves[first + 1..].to_vec())
}

/// The axes of `stage` of which something is bound to threads that share the work. Where each has a part of its own,
/// a loop is as long as that part needs it.
fn bound_below(graph: &Graph, stage: StageId) -> Vec<AxisId> {
    let data = &graph[stage];
    let mut bound: Vec<AxisId> = data
        .leaves
        .iter()
        .copied()
        .filter(|&leaf| graph[leaf].kind.thread_rank().is_some() && !graph.is_private(leaf))
        .collect();
    if bound.is_empty() {
        return bound;
    }
    for relation in data.relations.iter().rev() {
        match *relation {
            Relation::Split { parent, outer, inner, .. } if bound.contains(&outer) || bound.contains(&inner) => {
                bound.push(parent)
            }
            Relation::Fuse { outer, inner, fused } if bound.contains(&fused) => bound.extend([outer, inner]),
            _ => {}
        }
    }
    bound
}

/// From the values of the leaves of `stage` to those of the axes that they were made of.
fn up_values(az: &mut Analyzer, graph: &Graph, stage: StageId, extents: &[Size], values: &mut [Option<Expr>]) {
    for relation in graph[stage].relations.iter().rev() {
        match *relation {
            Relation::Split { parent, outer, inner, .. } => {
                let (Some(o), Some(i)) = (values[outer.idx()], values[inner.idx()]) else { continue };
                let factor = extents[inner.idx()].expr(&mut az.pool);
                let scaled = az.pool.mul(o, factor);
                let sum = az.pool.add(scaled, i);
                values[parent.idx()] = Some(az.simplify(sum));
            }
            Relation::Fuse { outer, inner, fused } => {
                let Some(value) = values[fused.idx()] else { continue };
                let row = extents[inner.idx()].at_least_one().expr(&mut az.pool);
                let (quotient, remainder) = (az.pool.floor_div(value, row), az.pool.floor_mod(value, row));
                values[outer.idx()] = Some(az.simplify(quotient));
                values[inner.idx()] = Some(az.simplify(remainder));
            }
        }
    }
}
