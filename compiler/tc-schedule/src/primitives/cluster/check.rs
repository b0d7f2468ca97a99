//! What must hold of the loop over the blocks of clusters, once the schedule is read.

use super::Clustered;
use crate::check::Check;
use crate::diagnostic::ScheduleDiagnostic;
use crate::graph::{AxisId, Kind, StageId};
use crate::remedy::LEAVE_OUT;
use tc_dialects::tir::Coordinate;

/// The loop numbers blocks along `blockIdx.x`.
pub(super) fn are_blocks(part: &Clustered, check: &mut Check<'_>, stage: StageId, axis: AxisId) {
    let graph = check.graph;
    let name = &graph[axis].name;
    let error = |text: String| ScheduleDiagnostic::error("cluster", check.location(part.loc), text).fix_its(LEAVE_OUT);
    if graph[axis].kind != Kind::Launch(Coordinate::BlockX) {
        let text = format!("`{name}` of `{}` is not bound to blockIdx.x, along which clusters lie", graph[stage].name);
        check.found.push(error(text).fact(format!("`bind({name}, blockIdx.x)`, or leave it out")));
    }
}
