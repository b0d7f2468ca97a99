//! Where a stage stands, and which of its loops run on blocks and threads.

use super::Maker;
use super::graph::NodeId;

const BLOCKS: [&str; 3] = ["blockIdx.x", "blockIdx.y", "blockIdx.z"];
const THREADS: [&str; 3] = ["threadIdx.x", "threadIdx.y", "threadIdx.z"];
/// The longest loop that is bound to threads.
const MOST_THREADS: i64 = 64;

impl Maker<'_> {
    /// Attaches a stage, or leaves it at the root; then makes its loops.
    pub(super) fn place(&mut self, node: NodeId) {
        // Global memory in kernels, and one place for several readers, are mostly refused.
        let percent = match (self.graph.nodes[node].scope, self.graph.readers(node).len()) {
            (Some("global"), _) if self.bound => 20,
            (Some(_), _) => 97,
            (None, n) if n > 1 => 45,
            (None, _) => 80,
        };
        let attached = !self.graph.nodes[node].output && self.rng.chance(percent) && self.attach(node);
        if !attached && !self.graph.nodes[node].output && self.rng.chance(10) {
            let name = self.graph.nodes[node].name.clone();
            self.line("compute_root", format!("({name})"));
        }
        if attached {
            self.shape_attached(node);
        } else {
            self.shape_root(node);
        }
        self.annotate(node);
        self.store_predicate(node);
    }

    /// Computes a stage inside a loop of a reader.
    fn attach(&mut self, node: NodeId) -> bool {
        let readers = self.graph.readers(node);
        if readers.is_empty() {
            return false;
        }
        let reader = self.rng.pick(&readers);
        // Another reader has to stand in the same loop: the first of them that is attached tells where.
        let n = self.graph.nodes[reader].loops.len();
        if n == 0 {
            return false;
        }
        let mut at = self.rng.below(n);
        let scope = self.graph.nodes[node].scope;
        let innermost_thread = self.graph.nodes[reader].loops.iter().rposition(|one| one.bound.is_some_and(is_thread));
        if scope == Some("local") && self.rng.chance(90) {
            at = at.max(innermost_thread.unwrap_or(0));
        }
        let (of, around) = (self.graph.nodes[reader].loops.clone(), self.graph.nodes[reader].clone());
        let name = self.graph.nodes[node].name.clone();
        self.line("compute_at", format!("({name}, {})", of[at].name));
        self.graph.nodes[reader].loops[at].holds = true;
        let stage = &mut self.graph.nodes[node];
        stage.attached = Some((reader, of[at].name.clone()));
        stage.root = around.root;
        let bound_to = |thread: bool| of[..=at].iter().any(|one| one.bound.is_some_and(|to| is_thread(to) == thread));
        stage.in_blocks = around.in_blocks || bound_to(false);
        stage.in_threads = around.in_threads || bound_to(true);
        true
    }

    fn shape_root(&mut self, node: NodeId) {
        if self.bound && self.graph.nodes[node].reduces() && self.rng.chance(18) {
            self.reduce_on_threads(node);
            return;
        }
        self.shape(node);
        if !self.bound {
            return;
        }
        let data = |maker: &Self| -> Vec<usize> {
            let loops = maker.graph.nodes[node].loops.iter().enumerate();
            loops.filter(|(_, one)| !one.reduce && !one.said).map(|(at, _)| at).collect()
        };
        // One loop is too few for blocks and threads.
        if data(self).len() == 1 && self.rng.chance(85) {
            let factor = self.factor(&[4, 8, 16, 32, 3, 5]);
            let at = data(self)[0];
            let nparts = self.rng.chance(20);
            self.split(node, at, factor, nparts);
        }
        let n_blocks = self.rng.pick(&[1, 1, 1, 2, 3]);
        let n_threads = self.rng.pick(&[0, 1, 1, 1, 2, 2, 3]);
        if self.rng.chance(90) {
            self.data_outside(node);
        }
        let (mut threads, mut nth) = (1, 0);
        for to in BLOCKS[..n_blocks].iter().chain(&THREADS[..n_threads]) {
            let free = data(self);
            // Blocks leave loops for threads.
            if free.is_empty() || (nth > 0 && !is_thread(to) && free.len() <= n_threads) {
                continue;
            }
            let at = if self.rng.chance(90) { free[0] } else { self.rng.pick(&free) };
            let extent = self.graph.nodes[node].loops[at].extent;
            if !is_thread(to) {
                nth += 1;
                self.bind(node, at, to);
            } else if threads * extent <= 256 && extent <= MOST_THREADS {
                threads *= extent;
                self.bind(node, at, to);
            }
        }
    }

    /// Brings the loops over data outside of those over a reduction, as launches need it.
    fn data_outside(&mut self, node: NodeId) {
        let loops = self.graph.nodes[node].loops.clone();
        let last_data = loops.iter().rposition(|one| !one.reduce);
        let first_reduced = loops.iter().position(|one| one.reduce);
        if last_data.zip(first_reduced).is_none_or(|(data, reduced)| data < reduced) {
            return;
        }
        let mut sorted = loops;
        sorted.sort_by_key(|one| one.reduce);
        let names: Vec<String> = sorted.iter().map(|one| one.name.clone()).collect();
        self.graph.nodes[node].loops = sorted;
        self.line("reorder", format!("({})", names.join(", ")));
    }

    /// A reduction that the threads of a block do together.
    fn reduce_on_threads(&mut self, node: NodeId) {
        let Some(first) = self.graph.nodes[node].loops.iter().position(|one| one.reduce) else { return };
        let mut at = first;
        if self.graph.nodes[node].loops[at].extent > 4 && self.rng.chance(75) {
            let factor = self.factor(&[2, 4, 5, 8, 32]);
            let nparts = self.rng.chance(30);
            self.split(node, at, factor, nparts);
            at += usize::from(!nparts);
        }
        if self.graph.nodes[node].loops[at].extent > MOST_THREADS {
            return;
        }
        self.bind(node, at, "threadIdx.x");
        if first > 0 {
            self.bind(node, 0, "blockIdx.x");
        }
        if first > 1 && self.graph.nodes[node].loops[1].extent <= 16 && self.rng.chance(50) {
            self.bind(node, 1, "threadIdx.y");
        }
        self.graph.nodes[node].in_blocks = first > 0;
    }

    /// The coordinates of the kernel that a stage stands in, with the extents of the loops that are bound there.
    fn launched(&self, node: NodeId) -> Vec<(&'static str, i64)> {
        let root = self.graph.nodes[node].root;
        let loops = self.graph.nodes[root].loops.iter();
        loops.filter_map(|one| Some((one.bound.filter(|to| is_thread(to))?, one.extent))).collect()
    }

    fn shape_attached(&mut self, node: NodeId) {
        let (in_blocks, in_threads) = (self.graph.nodes[node].in_blocks, self.graph.nodes[node].in_threads);
        let together = in_blocks && !in_threads && self.graph.nodes[node].scope != Some("local");
        let n_data = self.graph.nodes[node].loops.iter().filter(|one| !one.reduce).count();
        let launched = self.launched(node);
        if !together || launched.is_empty() || n_data == 0 || self.rng.chance(25) {
            self.shape(node);
            return;
        }
        // The threads of the block share the work: all loops become one, which is dealt out.
        let fused = if self.rng.chance(70) { n_data } else { 1 };
        for _ in 1..fused {
            self.fuse(node, 0);
        }
        for &(to, extent) in &launched {
            let at = self.graph.nodes[node].loops.iter().rposition(|one| !one.reduce && !one.said);
            let Some(at) = at else { break };
            match self.rng.below(10) {
                0 if self.graph.nodes[node].loops[at].extent <= MOST_THREADS => self.bind(node, at, to),
                1..=7 => {
                    let nparts = self.rng.chance(25);
                    self.split(node, at, (extent.to_string(), extent), nparts);
                    self.bind(node, at + usize::from(!nparts), to);
                }
                _ => {}
            }
        }
    }

    /// Conditions that hold wherever the result is wanted.
    fn store_predicate(&mut self, node: NodeId) {
        if !self.rng.chance(9) {
            return;
        }
        let of = self.graph.nodes[node].clone();
        let across = of.loops.iter().any(|one| one.reduce && one.bound == Some("threadIdx.x"));
        let condition = if across {
            "threadIdx.x == 0".to_string()
        } else if let Some(to) = of.loops.iter().find_map(|one| one.bound) {
            format!("{to} >= 0")
        } else if let Some(one) = of.loops.iter().find(|one| !one.reduce) {
            let short = one.name.split('.').next_back().unwrap_or("");
            format!("{short} < {}", one.extent.max(1) * 1000)
        } else {
            return;
        };
        let kind = if across { "set_store_predicate across" } else { "set_store_predicate" };
        self.line(kind, format!("({}, {condition})", of.name));
    }
}

fn is_thread(coordinate: &str) -> bool {
    coordinate.starts_with("thread")
}
