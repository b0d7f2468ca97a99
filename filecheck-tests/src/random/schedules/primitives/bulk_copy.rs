//! Copies between shared memory and tensors that a copy engine makes.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let of = &maker.graph.nodes[node];
    let n_readers = maker.graph.nodes.iter().filter(|other| other.reads.contains(&node)).count();
    let moves = of.copy || of.of_result && n_readers == 1;
    let of_result = !of.copy && of.of_result;
    let in_shared = moves && of.attached.is_some() && of.scope.is_some_and(|scope| scope.starts_with("shared"));
    // Rows of other lengths are mostly refused: they are no multiples of 16 bytes.
    let percent = if of.data.last().is_some_and(|(_, extent)| extent % 4 == 0) { 90 } else { 20 };
    if !in_shared || !maker.rng.chance(percent) {
        return false;
    }
    let name = of.name.clone();
    let width = maker.rng.pick(&["", "", "", ", swizzle = 0", ", swizzle = 32", ", swizzle = 128"]);
    let pieces = if of_result { maker.rng.pick(&["", "", ", pieces = 2", ", pieces = 4"]) } else { "" };
    maker.line("bulk_copy", format!("({name}{width}{pieces})"));
    true
}
