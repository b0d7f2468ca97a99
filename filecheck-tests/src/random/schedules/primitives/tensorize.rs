//! Copies that an intrinsic does.

use crate::random::directive::COPIED;
use crate::random::schedules::{Maker, Site};

/// The innermost loop of a copy, or a part of it, is what an intrinsic does.
pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    if !maker.graph.nodes[node].copy || !maker.rng.chance(40) {
        return false;
    }
    let Some(last) = maker.graph.nodes[node].loops.len().checked_sub(1) else { return false };
    if maker.graph.nodes[node].loops[last].said {
        return false;
    }
    let n = maker.rng.pick(&COPIED);
    maker.split(node, last, (n.to_string(), n), false);
    maker.say(node, last + 1, "tensorize", &format!(", @copy{n}"));
    true
}
