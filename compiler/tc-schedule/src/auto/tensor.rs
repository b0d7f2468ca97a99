//! Products of matrices on tensor cores, by the functions of the library; and sums of products of 16 x 16 matrices that lie in
//! one piece ([`super::blocked`]).

use super::facts::{Dim, Facts, Known, tiles_of};
use super::kernels::Kernel;
use super::threads::MANY_BLOCKS;
use super::writer::Writer;
use super::{blocked, convolution, scaled};
use crate::graph::{StageId, TensorRef};
use tc_dialects::fragment::{Family, product};
use tc_dialects::scope::Scope;
use tc_ir::{Elem, Value};
use tc_target::{Feature, Target};

/// Matrices with fewer rows, columns or steps are not padded to a block's tile.
const MIN_PADDED: i64 = 16;

/// Smaller matrices are not worth a copy of their factors.
const MIN_PACKED: i64 = 64;

/// A product of matrices, or a sum of such.
pub(super) struct Matrices {
    /// How many rows and columns it has, and how many products each element sums; `None` while a size is open.
    sizes: [Option<i64>; 3],
    /// The type of the factors.
    elem: Elem,
    /// Are they rounded to tf32?
    is_rounded: bool,
    /// The type of the sums.
    sums: Elem,
    /// Which of the loads is the left factor, and which the right one.
    factors: [usize; 2],
    /// Does the left factor stand k x m, and the right one n x k?
    turned: [bool; 2],
    /// How many axes stand before its own: of a batch, or of places.
    n_batch: usize,
    /// The axis of the reduction that the factors share.
    along: usize,
    /// Do the rows of both factors lie as bulk copies take them?
    aligned: bool,
    /// Are the last two dimensions of both factors read to their ends?
    whole: bool,
}

/// Writes the kernel, if it is such a product that `target` has instructions for.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, target: &Target) -> bool {
    if kernel.parts.is_some() {
        return scaled::write(writer, facts, kernel);
    }
    let of_warps = [Feature::MmaM16N8K16, Feature::Ldmatrix, Feature::CpAsync];
    let of_warps = of_warps.into_iter().all(|feature| target.has(feature));
    let hopper = target.has(Feature::Wgmma);
    let matrices = matrices(facts, kernel.sum.unwrap_or(kernel.root));
    let product = matrices.is_some_and(|matrices| {
        (hopper && (by_warpgroups(writer, facts, kernel, &matrices) || packed(writer, facts, kernel, &matrices)))
            || (of_warps && by_warps(writer, facts, kernel, &matrices))
    });
    product
        || (hopper && convolution::write(writer, facts, kernel))
        || (of_warps && blocked::write(writer, facts, kernel))
}

/// The product of matrices that `summing` sums, its last two axes being rows and columns.
pub(super) fn matrices(facts: &Facts<'_>, summing: StageId) -> Option<Matrices> {
    let direct = facts.direct(summing)?;
    let [one, other] = direct.product?;
    let n_batch = direct.n_data.checked_sub(2)?;
    let [i, j] = [n_batch, n_batch + 1];
    let stands = |load: usize, last: [usize; 2], r: usize| direct.loads[load].ends_in(last, &[i, j, r]);
    let of = |r: usize| {
        let found = [[one, other], [other, one]].into_iter().find_map(|[left, right]| {
            let of_left = [[i, r], [r, i]].into_iter().position(|last| stands(left, last, r))?;
            let of_right = [[r, j], [j, r]].into_iter().position(|last| stands(right, last, r))?;
            Some(([left, right], [of_left == 1, of_right == 1]))
        });
        found.map(|(factors, turned)| (r, factors, turned))
    };
    let (along, factors, turned) = (direct.n_data..direct.dims.len()).find_map(of)?;
    let tensors = factors.map(|load| direct.loads[load].tensor);
    let [of_left, of_right] = tensors.map(|tensor| facts.elem(tensor));
    let elem = of_left.filter(|_| of_left == of_right && tensors[0] != tensors[1] && direct.loads.len() == 2)?;
    // f32 is rounded to tf32, which is not the author's product unless he says so.
    let is_rounded = elem == Elem::F32;
    if is_rounded && !facts.allow_tf32 {
        return None;
    }
    let sums = facts.elem(TensorRef { stage: summing, result: 0 })?;
    let sizes = [i, j, along].map(|nth| direct.dims[nth].extent);
    let aligned = tensors.iter().all(|&tensor| facts.has_aligned_rows(tensor));
    let [m, n, k] = sizes;
    let ends = [if turned[0] { [k, m] } else { [m, k] }, if turned[1] { [n, k] } else { [k, n] }];
    let whole = tensors.iter().zip(ends).all(|(&tensor, ends)| facts.shape(tensor).ends_with(&ends));
    Some(Matrices { sizes, elem, is_rounded, sums, factors, turned, n_batch, along, aligned, whole })
}

/// The stages that warpgroups read as factors: they are computed whole, and not where they are read.
pub(super) fn factors_in_memory(facts: &Facts<'_>, target: &Target) -> Vec<StageId> {
    let sums = facts.graph.order.iter().copied().filter(|_| target.has(Feature::Wgmma));
    let of = |summing: StageId| {
        let matrices = matrices(facts, summing).filter(|matrices| matrices.for_warpgroups().is_some());
        let loads = matrices.zip(facts.direct(summing));
        loads.map(|(matrices, direct)| matrices.factors.map(|load| direct.loads[load].tensor.stage))
    };
    sums.filter_map(of).flatten().filter(|&stage| !facts.is_arg(stage)).collect()
}

impl Matrices {
    /// The argument of the library's functions that says that f32 is rounded.
    fn rounded(&self) -> Option<(&'static str, bool)> {
        self.is_rounded.then_some(("rounded", true))
    }

    /// The sizes, and the bytes of a number, if warpgroups can multiply so.
    fn for_warpgroups(&self) -> Option<([i64; 3], i64)> {
        let [Some(m), Some(n), Some(k)] = self.sizes else { return None };
        let bytes = i64::from(self.elem.bits() / 8);
        let known = product(Family::Wgmma, self.elem).filter(|known| known.sums.contains(&self.sums));
        // Numbers of 16 bits alone may lie across k.
        let along_k = self.turned == [false, true];
        // Many small matrices are better off by warps.
        let long = k >= 16 && n >= 16 && (self.n_batch == 0 || m.min(n) >= 32);
        (known.is_some() && self.aligned && bytes <= 4 && (bytes == 2 || along_k) && long).then_some(([m, n, k], bytes))
    }
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

/// The stage that `kernel` sums, where it sums along one axis, and its factors are arguments.
fn of_arguments<'k>(facts: &'k Facts<'_>, kernel: &Kernel, factors: [usize; 2]) -> Option<&'k Known> {
    let direct = facts.direct(kernel.sum.unwrap_or(kernel.root)).filter(|known| known.reduce().len() == 1)?;
    factors.iter().all(|&load| facts.is_arg(direct.loads[load].tensor.stage)).then_some(direct)
}

/// By warpgroups: any sizes whose rows are a multiple of 16 bytes.
fn by_warpgroups(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, matrices: &Matrices) -> bool {
    let Some(([m, n, _], bytes)) = matrices.for_warpgroups() else { return false };
    let &Matrices { n_batch, along, factors, .. } = matrices;
    let Some(direct) = facts.direct(kernel.sum.unwrap_or(kernel.root)) else { return false };
    let is_whole = |&load: &usize| {
        let stage = direct.loads[load].tensor.stage;
        facts.is_arg(stage) || facts.known(stage).is_some()
    };
    // Bulk copies read what lies in memory.
    if !factors.iter().all(is_whole) {
        return false;
    }
    let stages = stages(writer, facts, kernel, direct, factors);
    let batch = &facts.known(kernel.root).map_or(&[][..], |known| known.data())[..n_batch];
    let n_matrices = batch.iter().map(Dim::length).fold(1, i64::saturating_mul);
    let axes: Vec<Value> = batch.iter().map(|dim| writer.axis(stages[0], &facts.graph[dim.axis].name)).collect();
    if !axes.is_empty() {
        let all = writer.fuse(&axes, "batch");
        writer.bind(all, "blockIdx.z");
    }
    // What else is summed over stands around the steps.
    let others: Vec<usize> = (direct.n_data..direct.dims.len()).filter(|&nth| nth != along).collect();
    if !others.is_empty() {
        let order = others.iter().copied().chain([n_batch, n_batch + 1, along]);
        let order: Vec<Value> =
            order.map(|nth| writer.axis(stages[1], &facts.graph[direct.dims[nth].axis].name)).collect();
        writer.reorder(&order);
    }
    let tiles =
        |rows: i64, columns: i64| tiles_of(m, rows).saturating_mul(tiles_of(n, columns)).saturating_mul(n_matrices);
    let shape = [("depth", 128 / bytes), ("k", 32 / bytes)];
    // The functions take the first axis of the reduction, or those that take one.
    let (mut stages, mut suffix) = (stages.to_vec(), "");
    if !others.is_empty() {
        stages.push(writer.axis(stages[1], &facts.graph[direct.dims[along].axis].name));
        suffix = "_along";
    }
    let small = facts.bytes(kernel.root) == 2 && n % 8 == 0 && kernel.sum.is_some();
    // A tile is as wide as it says: what is narrower goes tile by tile.
    if tiles(128, 256) >= MANY_BLOCKS && n_batch == 0 && m >= 128 && n >= 256 {
        let n_stages = if small { 3 } else { 4 };
        let numbers = [("columns", 256), ("stages", n_stages), shape[0], shape[1]];
        let flags: Vec<(&str, bool)> =
            small.then_some(("bulk_out", true)).into_iter().chain(matrices.rounded()).collect();
        writer.call_flagged(&format!("wgmma_persistent{suffix}"), &stages, &numbers, &flags);
    } else {
        let columns = if tiles(128, 128) >= MANY_BLOCKS / 2 { 128 } else { 64 };
        let rows = if m > 64 && tiles(128, columns) >= MANY_BLOCKS / 2 { 128 } else { 64 };
        let numbers = [("rows", rows), ("columns", columns), shape[0], shape[1]];
        writer.call_flagged(&format!("wgmma_tile{suffix}"), &stages, &numbers, matrices.rounded().as_slice());
    }
    true
}

/// By warpgroups, of factors that are copied before, as bulk copies do not take their rows.
fn packed(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, matrices: &Matrices) -> bool {
    let &Matrices { sizes: [Some(m), Some(n), Some(k)], elem, sums, factors, n_batch: 0, whole: true, .. } = matrices
    else {
        return false;
    };
    let known = product(Family::Wgmma, elem).filter(|known| known.sums.contains(&sums));
    if known.is_none() || elem.bits() != 16 || m.min(n).min(k) < MIN_PACKED {
        return false;
    }
    let Some(direct) = of_arguments(facts, kernel, factors) else { return false };
    let stages = stages(writer, facts, kernel, direct, factors);
    let many = |rows: i64, columns: i64| tiles_of(m, rows).saturating_mul(tiles_of(n, columns)) >= MANY_BLOCKS / 2;
    let columns = if many(128, 128) { 128 } else { 64 };
    let rows = if many(128, columns) { 128 } else { 64 };
    writer.call("wgmma_packed", &stages, &[("rows", rows), ("columns", columns)]);
    true
}

/// By warps, in tiles that divide the sizes, or else over zeros.
fn by_warps(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel, matrices: &Matrices) -> bool {
    let &Matrices {
        sizes: [Some(m), Some(n), Some(k)], elem, sums, turned: [false, turned], factors, n_batch: 0, ..
    } = matrices
    else {
        return false;
    };
    let bytes = i64::from(elem.bits() / 8);
    let known = product(Family::Mma, elem).filter(|known| known.sums.contains(&sums));
    // Of the numbers of 8 bits, integers alone are multiplied by all targets.
    if known.is_none() || bytes > 4 || (bytes == 1 && (!turned || !elem.is_int())) {
        return false;
    }
    let depth = 32 / bytes.max(1);
    // Rows and columns of a warp's tiles, in tiles of 16, for two by four warps.
    let fits = |tiles: [i64; 2]| m % (32 * tiles[0]) == 0 && n % (64 * tiles[1]) == 0 && k % (2 * depth) == 0;
    let many =
        |tiles: [i64; 2]| tiles_of(m, 32 * tiles[0]).saturating_mul(tiles_of(n, 64 * tiles[1])) >= MANY_BLOCKS / 2;
    let all = [[4, 4], [4, 2], [2, 2], [2, 1], [1, 1]];
    let whole = all.into_iter().find(|&tiles| fits(tiles) && many(tiles));
    let whole = whole.or_else(|| all.into_iter().rev().find(|&tiles| fits(tiles)));
    let padded = || {
        let is_long = m.min(n).min(k) >= MIN_PADDED;
        (is_long && matrices.whole).then(|| all.into_iter().find(|&tiles| many(tiles)).unwrap_or([1, 1]))
    };
    let Some(tiles) = whole.or_else(padded) else { return false };
    let Some(direct) = of_arguments(facts, kernel, factors) else { return false };
    let stages = stages(writer, facts, kernel, direct, factors);
    let numbers = [("row_tiles", tiles[0]), ("col_tiles", tiles[1]), ("depth", depth), ("vector", 16 / bytes.max(1))];
    let named = [("turned", turned), ("padded", whole.is_none())].map(|flag| flag.1.then_some(flag));
    let flags: Vec<(&str, bool)> = named.into_iter().chain([matrices.rounded()]).flatten().collect();
    writer.call_flagged("mma_product", &stages, &numbers, &flags);
    true
}
