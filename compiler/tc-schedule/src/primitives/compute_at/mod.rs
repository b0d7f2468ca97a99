//! Computes a stage inside a loop of a consumer, only the region that an iteration needs.
//!
//! # Arguments
//!
//! `compute_at(STAGE, axis)`, where `axis` is a loop of a stage that reads it, directly or through others.
//!
//! # Legality
//!
//! - The stage is computed, and is no result of the operator.
//! - `axis` is a loop of a stage that depends on it.
//! - Every stage that reads it is computed inside that loop, or attached there.
//! - A buffer in `local`, of which each thread has its own, is computed inside the loops of the threads that read it.
//! - Inside a kernel of several blocks it is not in global memory, where no barrier orders the blocks.
//!
//! The last three are checked at the end of the schedule. If the loop is split afterwards, the stage moves to the inner
//! part; if it is fused, to the fused loop.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..8 { T[i] = A[i] }
//! for i in 0..8 { B[i] = T[i] * 2.0 }
//! ->
//! for i in 0..8 { alloc T: f32[1] in global  T[0] = A[i]  B[i] = T[0] * 2.0 }
//! ```
//!
//! The region begins and ends where the indices of the reads do. An index may be data, as `A[cast<index>(start[b]) + i]` is: if one element
//! of an argument decides for all that is read inside of the loop, it is read before, and the region begins there; else the
//! stage computes all of that dimension.
//!
//! # Known elsewhere as
//!
//! `compute_at` (TVM, Halide), `fuse_into` (MLIR).

pub(crate) mod remedies;

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{Attach, AxisId, StageId};
use crate::remedy::OTHER_AXIS_OR_LEAVE_OUT;
use tc_dialects::sched::ComputeAt;

impl Primitive for ComputeAt {
    const COMPARED: Compared = Compared::Graph;
    const ATTACHES: bool = true;
    type Legal = (StageId, AxisId);

    fn legality(cx: &Cx<'_>) -> Done<(StageId, AxisId)> {
        let stage = cx.computed(cx.operand(0))?;
        let axis = cx.axis(cx.operand(1))?;
        let (name, owner) = (&cx.graph[stage].name, cx.graph[axis].stage);
        if cx.graph[stage].output {
            let text = format!("`{name}` is a result of the operator, and is computed at the root");
            let help = format!("`cache_write({name}, …)` makes a stage that can be attached");
            return Err(cx.error("attach-output", text).help(help).fix_its(OTHER_AXIS_OR_LEAVE_OUT).into());
        }
        if owner == stage {
            let text = format!("`{name}` cannot be computed inside its own loop `{}`", cx.graph[axis].name);
            return Err(cx.error("attach-cycle", text).fact(consumers(cx, stage)).into());
        }
        cx.check_leaf(axis)?;
        if !cx.graph.depends_on(owner, stage) {
            let text = format!(
                "`{}` does not read `{name}`, so `{name}` cannot be computed in its loop `{}`",
                cx.graph[owner].name, cx.graph[axis].name
            );
            return Err(cx.error("attach-no-consumer", text).fact(consumers(cx, stage)).into());
        }
        Ok((stage, axis))
    }

    fn edit(cx: &mut Cx<'_>, (stage, axis): (StageId, AxisId)) -> Vec<Item> {
        cx.attach(stage, Attach::At(axis));
        cx.touch(stage);
        Vec::new()
    }
}

/// The loops at which `stage` could be computed, by its consumers.
fn consumers(cx: &Cx<'_>, stage: StageId) -> String {
    let parts: Vec<String> = cx
        .graph
        .consumers(stage)
        .take(4)
        .map(|consumer| {
            let loops = cx.graph.names(&cx.graph[consumer].leaves);
            format!("at {} of `{}`", code_list(&loops), cx.graph[consumer].name)
        })
        .collect();
    match parts[..] {
        [] => format!("nothing reads `{}`", cx.graph[stage].name),
        _ => format!("`{}` can be computed {}", cx.graph[stage].name, parts.join(", or ")),
    }
}
