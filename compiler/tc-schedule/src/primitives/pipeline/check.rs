//! What must hold of a pipelined loop and of what is copied ahead of it, once the schedule is read.

use super::{CopiedAhead, Pipelined};
use crate::check::Check;
use crate::diagnostic::ScheduleDiagnostic;
use crate::graph::{Attach, AxisId, Kind, StageId};
use crate::remedy::LEAVE_OUT;
use crate::scope::Scope;

/// A pipeline needs a loop that runs in order, and stages that run ahead.
pub(super) fn runs_ahead(part: &Pipelined, check: &mut Check<'_>, stage: StageId, leaf: AxisId) {
    let graph = check.graph;
    if graph[leaf].kind != Kind::Serial {
        let text = format!(
            "`{}` of `{}` does not run in order, so nothing can run ahead of it",
            graph[leaf].name, graph[stage].name
        );
        let error = ScheduleDiagnostic::error("stages-loop", check.location(part.loc), text).fix_its(LEAVE_OUT);
        let error = error.label(check.location(graph[leaf].kind_loc), "this directive says how it runs");
        check.found.push(error.fact("leave out one of the two"));
    }
    let attached = |&other: &StageId| matches!(graph[other].attach, Attach::At(axis) if graph.leaf_of(axis) == leaf);
    if !graph.order.iter().any(attached) {
        let text = format!(
            "no stage is computed at `{}` of `{}`, so nothing can run ahead",
            graph[leaf].name, graph[stage].name
        );
        let help = format!("`compute_at(…, {})` the copies that should", graph[leaf].name);
        check.found.push(
            ScheduleDiagnostic::error("stages-loop", check.location(part.loc), text).fix_its(LEAVE_OUT).fact(help),
        );
    }
}

/// A stage that `async_copies` names is attached at the loop of the pipeline, and copies global memory to shared memory.
pub(super) fn copies_global_memory(part: &CopiedAhead, check: &mut Check<'_>, stage: StageId) {
    let graph = check.graph;
    let data = &graph[stage];
    let (name, at) = (&data.name, &graph[part.axis].name);
    let mut refuse = |text: String, help: String| {
        let location = check.location(part.loc);
        check.found.push(ScheduleDiagnostic::error("async-copy", location, text).help(help));
    };
    if !matches!(data.attach, Attach::At(of) if graph.leaf_of(of) == part.axis) {
        let text = format!("`{name}` is not computed at `{at}`, so the pipeline of `{at}` does not copy it ahead");
        return refuse(text, format!("`compute_at({name}, {at})`, or leave it out of `async_copies`"));
    }
    let scope = graph.scope_of(stage);
    if !scope.is_shared() {
        let text = format!("`{name}` lies in {} memory, and asynchronous copies go to shared memory", scope.name());
        return refuse(text, format!("`set_scope({name}, shared)`, or leave it out of `async_copies`"));
    }
    let mut at = stage;
    // Producers stand before consumers, so the walk ends; the count guards against a broken graph.
    for _ in 0..graph.stages.len() {
        let mut sources: Vec<StageId> = graph[at].reads.iter().map(|read| read.from.stage).collect();
        sources.dedup();
        let &[from] = &sources[..] else {
            let text = match sources[..] {
                [] => format!("`{name}` copies `{}`, which reads no tensor", graph[at].name),
                _ => format!("`{name}` copies `{}`, which reads several tensors", graph[at].name),
            };
            let help = format!("`compute_root({})` makes a tensor of it that can be copied", graph[at].name);
            return refuse(text, help);
        };
        if graph[from].attach == Attach::Inline {
            at = from;
            continue;
        }
        let scope = if graph[from].is_arg() { Scope::Global } else { graph.scope_of(from) };
        if scope != Scope::Global {
            let text = format!(
                "`{name}` copies `{}` from {} memory, and asynchronous copies come from global memory",
                graph[from].name,
                scope.name()
            );
            return refuse(text, format!("leave `{name}` out of `async_copies`"));
        }
        return;
    }
}
