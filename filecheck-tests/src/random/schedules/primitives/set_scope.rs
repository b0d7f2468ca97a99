//! Where buffers lie.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let of = maker.graph.nodes[node].clone();
    if of.scope.is_some() || !maker.rng.chance(22) {
        return false;
    }
    let usual = if of.in_threads {
        "local"
    } else if of.in_blocks {
        "shared"
    } else {
        "global"
    };
    let scope = maker.rng.pick(&[usual, usual, usual, "shared", "registers", "local", "global"]);
    maker.line("set_scope", format!("({}, {scope})", of.name));
    true
}
