//! Loops that run on blocks and threads.

use crate::random::schedules::graph::{Loop, NodeId};
use crate::random::schedules::{Maker, Site};

const BLOCKS: [&str; 3] = ["blockIdx.x", "blockIdx.y", "blockIdx.z"];
const THREADS: [&str; 3] = ["threadIdx.x", "threadIdx.y", "threadIdx.z"];
/// The longest loop that is bound to threads.
const MOST_THREADS: i64 = 64;

/// The loops of a stage, dealt out to blocks and threads where it runs on any.
pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    match maker.graph.nodes[node].attached {
        Some(_) => shape_attached(maker, node),
        None => shape_root(maker, node),
    }
    true
}

/// Virtual threads.
pub(super) fn vthread(maker: &mut Maker<'_>, Site { node, at, .. }: Site) -> bool {
    let one = &maker.graph.nodes[node].loops[at];
    let is_drawn = one.extent <= 5 && !one.reduce;
    if is_drawn {
        maker.say(node, at, "bind vthread", ", vthread");
    }
    is_drawn
}

impl Loop {
    /// Is it bound to threads, rather than to blocks?
    pub(super) fn is_on_threads(&self) -> bool {
        self.bound.is_some_and(is_thread)
    }
}

/// Binds loop `at` to a coordinate.
fn bind(maker: &mut Maker<'_>, node: NodeId, at: usize, to: &'static str) {
    let kind = match (maker.graph.nodes[node].loops[at].reduce, to.starts_with("block")) {
        (true, _) => "bind reduction",
        (false, true) => "bind block",
        (false, false) => "bind thread",
    };
    maker.say(node, at, kind, &format!(", {to}"));
    maker.graph.nodes[node].loops[at].bound = Some(to);
}

fn shape_root(maker: &mut Maker<'_>, node: NodeId) {
    if maker.bound && maker.graph.nodes[node].reduces() && maker.rng.chance(18) {
        reduce_on_threads(maker, node);
        return;
    }
    maker.shape(node);
    if !maker.bound {
        return;
    }
    let data = |maker: &Maker<'_>| -> Vec<usize> {
        let loops = maker.graph.nodes[node].loops.iter().enumerate();
        loops.filter(|(_, one)| !one.reduce && !one.said).map(|(at, _)| at).collect()
    };
    // One loop is too few for blocks and threads.
    if data(maker).len() == 1 && maker.rng.chance(85) {
        let factor = maker.factor(&[4, 8, 16, 32, 3, 5]);
        let at = data(maker)[0];
        let nparts = maker.rng.chance(20);
        maker.split(node, at, factor, nparts);
    }
    let n_blocks = maker.rng.pick(&[1, 1, 1, 2, 3]);
    let n_threads = maker.rng.pick(&[0, 1, 1, 1, 2, 2, 3]);
    if maker.rng.chance(90) {
        maker.data_outside(node);
    }
    let (mut threads, mut nth) = (1, 0);
    for to in BLOCKS[..n_blocks].iter().chain(&THREADS[..n_threads]) {
        let free = data(maker);
        // Blocks leave loops for threads.
        if free.is_empty() || (nth > 0 && !is_thread(to) && free.len() <= n_threads) {
            continue;
        }
        let at = if maker.rng.chance(90) { free[0] } else { maker.rng.pick(&free) };
        let extent = maker.graph.nodes[node].loops[at].extent;
        if !is_thread(to) {
            nth += 1;
            bind(maker, node, at, to);
        } else if threads * extent <= 256 && extent <= MOST_THREADS {
            threads *= extent;
            bind(maker, node, at, to);
        }
    }
}

/// A reduction that the threads of a block do together.
fn reduce_on_threads(maker: &mut Maker<'_>, node: NodeId) {
    let Some(first) = maker.graph.nodes[node].loops.iter().position(|one| one.reduce) else { return };
    let mut at = first;
    if maker.graph.nodes[node].loops[at].extent > 4 && maker.rng.chance(75) {
        let factor = maker.factor(&[2, 4, 5, 8, 32]);
        let nparts = maker.rng.chance(30);
        maker.split(node, at, factor, nparts);
        at += usize::from(!nparts);
    }
    if maker.graph.nodes[node].loops[at].extent > MOST_THREADS {
        return;
    }
    bind(maker, node, at, "threadIdx.x");
    if first > 0 {
        bind(maker, node, 0, "blockIdx.x");
    }
    if first > 1 && maker.graph.nodes[node].loops[1].extent <= 16 && maker.rng.chance(50) {
        bind(maker, node, 1, "threadIdx.y");
    }
    maker.graph.nodes[node].in_blocks = first > 0;
}

/// The coordinates of the kernel that a stage stands in, with the extents of the loops that are bound there.
fn launched(maker: &Maker<'_>, node: NodeId) -> Vec<(&'static str, i64)> {
    let root = maker.graph.nodes[node].root;
    let loops = maker.graph.nodes[root].loops.iter();
    loops.filter_map(|one| Some((one.bound.filter(|to| is_thread(to))?, one.extent))).collect()
}

fn shape_attached(maker: &mut Maker<'_>, node: NodeId) {
    let (in_blocks, in_threads) = (maker.graph.nodes[node].in_blocks, maker.graph.nodes[node].in_threads);
    let together = in_blocks && !in_threads && maker.graph.nodes[node].scope != Some("local");
    let n_data = maker.graph.nodes[node].loops.iter().filter(|one| !one.reduce).count();
    let launched = launched(maker, node);
    if !together || launched.is_empty() || n_data == 0 || maker.rng.chance(25) {
        maker.shape(node);
        return;
    }
    // The threads of the block share the work: all loops become one, which is dealt out.
    let fused = if maker.rng.chance(70) { n_data } else { 1 };
    for _ in 1..fused {
        maker.fuse(node, 0);
    }
    for &(to, extent) in &launched {
        let at = maker.graph.nodes[node].loops.iter().rposition(|one| !one.reduce && !one.said);
        let Some(at) = at else { break };
        match maker.rng.below(10) {
            0 if maker.graph.nodes[node].loops[at].extent <= MOST_THREADS => bind(maker, node, at, to),
            1..=7 => {
                let nparts = maker.rng.chance(25);
                maker.split(node, at, (extent.to_string(), extent), nparts);
                bind(maker, node, at + usize::from(!nparts), to);
            }
            _ => {}
        }
    }
}

fn is_thread(coordinate: &str) -> bool {
    coordinate.starts_with("thread")
}
