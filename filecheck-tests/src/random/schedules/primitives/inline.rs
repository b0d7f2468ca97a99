//! Stages that are inlined.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node: id, .. }: Site) -> bool {
    let node = &maker.graph.nodes[id];
    let can_be = !node.output && !node.reduces() && node.n_results == 1;
    let name = node.name.clone();
    if !can_be || !maker.rng.chance(28) {
        return false;
    }
    maker.line("inline", format!("({name})"));
    maker.graph.nodes[id].inlined = true;
    true
}
