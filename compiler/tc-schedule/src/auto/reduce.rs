//! Long reductions along memory: the threads of a warp, or of a block, reduce together.

use super::facts::{Dim, Facts, Load};
use super::kernels::Kernel;
use super::threads::MANY_BLOCKS;
use super::writer::Writer;

/// Shorter reductions are a thread's.
const MIN_LENGTH: i64 = 32;

/// Writes the kernel, if it is a reduction of this kind.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel) -> bool {
    let Some(known) = facts.known(kernel.root) else { return false };
    if known.reduce().is_empty() || known.n_reduced() < MIN_LENGTH {
        return false;
    }
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
