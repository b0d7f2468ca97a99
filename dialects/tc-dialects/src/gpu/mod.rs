//! What a group of threads does together.
//!
//! A warp is 32 threads whose numbers follow each other, the number of a thread being
//! `threadIdx.x + threadIdx.y * extent of x + threadIdx.z * extent of x * extent of y`.

mod copies;
mod verify;

use tc_ir::opdef::{Effect, Infer, RegionDef, Results};

pub use copies::{MAX_PENDING, copied_bytes};
pub use verify::reduced_axes;

const COMBINE: &[RegionDef] = &[RegionDef { name: "combine", optional: false }];
/// Of one thread, but nothing that accesses memory moves across it.
const ORDERED: Effect = Effect { synchronises: true, ..Effect::NOT_SPECULATABLE };
const TOGETHER: Effect = Effect { synchronises: true, convergent: true, ..Effect::NOT_SPECULATABLE };

tc_ir::dialect! {
    /// The rows of `gpu`.
    dialect "gpu" = 5;

    /// Waits until all threads of the block are here; what they wrote to memory of the scope is then seen by all. Over `warp` and `warpgroup` only threads of one warp, or of one group of four, wait for each other, and see all that these wrote. Over `cluster` all threads of the blocks of a cluster do.
    Barrier BARRIER "barrier" (scope: word)
    { effect: TOGETHER, verify: Some(verify::barrier) }

    /// Combines the values of all threads of a block that differ in the coordinates `axes` alone, and hands each of them the result; the region takes two sets of values, those of the lower threads first, and yields one. The grouping is not specified, so the combiner must be associative. All threads of the block execute it together, as a barrier.
    AllReduce ALL_REDUCE "all_reduce" (values: values, axes: any key)
    { results: Results::Many, infer: Infer::All(verify::infer_all_reduce), regions: COMBINE, effect: TOGETHER, verify: Some(verify::all_reduce) }

    /// The value that another lane of the warp holds: that of lane number `lane` (`idx`), of the lane so many further on (`down`) or back (`up`), or of the one whose number is the own one `xor` it. Lanes are counted within groups of `width`, 32 where it is left out, and `lane` is below that; where the group or the block ends before, it is the own value.
    Shuffle SHUFFLE "shuffle" (value: value, lane: value, mode: word, width: int key opt)
    { results: Results::Count(1), infer: Infer::By(verify::infer_shuffle), effect: Effect { convergent: true, ..Effect::NOT_SPECULATABLE }, verify: Some(verify::shuffle) }

    /// Begins to copy elements that lie side by side, 4, 8 or 16 bytes of them, from global to shared memory, and goes on at once; where `when` does not hold it reads nothing and writes zeros. Until the thread has waited for the group that the copy belongs to, what is copied to may be neither read nor written, and what is copied from may not be written.
    CopyAsync COPY_ASYNC "copy_async" (to: place(Write), from: place(Read), when: value key opt)
    { effect: Effect::NOT_SPECULATABLE, verify: Some(copies::copy_async) }

    /// Makes one group of the asynchronous copies that the thread has begun since the last group.
    CommitGroup COMMIT_GROUP "commit_group" ()
    { effect: ORDERED }

    /// Sets how many registers each thread of the warpgroup has from now on; `action` tells whether that is more (`increase`, which waits until they are free) or fewer (`decrease`).
    SetMaxNReg SETMAXNREG "setmaxnreg" (count: int key, action: word key)
    { effect: TOGETHER, verify: Some(verify::setmaxnreg) }

    /// How a kernel and the one launched before it overlap: `wait` until all that was launched before has ended, and what it wrote is there; `launch_dependents` lets the next kernel be launched once all blocks have come here. A kernel with a `wait` begins with it.
    GridDepControl GRIDDEPCONTROL "griddepcontrol" (action: word key)
    { effect: ORDERED, verify: Some(verify::griddepcontrol) }

    /// Waits until at most `pending` of the thread's youngest groups are outstanding; what the others copied is then there for this thread, and after a barrier for the block.
    WaitGroup WAIT_GROUP "wait_group" (pending: int key)
    { effect: ORDERED, verify: Some(copies::wait_group) }
}
