//! Copies into shared memory that a copy engine makes.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let of = maker.graph.nodes[node].clone();
    if !of.scope.is_some_and(|scope| scope.starts_with("shared")) || maker.rng.below(4) > 0 {
        return false;
    }
    let swizzle = maker.rng.pick(&["", "", ", swizzle = 0", ", swizzle = 32", ", swizzle = 128"]);
    maker.line("bulk_copy", format!("({}{swizzle})", of.name));
    true
}
