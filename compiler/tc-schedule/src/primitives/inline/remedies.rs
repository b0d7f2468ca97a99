//! What is proposed for a stage that cannot be inlined.

use crate::graph::Attach;
use crate::remedy::{Proposals, loops_of_readers};
use crate::written;

/// `compute_at` in the place of the directive.
pub(super) fn attach_instead(proposals: &mut Proposals<'_>) {
    let graph = proposals.graph;
    let Some(stage) = proposals.stage(0) else { return };
    for axis in loops_of_readers(graph, stage) {
        let call = format!("compute_at({}, {})", written::stage(graph, stage), written::axis(graph, axis));
        proposals.instead(call, move |graph| graph[stage].attach = Attach::At(axis));
    }
}
