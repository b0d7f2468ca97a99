//! Puts what a stage computes in the place of each read of it.
//!
//! # Arguments
//!
//! `inline(STAGE)`.
//!
//! # Legality
//!
//! - The stage is computed, has one result, and is not a result of the operator.
//! - It is no reduction: a reduction takes loops.
//! - No other directive speaks of its loops or its buffer: nothing would consume it.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { T[i] = A[i] * 2.0 }
//! for i in 0..4 { B[i] = T[i] + 1.0 }
//! ->
//! for i in 0..4 { B[i] = A[i] * 2.0 + 1.0 }
//! ```
//!
//! # Known elsewhere as
//!
//! `compute_inline` (TVM), inlining (Halide), producer fusion.

use crate::directive::{Cx, Done};
use crate::graph::{Attach, StageId};

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let stage = legality(cx)?;
    let loc = cx.loc();
    let data = &mut cx.graph[stage];
    data.attach = Attach::Inline;
    data.attach_loc = loc;
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<StageId> {
    let stage = cx.stage(cx.sched.operand(cx.at, 0))?;
    cx.check_computed(stage)?;
    let data = &cx.graph[stage];
    let name = &data.name;
    if data.output {
        let text = format!("`{name}` is a result of the operator, and cannot be inlined");
        return Err(cx.error("inline-output", text).into());
    }
    if !data.reduce.is_empty() {
        let axes: Vec<&str> = data.reduce.iter().map(|&axis| &*cx.graph[axis].name).collect();
        let text =
            format!("`{name}` is a reduction over {}, and cannot be inlined", crate::directive::code_list(&axes));
        let help = format!("`compute_at({name}, …)` computes it inside a loop of its consumer");
        return Err(cx.error("inline-reduction", text).help(help).into());
    }
    if data.tensors.len() != 1 {
        let text = format!("`{name}` has {} results; only a stage with one can be inlined", data.tensors.len());
        return Err(cx.error("inline-results", text).into());
    }
    Ok(stage)
}
