//! What is said of a stage that cannot be computed where it is attached.

use super::Range;
use super::infer::Inference;
use crate::body::InstKind;
use crate::diagnostic::ScheduleDiagnostic;
use crate::directive::{code_list, loops_of, one_of};
use crate::graph::{Attach, AxisId, Kind, StageId};
use crate::remedy::{OTHER_AXIS_OR_LEAVE_OUT, OTHER_LOOP_OR_ROOT};
use tc_dialects::scope::Scope;
use tc_dialects::wgmma;
use tc_ir::Loc;

impl Inference<'_> {
    /// Refuses a region that depends on loops which are not around the stage.
    pub(super) fn check_visible(&self, stage: StageId, ranges: &[Range]) -> Result<(), ScheduleDiagnostic> {
        let graph = &self.bounds.graph;
        let around = graph.path(stage);
        for range in ranges {
            for leaf in self.bounds.vars.counters(&self.bounds.analyzer.pool, range.min) {
                // A thread's number is the same in every loop that is bound to it.
                let kind = graph[leaf].kind;
                let same = |&other: &AxisId| matches!(kind, Kind::Launch(_)) && graph[other].kind == kind;
                if !around.contains(&leaf) && !around.iter().any(same) && !graph[stage].leaves.iter().any(same) {
                    return Err(self.not_visible(stage, leaf));
                }
            }
        }
        Ok(())
    }

    /// Refuses a loop over threads of a stage that each thread needs all of.
    pub(super) fn private_loop(&self, stage: StageId, leaf: AxisId) -> ScheduleDiagnostic {
        let graph = &self.bounds.graph;
        let (data, scope) = (&graph[stage], graph.scope_of(stage).name());
        let Kind::Launch(coordinate) = graph[leaf].kind else { unreachable!("a launch coordinate is bound to it") };
        let (name, what) = (&data.name, if coordinate.is_thread() { "thread" } else { "block" });
        let text = format!(
            "`{name}` lies in {scope} memory, so each {what} computes all that it needs of it; its loop `{}` cannot be \
             shared out among them",
            graph[leaf].name
        );
        let help = format!("leave `{}` unbound, or let `{name}` lie in a wider scope", graph[leaf].name);
        ScheduleDiagnostic::error("scope-too-narrow", self.location(graph[leaf].kind_loc), text)
            .help(help)
            .fix_its(OTHER_AXIS_OR_LEAVE_OUT)
    }

    /// Refuses a stage that is computed inside the loops of a reduction and read by what that starts from.
    pub(super) fn check_init(&self, consumer: StageId, stage: StageId) -> Result<(), ScheduleDiagnostic> {
        let graph = &self.bounds.graph;
        let Attach::At(axis) = graph[stage].attach else { return Ok(()) };
        let leaf = graph.leaf_of(axis);
        let Some(init) = &self.bounds.bodies[consumer.idx()].init else { return Ok(()) };
        let reads = init.insts.iter().any(|inst| matches!(inst.kind, InstKind::Load(from) if from.stage == stage));
        let leaves = &graph[consumer].leaves;
        let n_common = leaves.iter().position(|&leaf| graph[leaf].reduce).unwrap_or(leaves.len());
        if !reads || !leaves[n_common..].contains(&leaf) {
            return Ok(());
        }
        let (name, reader) = (&graph[stage].name, &graph[consumer].name);
        let text = format!(
            "`{name}` is computed at `{}`, inside the reduction of `{reader}`, and the initial value of that reads it before",
            graph[leaf].name
        );
        let outside = graph.names(&leaves[..n_common]);
        let help = match outside[..] {
            [] => format!("`compute_root({name})`"),
            _ => format!("compute it at {}", one_of(&outside)),
        };
        Err(ScheduleDiagnostic::error("attach-outside", self.location(graph[stage].attach_loc), text)
            .help(help)
            .fix_its(OTHER_LOOP_OR_ROOT))
    }

    pub(super) fn location(&self, loc: Loc) -> tc_support::Location {
        self.sched.map_or(tc_support::Location::None, |sched| sched.location(loc))
    }

    pub(super) fn not_visible(&self, stage: StageId, leaf: AxisId) -> ScheduleDiagnostic {
        let graph = &self.bounds.graph;
        let (data, owner) = (&graph[stage], graph[leaf].stage);
        let scope = graph.scope_of(stage).name();
        let loc = data.placed_by().unwrap_or(Loc::NONE);
        let text = format!(
            "`{}` lies in {scope} memory, of which each `{}` of `{}` has its own, but it is computed outside that loop",
            data.name, graph[leaf].name, graph[owner].name
        );
        let leaves = &graph[owner].leaves;
        let start = graph.leaf_position(leaf).unwrap_or(0);
        let inside = graph.names(&leaves[start..]);
        let error = ScheduleDiagnostic::error("scope-too-narrow", self.location(loc), text);
        let error = if graph.scope_of(stage) == Scope::WgmmaAccumulator {
            error.fact(format!(
                "a warpgroup holds whole tiles of {} rows: bind loops over such tiles, and compute `{}` inside of them",
                wgmma::TILE_ROWS,
                data.name
            ))
        } else {
            let owner = &graph[owner].name;
            error.help(format!("compute it at {} of `{owner}`, or let it lie in a wider scope", one_of(&inside)))
        };
        let error = error.fix_its(OTHER_AXIS_OR_LEAVE_OUT);
        error.label(self.location(graph[leaf].kind_loc), format!("`{}` is bound here", graph[leaf].name))
    }

    pub(super) fn not_inside(&self, stage: StageId, consumer: StageId, attach: AxisId) -> ScheduleDiagnostic {
        let graph = &self.bounds.graph;
        let data = &graph[stage];
        let (owner, reader) = (&graph[graph[attach].stage], &graph[consumer]);
        let text = format!(
            "`{}` is computed at `{}` of `{}`, and `{}`, which reads it, does not stand inside that loop",
            data.name, graph[attach].name, owner.name, reader.name
        );
        let mut around = graph.names(&graph[consumer].leaves);
        around.extend(graph.path(consumer).into_iter().map(|leaf| &*graph[leaf].name));
        let help = match around[..] {
            [] => format!("`compute_root({})`", data.name),
            _ => format!("around the reads of `{}` are the loops {}", reader.name, code_list(&around)),
        };
        let error = ScheduleDiagnostic::error("attach-outside", self.location(data.attach_loc), text)
            .fix_its(OTHER_LOOP_OR_ROOT);
        error
            .label(self.operator.te.location(reader.loc), format!("`{}` reads it here", reader.name))
            .note(loops_of(graph, consumer))
            .help(help)
    }
}
