//! Sets the storage scope of a stage's buffer.
//!
//! # Arguments
//!
//! `set_scope(STAGE, scope)`, where `scope` is one of `global`, `shared`, `shared.dyn`, `registers`, `local`,
//! `wmma.matrix_a`, `wmma.matrix_b`, `wmma.accumulator`, `mma.matrix_a`, `mma.matrix_b`, `mma.accumulator`, `mma.rows`,
//! `wgmma.matrix_a`, `wgmma.accumulator`, `wgmma.rows`. By default a stage is in `local` inside thread loops, in `shared` inside
//! block loops, and in `global` elsewhere.
//!
//! The threads of a block hold a buffer in `registers` together: each has what it computes. A stage that is read by loops that are
//! divided among threads alike stays there; what another thread of the warp holds comes by a shuffle; else the buffer lies in
//! shared memory, as the remark `in-shared-memory` tells ([distribute-registers](passes.md#distribute-registers)).
//!
//! A warp holds a buffer in the storage scopes of tensor cores together: the buffer covers the region that its 32
//! threads need, numbered by `threadIdx.x`. Its last two dimensions are those of a tile. One in `wgmma.…` is held by
//! the 128 threads of a warpgroup. One in `….rows` has numbers for the rows of tiles, along its last dimension.
//!
//! # Legality
//!
//! - The stage is computed and is not inlined; the storage scope exists.
//! - A result of the operator is in global memory.
//! - An on-chip stage is computed inside the kernel that reads it; this is checked at the end of the schedule.
//!
//! # Rewrite
//!
//! ```tir
//! alloc T: f32[4] in shared
//! ->
//! alloc T: f32[4] in local
//! ```
//!
//! # Known elsewhere as
//!
//! `set_scope` (TVM), `store_in` (Halide).

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item};
use crate::graph::StageId;
use crate::remedy::{LEAVE_OUT, Proposals};
use crate::scope::Scope;
use crate::written;
use tc_dialects::sched::SetScope;

impl Primitive for SetScope {
    const COMPARED: Compared = Compared::Graph;
    type Legal = (StageId, Scope);

    fn legality(cx: &Cx<'_>) -> Done<(StageId, Scope)> {
        let stage = cx.computed(cx.operand(0))?;
        let scope = cx.scope()?;
        let data = &cx.graph[stage];
        if data.output && scope != Scope::Global {
            let text = format!("`{}` is a result of the operator, which lies in global memory", data.name);
            let help = format!("`cache_write({}, {})` computes it there and copies it out", data.name, scope.name());
            return Err(cx.error("scope-output", text).help(help).fix_its(LEAVE_OUT).into());
        }
        Ok((stage, scope))
    }

    fn edit(cx: &mut Cx<'_>, (stage, scope): (StageId, Scope)) -> Vec<Item> {
        cx.graph[stage].scope = Some(scope);
        cx.touch(stage);
        Vec::new()
    }
}

/// The stage in question in another scope.
pub(crate) fn other_scope(proposals: &mut Proposals<'_>) {
    let Some((stage, graph)) = proposals.stage_at_end() else { return };
    for scope in [Scope::Local, Scope::Shared, Scope::Global] {
        if graph.scope_of(stage) != scope {
            let call = format!("set_scope({}, {})", written::stage(graph, stage), scope.name());
            proposals.at_end(format!("`{call}`"), call, move |graph| graph[stage].scope = Some(scope));
        }
    }
}
