//! Axes that run on over zeros.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let of = maker.graph.nodes[node].clone();
    if of.copy || of.output || !maker.rng.chance(25) {
        return false;
    }
    // What it reads is mostly copied, as it must be.
    for read in of.reads {
        let data = &maker.graph.nodes[read];
        if !data.copy && data.n_results == 1 && !data.data.is_empty() && maker.rng.chance(90) {
            maker.copied(read, Some(node));
        }
    }
    let reduced = of.loops.iter().filter(|one| one.reduce).map(|one| one.name.clone());
    let axes = of.data.iter().map(|(axis, _)| format!("{}.{axis}", of.name)).chain(reduced);
    for axis in axes {
        if maker.rng.chance(60) {
            let multiple = maker.rng.pick(&[2, 4, 8, 3, 16]);
            maker.line("pad", format!("({axis}, multiple = {multiple})"));
        }
    }
    true
}
