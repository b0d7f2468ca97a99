//! Strides that are padded.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let of = maker.graph.nodes[node].clone();
    if of.data.is_empty() {
        return false;
    }
    let axis = maker.rng.pick(&of.data).0;
    let (factor, offset) = (maker.rng.pick(&[2, 4, 8, 32]), maker.rng.pick(&[0, 1, 3]));
    maker.line("storage_align", format!("({}.{axis}, factor = {factor}, offset = {offset})", of.name));
    true
}
