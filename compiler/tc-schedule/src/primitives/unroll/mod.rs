//! Unrolls a loop: copies its body for each iteration.
//!
//! # Arguments
//!
//! `unroll(axis)`: the pass `unroll-loop` makes the copies.
//!
//! # Legality
//!
//! `axis` is a loop of its stage that is not bound, vectorized or unrolled; it is not split or fused afterwards.
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

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item};
use crate::graph::{AxisId, Kind};
use tc_dialects::sched::Unroll;

impl Primitive for Unroll {
    const COMPARED: Compared = Compared::Graph;
    type Legal = AxisId;

    fn legality(cx: &Cx<'_>) -> Done<AxisId> {
        let axis = cx.leaf(cx.operand(0))?;
        cx.check_unsaid(axis)?;
        Ok(axis)
    }

    fn edit(cx: &mut Cx<'_>, axis: AxisId) -> Vec<Item> {
        cx.set_kind(axis, Kind::Unroll);
        Vec::new()
    }
}
