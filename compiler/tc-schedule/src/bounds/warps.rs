//! Kernels in which warps hold tiles together.

use super::{Bounds, Launch};
use crate::diagnostic::{ScheduleDiagnostic, ScheduleDiagnostics};
use crate::graph::{AxisId, StageId};
use tc_dialects::tir::Coordinate;
use tc_ir::Func;
use tc_support::Location;

/// Refuses kernels with tiles in which `threadIdx.x` does not number whole warps: threads of one warp would then have
/// different numbers in y or z, and so hold parts of different tiles. Where nothing is bound to it, the intrinsics bind
/// it.
pub(super) fn check(
    sched: Option<&Func>,
    bounds: &Bounds,
    launches: &[(Launch, AxisId)],
    found: &mut ScheduleDiagnostics,
) {
    let graph = &bounds.graph;
    let is_tile = |&&stage: &&StageId| bounds.stage(stage).is_some_and(|bounds| bounds.scope.is_tile());
    for &(launch, by) in launches.iter().filter(|(launch, _)| launch.coordinate == Coordinate::ThreadX) {
        let of_nest = |stage: &&StageId| graph.nest_of(**stage) == launch.nest;
        let Some(&stage) = graph.order.iter().filter(of_nest).find(is_tile) else { continue };
        let scope = graph.scope_of(stage);
        let (crew, held_by) = (scope.crew(), scope.threads());
        let Some(threads) = launch.extent.int().filter(|threads| threads % held_by != 0) else { continue };
        let text = format!(
            "`{}` lies in {} memory, which the {held_by} threads of a {crew} hold together, and `threadIdx.x` numbers {threads}",
            graph[stage].name,
            scope.name()
        );
        let location = sched.map_or(Location::None, |sched| sched.location(graph[by].kind_loc));
        let help = format!("split `{}` by {held_by}, and bind the inner part", graph[by].name);
        found.push(ScheduleDiagnostic::error("tile-threads", location, text).help(help));
    }
}
