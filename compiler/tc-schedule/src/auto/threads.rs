//! A thread an element, or a vector of elements that follow each other.

use super::facts::{Facts, Known};
use super::kernels::Kernel;
use super::writer::Writer;
use tc_dialects::scope::Scope;
use tc_ir::Value;

/// Multiprocessors of a large GPU: with fewer blocks some of them have nothing to do.
pub(super) const MANY_BLOCKS: i64 = 132;
/// Reductions of at most so many steps are copied out.
const MAX_UNROLLED: i64 = 64;

pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel) {
    let Some(known) = facts.known(kernel.root) else { return };
    if known.n_data == 0 {
        // One element: there is nothing to bind, and a kernel wants a thread.
        return;
    }
    let name = &facts.graph[kernel.root].name;
    let root = writer.stage(name);
    let axes: Vec<_> = known.data().iter().map(|dim| writer.axis(root, &facts.graph[dim.axis].name)).collect();
    let reduces = !known.reduce().is_empty();
    let sum = match kernel.sum {
        Some(sum) => Some(writer.stage(&facts.graph[sum].name)),
        None if reduces => Some(writer.cache_write(root, Scope::Local, &format!("{name}_local"))),
        None => None,
    };
    let lanes = if sum.is_some() { 1 } else { lanes(facts, kernel, known) };
    if known.data().iter().any(|dim| dim.extent.is_none()) {
        open_sizes(writer, &axes, sum);
        return;
    }
    let all = writer.fuse(&axes, "all");
    let (rest, lane) = match lanes {
        1 => (all, None),
        _ => {
            let [rest, lane] = writer.split(all, lanes, ["rest", "lane"]);
            (rest, Some(lane))
        }
    };
    let [block, thread] = writer.split(rest, n_threads(known.n_elements() / lanes), ["block", "thread"]);
    writer.bind(block, "blockIdx.x");
    writer.bind(thread, "threadIdx.x");
    if let Some(lane) = lane {
        writer.vectorize(lane);
    }
    let Some(sum) = sum else { return };
    writer.compute_at(sum, thread);
    if kernel.sum.is_some() {
        writer.set_scope(sum, Scope::Local);
    }
    let of = kernel.sum.and_then(|sum| facts.known(sum)).unwrap_or(known);
    if of.reduce().iter().all(|dim| dim.extent.is_some()) && of.n_reduced() <= MAX_UNROLLED {
        for dim in of.reduce() {
            let axis = writer.axis(sum, &facts.graph[dim.axis].name);
            writer.unroll(axis);
        }
    }
}

/// Sizes that stay open: each axis keeps a coordinate of its own, so that its bounds are known. What more there are than three are
/// loops of a thread.
fn open_sizes(writer: &mut Writer, axes: &[Value], sum: Option<Value>) {
    let Some((&last, outer)) = axes.split_last() else { return };
    let [block, thread] = writer.split(last, 128, ["block", "thread"]);
    writer.bind(block, "blockIdx.x");
    writer.bind(thread, "threadIdx.x");
    let bound = outer.len().min(2);
    for (&axis, coordinate) in outer.iter().rev().zip(["blockIdx.y", "blockIdx.z"]) {
        writer.bind(axis, coordinate);
    }
    // What is bound stands outside.
    let (serial, launched) = outer.split_at(outer.len() - bound);
    if !serial.is_empty() {
        writer.reorder(&[launched, &[block, thread], serial].concat());
    }
    if let Some(sum) = sum {
        writer.compute_at(sum, serial.last().copied().unwrap_or(thread));
        writer.set_scope(sum, Scope::Local);
    }
}

/// How many threads a block has, where there are so many in all.
pub(super) fn n_threads(all: i64) -> i64 {
    [256, 128, 64].into_iter().find(|threads| all >= threads * MANY_BLOCKS).unwrap_or(32)
}

/// How many elements a thread computes: a vector of 16 bytes where all that it reads lies so, too, and enough threads are left.
fn lanes(facts: &Facts<'_>, kernel: &Kernel, known: &Known) -> i64 {
    let last = known.n_data - 1;
    // An index that is no linear form, such as `d % 64`, may well lie so: the pass looks at each.
    let lies_so = known.loads.iter().all(|load| load.is_along(last) || !load.uses(last) || !load.is_linear());
    let lies_so = lies_so && known.loads.iter().any(|load| load.is_along(last));
    let widest = known.loads.iter().map(|load| facts.bytes(load.tensor.stage)).max().unwrap_or(1);
    let lanes = 16 / widest.max(facts.bytes(kernel.root)).clamp(1, 16);
    let divides = known.dims[last].extent.is_some_and(|extent| extent % lanes == 0);
    let many = known.n_elements() / lanes >= 256 * MANY_BLOCKS;
    if lies_so && divides && many { lanes } else { 1 }
}
