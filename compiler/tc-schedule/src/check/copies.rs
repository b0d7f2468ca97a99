//! Stages that are copied asynchronously, and stages whose buffers are swizzled: what must be true of where they are
//! computed and where they lie.

use super::Check;
use crate::graph::{Attach, StageId};
use crate::scope::Scope;
use tc_support::Diagnostic;

impl Check<'_> {
    /// A stage that `async_copies` names is attached at the loop of the pipeline, and copies global memory to shared memory.
    pub(super) fn asynchronous(&mut self, stage: StageId) {
        let graph = self.graph;
        let data = &graph[stage];
        let Some((axis, loc)) = data.asynchronous else { return };
        let (name, at) = (&data.name, &graph[axis].name);
        let mut refuse = |text: String, help: String| {
            let location = self.sched.map_or(tc_support::Location::None, |sched| sched.location(loc));
            self.found.push(Diagnostic::error("async-copy", location, text).help(help));
        };
        if !matches!(data.attach, Attach::At(of) if graph.leaf_of(of) == axis) {
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

    /// Only shared memory has banks.
    pub(super) fn swizzled(&mut self, stage: StageId) {
        let graph = self.graph;
        let data = &graph[stage];
        let Some((_, loc)) = data.swizzle else { return };
        let scope = graph.scope_of(stage);
        if !scope.is_shared() {
            let text = format!("`{}` lies in {} memory, and only shared memory has banks", data.name, scope.name());
            let diagnostic = Diagnostic::error("swizzle-scope", self.location(loc), text);
            self.found.push(diagnostic.help(format!("leave it out, or `set_scope({}, shared)`", data.name)));
        }
    }
}
