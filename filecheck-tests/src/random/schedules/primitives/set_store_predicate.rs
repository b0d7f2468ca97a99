//! Conditions that hold wherever the result is wanted.

use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    if !maker.rng.chance(9) {
        return false;
    }
    let of = maker.graph.nodes[node].clone();
    let across = of.loops.iter().any(|one| one.reduce && one.bound == Some("threadIdx.x"));
    let condition = if across {
        "threadIdx.x == 0".to_string()
    } else if let Some(to) = of.loops.iter().find_map(|one| one.bound) {
        format!("{to} >= 0")
    } else if let Some(one) = of.loops.iter().find(|one| !one.reduce) {
        let short = one.name.split('.').next_back().unwrap_or("");
        format!("{short} < {}", one.extent.max(1) * 1000)
    } else {
        return false;
    };
    let kind = if across { "set_store_predicate across" } else { "set_store_predicate" };
    maker.line(kind, format!("({}, {condition})", of.name));
    true
}
