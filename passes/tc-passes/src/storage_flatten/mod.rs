//! Gives every buffer one dimension and computes the position of each element.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! `flat`: buffers and parameters have one dimension; elements are in row-major order, or by the `strides` of the
//! buffer, which the pass removes. A scalar buffer `f32[]` becomes `f32[1]`.
//!
//! # Example
//!
//! ```tir
//! tir.func @f(A: f32[16, 8]) {
//!   for i in 0..16 {
//!     for j in 0..8 {
//!       A[i, j] = 0.0
//!     }
//!   }
//! }
//! ->
//! tir.func @f(A: f32[128]) {
//!   for i in 0..16 {
//!     for j in 0..8 {
//!       A[i * 8 + j] = 0.0
//!     }
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. For each parameter, alloc and view compute strides and the number of elements; refuse what cannot be flattened.
//! 2. Rewrite each access and each reference to an element with the sum of indices times strides. A reference to a
//!    contiguous region of a buffer becomes one to a contiguous range of the flat buffer: `&R[n : 1, 0 : 8]` is
//!    `&R[n * 8 : 8]`. The memory operand of `wmma.load` and `wmma.store` becomes a reference to the first element of
//!    the tile, whose rows must be `stride` apart in the buffer too.
//! 3. Set the new types. Between 2 and 3 indices and types do not match.
//! 4. A buffer with `swizzle = [bits, base, shift]` has bits `base` to `base + bits` of each position `p` XORed with
//!    those `shift` higher:
//!    `p / 2^(base+bits) * 2^(base+bits) + (p / 2^base % 2^bits ^ p / 2^(base+shift) % 2^bits) * 2^base + p % 2^base`,
//!    simplified under the facts of the program point. The buffer then has the attribute `swizzled`, a note without
//!    effect on positions.
//!
//!    The ops that find the elements of such a buffer themselves take positions that are not mixed: `tma.load`, whose map
//!    gets the swizzle, and `wgmma.mma`.
//! 5. A buffer with `panel = p` lies in panels of `p` columns, each with all rows: the element of row `r` and column `c`
//!    of `R` rows is at `c / p * (R * p) + r * p + c % p`.
//! 6. A factor of `wgmma.mma` becomes its first element and a descriptor. Its offsets are the distances of elements in the
//!    buffer, and it is refused unless each element of the factor lies where the descriptor has it.
//!
//! # Limits
//!
//! A vector access to a buffer with panels is refused. Layouts (`layout = …`) are refused. So are a reference to a region of a buffer with gaps, a reference to more
//! elements of a swizzled buffer than provably stay contiguous, and a `wmma` tile of a swizzled buffer. Indices of
//! several dimensions become `index` arithmetic even if they were narrower.
//!
//! # Remarks
//!
//! None: the pass refuses a buffer that cannot be flattened.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/storage_flatten.cc` and `flatten_buffer.cc`. PTX ISA 8.7, "Matrix descriptor".

mod boxes;
mod factors;
mod panels;
mod references;
mod rewrite;
mod strides;
mod swizzle;

use crate::analysis::launch::LaunchNests;
use tc_dialects::{forms, tir};
use tc_ir::Func;
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};

tc_pass::options! {
    /// `storage-flatten` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "storage-flatten",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[&forms::FLAT],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(StorageFlatten))),
};

/// The pass.
pub struct StorageFlatten;

impl FuncPass for StorageFlatten {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let plan = match strides::plan(func) {
            Ok(plan) => plan,
            Err(found) => {
                cx.diagnostics.append(found);
                return false;
            }
        };
        if plan.is_empty() {
            return false;
        }
        cx.count("buffers flattened", plan.buffers.len() as u64);
        cx.count("accesses rewritten", rewrite::accesses(func, &plan));
        rewrite::types(func, &plan);
        factors::apply(func, &plan);
        boxes::apply(func, &plan);
        match swizzle::apply(func, &plan) {
            Ok(n_mixed) => cx.count("positions swizzled", n_mixed),
            Err(found) => cx.diagnostics.append(found),
        }
        true
    }
}
