//! Computes a stage whole, before its consumers, in a nest of loops of its own.
//!
//! # Arguments
//!
//! `compute_root(STAGE)`. This is how every stage begins.
//!
//! # Legality
//!
//! The stage is computed: it is no argument.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { alloc T: f32[1] in global  T[0] = A[i]  B[i] = T[0] + 1.0 }
//! ->
//! alloc T: f32[4] in global
//! for i in 0..4 { T[i] = A[i] }
//! for i in 0..4 { B[i] = T[i] + 1.0 }
//! ```
//!
//! # Known elsewhere as
//!
//! `compute_root` (TVM, Halide).

use crate::directive::{Cx, Done};
use crate::graph::{Attach, StageId};

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let stage = legality(cx)?;
    let loc = cx.loc();
    let data = &mut cx.graph[stage];
    data.attach = Attach::Root;
    data.attach_loc = loc;
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<StageId> {
    let stage = cx.stage(cx.sched.operand(cx.at, 0))?;
    cx.check_computed(stage)?;
    Ok(stage)
}
