//! What is proposed for a list of loops that cannot be reordered.

use crate::graph::AxisId;
use crate::remedy::Proposals;
use crate::written;
use tc_dialects::sched;

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
    let text = if axes.len() == 1 {
        "leave it out".to_string()
    } else {
        format!("`reorder({})`", written::axes(graph, &axes))
    };
    if let Some(order) = order {
        proposals.instead(text, move |graph| graph[stage].leaves.clone_from(&order));
    }
}
