//! Unrolls a loop: its body is copied for each iteration.
//!
//! # Arguments
//!
//! `unroll(axis)`: the pass `unroll-loop` makes the copies.
//!
//! # Legality
//!
//! `axis` is a loop of its stage of which no directive has said how it runs; it is not split or fused afterwards.
//!
//! # Rewrite
//!
//! ```tir
//! for r in 0..4 { S[0] = S[0] + A[r] }
//! ->
//! for r in 0..4 unroll { S[0] = S[0] + A[r] }
//! ```
//!
//! # Known elsewhere as
//!
//! `unroll` (TVM, Halide), `#pragma unroll` (CUDA).

use super::bind::{check_unsaid, set_kind};
use crate::directive::{Cx, Done};
use crate::graph::Kind;

pub(super) fn apply(cx: &mut Cx<'_>) -> Done<()> {
    let axis = legality(cx)?;
    set_kind(cx, axis, Kind::Unroll);
    Ok(())
}

fn legality(cx: &Cx<'_>) -> Done<crate::graph::AxisId> {
    let axis = cx.leaf(cx.sched.operand(cx.at, 0))?;
    check_unsaid(cx, axis)?;
    Ok(axis)
}
