//! What a group of threads does together.
//!
//! A warp is 32 threads whose numbers follow each other, the number of a thread being
//! `threadIdx.x + threadIdx.y * extent of x + threadIdx.z * extent of x * extent of y`.

mod verify;

use tc_ir::opdef::{Effect, Infer, RegionDef, Results};

pub use verify::reduced_axes;

const COMBINE: &[RegionDef] = &[RegionDef { name: "combine", optional: false }];
const TOGETHER: Effect = Effect { synchronises: true, convergent: true, ..Effect::PINNED };

tc_ir::dialect! {
    /// The rows of `gpu`.
    dialect "gpu" = 5;

    /// Waits until all threads of the block are here; what they wrote to memory of the scope is then seen by all.
    Barrier BARRIER "barrier" (scope: word)
    { effect: TOGETHER, verify: Some(verify::barrier) }

    /// Combines the values of all threads of a block that differ in the coordinates `axes` alone, and hands each of them the result; the region takes two sets of values, those of the lower threads first, and yields one. How they are grouped is not told, so the combiner must be associative. All threads of the block meet here, as at a barrier.
    AllReduce ALL_REDUCE "all_reduce" (values: values, axes: any key)
    { results: Results::Many, infer: Infer::All(verify::infer_all_reduce), regions: COMBINE, effect: TOGETHER, verify: Some(verify::all_reduce) }

    /// The value that another lane of the warp holds: that of lane number `lane` (`idx`), of the lane so many further on (`down`) or back (`up`), or of the one whose number is the own one `xor` it. Lanes are counted within groups of `width`, 32 where it is left out, and `lane` is below that; where the group or the block ends before, it is the own value.
    Shuffle SHUFFLE "shuffle" (value: value, lane: value, mode: word, width: int key opt)
    { results: Results::Count(1), infer: Infer::By(verify::infer_shuffle), effect: Effect { convergent: true, ..Effect::PINNED }, verify: Some(verify::shuffle) }
}
