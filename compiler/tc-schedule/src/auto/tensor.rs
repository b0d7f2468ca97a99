//! Products of matrices on tensor cores, by the functions of the library; and sums of products of 16 x 16 matrices that lie in
//! one piece ([`super::blocked`]).

use super::{blocked, convolution};
use super::facts::{Facts, Known};
use super::kernels::Kernel;
use super::threads::MANY_BLOCKS;
use super::writer::Writer;
use tc_dialects::fragment::{Family, product};
use tc_dialects::scope::Scope;
use tc_ir::{Elem, Value};
use tc_target::{Feature, Target};

/// A product of matrices.
struct Matrices {
    /// How many rows and columns it has, and how many products each element sums; `None` while a size is open.
    sizes: [Option<i64>; 3],
    /// The type of the factors.
    elem: Elem,
    /// The type of the sums.
    sums: Elem,
    /// Which of the loads is the left factor, and which the right one.
    factors: [usize; 2],
    /// Does the right factor stand n x k?
    turned: bool,
    /// How many axes of a batch stand before its own.
    n_batch: usize,
}

/// Writes the kernel, if it is such a product that `target` has instructions for.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, target: &Target) -> bool {
    let by_warps_too = [Feature::MmaM16N8K16, Feature::Ldmatrix, Feature::CpAsync];
    let by_warps_too = by_warps_too.into_iter().all(|feature| target.has(feature));
    let Some(matrices) = matrices(facts, kernel) else {
        return (target.has(Feature::Wgmma) && convolution::write(writer, facts, kernel))
            || (by_warps_too && blocked::write(writer, facts, kernel));
    };
    if target.has(Feature::Wgmma) && by_warpgroups(writer, facts, kernel, &matrices) {
        return true;
    }
    by_warps_too && by_warps(writer, facts, kernel, &matrices)
}

fn matrices(facts: &Facts<'_>, kernel: &Kernel) -> Option<Matrices> {
    let summing = kernel.sum.unwrap_or(kernel.root);
    let direct = facts.direct(summing)?;
    let ([left, right], 1) = (direct.product?, direct.reduce().len()) else { return None };
    let n_batch = direct.n_data.checked_sub(2)?;
    let [i, j, r] = [n_batch, n_batch + 1, n_batch + 2];
    let stands = |load: usize, axes: [usize; 2]| {
        let load = &direct.loads[load];
        let of_batch = || (0..n_batch).all(|at| load.is_axis(at, at));
        load.forms.len() == n_batch + 2 && of_batch() && load.is_axis(i, axes[0]) && load.is_axis(j, axes[1])
    };
    let [left, right] = if stands(left, [i, r]) { [left, right] } else { [right, left] };
    if !stands(left, [i, r]) || direct.loads.len() != 2 {
        return None;
    }
    let turned = match (stands(right, [j, r]), stands(right, [r, j])) {
        (true, _) => true,
        (_, true) => false,
        _ => return None,
    };
    let tensors = [left, right].map(|load| direct.loads[load].tensor);
    let [of_left, of_right] = tensors.map(|tensor| facts.elem(tensor));
    let elem = of_left.filter(|_| of_left == of_right && tensors[0] != tensors[1])?;
    if tensors.iter().any(|tensor| !facts.is_arg(tensor.stage)) {
        return None;
    }
    let sums = facts.elem(crate::graph::TensorRef { stage: summing, result: 0 })?;
    let sizes = [i, j, r].map(|nth| direct.dims[nth].extent);
    Some(Matrices { sizes, elem, sums, factors: [left, right], turned, n_batch })
}

/// The stages that a function of the library takes: the result, the sums, the factors.
fn stages(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, known: &Known, factors: [usize; 2]) -> [Value; 4] {
    let name = &facts.graph[kernel.root].name;
    let root = writer.stage(name);
    let sum = match kernel.sum {
        Some(sum) => writer.stage(&facts.graph[sum].name),
        None => writer.cache_write(root, Scope::Local, &format!("{name}_sums")),
    };
    let [left, right] = factors.map(|load| writer.stage(&facts.graph[known.loads[load].tensor.stage].name));
    [root, sum, left, right]
}

/// By warpgroups: any sizes whose rows are a multiple of 16 bytes.
fn by_warpgroups(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, matrices: &Matrices) -> bool {
    let &Matrices { sizes: [Some(m), Some(n), Some(k)], elem, sums, turned, factors, n_batch } = matrices else {
        return false;
    };
    let bytes = i64::from(elem.bits() / 8);
    let known = product(Family::Wgmma, elem).filter(|known| known.sums.contains(&sums));
    let right_row = if turned { k } else { n };
    let aligned = bytes > 0 && (k * bytes) % 16 == 0 && (right_row * bytes) % 16 == 0;
    // Numbers of 8 bits lie along k in both factors; f32 would be rounded.
    if known.is_none() || !aligned || (bytes == 1 && !turned) || bytes > 2 {
        return false;
    }
    let Some(direct) = facts.direct(kernel.sum.unwrap_or(kernel.root)) else { return false };
    let stages = stages(writer, facts, kernel, direct, factors);
    let batch = &facts.known(kernel.root).map_or(&[][..], |known| known.data())[..n_batch];
    let n_matrices: i64 = batch.iter().map(|dim| dim.length()).product();
    let axes: Vec<Value> = batch.iter().map(|dim| writer.axis(stages[0], &facts.graph[dim.axis].name)).collect();
    if !axes.is_empty() {
        let all = writer.fuse(&axes, "batch");
        writer.bind(all, "blockIdx.z");
    }
    let tiles = |rows: i64, columns: i64| ((m + rows - 1) / rows) * ((n + columns - 1) / columns) * n_matrices;
    let shape = [("depth", 128 / bytes), ("k", 32 / bytes)];
    let small = facts.bytes(kernel.root) == 2 && (n * 2) % 16 == 0 && kernel.sum.is_some();
    if tiles(128, 256) >= MANY_BLOCKS && n_batch == 0 {
        let stages_ = if small { 3 } else { 4 };
        let numbers = [("columns", 256), ("stages", stages_), shape[0], shape[1]];
        writer.call_flagged("wgmma_persistent", &stages, &numbers, small.then_some(("bulk_out", true)));
    } else {
        let columns = if tiles(128, 128) >= MANY_BLOCKS / 2 { 128 } else { 64 };
        let rows = if m > 64 && tiles(128, columns) >= MANY_BLOCKS / 2 { 128 } else { 64 };
        writer.call("wgmma_tile", &stages, &[("rows", rows), ("columns", columns), shape[0], shape[1]]);
    }
    true
}

/// By warps: sizes that are multiples of a block's tile.
fn by_warps(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, matrices: &Matrices) -> bool {
    let &Matrices { sizes: [Some(m), Some(n), Some(k)], elem, sums, turned, factors, n_batch: 0 } = matrices else {
        return false;
    };
    let bytes = i64::from(elem.bits() / 8);
    let known = product(Family::Mma, elem).filter(|known| known.sums.contains(&sums));
    // Of the numbers of 8 bits, integers alone are multiplied by all targets.
    if known.is_none() || bytes > 2 || (bytes == 1 && (!turned || !elem.is_int())) {
        return false;
    }
    let depth = 32 / bytes.max(1);
    // Rows and columns of a warp's tiles, in tiles of 16, for two by four warps.
    let fits = |tiles: [i64; 2]| m % (32 * tiles[0]) == 0 && n % (64 * tiles[1]) == 0 && k % (2 * depth) == 0;
    let many = |tiles: [i64; 2]| m / (32 * tiles[0]) * (n / (64 * tiles[1])) >= MANY_BLOCKS / 2;
    let all = [[4, 4], [4, 2], [2, 2], [2, 1], [1, 1]];
    let Some(tiles) = all
        .into_iter()
        .find(|&tiles| fits(tiles) && many(tiles))
        .or_else(|| all.into_iter().rev().find(|&tiles| fits(tiles)))
    else {
        return false;
    };
    let Some(direct) = facts.direct(kernel.sum.unwrap_or(kernel.root)) else { return false };
    let stages = stages(writer, facts, kernel, direct, factors);
    let numbers = [("row_tiles", tiles[0]), ("col_tiles", tiles[1]), ("depth", depth), ("vector", 16 / bytes.max(1))];
    writer.call_flagged("mma_product", &stages, &numbers, turned.then_some(("turned", true)));
    true
}
