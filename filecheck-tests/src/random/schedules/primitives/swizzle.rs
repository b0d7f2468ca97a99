//! Positions in shared memory that are swizzled.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let of = maker.graph.nodes[node].clone();
    if !of.scope.is_some_and(|scope| scope.starts_with("shared")) {
        return false;
    }
    let (bits, base) = (maker.rng.pick(&[1, 1, 2]), maker.rng.pick(&[0, 2, 2, 3]));
    let shift = maker.rng.pick(&[bits, 2, 3]);
    maker.line("swizzle", format!("({}, bits = {bits}, base = {base}, shift = {shift})", of.name));
    true
}
