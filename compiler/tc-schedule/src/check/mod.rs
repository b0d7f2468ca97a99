//! What must hold of a graph once the whole schedule is read.
//!
//! A directive that nothing consumes is an error: about the loops or the buffer of a stage that is inlined, about a
//! stage that nothing needs.

mod copies;
mod tensorize;
mod tiles;

use crate::directive::one_of;
use crate::graph::{Attach, AxisId, Graph, Kind, StageId};
use crate::operator::Operator;
use crate::scope::Scope;
use tc_ir::{Func, Loc};
use tc_support::{Diagnostic, Diagnostics, Location};

/// How deep stages may be attached within one another.
const MAX_NEST: usize = 200;

struct Check<'a> {
    operator: &'a Operator<'a>,
    sched: Option<&'a Func>,
    graph: &'a Graph,
    found: Diagnostics,
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
) -> Result<(), Diagnostics> {
    let mut check = Check { operator, sched, graph, found: Diagnostics::new() };
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
        if extent == Extent::Whole {
            check.kept(stage);
            check.pipelines(stage);
            check.asynchronous(stage);
            check.swizzled(stage);
        }
        check.reduced_by_threads(stage);
        check.tensorized(stage);
        check.held_by_a_warp(stage);
    }
    if check.found.has_errors() { Err(check.found) } else { Ok(()) }
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
    let mut pending = vec![stage];
    while let Some(at) = pending.pop() {
        for reader in graph.consumers(at) {
            if std::mem::replace(&mut seen[reader.idx()], true) {
                continue;
            }
            match graph[reader].attach {
                Attach::Inline => pending.push(reader),
                _ => found.push(reader),
            }
        }
    }
    found
}

impl Check<'_> {
    fn location(&self, loc: Loc) -> Location {
        self.sched.map_or(Location::None, |sched| sched.location(loc))
    }

    /// A stage that nothing needs is left out; what a schedule says of it would be lost.
    fn dead(&mut self, stage: StageId) {
        let data = &self.graph[stage];
        let said = data
            .touched
            .map(|(loc, _)| loc)
            .into_iter()
            .chain([data.attach_loc, data.made_by])
            .find(|loc| *loc != Loc::NONE);
        if let Some(loc) = said {
            let text = format!("nothing reads `{}`, so nothing consumes this directive", data.name);
            self.found.push(Diagnostic::error("directive-unused", self.location(loc), text).help("leave it out"));
        }
    }

    fn inlined(&mut self, stage: StageId) {
        let data = &self.graph[stage];
        if let Some((loc, by)) = data.touched {
            let text = format!("`{}` is inlined, so nothing consumes this `{by}`", data.name);
            let diagnostic = Diagnostic::error("directive-unused", self.location(loc), text);
            let place = self.location(data.attach_loc);
            self.found.push(diagnostic.label(place, "it is inlined here").help("leave out one of the two"));
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
            let diagnostic = Diagnostic::error("attach-inlined", self.location(data.attach_loc), text);
            let readers: Vec<&str> = graph.consumers(graph[leaf].stage).map(|reader| &*graph[reader].name).collect();
            let place = self.location(owner.attach_loc);
            self.found.push(
                diagnostic
                    .label(place, "it is inlined here")
                    .help(format!("compute it at a loop of {}", one_of(&readers))),
            );
        }
        self.outside_the_kernel(stage, leaf);
        let mut at = stage;
        for depth in 0.. {
            let Attach::At(axis) = graph[at].attach else { break };
            at = graph[graph.leaf_of(axis)].stage;
            if depth > MAX_NEST {
                let text = format!("`{}` stands inside more than {MAX_NEST} other stages", data.name);
                self.found.push(Diagnostic::error("attach-depth", self.location(data.attach_loc), text));
                break;
            }
        }
    }

    /// Several buffers serve the iterations of a loop that runs in order.
    fn kept(&mut self, stage: StageId) {
        let graph = self.graph;
        let data = &graph[stage];
        let Some((_, loc)) = data.stages else { return };
        let name = &data.name;
        let Attach::At(axis) = data.attach else {
            let text = format!("`{name}` is not computed inside a loop, so it has no next part to compute ahead");
            let diagnostic = Diagnostic::error("stages-loop", self.location(loc), text);
            self.found.push(diagnostic.help(format!("`compute_at({name}, …)` a loop of what reads it")));
            return;
        };
        let leaf = graph.leaf_of(axis);
        if graph[leaf].kind != Kind::Serial {
            let text = format!(
                "`{name}` is computed at `{}` of `{}`, which does not run in order, so there is no next part",
                graph[leaf].name, graph[graph[leaf].stage].name
            );
            let diagnostic = Diagnostic::error("stages-loop", self.location(loc), text);
            let place = self.location(graph[leaf].kind_loc);
            self.found.push(
                diagnostic
                    .label(place, "this directive says how it runs")
                    .help("compute it at a loop that runs in order"),
            );
        }
    }

    /// A pipeline needs stages that run ahead.
    fn pipelines(&mut self, stage: StageId) {
        let graph = self.graph;
        for &leaf in &graph[stage].leaves {
            let Some((_, loc)) = graph[leaf].pipeline else { continue };
            if graph[leaf].kind != Kind::Serial {
                let text = format!(
                    "`{}` of `{}` does not run in order, so nothing can run ahead of it",
                    graph[leaf].name, graph[stage].name
                );
                let diagnostic = Diagnostic::error("stages-loop", self.location(loc), text);
                let place = self.location(graph[leaf].kind_loc);
                self.found
                    .push(diagnostic.label(place, "this directive says how it runs").help("leave out one of the two"));
            }
            let attached =
                |&other: &StageId| matches!(graph[other].attach, Attach::At(axis) if graph.leaf_of(axis) == leaf);
            if !graph.order.iter().any(attached) {
                let text = format!(
                    "no stage is computed at `{}` of `{}`, so nothing can run ahead",
                    graph[leaf].name, graph[stage].name
                );
                let help = format!("`compute_at(…, {})` the copies that should", graph[leaf].name);
                self.found.push(Diagnostic::error("stages-loop", self.location(loc), text).help(help));
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
            let order: Vec<&str> = data.iter().chain(&reduce).map(|&leaf| &*graph[leaf].name).collect();
            let diagnostic = Diagnostic::error("reduction-order", self.location(graph[thread].kind_loc), text);
            self.found.push(diagnostic.help(format!("`reorder({})`", order.join(", "))));
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
        let inside: Vec<&str> =
            owner.leaves.iter().skip_while(|&&leaf| !is_launch(leaf)).map(|&leaf| &*graph[leaf].name).collect();
        let mut diagnostic = Diagnostic::error("scope-root", self.location(data.attach_loc), text);
        if !inside.is_empty() {
            diagnostic = diagnostic.help(format!("compute it at {}", one_of(&inside)));
        }
        self.found.push(diagnostic);
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
        let loops: Vec<&str> = graph[reader].leaves.iter().map(|&leaf| &*graph[leaf].name).collect();
        let text = format!(
            "`{name}` lies in {} memory, but is computed at the root, outside the {} of `{}` that reads it",
            scope.name(),
            if is_launched(graph, reader) { "kernel" } else { "loops" },
            graph[reader].name
        );
        let said = [data.attach_loc, data.made_by, data.touched.map_or(Loc::NONE, |(loc, _)| loc)];
        let loc = said.into_iter().find(|loc| *loc != Loc::NONE).unwrap_or(Loc::NONE);
        let diagnostic = Diagnostic::error("scope-root", self.location(loc), text);
        let place = self.operator.te.location(graph[reader].loc);
        let diagnostic = diagnostic.label(place, format!("`{}` reads it here", graph[reader].name));
        self.found.push(diagnostic.help(format!(
            "`compute_at({name}, …)` a loop of `{}`: {}",
            graph[reader].name,
            one_of(&loops)
        )));
    }
}
