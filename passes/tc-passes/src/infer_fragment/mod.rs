//! Turns buffers of `wmma` tiles into buffers of fragments, with the types that the matrix ops require.
//!
//! For `schedule` and tensor intrinsics a tile of `wmma` is a part of a buffer of numbers, in the order of memory. The
//! hardware has fragments: the type of a fragment depends on the shape of its product and on the type and the order of
//! its elements, and the mapping of elements to threads is unspecified.
//!
//! # Input form
//!
//! `multi-dimensional`; after `tensorize-to-wmma`, before `storage-flatten`.
//!
//! # Output form
//!
//! No buffer in a storage scope `wmma.…` holds numbers. `wmma.mma` has no layouts: its fragments have them.
//!
//! # Example
//!
//! ```tir
//! alloc AF: f16[2, 16, 16] in wmma.matrix_a
//! for n in 0..2 {
//!   wmma.load(&AF[n : 1, 0 : 16, 0 : 16], &AS[n : 1, 0 : 16, 0 : 16], stride = 16, layout = row_major)
//! }
//! wmma.mma(&CF[0 : 1, 0 : 16, 0 : 16], &AF[1 : 1, 0 : 16, 0 : 16], &WF[0 : 1, 0 : 16, 0 : 16])
//! ->
//! alloc AF: wmma.fragment<matrix_a, 16, 16, 16, f16, row_major>[2] in wmma.matrix_a
//! for n in 0..2 unroll {
//!   wmma.load(&AF[n], &AS[n : 1, 0 : 16, 0 : 16], stride = 16, layout = row_major)
//! }
//! wmma.mma(&CF[0], &AF[1], &WF[0])
//! ```
//!
//! # Algorithm
//!
//! 1. For each buffer in a storage scope `wmma.…` collect the ops on its tiles; refuse any other access.
//! 2. Infer its fragment from the products: their shape, its layout there. A buffer in no product takes the only shape
//!    that its tiles fit, and the layout of their loads. Factors of `f32` become `tf32`.
//! 3. Check every op against the fragment, and prove that each tile starts at a multiple of its extents.
//! 4. Set the new types of the buffers: the leading dimensions stay, and the last two count tiles, or disappear if
//!    there is only one. Turn references to regions into references to elements. Between the two, types and references
//!    do not match.
//! 5. Set the kind of serial loops whose variables select a fragment to `unroll`: registers have no addresses.
//!
//! # Limits
//!
//! A fragment has one shape: a buffer whose tiles occur in products of two shapes is refused. No load or store accesses
//! an element of a fragment, so use the storage scopes `mma.…` for elementwise stages. Accumulators are row-major.
//!
//! # Remarks
//!
//! `not-unrolled`: a loop without constant bounds that selects a fragment. A buffer that cannot be a fragment is an
//! error.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/tensorcore_infer_fragment.cc`. CUDA C++ Programming Guide, "Warp Matrix Functions".

mod infer;
mod rewrite;

use crate::analysis::tiles;
use crate::analysis::tiles::Tiles;
use crate::check_bounds;
use rustc_hash::FxHashSet;
use tc_dialects::fragment::Family;
use tc_dialects::{forms, tir};
use tc_ir::{Func, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `infer-fragment` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "infer-fragment",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::MULTI_DIMENSIONAL],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(InferFragment))),
};

/// The pass.
pub struct InferFragment;

impl FuncPass for InferFragment {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let plans = tiles::collect(func, Family::Wmma).and_then(|list| within(func, list));
        let plans = plans.and_then(|list| infer::infer(func, list));
        let plans = match plans {
            Ok(plans) => plans,
            Err(found) => {
                found.into_iter().for_each(|diagnostic| cx.report(diagnostic));
                return false;
            }
        };
        if plans.is_empty() {
            return false;
        }
        cx.count("buffers of fragments", plans.len() as u64);
        rewrite::rewrite(func, &plans);
        let buffers: FxHashSet<Value> = plans.iter().map(|plan| plan.tiles.buffer).collect();
        let n_unrolled = tiles::unroll_loops_over(func, &buffers, cx);
        cx.count("loops unrolled", n_unrolled);
        true
    }
}

/// The buffers, if no reference to their tiles certainly reaches beyond them: of one that becomes a single fragment nothing
/// would see that.
fn within(func: &Func, list: Vec<Tiles>) -> Result<Vec<Tiles>, Vec<Diagnostic>> {
    let buffers: FxHashSet<Value> = list.iter().map(|tiles| tiles.buffer).collect();
    let out = if buffers.is_empty() { Vec::new() } else { check_bounds::certainly_out(func, &buffers) };
    if out.is_empty() { Ok(list) } else { Err(out) }
}
