//! Maps of indices that lose none.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let name = maker.graph.nodes[node].name.clone();
    let maps: &[&str] = match maker.graph.nodes[node].data.len() {
        1 => &["(a) { yield a / 4, a % 4 }", "(a) { yield a % 2, a / 2 }", "(a) { yield a * 2 + 1 }"],
        2 => &["(a, b) { yield b, a }", "(a, b) { yield b / 4, a, b % 4 }", "(a, b) { yield a, b ^ (a & 3) }"],
        3 => &["(a, b, c) { yield c, a, b }", "(a, b, c) { yield a, b % 2, c, b / 2 }"],
        _ => return false,
    };
    let map = maker.rng.pick(maps);
    maker.line("transform_layout", format!("({name}) {map}"));
    true
}
