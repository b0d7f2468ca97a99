//! Bound inference: which part of each tensor a stage computes, and how long each loop is.
//!
//! From consumers to producers: where a stage is attached fixes the loops outside, and lets run those inside; so each
//! consumer's axes become sets, each read's indices become intervals over them, and the hull of these is the region that
//! the stage computes. The rules are those of TVM 0.16, whose schedules users know:
//!
//! - A loop inside the attach point runs, that of the attach point and those outside are fixed. A loop over threads
//!   runs if the stage's buffer is shared among them, wherever the attach point is.
//! - A loop of one iteration is a point.
//! - A split axis runs whole if both parts do; otherwise it is `outer * extent of inner + inner`, which may reach past
//!   the axis' end: that is where guards come from.
//! - An axis under a fusion is tight while the fusion does not cross a row, and whole otherwise.
//! - A region is cut to the tensor only where both ends are known to lie outside.
//!
//! The result is plain data: nothing here makes IR.

use crate::body::{Arg, Body, Extra, InstKind, Vars, flatten};
use crate::directive::{code_list, loops_of, one_of};
use crate::graph::{Attach, AxisId, Graph, Kind, Relation, StageId};
use crate::operator::Operator;
use crate::scope::Scope;
use rustc_hash::FxHashMap;
use tc_arith::{Analyzer, BinaryOp, Expr, Interval, SymInterval, Var};
use tc_dialects::tir::Coordinate;
use tc_ir::{Func, Loc};
use tc_support::{Diagnostic, Diagnostics};

/// Which values of an axis a stage computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// The least one, over the counters of the loops around the stage.
    pub min: Expr,
    /// How many there are.
    pub extent: i64,
}

/// Why a stage computes what it does: one consumer's read of it.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The consumer.
    pub consumer: StageId,
    /// Where the operator says so.
    pub loc: Loc,
    /// What is read, by dimension, in coordinates of the tensor; an end that is missing is not known.
    pub ends: Vec<SymInterval>,
}

/// What is known of one stage.
#[derive(Clone, Debug)]
pub struct StageBounds {
    /// The values of each root axis: those of the data, then those of the reduction.
    pub ranges: Vec<Range>,
    /// Who demands it.
    pub demands: Vec<Demand>,
    /// Where its buffers lie.
    pub scope: Scope,
    /// The extents of its buffers.
    pub shape: Vec<i64>,
    /// The bytes of its buffers, padding included.
    pub bytes: i64,
}

/// A coordinate of a launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Launch {
    /// The stage at the root of the nest.
    pub nest: StageId,
    /// The coordinate.
    pub coordinate: Coordinate,
    /// Its extent.
    pub extent: i64,
}

/// The bounds of a scheduled operator.
pub struct Bounds {
    /// The stages.
    pub graph: Graph,
    /// The pool of all expressions, and the ranges of the loops' counters.
    pub analyzer: Analyzer,
    /// By stage; nothing for arguments, inlined stages and those that nothing needs.
    pub stages: Vec<Option<StageBounds>>,
    /// By axis: how many values it has.
    pub extents: Vec<i64>,
    /// The launches, by nest in the order in which they run, then by coordinate.
    pub launches: Vec<Launch>,
    /// By axis: its value relative to where it starts, over the counters of loops.
    pub(crate) relative: Vec<Option<Expr>>,
    /// The same as the stage's own code sees it: a thread's number does not count where each thread has a buffer.
    pub(crate) own: Vec<Option<Expr>>,
    pub(crate) bodies: Vec<Body>,
    pub(crate) vars: Vars,
}

impl Bounds {
    /// What is known of `stage`.
    pub fn stage(&self, stage: StageId) -> Option<&StageBounds> {
        self.stages[stage.idx()].as_ref()
    }

    /// `expr` as text, with loops under their names.
    pub fn show(&self, expr: Expr) -> String {
        self.analyzer.pool.display(expr).to_string()
    }

    /// The bytes of shared memory that a block of the nest `nest` needs.
    pub fn shared_bytes(&self, nest: StageId) -> i64 {
        let of = |stage: StageId| self.stage(stage).filter(|bounds| bounds.scope.is_shared()).map_or(0, |bounds| bounds.bytes);
        let stages = self.graph.order.iter().copied().filter(|&stage| self.graph.nest_of(stage) == nest);
        stages.fold(0, |sum, stage| sum.saturating_add(of(stage)))
    }

    /// The extent that a launch coordinate has in the nest of `nest`; 1 if nothing is bound to it.
    pub fn launch_extent(&self, nest: StageId, coordinate: Coordinate) -> i64 {
        let launch = self.launches.iter().find(|launch| launch.nest == nest && launch.coordinate == coordinate);
        launch.map_or(1, |launch| launch.extent)
    }
}

/// Infers the bounds of `graph`, all of whose directives are applied.
pub(crate) fn infer(operator: &Operator<'_>, sched: Option<&Func>, graph: Graph) -> Result<Bounds, Diagnostics> {
    crate::check::check(operator, sched, &graph)?;
    let n_axes = graph.axes.len();
    let n_stages = graph.stages.len();
    let vars = Vars::new(&graph);
    let bounds = Bounds {
        graph,
        analyzer: Analyzer::new(),
        stages: vec![None; n_stages],
        extents: vec![1; n_axes],
        launches: Vec::new(),
        relative: vec![None; n_axes],
        own: vec![None; n_axes],
        bodies: vec![Body::default(); n_stages],
        vars,
    };
    let mut inference = Inference { operator, sched, bounds, expansions: FxHashMap::default(), sets: vec![None; n_axes] };
    inference.run()?;
    let mut bounds = inference.bounds;
    crate::launch::infer(operator, sched, &mut bounds)?;
    Ok(bounds)
}

/// What an axis runs over, relative to where it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Set {
    min: Expr,
    max: Expr,
    /// Is it all that the axis has?
    full: bool,
}

struct Inference<'a> {
    operator: &'a Operator<'a>,
    sched: Option<&'a Func>,
    bounds: Bounds,
    /// What the axes of inlined stages stand for, over axes of stages that are not.
    expansions: FxHashMap<Var, Expr>,
    /// By axis; for one consumer and one producer at a time.
    sets: Vec<Option<Set>>,
}

impl Inference<'_> {
    fn run(&mut self) -> Result<(), Diagnostics> {
        let live = self.bounds.graph.live();
        for stage in self.bounds.graph.order.clone().into_iter().rev() {
            let data = &self.bounds.graph[stage];
            if data.is_arg() || data.attach == Attach::Inline || !live[stage.idx()] {
                continue;
            }
            let Bounds { graph, analyzer, vars, .. } = &mut self.bounds;
            let body = flatten(self.operator, graph, stage, &mut analyzer.pool, vars)?;
            self.bounds.bodies[stage.idx()] = body;
            self.expand_inlined(stage);
            let demands = self.demands(stage)?;
            let ranges = self.ranges(stage, &demands)?;
            self.extents(stage, &ranges)?;
            self.values(stage, &ranges);
            let stage_bounds = self.describe(stage, ranges, demands)?;
            self.bounds.stages[stage.idx()] = Some(stage_bounds);
        }
        Ok(())
    }

    /// Notes what the variables that the body of `stage` introduced stand for.
    fn expand_inlined(&mut self, stage: StageId) {
        let Bounds { analyzer, vars, .. } = &mut self.bounds;
        for (var, (_, home, extra)) in vars.extras() {
            if *home == stage
                && let Extra::Inlined(value) = extra
            {
                let expansions = &self.expansions;
                let value = analyzer.pool.subst_with(*value, &|v| expansions.get(&v).copied());
                self.expansions.insert(var, value);
            }
        }
    }

    /// What each consumer reads of `stage`.
    fn demands(&mut self, stage: StageId) -> Result<Vec<Demand>, Diagnostic> {
        let mut demands = Vec::new();
        for consumer in self.bounds.graph.order.clone() {
            if self.bounds.stages[consumer.idx()].is_none() {
                continue;
            }
            let loads = self.loads(consumer, stage);
            if loads.is_empty() {
                continue;
            }
            let relaxed = self.domain(consumer, stage)?;
            for (loc, indices) in loads {
                let ends = indices.into_iter().map(|index| self.bounds.analyzer.eval_set(index, &relaxed)).collect();
                let demand = Demand { consumer, loc, ends };
                if !demands.iter().any(|other: &Demand| other.consumer == consumer && other.ends == demand.ends) {
                    demands.push(demand);
                }
            }
        }
        Ok(demands)
    }

    /// The indices at which `consumer` reads `stage`.
    fn loads(&mut self, consumer: StageId, stage: StageId) -> Vec<(Loc, Vec<Expr>)> {
        let te = self.operator.te;
        let mut loads: Vec<(Loc, Vec<Expr>)> = Vec::new();
        let body = &self.bounds.bodies[consumer.idx()];
        let blocks = body.init.iter().chain(&body.condition).chain([&body.update]);
        let home = self.bounds.graph[consumer].loc;
        for block in blocks {
            for inst in block.insts.iter().filter(|inst| matches!(inst.kind, InstKind::Load(from) if from.stage == stage)) {
                let loc = inst.op.map_or(home, |op| te.op_locs(op).source);
                let indices = block.args(inst).iter().filter_map(|arg| if let Arg::Index(expr) = arg { Some(*expr) } else { None });
                loads.push((loc, indices.collect()));
            }
        }
        let expansions = &self.expansions;
        for index in loads.iter_mut().flat_map(|(_, indices)| indices) {
            *index = self.bounds.analyzer.pool.subst_with(*index, &|v| expansions.get(&v).copied());
        }
        loads
    }

    /// Does the loop of `leaf` run, as `stage` sees it from inside?
    fn relaxes(&self, leaf: AxisId, inside: bool, scope: Scope) -> bool {
        match self.bounds.graph[leaf].kind {
            Kind::Launch(Coordinate::ThreadX) if scope == Scope::Warp => true,
            kind => match kind.thread_rank() {
                Some(rank) => scope.rank() <= rank,
                None => inside,
            },
        }
    }

    /// What the root axes of `consumer` run over while one part of `stage` is computed.
    fn domain(&mut self, consumer: StageId, stage: StageId) -> Result<Vec<(Var, SymInterval)>, Diagnostic> {
        let scope = self.bounds.graph.scope_of(stage);
        let attach = match self.bounds.graph[stage].attach {
            Attach::At(axis) => Some(self.bounds.graph.leaf_of(axis)),
            _ => None,
        };
        let mut found = false;
        for leaf in self.bounds.graph[consumer].leaves.clone().into_iter().rev() {
            found |= attach == Some(leaf);
            let (last, counter) = self.counter(leaf);
            let zero = self.bounds.analyzer.pool.int(0);
            let set = if self.bounds.extents[leaf.idx()] == 1 || self.relaxes(leaf, !found, scope) {
                Set { min: zero, max: last, full: true }
            } else {
                Set { min: counter, max: counter, full: false }
            };
            self.sets[leaf.idx()] = Some(set);
        }
        let mut running: Vec<(Var, SymInterval)> = Vec::new();
        for leaf in self.bounds.graph.path(consumer) {
            found |= attach == Some(leaf);
            if self.bounds.extents[leaf.idx()] != 1 && self.relaxes(leaf, !found, scope) {
                let (last, _) = self.counter(leaf);
                let zero = self.bounds.analyzer.pool.int(0);
                running.push((Vars::counter(leaf), SymInterval::new(zero, last)));
            }
        }
        if let Some(attach) = attach
            && !found
        {
            return Err(self.not_inside(stage, consumer, attach));
        }
        self.pass_up(consumer);
        Ok(self.root_sets(consumer, &running))
    }

    /// The last value of the counter of `leaf`, and the counter.
    fn counter(&mut self, leaf: AxisId) -> (Expr, Expr) {
        let extent = self.bounds.extents[leaf.idx()];
        let pool = &mut self.bounds.analyzer.pool;
        (pool.int((extent - 1).max(0)), pool.named_var(Vars::counter(leaf), &self.bounds.graph[leaf].name))
    }

    /// From the sets of the leaves of `stage` to those of its root axes.
    fn pass_up(&mut self, stage: StageId) {
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

    fn full_set(&mut self, axis: AxisId) -> Set {
        let extent = self.bounds.extents[axis.idx()];
        let pool = &mut self.bounds.analyzer.pool;
        Set { min: pool.int(0), max: pool.int((extent - 1).max(0)), full: true }
    }

    fn split_set(&mut self, parent: AxisId, inner: AxisId, o: Set, i: Set) -> Set {
        if o.full && i.full {
            return self.full_set(parent);
        }
        let factor = self.bounds.extents[inner.idx()];
        let az = &mut self.bounds.analyzer;
        let factor = az.pool.int(factor);
        let [min, max] = [(o.min, i.min), (o.max, i.max)].map(|(o, i)| {
            let scaled = az.pool.mul(o, factor);
            let sum = az.pool.add(scaled, i);
            az.simplify(sum)
        });
        Set { min, max, full: false }
    }

    fn fuse_sets(&mut self, outer: AxisId, inner: AxisId, set: Set) -> (Set, Set) {
        if set.full {
            return (self.full_set(outer), self.full_set(inner));
        }
        let row = self.bounds.extents[inner.idx()].max(1);
        let whole = self.full_set(inner);
        let az = &mut self.bounds.analyzer;
        let by = az.pool.int(row);
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
        let aligned = length.is_some_and(|length| row % length == 0 && az.modular(set.min).residue(length) == Some(0));
        if !aligned {
            return (outer, whole);
        }
        let (min, max) = (remainder(az, set.min), remainder(az, set.max));
        (outer, Set { min, max, full: false })
    }

    /// The sets of the root axes as intervals of their values, `running` loops around the stage included.
    fn root_sets(&mut self, stage: StageId, running: &[(Var, SymInterval)]) -> Vec<(Var, SymInterval)> {
        let roots: Vec<AxisId> = self.bounds.graph[stage].roots().collect();
        let mins: Vec<Expr> = self.bounds.stages[stage.idx()].iter().flat_map(|bounds| &bounds.ranges).map(|range| range.min).collect();
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
        let opaque = self.bounds.vars.extras().filter(|(_, (_, home, extra))| *home == stage && matches!(extra, Extra::Opaque(_)));
        relaxed.extend(opaque.map(|(var, _)| (var, SymInterval::FULL)));
        relaxed
    }

    /// The values of the root axes that `stage` computes: the hull of what is demanded; of a result, all.
    fn ranges(&mut self, stage: StageId, demands: &[Demand]) -> Result<Vec<Range>, Diagnostic> {
        let data = &self.bounds.graph[stage];
        let (whole, n_data) = (data.output, data.data.len());
        let roots: Vec<AxisId> = data.roots().collect();
        let mut ranges = Vec::with_capacity(roots.len());
        for (nth, axis) in roots.into_iter().enumerate() {
            let (lo, extent) = self.bounds.graph[axis].domain.unwrap_or((0, 1));
            let declared = Range { min: self.bounds.analyzer.pool.int(lo), extent };
            let range = if whole || nth >= n_data { declared } else { self.hull(nth, declared, lo, demands) };
            ranges.push(range);
        }
        self.check_visible(stage, &ranges)?;
        Ok(ranges)
    }

    fn hull(&mut self, nth: usize, declared: Range, lo: i64, demands: &[Demand]) -> Range {
        let mut hull: Option<(Expr, Expr)> = None;
        for demand in demands {
            let Some(&ends) = demand.ends.get(nth) else { continue };
            let Some((min, max)) = self.cut(ends, declared.extent) else { return declared };
            hull = Some(match hull {
                None => (min, max),
                Some((least, greatest)) => (self.pick(BinaryOp::Min, least, min), self.pick(BinaryOp::Max, greatest, max)),
            });
        }
        let Some((min, max)) = hull else { return declared };
        let az = &mut self.bounds.analyzer;
        let width = az.pool.sub(max, min);
        let width = az.simplify(width);
        let extent = match az.pool.as_const(width) {
            Some(width) => width.checked_add(1),
            // The region's size varies: a buffer takes the greatest; more than the tensor it never needs.
            None => az.bounds(width).max().and_then(|width| width.checked_add(1)).filter(|&extent| extent < declared.extent),
        };
        let Some(extent) = extent.filter(|&extent| extent >= 0) else { return declared };
        let lo = az.pool.int(lo);
        let min = az.pool.add(min, lo);
        Range { min: az.simplify(min), extent }
    }

    /// The interval, or the whole dimension where both ends are known to lie on or outside it; `None` where an end is
    /// not known.
    fn cut(&mut self, ends: SymInterval, extent: i64) -> Option<(Expr, Expr)> {
        let (min, max) = (ends.min?, ends.max?);
        let az = &mut self.bounds.analyzer;
        let (low, high): (Interval, Interval) = (az.bounds(min), az.bounds(max));
        if low.all_at_most(0) && high.all_at_least(extent - 1) {
            return Some((az.pool.int(0), az.pool.int(extent - 1)));
        }
        Some((min, max))
    }

    /// The lesser or the greater of two ends.
    fn pick(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Expr {
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
    fn extents(&mut self, stage: StageId, ranges: &[Range]) -> Result<(), Diagnostic> {
        let Bounds { graph, extents, .. } = &mut self.bounds;
        let data = &graph[stage];
        for (axis, range) in data.roots().zip(ranges) {
            extents[axis.idx()] = range.extent;
        }
        let bound = bound_below(graph, stage);
        for relation in &data.relations {
            match *relation {
                Relation::Split { parent, outer, inner, factor, nparts, .. } => {
                    let extent = extents[parent.idx()];
                    let (given, other) = if nparts { (outer, inner) } else { (inner, outer) };
                    // A launch has the extent that was asked for, so that stages agree on it.
                    let keeps = extent == 0 || bound.contains(&given);
                    extents[given.idx()] = if keeps { factor } else { factor.min(extent) };
                    extents[other.idx()] = extent / factor + i64::from(extent % factor != 0);
                }
                Relation::Fuse { outer, inner, fused } => {
                    let product = extents[outer.idx()].checked_mul(extents[inner.idx()]);
                    extents[fused.idx()] = product.ok_or_else(|| self.operator.overflow(data, "the fused loop"))?;
                }
            }
        }
        let total = data.leaves.iter().try_fold(1i64, |total, leaf| total.checked_mul(extents[leaf.idx()].max(1)));
        total.ok_or_else(|| self.operator.overflow(data, "the loops")).map(drop)
    }

    /// Declares the ranges of the counters of `stage`, and finds the axes' values over them.
    fn values(&mut self, stage: StageId, ranges: &[Range]) {
        let scope = self.bounds.graph.scope_of(stage);
        let Bounds { graph, analyzer, extents, relative, own, .. } = &mut self.bounds;
        let data = &graph[stage];
        for &leaf in &data.leaves {
            let extent = extents[leaf.idx()];
            if extent > 1 {
                analyzer.bind_range(Vars::counter(leaf), Some(0), Some(extent - 1));
            }
        }
        let mut differs = false;
        for &leaf in &data.leaves {
            let counter = analyzer.pool.named_var(Vars::counter(leaf), &graph[leaf].name);
            let zero = analyzer.pool.int(0);
            let value = if extents[leaf.idx()] <= 1 { zero } else { counter };
            let hidden = graph[leaf].kind.thread_rank().is_some_and(|rank| scope.rank() > rank)
                && !(scope == Scope::Warp && graph[leaf].kind == Kind::Launch(Coordinate::ThreadX));
            relative[leaf.idx()] = Some(value);
            own[leaf.idx()] = Some(if hidden { zero } else { value });
            differs |= hidden && value != zero;
        }
        up_values(analyzer, graph, stage, extents, relative);
        if differs {
            up_values(analyzer, graph, stage, extents, own);
        } else {
            for axis in data.roots().chain(data.relations.iter().flat_map(|relation| relation.axes())) {
                own[axis.idx()] = relative[axis.idx()];
            }
        }
        for (axis, range) in data.roots().zip(ranges) {
            let relative = relative[axis.idx()].unwrap_or(range.min);
            let value = analyzer.pool.add(range.min, relative);
            let interval = analyzer.bounds(value);
            analyzer.bind_range(Vars::value(axis), interval.min(), interval.max());
        }
    }

    fn describe(&self, stage: StageId, ranges: Vec<Range>, demands: Vec<Demand>) -> Result<StageBounds, Diagnostic> {
        let data = &self.bounds.graph[stage];
        let shape: Vec<i64> = ranges[..data.data.len()].iter().map(|range| range.extent).collect();
        let strides = crate::lower::strides(&self.bounds.graph, stage, &shape);
        let n_elems = match (&strides, shape.first()) {
            (Some(strides), Some(&first)) => strides.first().and_then(|stride| stride.checked_mul(first)),
            _ => shape.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent)),
        };
        let te = self.operator.te;
        let bytes = data.tensors.iter().try_fold(0i64, |sum, tensor| {
            let each = te.as_scalar(tensor.elem).map_or(1, |scalar| i64::from(scalar.bytes()));
            n_elems?.checked_mul(each)?.checked_add(sum)
        });
        let bytes = bytes.ok_or_else(|| self.operator.overflow(data, "the buffer"))?;
        Ok(StageBounds { ranges, demands, scope: self.bounds.graph.scope_of(stage), shape, bytes })
    }

    /// Refuses a region that depends on loops which are not around the stage.
    fn check_visible(&self, stage: StageId, ranges: &[Range]) -> Result<(), Diagnostic> {
        let graph = &self.bounds.graph;
        let around = graph.path(stage);
        for range in ranges {
            for var in self.bounds.analyzer.pool.vars(range.min) {
                if around.iter().any(|&leaf| Vars::counter(leaf) == var) {
                    continue;
                }
                let Some(leaf) = (0..graph.axes.len() as u32).map(AxisId).find(|&axis| Vars::counter(axis) == var) else { continue };
                return Err(self.not_visible(stage, leaf));
            }
        }
        Ok(())
    }

    fn location(&self, loc: Loc) -> tc_support::Location {
        self.sched.map_or(tc_support::Location::None, |sched| sched.location(loc))
    }

    fn not_visible(&self, stage: StageId, leaf: AxisId) -> Diagnostic {
        let graph = &self.bounds.graph;
        let (data, owner) = (&graph[stage], graph[leaf].stage);
        let scope = graph.scope_of(stage).name();
        let loc = if data.attach_loc == Loc::NONE { data.made_by } else { data.attach_loc };
        let text = format!(
            "`{}` lies in {scope} memory, of which each `{}` of `{}` has its own, but it is computed outside that loop",
            data.name, graph[leaf].name, graph[owner].name
        );
        let leaves = &graph[owner].leaves;
        let start = graph.leaf_position(leaf).unwrap_or(0);
        let inside: Vec<&str> = leaves[start..].iter().map(|&leaf| &*graph[leaf].name).collect();
        let help = format!("compute it at {} of `{}`, or let it lie in a wider scope", one_of(&inside), graph[owner].name);
        let diagnostic = Diagnostic::error("scope-too-narrow", self.location(loc), text).help(help);
        diagnostic.label(self.location(graph[leaf].kind_loc), format!("`{}` is bound here", graph[leaf].name))
    }

    fn not_inside(&self, stage: StageId, consumer: StageId, attach: AxisId) -> Diagnostic {
        let graph = &self.bounds.graph;
        let data = &graph[stage];
        let (owner, reader) = (&graph[graph[attach].stage], &graph[consumer]);
        let text = format!(
            "`{}` is computed at `{}` of `{}`, and `{}`, which reads it, does not stand inside that loop",
            data.name, graph[attach].name, owner.name, reader.name
        );
        let mut around: Vec<&str> = graph[consumer].leaves.iter().map(|&leaf| &*graph[leaf].name).collect();
        around.extend(graph.path(consumer).into_iter().map(|leaf| &*graph[leaf].name));
        let help = match around[..] {
            [] => format!("`compute_root({})`", data.name),
            _ => format!("around the reads of `{}` are the loops {}", reader.name, code_list(&around)),
        };
        let diagnostic = Diagnostic::error("attach-outside", self.location(data.attach_loc), text);
        diagnostic.label(self.operator.te.location(reader.loc), format!("`{}` reads it here", reader.name)).note(loops_of(graph, consumer)).help(help)
    }
}

impl Relation {
    /// The axes that it relates.
    fn axes(&self) -> [AxisId; 3] {
        match *self {
            Relation::Split { parent, outer, inner, .. } => [parent, outer, inner],
            Relation::Fuse { outer, inner, fused } => [outer, inner, fused],
        }
    }
}

/// The axes of `stage` of which something is bound to a launch coordinate or to virtual threads.
fn bound_below(graph: &Graph, stage: StageId) -> Vec<AxisId> {
    let data = &graph[stage];
    let mut bound: Vec<AxisId> = data.leaves.iter().copied().filter(|&leaf| graph[leaf].kind.thread_rank().is_some()).collect();
    if bound.is_empty() {
        return bound;
    }
    for relation in data.relations.iter().rev() {
        match *relation {
            Relation::Split { parent, outer, inner, .. } if bound.contains(&outer) || bound.contains(&inner) => bound.push(parent),
            Relation::Fuse { outer, inner, fused } if bound.contains(&fused) => bound.extend([outer, inner]),
            _ => {}
        }
    }
    bound
}

/// From the values of the leaves of `stage` to those of the axes that they were made of.
fn up_values(az: &mut Analyzer, graph: &Graph, stage: StageId, extents: &[i64], values: &mut [Option<Expr>]) {
    for relation in graph[stage].relations.iter().rev() {
        match *relation {
            Relation::Split { parent, outer, inner, .. } => {
                let (Some(o), Some(i)) = (values[outer.idx()], values[inner.idx()]) else { continue };
                let factor = az.pool.int(extents[inner.idx()]);
                let scaled = az.pool.mul(o, factor);
                let sum = az.pool.add(scaled, i);
                values[parent.idx()] = Some(az.simplify(sum));
            }
            Relation::Fuse { outer, inner, fused } => {
                let Some(value) = values[fused.idx()] else { continue };
                let row = az.pool.int(extents[inner.idx()].max(1));
                let (quotient, remainder) = (az.pool.floor_div(value, row), az.pool.floor_mod(value, row));
                values[outer.idx()] = Some(az.simplify(quotient));
                values[inner.idx()] = Some(az.simplify(remainder));
            }
        }
    }
}
