//! Loops that others are computed in, and that these run ahead of.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    for at in 0..maker.graph.nodes[node].loops.len() {
        let one = maker.graph.nodes[node].loops[at].clone();
        let percent = if one.reduce { 45 } else { 12 };
        if one.holds && !one.said && maker.rng.chance(percent) {
            let stages = maker.rng.pick(&[2, 2, 3, 4]);
            maker.say(node, at, "pipeline", &format!(", stages = {stages}"));
        }
    }
    true
}
