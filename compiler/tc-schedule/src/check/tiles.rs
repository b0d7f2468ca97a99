//! Tiles of matrix ops, which the threads of a warp hold together.

use super::Check;
use crate::diagnostic::ScheduleDiagnostic;
use crate::directive::one_of;
use crate::graph::{AxisId, Kind, StageId};
use tc_dialects::tir::Coordinate;

impl Check<'_> {
    /// No loop of a stage of tiles is shared out among the threads of a warp.
    pub(super) fn held_by_a_warp(&mut self, stage: StageId) {
        let graph = self.graph;
        let data = &graph[stage];
        let scope = graph.scope_of(stage);
        let bound = |&leaf: &AxisId| graph[leaf].kind == Kind::Launch(Coordinate::ThreadX);
        let Some(leaf) = data.leaves.iter().copied().find(bound).filter(|_| scope.is_tile()) else { return };
        let text = format!(
            "`{}` lies in {} memory, and its loop `{}` is bound to `threadIdx.x`: the {} threads of a {} hold the tile \
             together",
            data.name,
            scope.name(),
            graph[leaf].name,
            scope.threads(),
            scope.crew()
        );
        let free = graph.names(data.leaves.iter().filter(|leaf| !bound(leaf)));
        let help = match free[..] {
            [] => "bind an axis of what reads it".to_string(),
            _ => format!("leave it unbound and `tensorize` {}; bind axes of what reads `{}`", one_of(&free), data.name),
        };
        self.found
            .push(ScheduleDiagnostic::error("tile-threads", self.location(graph[leaf].kind_loc), text).help(help));
    }
}
