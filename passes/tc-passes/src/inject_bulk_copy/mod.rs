//! Turns copies of boxes of a tensor into bulk copies by tensor maps (TMA).
//!
//! An alloc with `bulk = w` requests it for what fills the buffer, one with `bulk_out = w` for what reads it: `w` is the
//! width in bytes of the rows whose pieces the copy engine mixes, 0 for none, or `any` for the widest that fits. The pass
//! chooses how the buffer lies. It replaces the loops that fill it by `tma.load`, which is done once for the block, and those
//! that read it by `tma.store`, once for each warpgroup.
//!
//! # Input form
//!
//! `multi-dimensional`, before `loop-partition` divides the loops. One nest of loops that run
//! in order fills, or reads, such a buffer, and only copies.
//!
//! # Output form
//!
//! No `bulk` and no `bulk_out` remains. The buffers have `swizzle` and `panel` as the copy engine needs them, which `storage-flatten` applies,
//! and an alignment. The maps are made at the head of the function, one for each tensor and box.
//!
//! # Example
//!
//! ```tir
//! for r in 0..4 {
//!   alloc S: f16[64, 64] in shared attributes {bulk = 128}
//!   for i in 0..64 {
//!     for j in 0..64 {
//!       S[i, j] = A[by * 64 + i, r * 64 + j]
//!     }
//!   }
//! }
//! ->
//! A_map = tma.map(A, extents = [64, 64]) : f16[256, 256]
//! for r in 0..4 {
//!   alloc S: f16[64, 64] in shared attributes {align = 1024, swizzle = [3, 3, 3]}
//!   tma.load(&S[0 : 64, 0 : 64], &A_map[by * 64 : 64, r * 64 : 64])
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Find the store that fills the buffer, and the loops around it inside the alloc's region. Each index of the tensor is
//!    a loop's variable, or up to 8 times it (`steps`), plus what no loop or thread changes: a box. The buffer takes its
//!    elements in their order, row by row, in as many dimensions as it has; or its first dimension is another one of the
//!    tensor's, and a box is copied for each element of that. A condition around the store goes: what the box
//!    has beyond it is either in the tensor, and never read, or zero. So does one around the load that stores zero where it
//!    does not hold, if it holds for all elements inside of the tensor, as for the padding of a convolution.
//! 2. Choose the width of a row: that of the directive, or the widest of 128, 64 and 32 bytes that divides the last
//!    extent. Where rows are longer, the buffer lies in panels of that width (`panel`), one copy each. Divide the first
//!    dimension where it has more than 256 elements.
//! 3. Where there are more than 5 dimensions, join two neighbours of constant extents if the box has one element of the outer
//!    one and is proved not to leave the inner one.
//!    Short rows that lie side by side, in the tensor as in the buffer, are one of 128 bytes in a buffer that leaves, and in one
//!    that is filled if the directive asks for it: the copy engine takes the time of 128 bytes for any row.
//! 4. Check what the copy engine takes: at most 5 dimensions, sides of at most 256, rows, strides and starts in a row of
//!    multiples of 16 bytes, proved where sizes are open.
//! 5. Make the maps, replace the nest by the copies, and drop loops that nothing is left of.
//!
//! # Limits
//!
//! A result leaves by parts, each of which one row of threads (those that differ in threadIdx.x alone) has written, and is
//! read by nothing else. A copy that converts, gathers, or pads by anything else than zeros outside of the tensor is refused; so is one whose
//! box differs between the threads of a block, and a buffer that anything else writes.
//!
//! # Remarks
//!
//! None: the pass refuses what is no bulk copy.
//!
//! # References
//!
//! PTX ISA 8.7, "cp.async.bulk.tensor" and "Tensor". CUDA driver API 13.0, `cuTensorMapEncodeTiled`.

mod emit;
mod find;
mod join;
mod layout;
mod owner;
mod padding;
mod place;
mod widen;

use find::Way;
use tc_dialects::{forms, tir};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// `inject-bulk-copy` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "inject-bulk-copy",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::MULTI_DIMENSIONAL],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(InjectBulkCopy))),
};

/// The pass.
pub struct InjectBulkCopy;

impl FuncPass for InjectBulkCopy {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let allocs = all_ops(func).filter(|&op| func.opcode(op) == tir::ALLOC);
        let allocs: Vec<(Op, Way)> = allocs.filter_map(|op| Some((op, Way::asked(func, op)?))).collect();
        if allocs.is_empty() {
            return false;
        }
        let (mut copies, mut failed) = (Vec::new(), false);
        for (alloc, way) in allocs {
            match find::find(func, alloc, way) {
                Ok(copy) => copies.push(copy),
                Err(found) => {
                    cx.report(*found);
                    failed = true;
                }
            }
        }
        if failed {
            return false;
        }
        cx.count("bulk copies", emit::emit(func, &mut copies));
        true
    }
}
