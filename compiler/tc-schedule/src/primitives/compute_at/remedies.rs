//! Where else a stage may be computed.

use crate::graph::Attach;
use crate::remedy::{Proposals, loops_of_readers};
use crate::written;

/// The directive with another loop; where it is another one, the stage in question inside a loop of one that reads it.
pub(crate) fn other_loop(proposals: &mut Proposals<'_>) {
    if proposals.attaches() {
        return proposals.other_axes();
    }
    let Some((stage, graph)) = proposals.stage_at_end() else { return };
    for axis in loops_of_readers(graph, stage) {
        let call = format!("compute_at({}, {})", written::stage(graph, stage), written::axis(graph, axis));
        proposals.at_end(format!("`{call}` at the end"), call, move |graph| graph[stage].attach = Attach::At(axis));
    }
}

/// `compute_root` in the place of the directive.
pub(crate) fn root_instead(proposals: &mut Proposals<'_>) {
    if let Some(stage) = proposals.stage(0)
        && proposals.is_first()
        && proposals.attaches()
    {
        let call = format!("compute_root({})", written::stage(proposals.graph, stage));
        proposals.instead(call, move |graph| graph[stage].attach = Attach::Root);
    }
}
