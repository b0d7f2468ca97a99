//! What is proposed for a copy that nothing reads.

use crate::directive::Item;
use crate::graph::{StageId, TensorRef};
use crate::remedy::{Change, MAX_AXES, Proposals};
use crate::written;

/// The directive for each of those that read the tensor.
pub(super) fn readers_there_are(proposals: &mut Proposals<'_>) {
    let (sched, graph) = (proposals.sched, proposals.graph);
    let Some(Item::Tensor(tensor)) = sched.operands(proposals.op).first().map(|&value| proposals.item(value)) else {
        return;
    };
    let [reader] = sched.param_operands(proposals.op, 2) else { return };
    let reads = |&stage: &StageId| graph[stage].reads.iter().any(|read| read.from == tensor);
    let all: Vec<StageId> = graph.order.iter().copied().filter(reads).take(MAX_AXES).collect();
    for stage in all {
        let item = Item::Tensor(TensorRef { stage, result: 0 });
        let call = proposals.call_with(*reader, &written::stage(graph, stage));
        proposals.rewritten(call, Change::Operands(vec![(*reader, item)]));
    }
}
