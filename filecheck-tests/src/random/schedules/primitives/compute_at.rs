//! Stages that are computed inside a loop of a reader.

use crate::random::schedules::graph::{Loop, NodeId};
use crate::random::schedules::{Maker, Site};

pub(super) fn draw(maker: &mut Maker<'_>, Site { node, .. }: Site) -> bool {
    // Global memory in kernels, and one place for several readers, are mostly refused.
    let percent = match (maker.graph.nodes[node].scope, maker.graph.readers(node).len()) {
        (Some("global"), _) if maker.bound => 20,
        (Some(_), _) => 97,
        (None, n) if n > 1 => 45,
        (None, _) => 80,
    };
    !maker.graph.nodes[node].output && maker.rng.chance(percent) && attach(maker, node)
}

/// Computes a stage inside a loop of a reader.
fn attach(maker: &mut Maker<'_>, node: NodeId) -> bool {
    let readers = maker.graph.readers(node);
    if readers.is_empty() {
        return false;
    }
    let reader = maker.rng.pick(&readers);
    // Another reader has to stand in the same loop: the first of them that is attached tells where.
    let n = maker.graph.nodes[reader].loops.len();
    if n == 0 {
        return false;
    }
    let mut at = maker.rng.below(n);
    let scope = maker.graph.nodes[node].scope;
    let innermost_thread = maker.graph.nodes[reader].loops.iter().rposition(Loop::is_on_threads);
    if scope == Some("local") && maker.rng.chance(90) {
        at = at.max(innermost_thread.unwrap_or(0));
    }
    let (of, around) = (maker.graph.nodes[reader].loops.clone(), maker.graph.nodes[reader].clone());
    let name = maker.graph.nodes[node].name.clone();
    maker.line("compute_at", format!("({name}, {})", of[at].name));
    maker.graph.nodes[reader].loops[at].holds = true;
    let stage = &mut maker.graph.nodes[node];
    stage.attached = Some((reader, of[at].name.clone()));
    stage.root = around.root;
    let bound_to = |thread: bool| of[..=at].iter().any(|one| one.bound.is_some() && one.is_on_threads() == thread);
    stage.in_blocks = around.in_blocks || bound_to(false);
    stage.in_threads = around.in_threads || bound_to(true);
    true
}
