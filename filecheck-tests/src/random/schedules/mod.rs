//! Random schedules: first what stages there are, then where each stands and how its loops run.
//!
//! Most of what is written is legal; what is not is refused by the compiler and dropped by [`crate::random::check`].

mod graph;
mod loops;
mod place;
mod storage;
mod structure;

use super::directive::Schedule;
use super::operator::Operator;
use super::rng::Rng;
use graph::{Graph, NodeId};

struct Maker<'r> {
    rng: &'r mut Rng,
    graph: Graph,
    schedule: Schedule,
    n_names: usize,
    /// Do loops run on a GPU?
    bound: bool,
    factor: Option<(String, i64)>,
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
    maker.structure();
    let order: Vec<NodeId> = maker.graph.order.iter().rev().copied().collect();
    for node in order {
        if maker.graph.nodes[node].is_scheduled() {
            maker.place(node);
            maker.storage(node);
        }
    }
    maker.pipelines();
    maker.schedule.without_unused_params()
}

impl Maker<'_> {
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
