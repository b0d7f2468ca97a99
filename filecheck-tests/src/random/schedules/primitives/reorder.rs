//! Loops that change places.

use crate::random::schedules::graph::NodeId;
use crate::random::schedules::{Maker, Site};

/// Exchanges two loops.
pub(super) fn draw(maker: &mut Maker<'_>, Site { node, at, .. }: Site) -> bool {
    let n = maker.graph.nodes[node].loops.len();
    let other = maker.rng.below(n);
    if at == other {
        return true;
    }
    maker.graph.nodes[node].loops.swap(at, other);
    let (low, high) = (at.min(other), at.max(other));
    let names: Vec<String> = maker.graph.nodes[node].loops[low..=high].iter().map(|one| one.name.clone()).collect();
    maker.line("reorder", format!("({})", names.join(", ")));
    true
}

impl Maker<'_> {
    /// Brings the loops over data outside of those over a reduction, as launches need it.
    pub(super) fn data_outside(&mut self, node: NodeId) {
        let loops = self.graph.nodes[node].loops.clone();
        let last_data = loops.iter().rposition(|one| !one.reduce);
        let first_reduced = loops.iter().position(|one| one.reduce);
        if last_data.zip(first_reduced).is_none_or(|(data, reduced)| data < reduced) {
            return;
        }
        let mut sorted = loops;
        sorted.sort_by_key(|one| one.reduce);
        let names: Vec<String> = sorted.iter().map(|one| one.name.clone()).collect();
        self.graph.nodes[node].loops = sorted;
        self.line("reorder", format!("({})", names.join(", ")));
    }
}
