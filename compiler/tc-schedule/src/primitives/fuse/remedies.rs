//! What is proposed for loops that cannot be fused.

use crate::directive::Item;
use crate::graph::{AxisId, Graph};
use crate::remedy::{Change, Proposals};
use crate::written;
use tc_ir::Value;
use tc_support::{Fix, FixEdit};

/// `fuse` of loops that are not adjacent: in the order in which they stand, or after a `reorder`.
pub(super) fn order_first(proposals: &mut Proposals<'_>) {
    let graph = proposals.graph;
    let operands: Vec<Value> = proposals.sched.operands(proposals.op).to_vec();
    let axes: Vec<AxisId> = (0..operands.len()).filter_map(|nth| proposals.axis(nth)).collect();
    let Some(&first) = axes.first() else { return };
    let stage = graph[first].stage;
    let leaves = &graph[stage].leaves;
    let position = |axis: &AxisId| leaves.iter().position(|leaf| leaf == axis);
    let mut sorted = axes.clone();
    sorted.sort_by_key(position);
    if axes.len() != operands.len() || sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return;
    }
    if sorted != axes {
        let call = format!("fuse({})", written::axes(graph, &sorted));
        let items = operands.iter().copied().zip(sorted.iter().map(|&axis| Item::Axis(axis))).collect();
        proposals.rewritten(call, Change::Operands(items));
    }
    let (Some(low), Some(high)) = (position(&sorted[0]), sorted.last().and_then(position)) else { return };
    let between = leaves[low..=high].iter().copied().filter(|leaf| !axes.contains(leaf));
    let span: Vec<AxisId> = axes.iter().copied().chain(between).collect();
    let mut order = leaves.clone();
    order.splice(low..=high, span.iter().copied());
    let call = format!("reorder({})", written::axes(graph, &span));
    let edit = move |graph: &mut Graph| graph[stage].leaves.clone_from(&order);
    let fix = Fix::new(format!("`{call}` before it"), FixEdit::InsertBefore { at: proposals.here(), text: call });
    proposals.push(Change::Before(Box::new(edit)), fix);
}
