//! Short loops that are unrolled.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, at, .. }: Site) -> bool {
    let is_drawn = maker.graph.nodes[node].loops[at].extent <= 8;
    if is_drawn {
        maker.say(node, at, "unroll", "");
    }
    is_drawn
}
