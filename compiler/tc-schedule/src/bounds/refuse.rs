//! What is said of a stage that cannot be computed where it is attached.

use super::Range;
use super::infer::Inference;
use crate::body::Vars;
use crate::directive::{code_list, loops_of, one_of};
use crate::graph::{AxisId, StageId};
use tc_ir::Loc;
use tc_support::Diagnostic;

impl Inference<'_> {
    /// Refuses a region that depends on loops which are not around the stage.
    pub(super) fn check_visible(&self, stage: StageId, ranges: &[Range]) -> Result<(), Diagnostic> {
        let graph = &self.bounds.graph;
        let around = graph.path(stage);
        for range in ranges {
            for var in self.bounds.analyzer.pool.vars(range.min) {
                if around.iter().any(|&leaf| Vars::counter(leaf) == var) {
                    continue;
                }
                let Some(leaf) = (0..graph.axes.len() as u32).map(AxisId).find(|&axis| Vars::counter(axis) == var)
                else {
                    continue;
                };
                return Err(self.not_visible(stage, leaf));
            }
        }
        Ok(())
    }

    pub(super) fn location(&self, loc: Loc) -> tc_support::Location {
        self.sched.map_or(tc_support::Location::None, |sched| sched.location(loc))
    }

    pub(super) fn not_visible(&self, stage: StageId, leaf: AxisId) -> Diagnostic {
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
        let help =
            format!("compute it at {} of `{}`, or let it lie in a wider scope", one_of(&inside), graph[owner].name);
        let diagnostic = Diagnostic::error("scope-too-narrow", self.location(loc), text).help(help);
        diagnostic.label(self.location(graph[leaf].kind_loc), format!("`{}` is bound here", graph[leaf].name))
    }

    pub(super) fn not_inside(&self, stage: StageId, consumer: StageId, attach: AxisId) -> Diagnostic {
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
        diagnostic
            .label(self.operator.te.location(reader.loc), format!("`{}` reads it here", reader.name))
            .note(loops_of(graph, consumer))
            .help(help)
    }
}
