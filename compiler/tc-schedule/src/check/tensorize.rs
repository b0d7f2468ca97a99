//! Loops that a tensor intrinsic stands for are plain ones.

use super::Check;
use crate::directive::{one_of, show_axis};
use crate::graph::{Attach, AxisId, Kind, StageId};
use tc_support::{Diagnostic, suggest};

impl Check<'_> {
    /// From the loop that is tensorized inwards nothing is bound, copied or a vector, and no stage is computed.
    pub(super) fn tensorized(&mut self, stage: StageId) {
        let graph = self.graph;
        let Some(at) = graph.tensorized(stage) else { return };
        let leaves = &graph[stage].leaves;
        if let Some(&leaf) = leaves[at..].iter().find(|&&leaf| graph[leaf].kind != Kind::Serial) {
            self.not_serial(stage, at, leaf);
        }
        let inside = |leaf: AxisId| leaves[at..].contains(&leaf);
        let attached =
            |&&other: &&StageId| matches!(graph[other].attach, Attach::At(axis) if inside(graph.leaf_of(axis)));
        if let Some(&other) = graph.order.iter().find(attached) {
            self.computed_inside(stage, at, other);
        }
    }

    /// A loop of another kind, inside the one at place `at`.
    fn not_serial(&mut self, stage: StageId, at: usize, leaf: AxisId) {
        let graph = self.graph;
        let Some((intrinsic, loc)) = &graph[graph[stage].leaves[at]].tensorize else { return };
        let intrinsic = suggest::shorten(intrinsic);
        let (how, why) = match graph[leaf].kind {
            Kind::Launch(coordinate) => (format!("bound to `{}`", coordinate.name()), "a thread"),
            Kind::Vthread => ("bound to virtual threads".to_string(), "a virtual thread"),
            Kind::Unroll => ("unrolled".to_string(), "an unrolled loop"),
            Kind::Vectorize | Kind::Serial => ("a vector".to_string(), "a vector"),
        };
        let shown = show_axis(graph, leaf);
        let text = format!("`@{intrinsic}` stands for the loop `{shown}`, which is {how}: {why} may not be inside it");
        let diagnostic = Diagnostic::error("tensorize-inside", self.location(*loc), text);
        let diagnostic = diagnostic.label(self.location(graph[leaf].kind_loc), format!("`{shown}` is {how} here"));
        let inner = graph[stage].leaves.iter().skip_while(|&&other| other != leaf).skip(1);
        let free: Vec<&str> = inner.map(|&leaf| &*graph[leaf].name).collect();
        let help = match free[..] {
            [] => "leave out one of the two directives".to_string(),
            _ => format!("leave out one of the two, or tensorize a loop inside it: {}", one_of(&free)),
        };
        self.found.push(diagnostic.help(help));
    }

    /// A stage that is computed inside the loop at place `at`.
    fn computed_inside(&mut self, stage: StageId, at: usize, other: StageId) {
        let graph = self.graph;
        let leaf = graph[stage].leaves[at];
        let Some((intrinsic, loc)) = &graph[leaf].tensorize else { return };
        let name = &graph[other].name;
        let text = format!(
            "`@{}` stands for the loops of `{}` from `{}` inwards, and `{name}` is computed inside them",
            suggest::shorten(intrinsic),
            graph[stage].name,
            graph[leaf].name
        );
        let diagnostic = Diagnostic::error("tensorize-inside", self.location(*loc), text);
        let diagnostic = diagnostic.label(self.location(graph[other].attach_loc), format!("`{name}` is attached here"));
        let free: Vec<&str> = graph[stage].leaves[..at].iter().map(|&leaf| &*graph[leaf].name).collect();
        let help = match free[..] {
            [] => format!("compute `{name}` further outside"),
            _ => format!("compute `{name}` at a loop outside: {}", one_of(&free)),
        };
        self.found.push(diagnostic.help(help));
    }
}
