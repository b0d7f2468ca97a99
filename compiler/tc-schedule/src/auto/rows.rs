//! Rows: a block computes a row, with all that the row needs. What is read of arguments more than once, and rows that are
//! computed, lie in shared memory; the numbers of a row in registers, reduced by all threads.

use super::facts::{Facts, Known, Load};
use super::kernels::Kernel;
use super::writer::Writer;
use crate::graph::{StageId, TensorRef};
use tc_dialects::scope::Scope;
use tc_ir::Value;
use tc_target::Target;

/// Bytes of shared memory that reductions across warps take beside the rows.
const SCRATCH: i64 = 1 << 10;
/// Shorter rows are a thread's.
const MIN_LENGTH: i64 = 32;

/// How a kernel of rows is laid out.
struct Layout {
    /// The arguments whose row lies in shared memory.
    cached: Vec<TensorRef>,
    scope: Scope,
    /// How many columns a thread takes at a time.
    lanes: i64,
    threads: i64,
}

/// Can the rows of `root` be computed with `members`?
pub(super) fn fit(facts: &Facts<'_>, root: StageId, n_rows: usize, members: &[StageId], target: &Target) -> bool {
    layout(facts, root, n_rows, members, target).is_some()
}

fn layout(facts: &Facts<'_>, root: StageId, n_rows: usize, members: &[StageId], target: &Target) -> Option<Layout> {
    let stages: Vec<&Known> = members.iter().chain([&root]).filter_map(|&stage| facts.known(stage)).collect();
    // Along a row runs the last axis of each stage; that of an element computed of numbers alone is none.
    let rows = stages.iter().filter(|known| known.dims.len() > n_rows);
    let lengths: Option<Vec<i64>> = rows.map(|known| known.dims.last()?.extent).collect();
    let longest = lengths?.into_iter().max().filter(|&longest| longest >= MIN_LENGTH)?;
    // Threads that stand side by side read side by side; and what a row reads is its own, which no other row reads again.
    let mut reduces = stages.iter().filter(|known| !known.reduce().is_empty());
    let reads_own = |known: &&Known| {
        let last = known.dims.len() - 1;
        let own = |load: &Load| load.is_along(last) && (0..known.n_data).all(|nth| load.uses(nth));
        known.loads.iter().any(own) || known.loads.iter().all(|load| !facts.is_arg(load.tensor.stage))
    };
    if !reduces.all(reads_own) {
        return None;
    }
    let limit = target.max_shared_per_block.max(target.static_shared_per_block) as i64;
    let kept = members.iter().filter(|&&stage| facts.known(stage).is_some_and(|known| known.reduce().is_empty()));
    let row = |stage: StageId| longest.saturating_mul(facts.bytes(stage));
    let kept = kept.fold(SCRATCH, |sum, &stage| sum.saturating_add(row(stage)));
    let mut cached = cached(&stages, facts, n_rows);
    let bytes = |cached: &[TensorRef]| cached.iter().fold(kept, |sum, tensor| sum.saturating_add(row(tensor.stage)));
    // What does not fit is read from memory, or from the cache, again.
    if bytes(&cached) > limit {
        cached.clear();
    }
    let scope = if bytes(&cached) <= target.static_shared_per_block as i64 { Scope::Shared } else { Scope::SharedDyn };
    let widest = cached.iter().map(|tensor| facts.bytes(tensor.stage)).max().unwrap_or(1);
    let lanes = 16 / widest.max(facts.bytes(root)).clamp(1, 16);
    let mut loads = stages.iter().filter(|known| known.dims.len() > n_rows).flat_map(|known| {
        let along = known.dims.len() - 1;
        known.loads.iter().map(move |load| (load, along))
    });
    let lies_so = loads.all(|(load, along)| load.is_along(along) || !load.uses(along));
    let lanes = if lies_so && longest % lanes == 0 { lanes } else { 1 };
    // Two vectors a thread or more.
    let threads = [1024, 512, 256, 128, 64].into_iter().find(|&threads| threads * 2 * lanes <= longest).unwrap_or(32);
    (bytes(&cached) <= limit).then_some(Layout { cached, scope, lanes, threads })
}

/// Writes the kernel, if it is one of rows.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, target: &Target) -> bool {
    let Some(known) = facts.known(kernel.root).filter(|_| !kernel.of_rows.is_empty()) else { return false };
    let Some(layout) = layout(facts, kernel.root, kernel.n_rows, &kernel.of_rows, target) else { return false };
    let Layout { cached, scope, threads, .. } = &layout;
    let root = writer.stage(&facts.graph[kernel.root].name);
    let axes: Vec<Value> = known.data().iter().map(|dim| writer.axis(root, &facts.graph[dim.axis].name)).collect();
    let (outer, along) = axes.split_at(kernel.n_rows);
    // Caches come before what is said of loops.
    let caches: Vec<Value> = cached
        .iter()
        .map(|&tensor| {
            let name = &facts.graph[tensor.stage].tensors[tensor.result as usize].name;
            let readers = direct_readers(facts, kernel, tensor);
            let readers: Vec<Value> = readers.iter().map(|&reader| writer.stage(&facts.graph[reader].name)).collect();
            let from = writer.stage(name);
            writer.cache_read(from, *scope, &readers, &format!("{name}_row"))
        })
        .collect();
    let mut row = writer.fuse(outer, "row");
    match along {
        [column, ..] => {
            writer.bind(row, "blockIdx.x");
            columns(writer, *column, &layout);
        }
        // One thread of the block stores the element.
        [] => {
            let [block, one] = writer.split(row, 1, ["row", "one"]);
            writer.bind(block, "blockIdx.x");
            writer.bind(one, "threadIdx.x");
            row = block;
        }
    }
    for cache in caches {
        writer.compute_at(cache, row);
        let axis = writer.nth_axis(cache, -1);
        columns(writer, axis, &layout);
    }
    for &stage in &kernel.of_rows {
        let Some(of) = facts.known(stage) else { continue };
        let value = writer.stage(&facts.graph[stage].name);
        writer.compute_at(value, row);
        match of.reduce() {
            [] => {
                writer.set_scope(value, *scope);
                let axis = writer.nth_axis(value, -1);
                columns(writer, axis, &layout);
            }
            [reduce, ..] => {
                writer.set_scope(value, Scope::Local);
                let axis = writer.axis(value, &facts.graph[reduce.axis].name);
                let [_, thread] = writer.split(axis, *threads, ["", "thread"]);
                writer.bind(thread, "threadIdx.x");
            }
        }
    }
    true
}

/// Divides the columns of a row among the threads.
fn columns(writer: &mut Writer, axis: Value, layout: &Layout) {
    let part = if layout.lanes > 1 {
        let [part, lane] = writer.split(axis, layout.lanes, ["part", "lane"]);
        writer.vectorize(lane);
        part
    } else {
        axis
    };
    let [_, thread] = writer.split(part, layout.threads, ["", "thread"]);
    writer.bind(thread, "threadIdx.x");
}

/// The arguments of which the stages read the row more than once.
fn cached(stages: &[&Known], facts: &Facts<'_>, n_rows: usize) -> Vec<TensorRef> {
    let mut found: Vec<(TensorRef, usize)> = Vec::new();
    for known in stages.iter().filter(|known| known.dims.len() > n_rows) {
        let along = known.dims.len() - 1;
        let is_row = |load: &&Load| {
            load.forms.len() == n_rows + 1
                && (0..n_rows).all(|at| load.is_axis(at, at))
                && load.is_axis(n_rows, along)
                && facts.is_arg(load.tensor.stage)
        };
        for load in known.loads.iter().filter(is_row) {
            match found.iter_mut().find(|(tensor, _)| *tensor == load.tensor) {
                Some((_, n)) => *n += 1,
                None => found.push((load.tensor, 1)),
            }
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
