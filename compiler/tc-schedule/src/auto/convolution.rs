//! Convolutions with channels last on tensor cores of Hopper, by `@wgmma_convolution` of the library.

use super::facts::{Facts, Known, tiles_of};
use super::kernels::Kernel;
use super::writer::Writer;
use tc_ir::Elem;

/// Pixels of a tile, for two warpgroups.
const PIXELS: i64 = 128;

/// Writes the kernel, if it is such a convolution: of 16-bit numbers, with a result of 16 bits.
pub(super) fn write(writer: &mut Writer, facts: &Facts<'_>, kernel: &Kernel) -> bool {
    let Some((summing, direct)) = kernel.sum.and_then(|sum| Some((sum, facts.direct(sum)?))) else { return false };
    let Some(([image, weights], unfolded)) = factors(direct) else { return false };
    let tensors = [image, weights].map(|load| direct.loads[load].tensor);
    let elem = facts.elem(tensors[0]).filter(|elem| [Elem::F16, Elem::BF16].contains(elem));
    let extents: Option<Vec<i64>> = direct.dims.iter().map(|dim| dim.extent).collect();
    let (Some(elem), Some(extents)) = (elem, extents) else { return false };
    let [n, h, w, out, _, _, channels] = extents[..] else { return false };
    // Rows of boxes are multiples of 16 bytes; each of two warpgroups has images of its own.
    let aligned = channels % 8 == 0 && out % 8 == 0 && n % 2 == 0;
    let sums = facts.elem(crate::graph::TensorRef { stage: summing, result: 0 });
    if facts.elem(tensors[1]) != Some(elem) || sums != Some(Elem::F32) || facts.bytes(kernel.root) != 2 || !aligned {
        return false;
    }
    let name = |stage: crate::graph::StageId| facts.graph[stage].name.clone();
    let stages = [kernel.root, summing, tensors[0].stage, tensors[1].stage].map(|stage| writer.stage(&name(stage)));
    let [images, rows] = tile([n, h, w]);
    let of_result = if out % 128 == 0 { 128 } else { 64 };
    let numbers = [("images", images), ("rows", rows), ("channels", of_result)];
    writer.call_flagged("wgmma_convolution", &stages, &numbers, (!unfolded).then_some(("unfolded", false)).as_slice());
    true
}

/// Images and rows of a tile that covers pixels with the least left over; the rest are columns.
fn tile([n, h, w]: [i64; 3]) -> [i64; 2] {
    let up = |length: i64, by: i64| tiles_of(length, by).saturating_mul(by);
    let powers = |from: u32, to: u32| (from..=to).map(|power| 1_i64 << power);
    let all = powers(1, 7).flat_map(|images| powers(0, 4).map(move |rows| [images, rows]));
    let fits = all.filter(|[images, rows]| images * rows <= PIXELS);
    let covered = |[images, rows]: &[i64; 2]| {
        up(n, *images).saturating_mul(up(h, *rows)).saturating_mul(up(w, PIXELS / (images * rows)))
    };
    // Of equal ones the first has the longest rows of pixels.
    fits.min_by_key(covered).unwrap_or([2, 1])
}

/// Which loads are the image and the weights, and whether the image is read at each place of the kernel by axes of its own.
fn factors(known: &Known) -> Option<([usize; 2], bool)> {
    let [left, right] = known.product?;
    if known.n_data != 4 || known.dims.len() != 7 || known.loads.len() != 2 {
        return None;
    }
    let is = |load: usize, axes: &[usize]| {
        let load = &known.loads[load];
        load.forms.len() == axes.len() && axes.iter().enumerate().all(|(at, &axis)| load.is_axis(at, axis))
    };
    let moves = |load: usize, at: usize, axes: [usize; 2]| {
        let form = known.loads[load].forms.get(at).and_then(Option::as_ref);
        form.is_some_and(|form| form.iter().enumerate().all(|(axis, &coeff)| (coeff != 0) == axes.contains(&axis)))
    };
    let weights = |load: usize| is(load, &[3, 4, 5, 6]);
    let [image, of_weights] = if weights(right) { [left, right] } else { [right, left] };
    if !weights(of_weights) {
        return None;
    }
    let unfolded = is(image, &[0, 1, 2, 4, 5, 6]);
    let load = &known.loads[image];
    let windows = load.forms.len() == 4 && load.is_axis(0, 0) && load.is_axis(3, 6);
    let windows = windows && moves(image, 1, [1, 4]) && moves(image, 2, [2, 5]);
    (unfolded || windows).then_some(([image, of_weights], unfolded))
}
