//! How the loops of a stage are made: split, fused, reordered; and how they run.

use super::Maker;
use super::graph::{Loop, NodeId, plain};
use crate::random::directive::COPIED;

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

    /// Fuses loops `at` and `at + 1`.
    pub(super) fn fuse(&mut self, node: NodeId, at: usize) {
        let fused = self.name("fused");
        let loops = &self.graph.nodes[node].loops;
        let (a, b) = (loops[at].clone(), loops[at + 1].clone());
        self.schedule.add("fuse", &[&fused], format!("({}, {})", a.name, b.name));
        let whole = Loop { reduce: a.reduce, ..plain(fused, a.extent.saturating_mul(b.extent)) };
        self.graph.nodes[node].loops.splice(at..at + 2, [whole]);
    }

    /// Splits, fuses, tiles and reorders at random.
    pub(super) fn shape(&mut self, node: NodeId) {
        let n_steps = self.rng.pick(&[0, 1, 1, 2, 3]);
        for _ in 0..n_steps {
            let n = self.graph.nodes[node].loops.len();
            if n == 0 || n > 7 {
                return;
            }
            let at = self.rng.below(n);
            let loops = &self.graph.nodes[node].loops;
            let next_alike = at + 1 < n && loops[at].reduce == loops[at + 1].reduce;
            match self.rng.below(8) {
                0..=3 => {
                    let factor = self.factor(&[1, 2, 3, 4, 5, 7, 8, 16]);
                    let nparts = self.rng.chance(30);
                    self.split(node, at, factor, nparts);
                }
                4 if next_alike => self.fuse(node, at),
                5 if next_alike => self.tile(node, at),
                _ => self.reorder(node, at),
            }
        }
    }

    fn tile(&mut self, node: NodeId, at: usize) {
        let names: Vec<String> = (0..4).map(|_| self.name("t")).collect();
        let ((tx, fx), (ty, fy)) = (self.factor(&[1, 2, 3, 4, 8]), self.factor(&[1, 2, 3, 4, 8]));
        let loops = &self.graph.nodes[node].loops;
        let (x, y) = (loops[at].clone(), loops[at + 1].clone());
        let bound: Vec<&str> = names.iter().map(|name| &**name).collect();
        self.schedule.add("tile", &bound, format!("({}, {}, {tx}, {ty})", x.name, y.name));
        let extents = [(x.extent + fx - 1) / fx, (y.extent + fy - 1) / fy, fx, fy];
        let parts = names.iter().zip(extents);
        let parts: Vec<Loop> =
            parts.map(|(name, extent)| Loop { reduce: x.reduce, ..plain(name.clone(), extent) }).collect();
        self.graph.nodes[node].loops.splice(at..at + 2, parts);
    }

    /// Exchanges two loops.
    fn reorder(&mut self, node: NodeId, at: usize) {
        let n = self.graph.nodes[node].loops.len();
        let other = self.rng.below(n);
        if at == other {
            return;
        }
        self.graph.nodes[node].loops.swap(at, other);
        let (low, high) = (at.min(other), at.max(other));
        let names: Vec<String> = self.graph.nodes[node].loops[low..=high].iter().map(|one| one.name.clone()).collect();
        self.line("reorder", format!("({})", names.join(", ")));
    }

    /// Says how loop `at` runs.
    pub(super) fn say(&mut self, node: NodeId, at: usize, kind: &str, args: &str) {
        let one = &mut self.graph.nodes[node].loops[at];
        one.said = true;
        let text = format!("({}{args})", one.name);
        self.line(kind, text);
    }

    /// Binds loop `at` to a coordinate.
    pub(super) fn bind(&mut self, node: NodeId, at: usize, to: &'static str) {
        let kind = match (self.graph.nodes[node].loops[at].reduce, to.starts_with("block")) {
            (true, _) => "bind reduction",
            (false, true) => "bind block",
            (false, false) => "bind thread",
        };
        self.say(node, at, kind, &format!(", {to}"));
        self.graph.nodes[node].loops[at].bound = Some(to);
    }

    /// The innermost loop of a copy, or a part of it, is what an intrinsic does.
    fn tensorize(&mut self, node: NodeId) {
        let Some(last) = self.graph.nodes[node].loops.len().checked_sub(1) else { return };
        if self.graph.nodes[node].loops[last].said {
            return;
        }
        let n = self.rng.pick(&COPIED);
        self.split(node, last, (n.to_string(), n), false);
        self.say(node, last + 1, "tensorize", &format!(", @copy{n}"));
    }

    /// What is said of the loops that run on no thread.
    pub(super) fn annotate(&mut self, node: NodeId) {
        if self.graph.nodes[node].copy && self.rng.chance(40) {
            self.tensorize(node);
        }
        let n = self.graph.nodes[node].loops.len();
        if n > 0 && self.rng.chance(22) {
            // Lanes: the innermost loop over data, or a part of it.
            let last = self.graph.nodes[node].loops[n - 1].clone();
            if !last.reduce && !last.said {
                if last.extent > 4 {
                    let by = self.rng.pick(&[2, 4, 4]);
                    self.split(node, n - 1, (by.to_string(), by), false);
                }
                let at = self.graph.nodes[node].loops.len() - 1;
                self.say(node, at, "vectorize", "");
            }
        }
        for at in 0..self.graph.nodes[node].loops.len() {
            let one = self.graph.nodes[node].loops[at].clone();
            if one.said {
                continue;
            }
            match self.rng.below(40) {
                0..=3 if one.extent <= 8 => self.say(node, at, "unroll", ""),
                4..=6 if one.extent <= 5 && !one.reduce => self.say(node, at, "bind vthread", ", vthread"),
                7 if one.extent <= 4 && !one.reduce => self.say(node, at, "vectorize", ""),
                8 | 9 => {
                    let step = self.rng.pick(&[4, 16, 64]);
                    self.line("pragma step", format!("({}, auto_unroll_max_step = {step})", one.name));
                }
                10 => {
                    let explicit = self.rng.pick(&["true", "false"]);
                    let args = format!("({}, auto_unroll_max_step = 16, unroll_explicit = {explicit})", one.name);
                    self.line("pragma explicit", args);
                }
                11..=13 => self.line("pragma hint", format!("({}, loop_partition_hint = true)", one.name)),
                _ => {}
            }
        }
    }
}
