//! Pairs of loops that are tiled.

use crate::random::schedules::graph::{Loop, plain};
use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, at, .. }: Site) -> bool {
    if !maker.is_like_next(node, at) {
        return false;
    }
    let names: Vec<String> = (0..4).map(|_| maker.name("t")).collect();
    let ((tx, fx), (ty, fy)) = (maker.factor(&[1, 2, 3, 4, 8]), maker.factor(&[1, 2, 3, 4, 8]));
    let loops = &maker.graph.nodes[node].loops;
    let (x, y) = (loops[at].clone(), loops[at + 1].clone());
    let bound: Vec<&str> = names.iter().map(|name| &**name).collect();
    maker.schedule.add("tile", &bound, format!("({}, {}, {tx}, {ty})", x.name, y.name));
    let extents = [(x.extent + fx - 1) / fx, (y.extent + fy - 1) / fy, fx, fy];
    let parts = names.iter().zip(extents);
    let parts: Vec<Loop> =
        parts.map(|(name, extent)| Loop { reduce: x.reduce, ..plain(name.clone(), extent) }).collect();
    maker.graph.nodes[node].loops.splice(at..at + 2, parts);
    true
}
