//! Gives a stage two buffers, so that the next part is computed while the current one is read.
//!
//! # Arguments
//!
//! `double_buffer(STAGE)`. It is `pipeline` with two stages, for this stage alone.
//!
//! # Legality
//!
//! - The stage is computed, and is no result of the operator.
//! - At the end of the schedule it is computed inside a serial loop.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..8 { alloc T: f32[4] in shared  … }
//! -> double_buffer(T)
//! for i in 0..8 { alloc T: f32[4] in shared attributes {stages = 2}  … }
//! ```
//!
//! The pass `software-pipeline` makes the two buffers and lets the statements that fill them run ahead.
//!
//! # Known elsewhere as
//!
//! `double_buffer` (TVM), `async` producers with a ring of two (Halide), `memref-multi-buffer` (MLIR).

use super::{Primitive, StagePart};
use crate::check::Check;
use crate::diagnostic::ScheduleDiagnostic;
use crate::directive::{Cx, Done, Item};
use crate::graph::{Attach, Kind, StageId};
use crate::remedy::LEAVE_OUT;
use tc_dialects::sched::DoubleBuffer;
use tc_ir::Loc;

/// A stage that has two buffers, and the directive that says so.
#[derive(Clone, Debug)]
pub(crate) struct Twofold(Loc);

impl Primitive for DoubleBuffer {
    type Legal = StageId;

    fn legality(cx: &Cx<'_>) -> Done<StageId> {
        let stage = cx.computed(cx.operand(0))?;
        if cx.graph[stage].output {
            let name = &cx.graph[stage].name;
            let text = format!("`{name}` is a result of the operator, and has one buffer");
            let fact = format!("`cache_write({name}, …)` makes a stage that can have several");
            return Err(cx.error("stages-output", text).fact(fact).fix_its(LEAVE_OUT).into());
        }
        Ok(stage)
    }

    fn edit(cx: &mut Cx<'_>, stage: StageId) -> Vec<Item> {
        let loc = cx.loc();
        cx.graph[stage].parts.set(Twofold(loc));
        cx.touch(stage);
        Vec::new()
    }
}

impl StagePart for Twofold {
    fn n_buffers(&self) -> Option<i64> {
        Some(2)
    }

    /// Two buffers serve the iterations of a loop that runs in order.
    fn check(&self, check: &mut Check<'_>, stage: StageId) {
        if !check.is_whole() {
            return;
        }
        let graph = check.graph;
        let data = &graph[stage];
        let name = &data.name;
        let Attach::At(axis) = data.attach else {
            let text = format!("`{name}` is not computed inside a loop, so it has no next part to compute ahead");
            let error = ScheduleDiagnostic::error("stages-loop", check.location(self.0), text).fix_its(LEAVE_OUT);
            return check.found.push(error.fact(format!("`compute_at({name}, …)` a loop of what reads it")));
        };
        let leaf = &graph[graph.leaf_of(axis)];
        if leaf.kind != Kind::Serial {
            let text = format!(
                "`{name}` is computed at `{}` of `{}`, which does not run in order, so there is no next part",
                leaf.name, graph[leaf.stage].name
            );
            let error = ScheduleDiagnostic::error("stages-loop", check.location(self.0), text).fix_its(LEAVE_OUT);
            let error = error.label(check.location(leaf.kind_loc), "this directive says how it runs");
            check.found.push(error.fact("compute it at a loop that runs in order"));
        }
    }
}
