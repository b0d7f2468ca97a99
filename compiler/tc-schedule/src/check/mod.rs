//! What must hold of a graph once the whole schedule is read.
//!
//! A directive that nothing consumes is an error: about the loops or the buffer of a stage that is inlined, about a
//! stage that nothing needs.

mod tiles;

use crate::diagnostic::{ScheduleDiagnostic, ScheduleDiagnostics};
use crate::directive::one_of;
use crate::graph::{Attach, AxisId, Graph, Kind, StageId};
use crate::operator::Operator;
use crate::remedy::{ELSEWHERE, LEAVE_OUT};
use crate::scope::Scope;
use tc_ir::{Func, Loc};
use tc_support::Location;

/// How deep stages may be attached within one another.
const MAX_NEST: usize = 200;

/// A graph under examination.
pub(crate) struct Check<'a> {
    operator: &'a Operator<'a>,
    sched: Option<&'a Func>,
    pub(crate) graph: &'a Graph,
    extent: Extent,
    pub(crate) found: ScheduleDiagnostics,
}

/// How far the schedule has been read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Extent {
    /// To its end.
    Whole,
    /// To a directive: a cache may still lie at the root, waiting for the directive that attaches it.
    Partial,
}

pub(crate) fn check(
    operator: &Operator<'_>,
    sched: Option<&Func>,
    graph: &Graph,
    extent: Extent,
) -> Result<(), ScheduleDiagnostics> {
    let mut check = Check { operator, sched, graph, extent, found: ScheduleDiagnostics::default() };
    let live = graph.live();
    for &stage in &graph.order {
        if graph[stage].is_arg() {
            continue;
        }
        if !live[stage.idx()] {
            check.dead(stage);
            continue;
        }
        match graph[stage].attach {
            Attach::Inline => check.inlined(stage),
            Attach::At(axis) => check.attached(stage, graph.leaf_of(axis)),
            Attach::Root if extent == Extent::Whole => check.at_root(stage),
            Attach::Root => {}
        }
        graph[stage].parts.iter().for_each(|part| part.check(&mut check, stage));
        check.reduced_by_threads(stage);
        for &leaf in &graph[stage].leaves {
            graph[leaf].parts.iter().for_each(|part| part.check(&mut check, stage, leaf));
        }
        check.held_by_a_warp(stage);
    }
    check.found.or(())
}

/// Is something in the nest of `stage` bound to a launch coordinate?
fn is_launched(graph: &Graph, stage: StageId) -> bool {
    let nest = graph.nest_of(stage);
    let bound = |&leaf: &AxisId| matches!(graph[leaf].kind, Kind::Launch(_));
    graph.order.iter().any(|&other| graph.nest_of(other) == nest && graph[other].leaves.iter().any(bound))
}

/// The stages that read `stage`, through those that are inlined.
fn readers(graph: &Graph, stage: StageId) -> Vec<StageId> {
    let mut found = Vec::new();
    let mut seen = vec![false; graph.stages.len()];
    let mut worklist = vec![stage];
    while let Some(at) = worklist.pop() {
        for reader in graph.consumers(at) {
            if std::mem::replace(&mut seen[reader.idx()], true) {
                continue;
            }
            match graph[reader].attach {
                Attach::Inline => worklist.push(reader),
                _ => found.push(reader),
            }
        }
    }
    found
}

impl Check<'_> {
    /// Is the whole schedule read?
    pub(crate) fn is_whole(&self) -> bool {
        self.extent == Extent::Whole
    }

    pub(crate) fn location(&self, loc: Loc) -> Location {
        self.sched.map_or(Location::None, |sched| sched.location(loc))
    }

    /// A stage that nothing needs is left out; what a schedule says of it would be lost.
    fn dead(&mut self, stage: StageId) {
        let data = &self.graph[stage];
        let said = data.touched.map(|(loc, _)| loc).or_else(|| data.placed_by());
        if let Some(loc) = said {
            let text = format!("nothing reads `{}`, so nothing consumes this directive", data.name);
            let error = ScheduleDiagnostic::error("directive-unused", self.location(loc), text);
            self.found.push(error.help("leave it out").fix_its(LEAVE_OUT));
        }
    }

    fn inlined(&mut self, stage: StageId) {
        let data = &self.graph[stage];
        if let Some((loc, by)) = data.touched {
            let text = format!("`{}` is inlined, so nothing consumes this `{by}`", data.name);
            let error = ScheduleDiagnostic::error("directive-unused", self.location(loc), text);
            let place = self.location(data.attach_loc);
            self.found
                .push(error.label(place, "it is inlined here").help("leave out one of the two").fix_its(LEAVE_OUT));
        }
    }

    fn attached(&mut self, stage: StageId, leaf: AxisId) {
        let graph = self.graph;
        let (data, owner) = (&graph[stage], &graph[graph[leaf].stage]);
        if owner.attach == Attach::Inline {
            let text = format!(
                "`{}` is computed at `{}` of `{}`, which is inlined and has no loops",
                data.name, graph[leaf].name, owner.name
            );
            let error = ScheduleDiagnostic::error("attach-inlined", self.location(data.attach_loc), text);
            let readers: Vec<&str> = graph.consumers(graph[leaf].stage).map(|reader| &*graph[reader].name).collect();
            let place = self.location(owner.attach_loc);
            self.found.push(
                error.label(place, "it is inlined here").help(format!("compute it at a loop of {}", one_of(&readers))),
            );
        }
        self.outside_the_kernel(stage, leaf);
        let mut at = stage;
        for depth in 0.. {
            let Attach::At(axis) = graph[at].attach else { break };
            at = graph[graph.leaf_of(axis)].stage;
            if depth > MAX_NEST {
                let text = format!("`{}` stands inside more than {MAX_NEST} other stages", data.name);
                self.found.push(ScheduleDiagnostic::error("attach-depth", self.location(data.attach_loc), text));
                break;
            }
        }
    }

    /// What threads reduce together is one element at a time: no loop over data inside the loops of the reduction.
    fn reduced_by_threads(&mut self, stage: StageId) {
        let graph = self.graph;
        let Some(thread) = graph.reduced_by_threads(stage).next() else { return };
        let leaves = &graph[stage].leaves;
        let first = leaves.iter().position(|&leaf| graph[leaf].reduce).unwrap_or(0);
        if let Some(&inside) = leaves[first..].iter().find(|&&leaf| !graph[leaf].reduce) {
            let text = format!(
                "`{}` is reduced by threads over `{}`, and its loop `{}` over data stands inside the reduction",
                graph[stage].name, graph[thread].name, graph[inside].name
            );
            let (data, reduce): (Vec<AxisId>, Vec<AxisId>) = leaves.iter().partition(|&&leaf| !graph[leaf].reduce);
            let order = graph.names(data.iter().chain(&reduce));
            let error = ScheduleDiagnostic::error("reduction-order", self.location(graph[thread].kind_loc), text);
            self.found.push(error.help(format!("`reorder({})`", order.join(", "))));
        }
    }

    /// A buffer that dies with its kernel is no use in a loop around the kernel.
    fn outside_the_kernel(&mut self, stage: StageId, leaf: AxisId) {
        let graph = self.graph;
        let scope = graph.scope_of(stage);
        let path = graph.path(stage);
        let is_launch = |leaf: AxisId| matches!(graph[leaf].kind, Kind::Launch(_));
        if scope == Scope::Global || path.iter().any(|&leaf| is_launch(leaf)) || !is_launched(graph, stage) {
            return;
        }
        let (data, owner) = (&graph[stage], &graph[graph[leaf].stage]);
        let text = format!(
            "`{}` lies in {} memory, but the loop `{}` of `{}` that it is computed at stands outside the kernel",
            data.name,
            scope.name(),
            graph[leaf].name,
            owner.name
        );
        let inside = graph.names(owner.leaves.iter().skip_while(|&&leaf| !is_launch(leaf)));
        let mut error =
            ScheduleDiagnostic::error("scope-root", self.location(data.attach_loc), text).fix_its(ELSEWHERE);
        if !inside.is_empty() {
            error = error.help(format!("compute it at {}", one_of(&inside)));
        }
        self.found.push(error);
    }

    /// A buffer that dies with its kernel cannot be filled outside of it.
    fn at_root(&mut self, stage: StageId) {
        let graph = self.graph;
        let data = &graph[stage];
        let Some(scope) = data.scope.filter(|&scope| scope != Scope::Global) else { return };
        // What several kernels and the host do in turn outlives each of them.
        let launched = graph.order.iter().any(|&other| is_launched(graph, other));
        let all = readers(graph, stage);
        let in_kernel = all.iter().copied().find(|&reader| is_launched(graph, reader));
        let Some(reader) = in_kernel.or_else(|| all.first().copied().filter(|_| launched)) else { return };
        let name = &data.name;
        // At a loop around the kernel it would still be outside of it.
        let is_launch = |leaf: AxisId| matches!(graph[leaf].kind, Kind::Launch(_));
        let leaves = &graph[reader].leaves;
        let first = leaves.iter().position(|&leaf| is_launch(leaf)).unwrap_or(0);
        let loops = graph.names(&leaves[first..]);
        let text = format!(
            "`{name}` lies in {} memory, but is computed at the root, outside the {} of `{}` that reads it",
            scope.name(),
            if is_launched(graph, reader) { "kernel" } else { "loops" },
            graph[reader].name
        );
        let loc = data.spoken_of_by().unwrap_or(Loc::NONE);
        let error = ScheduleDiagnostic::error("scope-root", self.location(loc), text).fix_its(ELSEWHERE);
        let place = self.operator.te.location(graph[reader].loc);
        let error = error.label(place, format!("`{}` reads it here", graph[reader].name));
        self.found.push(error.help(format!(
            "`compute_at({name}, …)` a loop of `{}`: {}",
            graph[reader].name,
            one_of(&loops)
        )));
    }
}
