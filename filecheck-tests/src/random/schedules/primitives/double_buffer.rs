//! Stages that have two buffers.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    let of = &maker.graph.nodes[node];
    let (name, is_drawn) = (of.name.clone(), of.attached.is_some());
    if is_drawn {
        maker.line("double_buffer", format!("({name})"));
    }
    is_drawn
}
