//! Computes the whole stage before its consumers, in its own loop nest.
//!
//! # Arguments
//!
//! `compute_root(STAGE)`. This is the default of every stage.
//!
//! # Legality
//!
//! The stage is computed, that is, no argument.
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

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item};
use crate::graph::{Attach, StageId};
use crate::remedy::Proposals;
use crate::written;
use tc_dialects::sched::ComputeRoot;

impl Primitive for ComputeRoot {
    const COMPARED: Compared = Compared::Graph;
    type Legal = StageId;

    fn legality(cx: &Cx<'_>) -> Done<StageId> {
        cx.computed(cx.operand(0))
    }

    fn edit(cx: &mut Cx<'_>, stage: StageId) -> Vec<Item> {
        cx.attach(stage, Attach::Root);
        Vec::new()
    }
}

/// The stage in question at the root.
pub(crate) fn root_at_end(proposals: &mut Proposals<'_>) {
    if let Some((stage, graph)) = proposals.stage_at_end() {
        let call = format!("compute_root({})", written::stage(graph, stage));
        proposals.at_end(format!("`{call}`"), call, move |graph| graph[stage].attach = Attach::Root);
    }
}
