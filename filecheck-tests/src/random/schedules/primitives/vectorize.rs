//! Loops that run as lanes.

use crate::random::schedules::{Maker, Site};

/// The innermost loop over data, or a part of it.
pub(super) fn lanes(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let n = maker.graph.nodes[node].loops.len();
    if n == 0 || !maker.rng.chance(22) {
        return false;
    }
    let last = maker.graph.nodes[node].loops[n - 1].clone();
    if !last.reduce && !last.said {
        if last.extent > 4 {
            let by = maker.rng.pick(&[2, 4, 4]);
            maker.split(node, n - 1, (by.to_string(), by), false);
        }
        let at = maker.graph.nodes[node].loops.len() - 1;
        maker.say(node, at, "vectorize", "");
    }
    true
}

/// Any short loop.
pub(super) fn draw(maker: &mut Maker<'_>, Site { node, at, .. }: Site) -> bool {
    let one = &maker.graph.nodes[node].loops[at];
    let is_drawn = one.extent <= 4 && !one.reduce;
    if is_drawn {
        maker.say(node, at, "vectorize", "");
    }
    is_drawn
}
