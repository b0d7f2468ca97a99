//! Rows: a block computes a row, with all that the row needs. What is read of arguments more than once, and rows that are
//! computed, lie in shared memory; the numbers of a row in registers, reduced by all threads.

use super::facts::{Facts, Load};
use super::kernels::Kernel;
use super::writer::Writer;
use crate::graph::{StageId, TensorRef};
use tc_dialects::scope::Scope;
use tc_ir::Value;
use tc_target::Target;

/// Bytes of shared memory that reductions across warps take beside the rows.
const SCRATCH: i64 = 1 << 10;

/// Writes the kernel, if it is one of rows.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, target: &Target) -> bool {
    let Some(known) = facts.known(kernel.root).filter(|_| !kernel.of_rows.is_empty()) else { return false };
    let Some(length) = known.data().last().and_then(|dim| dim.extent) else { return false };
    let cached = cached(facts, kernel);
    let kept = |&&stage: &&StageId| facts.known(stage).is_some_and(|known| known.reduce().is_empty());
    let rows = cached.iter().map(|tensor| tensor.stage).chain(kernel.of_rows.iter().filter(kept).copied());
    let bytes: i64 = rows.map(|stage| length * facts.bytes(stage)).sum();
    let scope = if bytes + SCRATCH <= target.static_shared_per_block as i64 { Scope::Shared } else { Scope::SharedDyn };
    if bytes + SCRATCH > target.max_shared_per_block.max(target.static_shared_per_block) as i64 {
        return false;
    }
    let lanes = lanes(facts, kernel, &cached, length);
    // Two vectors a thread or more.
    let threads = [1024, 512, 256, 128, 64].into_iter().find(|&threads| threads * 2 * lanes <= length).unwrap_or(32);
    let columns = |writer: &mut Writer, axis: Value| {
        let part = if lanes > 1 {
            let [part, lane] = writer.split(axis, lanes, ["part", "lane"]);
            writer.vectorize(lane);
            part
        } else {
            axis
        };
        let [_, thread] = writer.split(part, threads, ["", "thread"]);
        writer.bind(thread, "threadIdx.x");
    };

    let root = writer.stage(&facts.graph[kernel.root].name);
    let axes: Vec<Value> = known.data().iter().map(|dim| writer.axis(root, &facts.graph[dim.axis].name)).collect();
    let (&last, outer) = axes.split_last().expect("a row has an axis");
    if outer.is_empty() {
        return false;
    }
    // Caches come before what is said of loops.
    let caches: Vec<(Value, usize)> = cached
        .iter()
        .map(|&tensor| {
            let name = &facts.graph[tensor.stage].tensors[tensor.result as usize].name;
            let readers = direct_readers(facts, kernel, tensor);
            let readers: Vec<Value> = readers.iter().map(|&reader| writer.stage(&facts.graph[reader].name)).collect();
            let from = writer.stage(name);
            let rank = n_dims(facts, kernel, tensor);
            (writer.cache_read(from, scope, &readers, &format!("{name}_row")), rank)
        })
        .collect();
    let row = writer.fuse(outer, "row");
    writer.bind(row, "blockIdx.x");
    columns(writer, last);
    for (cache, rank) in caches {
        writer.compute_at(cache, row);
        let axis = writer.nth_axis(cache, rank as i64 - 1);
        columns(writer, axis);
    }
    for &stage in &kernel.of_rows {
        let Some(of) = facts.known(stage) else { continue };
        let value = writer.stage(&facts.graph[stage].name);
        writer.compute_at(value, row);
        match of.reduce() {
            [] => {
                writer.set_scope(value, scope);
                let axis = writer.axis(value, &facts.graph[of.dims[of.n_data - 1].axis].name);
                columns(writer, axis);
            }
            [reduce, ..] => {
                writer.set_scope(value, Scope::Local);
                let axis = writer.axis(value, &facts.graph[reduce.axis].name);
                let [_, thread] = writer.split(axis, threads, ["", "thread"]);
                writer.bind(thread, "threadIdx.x");
            }
        }
    }
    true
}

/// The loads of all stages of the kernel, with the number of the axis along the row.
fn loads<'f>(facts: &'f Facts<'_>, kernel: &Kernel) -> impl Iterator<Item = (&'f Load, usize)> {
    let stages: Vec<StageId> = kernel.of_rows.iter().copied().chain([kernel.root]).collect();
    stages.into_iter().filter_map(|stage| facts.known(stage)).flat_map(|known| {
        let along = known.dims.len() - 1;
        known.loads.iter().map(move |load| (load, along))
    })
}

/// The arguments of which the kernel reads the row more than once.
fn cached(facts: &Facts<'_>, kernel: &Kernel) -> Vec<TensorRef> {
    let n_rows = facts.known(kernel.root).map_or(0, |known| known.n_data - 1);
    let mut found: Vec<(TensorRef, usize)> = Vec::new();
    for (load, along) in loads(facts, kernel) {
        let is_row =
            load.forms.len() == n_rows + 1 && (0..n_rows).all(|at| load.is_axis(at, at)) && load.is_axis(n_rows, along);
        if !is_row || !facts.is_arg(load.tensor.stage) {
            continue;
        }
        match found.iter_mut().find(|(tensor, _)| *tensor == load.tensor) {
            Some((_, n)) => *n += 1,
            None => found.push((load.tensor, 1)),
        }
    }
    found.into_iter().filter(|&(_, n)| n > 1).map(|(tensor, _)| tensor).collect()
}

/// The stages that read `tensor` in the text, for the kernel: its own, and those that are inlined into them.
fn direct_readers(facts: &Facts<'_>, kernel: &Kernel, tensor: TensorRef) -> Vec<StageId> {
    let graph = &facts.graph;
    let is_own = |stage: StageId| stage == kernel.root || kernel.of_rows.contains(&stage);
    graph.consumers(tensor.stage).filter(|&reader| is_own(reader) || facts.known(reader).is_none()).collect()
}

fn n_dims(facts: &Facts<'_>, kernel: &Kernel, tensor: TensorRef) -> usize {
    loads(facts, kernel).find(|(load, _)| load.tensor == tensor).map_or(1, |(load, _)| load.forms.len())
}

/// How many columns a thread takes at a time: 16 bytes, where the row and all that is read along it divides so.
fn lanes(facts: &Facts<'_>, kernel: &Kernel, cached: &[TensorRef], length: i64) -> i64 {
    let widest = cached.iter().map(|tensor| facts.bytes(tensor.stage)).max().unwrap_or(1);
    let lanes = 16 / widest.max(facts.bytes(kernel.root)).clamp(1, 16);
    let lies_so = loads(facts, kernel).all(|(load, along)| load.is_along(along) || !load.uses(along));
    if lies_so && length % lanes == 0 { lanes } else { 1 }
}
