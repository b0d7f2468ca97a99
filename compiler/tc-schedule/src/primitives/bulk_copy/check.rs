//! What must hold of a stage that bulk copies fill, once the schedule is read.

use super::{CopiedInBulk, result_of};
use crate::check::Check;
use crate::diagnostic::ScheduleDiagnostic;
use crate::graph::{Attach, AxisId, Kind, Read, StageId};
use crate::remedy::LEAVE_OUT;
use crate::scope::Scope;

/// Its buffer is in shared memory, in the order that `bulk_copy` chooses, and no thread has a part in copying.
pub(super) fn copies_a_box(part: &CopiedInBulk, check: &mut Check<'_>, stage: StageId) {
    let graph = check.graph;
    let data = &graph[stage];
    let name = &data.name;
    let error = |text: String| ScheduleDiagnostic::error("bulk-copy", check.location(part.loc), text);
    let scope = graph.scope_of(stage);
    if !scope.is_shared() {
        let text = format!("`{name}` lies in {} memory, and bulk copies go to shared memory", scope.name());
        let found = error(text).help(format!("`set_scope({name}, shared)`, or leave out `bulk_copy`"));
        return check.found.push(found.fix_its(LEAVE_OUT));
    }
    let Attach::At(at) = data.attach else {
        let text =
            format!("`{name}` is computed in no loop of what reads it, and a bulk copy moves a part of it at a time");
        let found = error(text).help(format!("`compute_at({name}, …)` a loop inside the kernel"));
        return check.found.push(found.fix_its(LEAVE_OUT));
    };
    if data.parts.iter().any(|part| part.orders_elements()) {
        let text = format!("another directive says how `{name}` lies, and `bulk_copy` chooses that");
        return check.found.push(error(text).help("leave out one of the two").fix_its(LEAVE_OUT));
    }
    let result = result_of(graph, stage).filter(|_| part.is_result);
    let copies: Vec<AxisId> = match result {
        // Those inside of the loop that the stage is computed at.
        Some(result) => {
            let leaves = graph[result].leaves.iter().copied();
            leaves.skip_while(|&leaf| leaf != graph.leaf_of(at)).skip(1).collect()
        }
        None => data.leaves.clone(),
    };
    if let Some(&leaf) = copies.iter().find(|&&leaf| graph[leaf].parts.iter().any(|part| part.stands_for_loops())) {
        let text = format!("the copy engine moves `{name}`, and no intrinsic its loop `{}`", graph[leaf].name);
        return check.found.push(error(text).help("leave out `tensorize` of the loops that copy").fix_its(LEAVE_OUT));
    }
    let other = |&leaf: &AxisId| graph[leaf].kind != Kind::Serial;
    if let Some(leaf) = copies.into_iter().find(other) {
        let verb = if part.is_result { "copies" } else { "fills" };
        let text =
            format!("the copy engine {verb} `{name}`, and its loop `{}` does not run in order", graph[leaf].name);
        let found = error(text).label(check.location(graph[leaf].kind_loc), "this directive says how it runs");
        let around = result.map(|_| &graph[graph.leaf_of(at)].name);
        return check.found.push(match around {
            Some(around) => found.help(format!(
                "`reorder` so that `{}` stands outside of `{around}`, at which `{name}` is computed: no thread copies",
                graph[leaf].name
            )),
            None => found.help("leave out one of the two: no thread copies").fix_its(LEAVE_OUT),
        });
    }
    if part.is_result {
        return;
    }
    let mut from = data.reads.first().map(|read| read.from.stage);
    // What is computed inline may pad a tensor by zeros, as the copy engine does; whether it does, `inject-bulk-copy` checks.
    // So is it checked where what else is read tells where the elements lie.
    while let Some(inline) = from.filter(|&from| graph[from].attach == Attach::Inline) {
        let elem = graph[inline].tensors.first().map(|tensor| tensor.elem);
        let is_alike = |read: &&Read| {
            let tensors = &graph[read.from.stage].tensors;
            tensors.get(read.from.result as usize).map(|tensor| tensor.elem) == elem
        };
        let mut copied = graph[inline].reads.iter().filter(is_alike);
        from = copied.next().filter(|_| copied.next().is_none()).map(|read| read.from.stage);
    }
    let is_global = from.is_some_and(|from| graph[from].is_arg() || graph.scope_of(from) == Scope::Global);
    if !is_global {
        let text = format!("`{name}` does not copy a tensor of global memory as it is, or padded by zeros");
        let help = "bulk copies move what lies in memory: compute the tensor first (`compute_root`), or leave it out";
        check.found.push(error(text).help(help).fix_its(LEAVE_OUT));
    }
}
