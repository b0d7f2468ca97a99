//! Sums of products whose factors have axes of their own: tiles of both factors in shared memory, a tile of sums in the registers
//! of each thread.

use super::facts::{Facts, Known, tiles_of};
use super::kernels::Kernel;
use super::threads::MANY_BLOCKS;
use super::writer::Writer;
use tc_dialects::scope::Scope;
use tc_ir::Value;

/// Threads of a block along either axis of a tile.
const SIDE: i64 = 16;
/// Steps of the reduction that lie in shared memory at a time, with tiles of full size: small ones leave room for more, which
/// hides the way to memory where few blocks do.
const DEPTH: i64 = 8;
/// Axes shorter than this are not divided into tiles.
const MIN_LENGTH: i64 = 16;

/// Which axes of a sum are divided, by their numbers.
struct Choice {
    /// An axis of one factor alone, the innermost of the result where there is one.
    x: usize,
    /// One of the other factor alone.
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
    let Some((choice, factors)) = choose(direct) else { return false };
    let tensors = factors.map(|nth| direct.loads[nth].tensor);
    if tensors[0] == tensors[1] {
        return false;
    }
    let name = &facts.graph[kernel.root].name;
    let root = writer.stage(name);
    let sum = match kernel.sum {
        Some(sum) => writer.stage(&facts.graph[sum].name),
        None => writer.cache_write(root, Scope::Local, &format!("{name}_local")),
    };
    let read = |writer: &mut Writer, nth: usize| {
        let name = &facts.graph[tensors[nth].stage].name;
        let from = writer.stage(name);
        let shared = writer.cache_read(from, Scope::Shared, &[sum], &format!("{name}_shared"));
        let own = writer.cache_read(shared, Scope::Local, &[sum], &format!("{name}_own"));
        (shared, own)
    };
    let caches = [read(writer, 0), read(writer, 1)];

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
    writer.unroll(inner);
    data.into_iter().for_each(|axis| writer.unroll(axis));
    for (nth, (shared, own)) in caches.into_iter().enumerate() {
        writer.compute_at(shared, outer);
        writer.compute_at(own, inner);
        copy(writer, facts, shared, direct, factors[nth], &choice);
    }
    true
}

/// Lets all threads of the block copy a factor's tile.
fn copy(writer: &mut Writer, facts: &Facts<'_>, shared: Value, direct: &Known, factor: usize, choice: &Choice) {
    let load = &direct.loads[factor];
    let all = writer.fuse_all(shared, "all");
    // A tile whose rows lie along memory is copied 16 bytes at a time, where no guard falls in between.
    let lanes = 16 / facts.bytes(load.tensor.stage).clamp(1, 16);
    let tile = SIDE * choice.each;
    let along = [choice.x, choice.y].into_iter().find(|&nth| load.is_along(nth) && load.uses(nth));
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

/// Which axes to divide, and which loads the factors are.
fn choose(known: &Known) -> Option<(Choice, [usize; 2])> {
    let [left, right] = known.product?;
    let uses = |load: usize, nth: usize| known.loads[load].uses(nth);
    let data = 0..known.n_data;
    let long = |nth: &usize| known.dims[*nth].length() >= MIN_LENGTH;
    let own = |load: usize, other: usize| {
        let own = data.clone().filter(move |&nth| uses(load, nth) && !uses(other, nth));
        own.filter(long).collect::<Vec<usize>>()
    };
    let (of_left, of_right) = (own(left, right), own(right, left));
    // Neighbours in the result are neighbours among the threads.
    let x = of_left.iter().chain(&of_right).copied().max()?;
    let others = if of_left.contains(&x) { &of_right } else { &of_left };
    let y = others.iter().copied().max_by_key(|&nth| (known.dims[nth].length(), nth))?;
    let reduce = known.n_data..known.dims.len();
    let step = reduce.filter(|&nth| uses(left, nth) && uses(right, nth));
    let step = step.max_by_key(|&nth| (known.dims[nth].length(), nth))?;
    if known.dims[step].length() < DEPTH {
        return None;
    }
    let n_blocks = |each: i64| {
        let along = |nth: usize| tiles_of(known.dims[nth].length(), SIDE * each);
        let rest = known.n_elements() / known.dims[x].length().saturating_mul(known.dims[y].length()).max(1);
        along(x).saturating_mul(along(y)).saturating_mul(rest)
    };
    let each = [8, 4, 2].into_iter().find(|&each| n_blocks(each) >= 2 * MANY_BLOCKS).unwrap_or(1);
    let depth = DEPTH * (4 / each).max(1);
    Some((Choice { x, y, step, each, depth }, [left, right]))
}
