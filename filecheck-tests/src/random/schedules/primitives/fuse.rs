//! Loops that are fused.

use crate::random::schedules::graph::{Loop, NodeId, plain};
use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, at, .. }: Site) -> bool {
    let is_drawn = maker.is_like_next(node, at);
    if is_drawn {
        maker.fuse(node, at);
    }
    is_drawn
}

impl Maker<'_> {
    /// Fuses loops `at` and `at + 1`.
    pub(super) fn fuse(&mut self, node: NodeId, at: usize) {
        let fused = self.name("fused");
        let loops = &self.graph.nodes[node].loops;
        let (a, b) = (loops[at].clone(), loops[at + 1].clone());
        self.schedule.add("fuse", &[&fused], format!("({}, {})", a.name, b.name));
        let whole = Loop { reduce: a.reduce, ..plain(fused, a.extent.saturating_mul(b.extent)) };
        self.graph.nodes[node].loops.splice(at..at + 2, [whole]);
    }
}
