//! Clusters of blocks.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let blocks = maker.graph.nodes[node].loops.iter().find(|one| one.bound == Some("blockIdx.x"));
    // Where a size stays open there may be no whole clusters, which is refused later.
    let Some(name) = blocks.filter(|one| one.extent % 4 == 0).map(|one| one.name.clone()) else { return false };
    maker.line("cluster", format!("({name}, size = 2)"));
    true
}
