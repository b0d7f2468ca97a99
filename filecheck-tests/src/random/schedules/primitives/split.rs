//! Loops that are split.

use crate::random::schedules::graph::{Loop, NodeId, plain};
use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, at, .. }: Site) -> bool {
    let factor = maker.factor(&[1, 2, 3, 4, 5, 7, 8, 16]);
    let nparts = maker.rng.chance(30);
    maker.split(node, at, factor, nparts);
    true
}

impl Maker<'_> {
    /// Splits loop `at` of `node` into two.
    pub(super) fn split(&mut self, node: NodeId, at: usize, (text, by): (String, i64), nparts: bool) {
        let whole = self.graph.nodes[node].loops[at].clone();
        let (outer, inner) = (self.name("outer"), self.name("inner"));
        let how = if nparts { "nparts" } else { "factor" };
        self.schedule.add(&format!("split {how}"), &[&outer, &inner], format!("({}, {how} = {text})", whole.name));
        let rest = (whole.extent + by - 1) / by.max(1);
        let (outside, inside) = if nparts { (by, rest) } else { (rest, by) };
        let part = |name, extent| Loop { reduce: whole.reduce, ..plain(name, extent) };
        self.graph.nodes[node].loops.splice(at..=at, [part(outer, outside), part(inner, inside)]);
    }
}
