//! Where the buffers of stages lie, and how.

use super::Maker;
use super::graph::NodeId;

impl Maker<'_> {
    /// The scope, the strides and the layout of a stage's buffer, and whether it has several.
    pub(super) fn storage(&mut self, node: NodeId) {
        let of = self.graph.nodes[node].clone();
        if of.output {
            return;
        }
        if of.scope.is_none() && self.rng.chance(22) {
            let usual = if of.in_threads {
                "local"
            } else if of.in_blocks {
                "shared"
            } else {
                "global"
            };
            let scope = self.rng.pick(&[usual, usual, usual, "shared", "local", "global"]);
            self.line("set_scope", format!("({}, {scope})", of.name));
        }
        let rank = of.data.len();
        match self.rng.below(10) {
            0 if rank > 0 => {
                let axis = self.rng.pick(&of.data).0;
                let (factor, offset) = (self.rng.pick(&[2, 4, 8, 32]), self.rng.pick(&[0, 1, 3]));
                self.line("storage_align", format!("({}.{axis}, factor = {factor}, offset = {offset})", of.name));
            }
            1 => {
                if let Some(map) = self.layout(rank) {
                    self.line("transform_layout", format!("({}) {map}", of.name));
                }
            }
            3 if of.scope.is_some_and(|scope| scope.starts_with("shared")) => {
                let (bits, base) = (self.rng.pick(&[1, 1, 2]), self.rng.pick(&[0, 2, 2, 3]));
                let shift = self.rng.pick(&[bits, 2, 3]);
                self.line("swizzle", format!("({}, bits = {bits}, base = {base}, shift = {shift})", of.name));
            }
            2 if of.attached.is_some() => self.line("double_buffer", format!("({})", of.name)),
            _ => {}
        }
    }

    /// A map of indices that loses none.
    fn layout(&mut self, rank: usize) -> Option<&'static str> {
        let maps: &[&'static str] = match rank {
            1 => &["(a) { yield a / 4, a % 4 }", "(a) { yield a % 2, a / 2 }", "(a) { yield a * 2 + 1 }"],
            2 => &["(a, b) { yield b, a }", "(a, b) { yield b / 4, a, b % 4 }", "(a, b) { yield a, b ^ (a & 3) }"],
            3 => &["(a, b, c) { yield c, a, b }", "(a, b, c) { yield a, b % 2, c, b / 2 }"],
            _ => return None,
        };
        Some(self.rng.pick(maps))
    }

    /// Loops that others are computed in run ahead.
    pub(super) fn pipelines(&mut self) {
        for node in 0..self.graph.nodes.len() {
            for at in 0..self.graph.nodes[node].loops.len() {
                let one = self.graph.nodes[node].loops[at].clone();
                let percent = if one.reduce { 45 } else { 12 };
                if one.holds && !one.said && self.rng.chance(percent) {
                    let stages = self.rng.pick(&[2, 2, 3, 4]);
                    self.say(node, at, "pipeline", &format!(", stages = {stages}"));
                }
            }
        }
    }
}
