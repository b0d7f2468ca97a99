//! Random schedules: first what stages there are, then where each stands and how its loops run.
//!
//! Most of what is written is legal; what is not is refused by the compiler and dropped by [`crate::random::check`].
//! Each primitive is drawn by its file in `primitives`, at its phase, which a line of the table there says.

mod graph;
mod primitives;

use super::directive::Schedule;
use super::operator::Operator;
use super::rng::Rng;
use graph::{Graph, NodeId};
use primitives::Phase;

struct Maker<'r> {
    rng: &'r mut Rng,
    graph: Graph,
    schedule: Schedule,
    n_names: usize,
    /// Do loops run on a GPU?
    bound: bool,
    factor: Option<(String, i64)>,
}

/// What a primitive is drawn for.
#[derive(Clone, Copy)]
struct Site {
    node: NodeId,
    /// One of its loops, in the phases that are about loops.
    at: usize,
    /// Which of the primitive's shares was drawn.
    nth: usize,
}

impl Site {
    fn of(node: NodeId) -> Site {
        Site { node, at: 0, nth: 0 }
    }
}

/// A random schedule of `op`.
pub fn schedule(op: &Operator, rng: &mut Rng) -> Schedule {
    let bound = rng.chance(88);
    let graph = Graph::of(op);
    let mut maker = Maker { rng, graph, schedule: Schedule::default(), n_names: 0, bound, factor: None };
    if maker.rng.chance(15) {
        let values = maker.rng.pick(&["3, 2", "4", "1, 5", "8, 4"]);
        maker.schedule.params.push(format!("p: index in [{values}]"));
        let first = values.split(',').next().and_then(|text| text.parse().ok());
        maker.factor = first.map(|value| ("p".to_string(), value));
    }
    let is_scheduled = |maker: &Maker<'_>, node: NodeId| maker.graph.nodes[node].is_scheduled();
    let stages: Vec<NodeId> = maker.graph.order.iter().copied().filter(|&node| is_scheduled(&maker, node)).collect();
    for node in stages {
        maker.first_of(Phase::Stages, Site::of(node));
    }
    for node in 0..maker.graph.nodes.len() {
        maker.first_of(Phase::Copies, Site::of(node));
    }
    let padded: Vec<NodeId> = maker.graph.order.iter().copied().filter(|&node| is_scheduled(&maker, node)).collect();
    for node in padded {
        maker.first_of(Phase::Paddings, Site::of(node));
    }
    let order: Vec<NodeId> = maker.graph.order.iter().rev().copied().collect();
    for node in order {
        if is_scheduled(&maker, node) {
            maker.stage(node);
        }
    }
    for node in 0..maker.graph.nodes.len() {
        maker.all_of(Phase::Ends, Site::of(node));
    }
    maker.schedule.without_unused_params()
}

/// A condition on the sizes of `op` that may stay open, to choose by.
pub fn choice(op: &Operator, rng: &mut Rng) -> Option<String> {
    let open: Vec<usize> = (0..op.sizes.len()).filter(|&nth| op.symbolic[nth]).collect();
    if open.is_empty() || !rng.chance(60) {
        return None;
    }
    let nth = rng.pick(&open);
    let (size, border) = (format!("n{nth}"), op.sizes[nth] + rng.pick(&[-1, 0, 1]));
    let other = rng.pick(&open);
    Some(match rng.below(5) {
        0 => format!("{size} <= {border}"),
        1 => format!("{size} > {border}"),
        2 => format!("{size} % {} == 0", rng.pick(&[2, 4, 8])),
        3 => format!("min({size}, n{other}) < {border} || {size} == {border}"),
        _ => format!("!({size} >= {border} && n{other} % 4 != 0)"),
    })
}

/// Is this how `pass` refuses to carry out a directive?
pub fn is_asked_of(pass: &str, code: &str) -> bool {
    primitives::asking(pass, code).next().is_some()
}

/// The last directive of `schedule` that `pass` refuses with `code` to carry out.
pub fn who_asked(schedule: &Schedule, pass: &str, code: &str) -> Option<usize> {
    let asks = |kind: &str| primitives::asking(pass, code).any(|primitive| primitive == kind);
    schedule.directives.iter().rposition(|directive| asks(&directive.kind))
}

impl Maker<'_> {
    /// Says where a stage stands, how its loops run, and where its buffer lies.
    fn stage(&mut self, node: NodeId) {
        self.first_of(Phase::Places, Site::of(node));
        if self.first_of(Phase::Engines, Site::of(node)) {
            return;
        }
        self.all_of(Phase::Launches, Site::of(node));
        self.all_of(Phase::Innermost, Site::of(node));
        for at in 0..self.graph.nodes[node].loops.len() {
            if !self.graph.nodes[node].loops[at].said {
                self.one_of(Phase::Runs, Site { at, ..Site::of(node) });
            }
        }
        self.all_of(Phase::Stores, Site::of(node));
        if !self.graph.nodes[node].output {
            self.all_of(Phase::Scopes, Site::of(node));
            self.one_of(Phase::Buffers, Site::of(node));
        }
    }

    /// Splits, fuses, tiles and reorders at random.
    fn shape(&mut self, node: NodeId) {
        let n_steps = self.rng.pick(&[0, 1, 1, 2, 3]);
        for _ in 0..n_steps {
            let n = self.graph.nodes[node].loops.len();
            if n == 0 || n > 7 {
                return;
            }
            let at = self.rng.below(n);
            self.one_of(Phase::Shapes, Site { at, ..Site::of(node) });
        }
    }

    /// Are loop `at` and the next one both over data, or both over a reduction?
    fn is_like_next(&self, node: NodeId, at: usize) -> bool {
        let loops = &self.graph.nodes[node].loops;
        loops.get(at + 1).is_some_and(|next| loops[at].reduce == next.reduce)
    }

    /// Says how loop `at` runs.
    fn say(&mut self, node: NodeId, at: usize, kind: &str, args: &str) {
        let one = &mut self.graph.nodes[node].loops[at];
        one.said = true;
        let text = format!("({}{args})", one.name);
        self.line(kind, text);
    }

    fn name(&mut self, like: &str) -> String {
        self.n_names += 1;
        format!("{like}{}", self.n_names)
    }

    fn line(&mut self, kind: &str, args: String) {
        self.schedule.add(kind, &[], args);
    }

    /// A factor to split by, as it is written and as it counts.
    fn factor(&mut self, of: &[i64]) -> (String, i64) {
        match self.factor.clone() {
            Some(factor) if self.rng.chance(40) => factor,
            _ => {
                let value = self.rng.pick(of);
                (value.to_string(), value)
            }
        }
    }
}
