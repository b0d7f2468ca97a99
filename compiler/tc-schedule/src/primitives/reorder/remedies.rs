//! What is proposed for a list of loops that cannot be reordered.

use crate::graph::{AxisId, Graph};
use crate::remedy::{Change, Proposals};
use crate::written;
use tc_dialects::sched;
use tc_support::{Fix, FixEdit};

/// A list that names an axis twice, without the second time.
pub(super) fn once(proposals: &mut Proposals<'_>) {
    if proposals.sched.opcode(proposals.op) != sched::REORDER {
        return;
    }
    let graph = proposals.graph;
    let n = proposals.sched.operands(proposals.op).len();
    let mut axes: Vec<AxisId> = Vec::new();
    for nth in 0..n {
        match proposals.axis(nth) {
            Some(axis) if axes.contains(&axis) => {}
            Some(axis) => axes.push(axis),
            None => return,
        }
    }
    let Some(&first) = axes.first() else { return };
    let stage = graph[first].stage;
    let mut next = axes.iter();
    let order: Option<Vec<AxisId>> = graph[stage]
        .leaves
        .iter()
        .map(|leaf| if axes.contains(leaf) { next.next().copied() } else { Some(*leaf) })
        .collect();
    let Some(order) = order else { return };
    let edit = move |graph: &mut Graph| graph[stage].leaves.clone_from(&order);
    if axes.len() == 1 {
        let fix = Fix::new("leave it out", FixEdit::Remove { at: proposals.here() });
        return proposals.push(Change::Instead(Box::new(edit)), fix);
    }
    proposals.instead(format!("reorder({})", written::axes(graph, &axes)), edit);
}
