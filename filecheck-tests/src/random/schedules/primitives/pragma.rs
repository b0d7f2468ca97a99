//! Hints about loops.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, at, nth }: Site) -> bool {
    let name = maker.graph.nodes[node].loops[at].name.clone();
    match nth {
        0 | 1 => {
            let step = maker.rng.pick(&[4, 16, 64]);
            maker.line("pragma step", format!("({name}, auto_unroll_max_step = {step})"));
        }
        2 => {
            let explicit = maker.rng.pick(&["true", "false"]);
            let args = format!("({name}, auto_unroll_max_step = 16, unroll_explicit = {explicit})");
            maker.line("pragma explicit", args);
        }
        _ => maker.line("pragma hint", format!("({name}, loop_partition_hint = true)")),
    }
    true
}
