//! Sums of products of matrices of 16 x 16 that lie in one piece, such as convolutions whose images and channels are blocked: a
//! block of warps, each with several such matrices of the result.

use super::facts::{Facts, Known};
use super::kernels::Kernel;
use super::writer::Writer;
use tc_dialects::fragment::{Family, product};
use tc_dialects::scope::Scope;
use tc_ir::Value;

/// Rows and columns of a matrix.
const SIDE: i64 = 16;
/// Elements that a thread copies at a time: 16 bytes.
const LANES: i64 = 8;
/// How many steps of the reduction lie in shared memory.
const STAGES: i64 = 3;

/// The axes, by their numbers.
struct Choice {
    /// The loads that are the left factor and the right one.
    factors: [usize; 2],
    /// An axis over matrices of the left factor, and one over those of the right one.
    rows: usize,
    columns: usize,
    /// Along which products are summed: of the matrices, and of their elements.
    steps: usize,
    within: usize,
    /// How many warps of a block share either axis, and how many matrices of it each warp has.
    warps: [i64; 2],
    each: [i64; 2],
    /// How many matrices are multiplied in a step.
    chunk: i64,
}

/// Writes the kernel, if it is such a sum: on targets that have `mma.sync`, `ldmatrix` and asynchronous copies.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel) -> bool {
    let summing = kernel.sum.unwrap_or(kernel.root);
    let (Some(known), Some(direct)) = (facts.known(kernel.root), facts.direct(summing)) else { return false };
    let Some(choice) = choose(facts, direct, summing) else { return false };
    let name = &facts.graph[kernel.root].name;
    let root = writer.stage(name);
    let sum = match kernel.sum {
        Some(sum) => {
            let sum = writer.stage(&facts.graph[sum].name);
            writer.set_scope(sum, Scope::MmaAccumulator);
            sum
        }
        None => writer.cache_write(root, Scope::MmaAccumulator, &format!("{name}_sums")),
    };
    let scopes = [Scope::MmaA, Scope::MmaB];
    let caches = [0, 1].map(|nth| {
        let name = &facts.graph[direct.loads[choice.factors[nth]].tensor.stage].name;
        let from = writer.stage(name);
        let shared = writer.cache_read(from, Scope::Shared, &[sum], &format!("{name}_shared"));
        (shared, writer.cache_read(shared, scopes[nth], &[sum], &format!("{name}_tile")))
    });

    let axis = |writer: &mut Writer, nth: usize| writer.axis(root, &facts.graph[known.dims[nth].axis].name);
    let divide = |writer: &mut Writer, nth: usize, side: usize, names: [&str; 3]| {
        let whole = axis(writer, nth);
        let [outer, each] = writer.split(whole, choice.each[side], ["warps", names[2]]);
        let [block, warp] = writer.split(outer, choice.warps[side], [names[0], names[1]]);
        [block, warp, each]
    };
    let [by, ty, row] = divide(writer, choice.rows, 0, ["by", "ty", "row"]);
    let [bx, tz, column] = divide(writer, choice.columns, 1, ["bx", "tz", "column"]);
    let n_outer = known.n_data - 2;
    let rest: Vec<Value> =
        (0..n_outer).filter(|nth| ![choice.rows, choice.columns].contains(nth)).map(|nth| axis(writer, nth)).collect();
    let matrix = [axis(writer, n_outer), axis(writer, n_outer + 1)];
    writer.reorder(&[&rest[..], &[by, bx, ty, tz, row, column], &matrix].concat());
    let block = writer.fuse(&[&rest[..], &[by, bx]].concat(), "block");
    writer.bind(block, "blockIdx.x");
    writer.bind(ty, "threadIdx.y");
    writer.bind(tz, "threadIdx.z");

    // One loop over all steps, so that copies run ahead all the time.
    writer.compute_at(sum, tz);
    let of_sum = |writer: &mut Writer, nth: usize| writer.axis(sum, &facts.graph[direct.dims[nth].axis].name);
    let steps = of_sum(writer, choice.steps);
    let [outer, inner] = writer.split(steps, choice.chunk, ["chunks", "chunk"]);
    let taken = [choice.steps, choice.within];
    let others = (direct.n_data..direct.dims.len()).filter(|nth| !taken.contains(nth));
    let mut around: Vec<Value> = others.map(|nth| of_sum(writer, nth)).collect();
    around.push(outer);
    let data: Vec<Value> = (0..direct.n_data).map(|nth| of_sum(writer, nth)).collect();
    let within = of_sum(writer, choice.within);
    writer.reorder(&[&around[..], &[inner], &data, &[within]].concat());
    let step = writer.fuse(&around, "step");
    for (shared, tile) in caches {
        writer.compute_at(tile, inner);
        writer.compute_at(shared, step);
    }
    writer.pipeline(step, STAGES, &caches.map(|(shared, _)| shared));
    for (shared, _) in caches {
        // The halves of a row of 32 bytes change places in every second four rows: eight rows read at once meet in no bank.
        writer.swizzle(shared, [1, 3, 3]);
        writer.call("copy_by_warps", &[shared], &[("row_warps", choice.warps[0]), ("col_warps", choice.warps[1])]);
    }
    for ((_, tile), intrinsic) in caches.into_iter().zip(["ldmatrix_a", "ldmatrix_b_trans"]) {
        let rows = writer.nth_axis(tile, -2);
        writer.tensorize(rows, intrinsic);
    }
    let rows = writer.nth_axis(sum, -2);
    writer.tensorize(rows, "mma");
    true
}

fn choose(facts: &Facts<'_>, known: &Known, summing: crate::graph::StageId) -> Option<Choice> {
    let n_outer = known.n_data.checked_sub(2)?;
    let (i, j) = (n_outer, n_outer + 1);
    let product_of = known.product?;
    let ends = |load: usize, axes: [usize; 2]| {
        let load = &known.loads[load];
        let at = load.forms.len().checked_sub(2);
        at.is_some_and(|at| load.is_axis(at, axes[0]) && load.is_axis(at + 1, axes[1]))
    };
    let within = (known.n_data..known.dims.len()).find(|&k| {
        [product_of, [product_of[1], product_of[0]]]
            .iter()
            .any(|&[left, right]| ends(left, [i, k]) && ends(right, [k, j]))
    })?;
    let factors = if ends(product_of[0], [i, within]) { product_of } else { [product_of[1], product_of[0]] };
    let [left, right] = factors;
    if [i, j, within].iter().any(|&nth| known.dims[nth].extent != Some(SIDE)) || known.loads.len() != 2 {
        return None;
    }
    let [of_left, of_right] = factors.map(|load| facts.elem(known.loads[load].tensor));
    let elem = of_left.filter(|elem| of_left == of_right && elem.bits() == 16)?;
    let sums = facts.elem(crate::graph::TensorRef { stage: summing, result: 0 })?;
    product(Family::Mma, elem).filter(|known| known.sums.contains(&sums))?;
    // Axes over matrices that no window moves: their tiles do not overlap.
    let own = |load: usize, other: usize| {
        let fits = move |&nth: &usize| {
            let of = &known.loads[load];
            of.uses(nth) && !known.loads[other].uses(nth) && !of.moves_alike(nth, known.n_data..known.dims.len())
        };
        (0..n_outer).filter(fits).max_by_key(|&nth| known.dims[nth].extent)
    };
    let (rows, columns) = (own(left, right)?, own(right, left)?);
    let both = |&nth: &usize| known.loads[left].uses(nth) && known.loads[right].uses(nth) && nth != within;
    let steps = (known.n_data..known.dims.len()).filter(both).max_by_key(|&nth| known.dims[nth].extent)?;
    let divides = |nth: usize, by: i64| known.dims[nth].extent.is_some_and(|extent| extent % by == 0);
    let shares = |nth: usize| {
        let all = [[2, 4], [2, 2], [1, 4], [2, 1], [1, 2], [1, 1]];
        all.into_iter().find(|&[warps, each]| divides(nth, warps * each))
    };
    let ([row_warps, of_rows], [col_warps, of_columns]) = (shares(rows)?, shares(columns)?);
    let chunk = [4, 2, 1].into_iter().find(|&chunk| divides(steps, chunk))?;
    let (warps, each) = ([row_warps, col_warps], [of_rows, of_columns]);
    // All threads of the block copy vectors of both tiles.
    let whole =
        each.iter().zip(warps).all(|(each, own)| each * own * chunk * SIDE * SIDE >= LANES * 32 * warps[0] * warps[1]);
    whole.then_some(Choice { factors, rows, columns, steps, within, warps, each, chunk })
}
