//! Keeps two buffers of a stage, so that the next part is computed while one is read.
//!
//! # Arguments
//!
//! `double_buffer(STAGE)`. It is `pipeline` with two stages, for this stage alone.
//!
//! # Legality
//!
//! - The stage is computed, and is no result of the operator.
//! - When the whole schedule is read, it is computed inside a loop that runs in order.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..8 { alloc T: f32[4] in shared  … }
//! -> double_buffer(T)
//! for i in 0..8 { alloc T: f32[4] in shared attributes {stages = 2}  … }
//! ```
//!
//! The pass `software-pipeline` makes the two buffers and moves what fills them ahead.
//!
//! # Known elsewhere as
//!
//! `double_buffer` (TVM), `async` producers with a ring of two (Halide), `memref-multi-buffer` (MLIR).

use crate::directive::{Cx, Done};
use crate::graph::StageId;

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let stage = legality(cx)?;
    cx.graph[stage].stages = Some((2, cx.loc()));
    cx.touch(stage);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<StageId> {
    let stage = cx.stage(cx.sched.operand(cx.at, 0))?;
    cx.check_computed(stage)?;
    if cx.graph[stage].output {
        let name = &cx.graph[stage].name;
        let text = format!("`{name}` is a result of the operator, and has one buffer");
        let help = format!("`cache_write({name}, …)` makes a stage that can have several");
        return Err(cx.error("stages-output", text).help(help).into());
    }
    Ok(stage)
}
