//! Long reductions: along memory the threads of a warp, or of a block, reduce together; across memory, threads that stand one above
//! the other.

use super::facts::{Dim, Facts, Known, Load};
use super::kernels::Kernel;
use super::threads::MANY_BLOCKS;
use super::writer::Writer;
use tc_dialects::scope::Scope;

/// Shorter reductions are a thread's.
const MIN_LENGTH: i64 = 32;

/// Rows of threads that reduce a column together.
const HEIGHT: i64 = 16;
/// With more results than this there are threads enough.
const MANY_RESULTS: i64 = 256 * MANY_BLOCKS;

/// Writes the kernel, if it is a reduction of this kind.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel) -> bool {
    let Some(known) = facts.known(kernel.sum.unwrap_or(kernel.root)) else { return false };
    // A single number is reduced by threads, however short, as nothing else of it is bound.
    if known.reduce().is_empty() || (known.n_reduced() < MIN_LENGTH && known.n_data > 0) {
        return false;
    }
    if kernel.sum.is_some() || !along(writer, facts, kernel, known) {
        return across(writer, facts, kernel, known);
    }
    true
}

/// Reductions along the last axis in memory.
fn along(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, known: &Known) -> bool {
    // Along memory: the last axis of the reduction is that of elements that follow each other. A single element has no better way.
    let last = known.dims.len() - 1;
    let along = known.loads.iter().any(|load| load.is_along(last));
    // Windows that overlap are read again and again: a thread an element finds them in the cache.
    let is_window = |load: &Load| (0..known.n_data).any(|nth| load.moves_alike(nth, known.n_data..known.dims.len()));
    if known.n_data > 0 && (!along || known.loads.iter().any(is_window)) {
        return false;
    }
    let few = known.n_elements() < 4 * MANY_BLOCKS;
    let longest = known.n_reduced();
    let lanes = if few { [256, 128, 64].into_iter().find(|&lanes| longest >= lanes).unwrap_or(32) } else { 32 };
    let root = writer.stage(&facts.graph[kernel.root].name);
    let mut axes =
        |dims: &[Dim]| -> Vec<_> { dims.iter().map(|dim| writer.axis(root, &facts.graph[dim.axis].name)).collect() };
    let (data, reduce) = (axes(known.data()), axes(known.reduce()));
    if !data.is_empty() {
        let all = writer.fuse(&data, "all");
        if few {
            writer.bind(all, "blockIdx.x");
        } else {
            let [block, row] = writer.split(all, 4, ["block", "row"]);
            writer.bind(block, "blockIdx.x");
            writer.bind(row, "threadIdx.y");
        }
    }
    let steps = writer.fuse(&reduce, "steps");
    let [_, thread] = writer.split(steps, lanes, ["", "thread"]);
    writer.bind(thread, "threadIdx.x");
    true
}

/// Reductions across rows, whose results lie side by side: a thread for each of 32 columns, in 16 rows.
fn across(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, known: &Known) -> bool {
    let last = match known.n_data.checked_sub(1) {
        Some(last) if known.loads.iter().any(|load| load.is_along(last)) => last,
        _ => return false,
    };
    let is_window = |load: &Load| (0..=last).any(|nth| load.moves_alike(nth, known.n_data..known.dims.len()));
    let short = known.n_reduced() < 4 * HEIGHT || known.n_elements() >= MANY_RESULTS;
    if short || known.loads.iter().any(is_window) || facts.graph[kernel.root].tensors.len() > 1 {
        return false;
    }
    let root = writer.stage(&facts.graph[kernel.root].name);
    let Some(of_root) = facts.known(kernel.root) else { return false };
    let data: Vec<_> = of_root.data().iter().map(|dim| writer.axis(root, &facts.graph[dim.axis].name)).collect();
    let sum = kernel.sum.map(|sum| writer.stage(&facts.graph[sum].name));
    let all = writer.fuse(&data, "all");
    let [block, column] = writer.split(all, 32, ["block", "column"]);
    writer.bind(block, "blockIdx.x");
    let of = match sum {
        // One of the rows of threads stores the result.
        Some(sum) => {
            let [column, one] = writer.split(column, 1, ["column", "one"]);
            writer.bind(column, "threadIdx.x");
            writer.bind(one, "threadIdx.y");
            writer.compute_at(sum, column);
            writer.set_scope(sum, Scope::Local);
            sum
        }
        None => {
            writer.bind(column, "threadIdx.x");
            root
        }
    };
    let steps: Vec<_> = known.reduce().iter().map(|dim| writer.axis(of, &facts.graph[dim.axis].name)).collect();
    let steps = writer.fuse(&steps, "steps");
    let [_, row] = writer.split(steps, HEIGHT, ["", "row"]);
    writer.bind(row, "threadIdx.y");
    true
}
