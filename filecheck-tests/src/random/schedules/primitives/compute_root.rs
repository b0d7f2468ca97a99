//! Stages that are computed whole.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let is_drawn = !maker.graph.nodes[node].output && maker.rng.chance(10);
    if is_drawn {
        let name = maker.graph.nodes[node].name.clone();
        maker.line("compute_root", format!("({name})"));
    }
    is_drawn
}
