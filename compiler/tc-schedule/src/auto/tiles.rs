//! Reductions of what is read along one axis of the result and what is read along another, such as sums of products, of several
//! products, or of distances: tiles of all that is read in shared memory, a tile of results in the registers of each thread.

use super::facts::{Facts, Known, Load, tiles_of};
use super::kernels::Kernel;
use super::threads::MANY_BLOCKS;
use super::writer::Writer;
use crate::graph::TensorRef;
use tc_dialects::scope::Scope;
use tc_ir::Value;

/// Threads of a block along either axis of a tile.
const SIDE: i64 = 16;
/// Steps of the reduction that lie in shared memory at a time, with tiles of full size: small ones leave room for more, which
/// hides the way to memory where few blocks do.
const DEPTH: i64 = 8;
/// Axes shorter than this are not divided into tiles.
const MIN_LENGTH: i64 = 16;
/// More tensors than this have no place in shared memory and in registers.
const MAX_TENSORS: usize = 6;

/// Which axes of a reduction are divided, by their numbers.
struct Choice {
    /// The innermost axis of the result along which something is read that is not read along `y`.
    x: usize,
    /// One along which something else is read.
    y: usize,
    /// The axis of the reduction that is taken in steps.
    step: usize,
    /// How many elements a thread sums along `x` and along `y`.
    each: i64,
    /// How many of its values are taken at a time.
    depth: i64,
}

/// Writes the kernel, if it is a sum of this kind.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel) -> bool {
    let summing = kernel.sum.unwrap_or(kernel.root);
    let (Some(known), Some(direct)) = (facts.known(kernel.root), facts.direct(summing)) else { return false };
    if facts.graph[summing].tensors.len() != 1 {
        return false;
    }
    let Some((choice, factors)) = choose(direct) else { return false };
    let name = &facts.graph[kernel.root].name;
    let root = writer.stage(name);
    let sum = match kernel.sum {
        Some(sum) => writer.stage(&facts.graph[sum].name),
        None => writer.cache_write(root, Scope::Local, &format!("{name}_local")),
    };
    let read = |writer: &mut Writer, load: usize| {
        let name = &facts.graph[direct.loads[load].tensor.stage].name;
        let from = writer.stage(name);
        let shared = writer.cache_read(from, Scope::Shared, &[sum], &format!("{name}_shared"));
        let own = writer.cache_read(shared, Scope::Local, &[sum], &format!("{name}_own"));
        (shared, own)
    };
    let caches: Vec<(Value, Value)> = factors.iter().map(|&load| read(writer, load)).collect();

    // The tile of a block, and of a thread.
    let axes: Vec<Value> = known.data().iter().map(|dim| writer.axis(root, &facts.graph[dim.axis].name)).collect();
    let divide = |writer: &mut Writer, axis: Value, names: [&str; 4]| {
        let [block, inner] = writer.split(axis, SIDE * choice.each, [names[0], "tile"]);
        // More than four in a row would meet in the same banks of shared memory.
        let run = choice.each.min(4);
        let [virtual_, inner] = writer.split(inner, SIDE * run, [names[1], "part"]);
        let [thread, each] = writer.split(inner, run, [names[2], names[3]]);
        [block, virtual_, thread, each]
    };
    let [bx, vx, tx, x] = divide(writer, axes[choice.x], ["bx", "vx", "tx", "x"]);
    let [by, vy, ty, y] = divide(writer, axes[choice.y], ["by", "vy", "ty", "y"]);
    let rest: Vec<Value> =
        (0..known.n_data).filter(|&nth| nth != choice.x && nth != choice.y).map(|nth| axes[nth]).collect();
    writer.reorder(&[&rest[..], &[by, bx, vy, vx, ty, tx, y, x]].concat());
    let block = writer.fuse(&[&rest[..], &[by, bx]].concat(), "block");
    writer.bind(block, "blockIdx.x");
    for axis in [vy, vx] {
        writer.bind(axis, "vthread");
    }
    writer.bind(ty, "threadIdx.y");
    writer.bind(tx, "threadIdx.x");

    // What a thread sums, in steps.
    writer.compute_at(sum, tx);
    if kernel.sum.is_some() {
        writer.set_scope(sum, Scope::Local);
    }
    let of_sum = |writer: &mut Writer, nth: usize| writer.axis(sum, &facts.graph[direct.dims[nth].axis].name);
    let step = of_sum(writer, choice.step);
    let [outer, inner] = writer.split(step, choice.depth, ["step", "s"]);
    let others: Vec<usize> = (direct.n_data..direct.dims.len()).filter(|&nth| nth != choice.step).collect();
    let others: Vec<Value> = others.into_iter().map(|nth| of_sum(writer, nth)).collect();
    let data: Vec<Value> = (0..direct.n_data).map(|nth| of_sum(writer, nth)).collect();
    writer.reorder(&[&others[..], &[outer, inner], &data].concat());
    if direct.reduces_some {
        // Steps in which the condition never holds are left out, and those in which it always does have none.
        writer.loop_partition_hint(outer);
    }
    writer.unroll(inner);
    data.into_iter().for_each(|axis| writer.unroll(axis));
    for ((shared, own), load) in caches.into_iter().zip(factors) {
        writer.compute_at(shared, outer);
        writer.compute_at(own, inner);
        copy(writer, facts, shared, direct, load, &choice);
    }
    true
}

/// Lets all threads of the block copy a factor's tile.
fn copy(writer: &mut Writer, facts: &Facts<'_>, shared: Value, direct: &Known, factor: usize, choice: &Choice) {
    let load = &direct.loads[factor];
    // Threads read neighbours along `x` or `y`: a tile whose rows lie along the steps is turned.
    let is_own = |nth: &usize| load.is_along(*nth) && load.uses(*nth);
    if is_own(&choice.step) {
        match load.forms.len() {
            2 => writer.call("turn_tile", &[shared], &[]),
            3 => writer.call("turn_tiles", &[shared], &[]),
            _ => {}
        }
    }
    let all = writer.fuse_all(shared, "all");
    // A tile whose rows lie along memory is copied 16 bytes at a time, where no guard falls in between.
    let lanes = 16 / facts.bytes(load.tensor.stage).clamp(1, 16);
    let tile = SIDE * choice.each;
    let along = [choice.x, choice.y].into_iter().find(is_own);
    let whole = along.and_then(|nth| direct.dims[nth].extent).is_some_and(|extent| extent % tile == 0);
    let rest = if whole && facts.is_arg(load.tensor.stage) {
        let [rest, lane] = writer.split(all, lanes, ["rest", "lane"]);
        writer.vectorize(lane);
        rest
    } else {
        all
    };
    let [rest, tx] = writer.split(rest, SIDE, ["threads", "tx"]);
    let [_, ty] = writer.split(rest, SIDE, ["", "ty"]);
    writer.bind(ty, "threadIdx.y");
    writer.bind(tx, "threadIdx.x");
}

/// Which axes to divide, and for each tensor that is read along one of them a load.
fn choose(known: &Known) -> Option<(Choice, Vec<usize>)> {
    if !(known.reduces_all || known.reduces_some) || !known.loads.iter().all(Load::is_linear) {
        return None;
    }
    let along = |nth: usize| known.loads.iter().filter(move |load| load.uses(nth));
    let long = |nth: &usize| known.dims[*nth].length() >= MIN_LENGTH && along(*nth).next().is_some();
    let tensors = |nth: usize| along(nth).map(|load| load.tensor).collect::<Vec<TensorRef>>();
    // What is read along both is no tile of one of them.
    let apart = |x: usize, y: usize| tensors(x).iter().all(|tensor| !tensors(y).contains(tensor));
    let other = |x: usize| {
        let others = (0..known.n_data).filter(long).filter(|&y| y != x && apart(x, y));
        others.max_by_key(|&y| (known.dims[y].length(), y))
    };
    // Neighbours in the result are neighbours among the threads.
    let (x, y) = (0..known.n_data).rev().filter(long).find_map(|x| Some((x, other(x)?)))?;
    let steps = |&nth: &usize| along(x).any(|load| load.uses(nth)) && along(y).any(|load| load.uses(nth));
    let step = (known.n_data..known.dims.len()).filter(steps);
    let step = step.max_by_key(|&nth| (known.dims[nth].length(), nth))?;
    if known.dims[step].length() < DEPTH {
        return None;
    }
    let mut factors: Vec<usize> = Vec::new();
    for (nth, load) in known.loads.iter().enumerate().filter(|(_, load)| load.uses(x) || load.uses(y)) {
        if factors.iter().all(|&other| known.loads[other].tensor != load.tensor) {
            factors.push(nth);
        }
    }
    if factors.len() > MAX_TENSORS {
        return None;
    }
    let n_blocks = |each: i64| {
        let along = |nth: usize| tiles_of(known.dims[nth].length(), SIDE * each);
        let rest = known.n_elements() / known.dims[x].length().saturating_mul(known.dims[y].length()).max(1);
        along(x).saturating_mul(along(y)).saturating_mul(rest)
    };
    let each = [8, 4, 2].into_iter().find(|&each| n_blocks(each) >= 2 * MANY_BLOCKS).unwrap_or(1);
    let depth = DEPTH * (4 / each).max(1);
    Some((Choice { x, y, step, each, depth }, factors))
}
