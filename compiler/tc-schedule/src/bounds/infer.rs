//! The inference itself, a stage at a time, consumers first.

use super::fetch::ReadSet;
use super::region::reaches_beyond;
use super::{Bounds, Demand, Taken};
use crate::body::{Body, Extra, InstKind, Vars, flatten};
use crate::check::{Extent, check};
use crate::diagnostic::{ScheduleDiagnostic, ScheduleDiagnostics};
use crate::graph::{Attach, AxisId, Graph, Kind, StageId};
use crate::operator::Operator;
use crate::scope::Scope;
use crate::size::Size;
use rustc_hash::FxHashMap;
use tc_arith::{Expr, SymInterval, Var};
use tc_dialects::tir::Coordinate;
use tc_ir::{Func, Loc};

/// Infers the bounds of `graph`, all of whose directives are applied, or as many as `extent` says.
pub(crate) fn infer(
    operator: &Operator<'_>,
    sched: Option<&Func>,
    graph: Graph,
    extent: Extent,
) -> Result<Bounds, ScheduleDiagnostics> {
    check(operator, sched, &graph, extent)?;
    let n_axes = graph.axes.len();
    let n_stages = graph.stages.len();
    let vars = Vars::new(&graph);
    let analyzer = operator.symbols.analyzer(&graph.pool);
    let bounds = Bounds {
        graph,
        analyzer,
        stages: vec![None; n_stages],
        extents: vec![Size::Int(1); n_axes],
        launches: Vec::new(),
        relative: vec![None; n_axes],
        bodies: vec![Body::default(); n_stages],
        vars,
    };
    let mut inference = Inference {
        operator,
        sched,
        bounds,
        expansions: FxHashMap::default(),
        sets: vec![None; n_axes],
        beyond: false,
    };
    inference.run()?;
    let mut bounds = inference.bounds;
    super::symbolic::check(operator, sched, &bounds)?;
    super::launch::infer(operator, sched, &mut bounds)?;
    Ok(bounds)
}

/// What an axis runs over, relative to where it starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Set {
    pub(super) min: Expr,
    pub(super) max: Expr,
    /// Is it all that the axis has?
    pub(super) full: bool,
}

/// A read of a stage.
struct Load {
    loc: Loc,
    indices: Vec<Expr>,
    /// The number of the block of the reader's body.
    block: usize,
}

/// What the root axes of a consumer run over, and how the loops around it were taken.
type Domain = (Vec<(Var, SymInterval)>, Vec<(AxisId, Taken)>);

pub(super) struct Inference<'a> {
    pub(super) operator: &'a Operator<'a>,
    pub(super) sched: Option<&'a Func>,
    pub(super) bounds: Bounds,
    /// What the axes of inlined stages stand for, over axes of stages that are not.
    pub(super) expansions: FxHashMap<Var, Expr>,
    /// By axis; for one consumer and one producer at a time.
    pub(super) sets: Vec<Option<Set>>,
    /// May that producer hold more than its tensor has, so that the consumer's tiles are demanded whole?
    pub(super) beyond: bool,
}

impl Inference<'_> {
    fn run(&mut self) -> Result<(), ScheduleDiagnostics> {
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
            self.values(stage, &ranges)?;
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
    fn demands(&mut self, stage: StageId) -> Result<Vec<Demand>, ScheduleDiagnostic> {
        let mut demands: Vec<Demand> = Vec::new();
        for consumer in self.bounds.graph.order.clone() {
            if self.bounds.stages[consumer.idx()].is_none() {
                continue;
            }
            let loads = self.loads(consumer, stage);
            if loads.is_empty() {
                continue;
            }
            self.check_init(consumer, stage)?;
            let (relaxed, loops) = self.domain(consumer, stage)?;
            for Load { loc, indices, block } in loads {
                let ReadSet { ends, fetched, scattered } = self.read(consumer, block, &indices, &relaxed);
                let demand = Demand { consumer, loc, ends, loops: loops.clone(), fetched, scattered };
                match demands.iter_mut().find(|other| other.consumer == consumer && other.ends == demand.ends) {
                    Some(other) => other.fetched.extend(demand.fetched),
                    None => demands.push(demand),
                }
            }
        }
        Ok(demands)
    }

    /// The indices at which `consumer` reads `stage`.
    fn loads(&mut self, consumer: StageId, stage: StageId) -> Vec<Load> {
        let te = self.operator.te;
        let mut loads: Vec<Load> = Vec::new();
        let home = self.bounds.graph[consumer].loc;
        for (nth, block) in self.bounds.bodies[consumer.idx()].blocks().enumerate() {
            for inst in
                block.insts.iter().filter(|inst| matches!(inst.kind, InstKind::Load(from) if from.stage == stage))
            {
                let loc = inst.op.map_or(home, |op| te.op_locs(op).source);
                loads.push(Load { loc, indices: block.indices(inst), block: nth });
            }
        }
        for index in loads.iter_mut().flat_map(|load| &mut load.indices) {
            *index = self.expanded(*index);
        }
        loads
    }

    /// `index` over axes of stages that are not inlined.
    pub(super) fn expanded(&mut self, index: Expr) -> Expr {
        let expansions = &self.expansions;
        self.bounds.analyzer.pool.subst_with(index, &|v| expansions.get(&v).copied())
    }

    /// How the loop of `leaf` is taken, as `stage` sees it, from inside or not.
    fn taken(&self, leaf: AxisId, inside: bool, scope: Scope) -> Taken {
        if self.bounds.extents[leaf.idx()] == 1 {
            return Taken::Point;
        }
        match self.bounds.graph[leaf].kind {
            Kind::Launch(Coordinate::ThreadX) if scope.is_per_warp() => Taken::Shared,
            // One thread plays them one after the other, so a buffer of its own serves those inside.
            Kind::Vthread if inside => Taken::Inside,
            kind => match kind.thread_rank() {
                Some(rank) if scope.rank() <= rank => Taken::Shared,
                None if inside => Taken::Inside,
                _ => Taken::Fixed,
            },
        }
    }

    /// The loops that the regions of `stage` may depend on: those around it, innermost first, then others that are bound
    /// to a coordinate of the launch, which has the same number everywhere.
    fn around(&self, stage: StageId, path: &[AxisId]) -> Vec<AxisId> {
        let mut around = path.to_vec();
        let ranges = self.bounds.stages[stage.idx()].iter().flat_map(|bounds| &bounds.ranges);
        for leaf in ranges.flat_map(|range| self.bounds.vars.counters(&self.bounds.analyzer.pool, range.min)) {
            if !around.contains(&leaf) {
                around.push(leaf);
            }
        }
        around
    }

    /// What the root axes of `consumer` run over while one part of `stage` is computed.
    fn domain(&mut self, consumer: StageId, stage: StageId) -> Result<Domain, ScheduleDiagnostic> {
        // What is computed at the root is computed whole, wherever it lies.
        let (scope, attach) = match self.bounds.graph[stage].attach {
            Attach::At(axis) => (self.bounds.graph.scope_of(stage), Some(self.bounds.graph.leaf_of(axis))),
            _ => (Scope::Global, None),
        };
        self.beyond = reaches_beyond(&self.bounds.graph, stage);
        let mut found = false;
        let mut loops = Vec::new();
        for leaf in self.bounds.graph[consumer].leaves.clone().into_iter().rev() {
            found |= attach == Some(leaf);
            let (last, counter) = self.counter(leaf);
            let zero = self.bounds.analyzer.pool.int(0);
            let taken = self.taken(leaf, !found, scope);
            loops.push((leaf, taken));
            let set = if taken != Taken::Fixed {
                Set { min: zero, max: last, full: true }
            } else {
                Set { min: counter, max: counter, full: false }
            };
            self.sets[leaf.idx()] = Some(set);
        }
        let mut running: Vec<(Var, SymInterval)> = Vec::new();
        let path = self.bounds.graph.path(consumer);
        for leaf in self.around(consumer, &path) {
            found |= attach == Some(leaf) && path.contains(&leaf);
            let taken = self.taken(leaf, !found, scope);
            loops.push((leaf, taken));
            if taken.runs() {
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
        self.free_fetched(&mut running);
        self.pass_up(consumer);
        Ok((self.root_sets(consumer, &running), loops))
    }
}
