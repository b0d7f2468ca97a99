//! Lets the stages that are computed inside a loop run ahead of what reads them.
//!
//! # Arguments
//!
//! `pipeline(axis, stages = n)`: the buffers of the stages attached at the loop are kept for `n` iterations, so that
//! `n - 1` of them are filled before the first is read. With `n = 1` nothing changes. Stages in accumulators of a warp are
//! left out: they are made of what runs ahead.
//!
//! `async_copies = [S, T]` names those of the stages that are filled by asynchronous copies: the threads start them and
//! go on, and wait only where the part is read. Registers hold nothing on the way, so more stages fit. What another stage
//! attached at the loop makes of these copies in shared memory, such as dequantized weights, is made one iteration ahead,
//! in two buffers, and the copies run one iteration further ahead.
//!
//! # Legality
//!
//! - `axis` is a loop of its stage that runs in order.
//! - `n` is 1 to 64; with `async_copies` at least 2.
//! - When the whole schedule is read, a stage is attached at the loop.
//! - What is named in `async_copies` is then attached at the loop too, lies in shared memory, and copies (`cache_read`) one
//!   tensor of global memory; inlined stages between, such as a padding, read nothing else.
//!
//! Whether each copy can be an asynchronous one (4, 8 or 16 bytes that lie together, unchanged on the way), the pass
//! `inject-async-copy` finds out.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..8 { alloc T: f32[4] in shared  … }
//! -> pipeline(B.i, stages = 3)
//! for i in 0..8 { alloc T: f32[4] in shared attributes {stages = 3}  … }
//! ```
//!
//! With `async_copies = [T]` the buffer carries `async = true` as well. The pass `software-pipeline` makes the buffers and
//! moves what fills them ahead.
//!
//! # Known elsewhere as
//!
//! `software_pipeline_stage` (TVM), `num_stages` (Triton), `scf-for-loop-pipelining` (MLIR).

use super::bind::check_unsaid;
use crate::directive::{Cx, Done};
use crate::graph::{AxisId, Source, StageId};
use tc_ir::Loc;

/// How many iterations may be in flight.
const MAX_STAGES: i64 = 64;

struct Plan {
    axis: AxisId,
    stages: i64,
    /// The stages that are filled by asynchronous copies.
    copies: Vec<StageId>,
}

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let Plan { axis, stages, copies } = legality(cx)?;
    let loc = cx.loc();
    let data = &mut cx.graph[axis];
    data.pipeline = Some((stages, loc));
    if data.kind_loc == Loc::NONE {
        data.kind_loc = loc;
    }
    let stage = data.stage;
    cx.touch(stage);
    for copy in copies {
        cx.graph[copy].asynchronous = Some((axis, loc));
        cx.touch(copy);
    }
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<Plan> {
    let axis = cx.leaf(cx.sched.operand(cx.at, 0))?;
    check_unsaid(cx, axis)?;
    let Some(stages) = cx.param(1) else {
        return Err(cx.error("schedule-type", "`pipeline` takes `stages = …`").into());
    };
    let stages = cx.positive(stages, "number of stages")?;
    if stages > MAX_STAGES {
        return Err(cx.error("factor", format!("a pipeline has at most {MAX_STAGES} stages, not {stages}")).into());
    }
    let mut copies = Vec::new();
    for &copy in cx.sched.param_operands(cx.at, 2) {
        copies.push(copied(cx, cx.stage(copy)?)?);
    }
    if stages < 2 && !copies.is_empty() {
        let text = "with one stage each copy is waited for at once, so none runs while another part is read";
        return Err(cx.error("factor", text).help("take 2 stages or more, or leave out `async_copies`").into());
    }
    Ok(Plan { axis, stages, copies })
}

/// Refuses a stage that is computed: only a copy can be made while threads do something else.
fn copied(cx: &Cx<'_>, stage: StageId) -> Done<StageId> {
    cx.check_computed(stage)?;
    let data = &cx.graph[stage];
    if data.source == Source::Copy && !data.output {
        return Ok(stage);
    }
    let text = format!("`{}` is computed, and an asynchronous copy changes nothing on the way", data.name);
    let help = format!("name copies into shared memory: `cache_read({}, shared, …)` makes one", data.name);
    Err(cx.error("async-copy", text).help(help).into())
}
