//! Reads a tensor through a copy in another storage scope.
//!
//! # Arguments
//!
//! `STAGE = cache_read(TENSOR, scope, [readers])`: the readers read the new stage instead; without a list, all do. The
//! axes of the new stage have the names of the tensor's axes, or `ax0, ax1, …` if the tensor is an argument.
//!
//! # Legality
//!
//! - The storage scope exists.
//! - Each reader reads the tensor; without a list, the tensor has a reader.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { B[i] = A[i] + A[0] }
//! -> AS = cache_read(A, shared, [B])
//! for ax0 in 0..4 { AS[ax0] = A[ax0] }
//! for i in 0..4 { B[i] = AS[i] + AS[0] }
//! ```
//!
//! # Known elsewhere as
//!
//! `cache_read` (TVM), `in()` (Halide).

mod remedies;

use super::{Compared, Primitive};
use crate::directive::{Cx, Done, Item, code_list};
use crate::graph::{Read, Source, StageId, TensorRef};
use crate::scope::Scope;
use remedies::readers_there_are;
use tc_dialects::sched::CacheRead;

/// What is copied, where to, and who reads the copy.
pub(crate) struct Copied {
    tensor: TensorRef,
    scope: Scope,
    readers: Vec<StageId>,
}

impl Primitive for CacheRead {
    const COMPARED: Compared = Compared::Graph;
    type Legal = Copied;

    fn legality(cx: &Cx<'_>) -> Done<Copied> {
        let tensor = cx.tensor(cx.operand(0))?;
        let scope = cx.scope()?;
        let name = &cx.graph[tensor.stage].tensors[tensor.result as usize].name;
        let all: Vec<StageId> = cx.graph.order.iter().copied().filter(|&stage| reads(cx, stage, tensor)).collect();
        let names: Vec<&str> = all.iter().map(|&stage| &*cx.graph[stage].name).collect();
        let mut readers: Vec<StageId> = Vec::new();
        for &value in cx.sched.param_operands(cx.at, 2) {
            let reader = cx.stage(value)?;
            if !all.contains(&reader) {
                let text = format!("`{}` does not read `{name}`", cx.graph[reader].name);
                let moved = all.iter().find(|&&stage| cx.graph.depends_on(reader, stage));
                let mut error = cx.error("no-reader", text).fix_its(&[readers_there_are]).fact(match names[..] {
                    [] => format!("nothing reads `{name}`"),
                    _ => format!("`{name}` is read by {}", code_list(&names)),
                });
                if let Some(&moved) = moved {
                    let (reader, moved) = (&cx.graph[reader].name, &cx.graph[moved].name);
                    error = error.note(format!("`{reader}` reads it through `{moved}`"));
                }
                return Err(error.into());
            }
            if !readers.contains(&reader) {
                readers.push(reader);
            }
        }
        if readers.is_empty() {
            readers = all;
        }
        if readers.is_empty() {
            let text = format!("nothing reads `{name}`, so a copy of it would have no reader");
            return Err(cx.error("no-reader", text).fix_its(&[readers_there_are]).into());
        }
        Ok(Copied { tensor, scope, readers })
    }

    fn edit(cx: &mut Cx<'_>, copied: Copied) -> Vec<Item> {
        let stage = copy(cx, &copied);
        vec![Item::Tensor(TensorRef { stage, result: 0 })]
    }
}

fn reads(cx: &Cx<'_>, reader: StageId, tensor: TensorRef) -> bool {
    cx.graph[reader].reads.iter().any(|read| read.from == tensor)
}

fn copy(cx: &mut Cx<'_>, copied: &Copied) -> StageId {
    let &Copied { tensor, scope, .. } = copied;
    let origin = tensor.stage;
    let elem = cx.graph[origin].tensors[tensor.result as usize].elem;
    let stage = cx.new_cache(origin, scope, Source::Copy, &[elem]);
    let (made_by, axes) = (cx.loc(), cx.graph[origin].data.clone());
    for (nth, axis) in axes.into_iter().enumerate() {
        let data = &cx.graph[axis];
        // The copy's coordinates are the tensor's, which start at 0.
        let (_, extent) = data.domain.unwrap_or((0, 0.into()));
        let name = if cx.graph[origin].is_arg() { format!("ax{nth}") } else { data.name.to_string() };
        let copy = cx.graph.add_axis(stage, &name, false, Some((0, extent)), made_by);
        cx.graph[stage].data.push(copy);
        cx.graph[stage].leaves.push(copy);
    }
    cx.graph[stage].reads.push(Read { of: None, from: tensor });
    for &reader in &copied.readers {
        for read in &mut cx.graph[reader].reads {
            if read.from == tensor {
                read.from = TensorRef { stage, result: 0 };
            }
        }
    }
    cx.graph.insert_in_order(stage, origin, true);
    stage
}
