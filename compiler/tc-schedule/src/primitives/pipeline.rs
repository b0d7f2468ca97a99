//! Lets the stages that are computed inside a loop run ahead of what reads them.
//!
//! # Arguments
//!
//! `pipeline(axis, stages = n)`: the buffers of the stages attached at the loop are kept for `n` iterations, so that
//! `n - 1` of them are filled before the first is read. With `n = 1` nothing changes.
//!
//! # Legality
//!
//! - `axis` is a loop of its stage that runs in order.
//! - `n` is 1 to 64.
//! - When the whole schedule is read, a stage is attached at the loop.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..8 { alloc T: f32[4] in shared  … }
//! -> pipeline(B.i, stages = 3)
//! for i in 0..8 { alloc T: f32[4] in shared attributes {stages = 3}  … }
//! ```
//!
//! The pass `software-pipeline` makes the buffers and moves what fills them ahead.
//!
//! # Known elsewhere as
//!
//! `software_pipeline_stage` (TVM), `num_stages` (Triton), `scf-for-loop-pipelining` (MLIR).

use super::bind::check_unsaid;
use crate::directive::{Cx, Done};
use crate::graph::AxisId;
use tc_ir::Loc;

/// How many iterations may be in flight.
const MAX_STAGES: i64 = 64;

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let (axis, stages) = legality(cx)?;
    let loc = cx.loc();
    let data = &mut cx.graph[axis];
    data.pipeline = Some((stages, loc));
    if data.kind_loc == Loc::NONE {
        data.kind_loc = loc;
    }
    let stage = data.stage;
    cx.touch(stage);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<(AxisId, i64)> {
    let axis = cx.leaf(cx.sched.operand(cx.at, 0))?;
    check_unsaid(cx, axis)?;
    let Some(stages) = cx.param(1) else {
        return Err(cx.error("schedule-type", "`pipeline` takes `stages = …`").into());
    };
    let stages = cx.positive(stages, "number of stages")?;
    if stages > MAX_STAGES {
        return Err(cx.error("factor", format!("a pipeline has at most {MAX_STAGES} stages, not {stages}")).into());
    }
    if !cx.sched.param_operands(cx.at, 2).is_empty() {
        let text = "asynchronous copies are not supported yet";
        return Err(cx
            .error("not-supported", text)
            .help("leave out `async_copies`: the copies run ahead all the same")
            .into());
    }
    Ok((axis, stages))
}
