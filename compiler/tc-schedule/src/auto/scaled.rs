//! Sums of products of matrices, each of which is taken in with other numbers: factors whose scales change along the reduction.

use super::facts::{Facts, Load, tiles_of};
use super::kernels::{Kernel, is_read_by};
use super::threads::MANY_BLOCKS;
use super::writer::Writer;
use crate::graph::{StageId, TensorRef};
use tc_dialects::fragment::{Family, product};
use tc_ir::Elem;
use tc_target::{Feature, Target};

/// The stage that `sum` takes in step by step, if that is a product of matrices for each step, which warpgroups can multiply.
pub(super) fn parts_of(facts: &Facts<'_>, sum: StageId, target: &Target) -> Option<StageId> {
    let known = facts.known(sum).filter(|known| known.reduces_all && known.n_data == 2 && known.reduce().len() == 1)?;
    let is_computed = |load: &&Load| !facts.is_arg(load.tensor.stage);
    let mut computed = known.loads.iter().filter(is_computed);
    let (load, None) = (computed.next()?, computed.next()) else { return None };
    let parts = load.tensor.stage;
    let at_own_place = load.forms.len() == 3 && (0..3).all(|at| load.is_axis(at, at));
    let fits = target.has(Feature::Wgmma)
        && at_own_place
        && facts.graph[parts].tensors.len() == 1
        && is_read_by(facts, parts, &[sum])
        && factors(facts, parts).is_some();
    fits.then_some(parts)
}

/// The loads of the factors, left and right, of `parts`, a product along rows of memory for each step, and the bytes of their
/// numbers.
fn factors(facts: &Facts<'_>, parts: StageId) -> Option<([usize; 2], i64)> {
    let direct = facts.direct(parts).filter(|direct| direct.n_data == 3 && direct.reduce().len() == 1)?;
    let [one, other] = direct.product?;
    let [i, j, r] = [0, 1, 3];
    let is_of = |load: usize, own: usize, not: usize| {
        let load = &direct.loads[load];
        load.forms.len() == 2 && load.is_axis(0, own) && load.is_along(r) && !load.uses(not)
    };
    let [left, right] =
        [[one, other], [other, one]].into_iter().find(|&[left, right]| is_of(left, i, j) && is_of(right, j, i))?;
    let tensors = [left, right].map(|load| direct.loads[load].tensor);
    let [of_left, of_right] = tensors.map(|tensor| facts.elem(tensor));
    let elem: Elem = of_left.filter(|_| of_left == of_right && tensors[0] != tensors[1])?;
    let sums = facts.elem(TensorRef { stage: parts, result: 0 })?;
    product(Family::Wgmma, elem).filter(|known| known.sums.contains(&sums))?;
    let bytes = i64::from(elem.bits() / 8);
    // A step is a whole number of products, and of rows of 128 bytes, and boxes begin at 16 bytes.
    let depth = direct.dims[r].extent.filter(|depth| bytes > 0 && depth % (128 / bytes) == 0)?;
    let begins = |load: usize| {
        let of_row = direct.loads[load].forms[1].as_ref();
        of_row.is_some_and(|coeffs| coeffs[2] % (16 / bytes) == 0)
    };
    let rows_fit = |tensor: TensorRef| facts.is_arg(tensor.stage) && facts.has_aligned_rows(tensor);
    let fits = bytes <= 2 && depth <= 512 && begins(left) && begins(right) && tensors.into_iter().all(rows_fit);
    fits.then_some(([left, right], bytes))
}

/// Writes the kernel of a sum that takes in `kernel.parts`.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel) -> bool {
    let (Some(sum), Some(parts)) = (kernel.sum, kernel.parts) else { return false };
    let (Some(known), Some(direct)) = (facts.known(kernel.root), facts.direct(parts)) else { return false };
    let Some((factors, bytes)) = factors(facts, parts) else { return false };
    let [Some(m), Some(n)] = [0, 1].map(|nth| known.data().get(nth).and_then(|dim| dim.extent)) else { return false };
    let factors = factors.map(|load| direct.loads[load].tensor.stage);
    let stages = [kernel.root, sum, parts, factors[0], factors[1]].map(|stage| writer.stage(&facts.graph[stage].name));
    let many = tiles_of(m, 128).saturating_mul(tiles_of(n, 128)) >= MANY_BLOCKS / 2;
    let rows = if many && m > 64 { 128 } else { 64 };
    writer.call("wgmma_scaled", &stages, &[("rows", rows), ("k", 32 / bytes)]);
    true
}
