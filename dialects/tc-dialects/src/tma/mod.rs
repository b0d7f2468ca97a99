//! Bulk copies of boxes of a tensor, which a copy engine makes by a tensor map.
//!
//! A map is a tensor in global memory as the engine sees it: the result of `tma.map` is a buffer with the extents of the
//! tensor, row-major, and the box that is copied at a time. The launcher makes the map on the host, and the kernel gets
//! it as a parameter. What of a box lies outside of the tensor is zero where it is read, and stays where it is written.
//!
//! Copies to a tensor go in groups of the thread that begins them, as asynchronous copies do. They read shared memory by a
//! way of their own: what threads have written there they see once a thread that knows of it has come to `tma.fence`.

mod pieces;
mod verify;

use tc_ir::opdef::Effect;
use tc_ir::opdef::Results;

pub use pieces::{MAX_PIECES, cuts};
pub use verify::{
    MAX_BOX, MAX_RANK, MAX_STEP, SWIZZLED_ROWS, align_of_box, box_extents, box_steps, fills_slots, is_async, is_copy,
    is_map, is_multicast, is_of_reads, load_barrier, load_bytes, map_of, sides, swizzle_bytes, swizzle_mixes,
    unfit_box, writes_tensor,
};

/// Of one thread, but nothing that accesses memory moves across it.
const ORDERED: Effect = Effect { synchronises: true, ..Effect::NOT_SPECULATABLE };

/// Nothing that accesses memory moves across it, as it goes on in the background.
const BEGINS: Effect = Effect { synchronises: true, ..Effect::NOT_SPECULATABLE };

tc_ir::dialect! {
    /// The rows of `tma`.
    dialect "tma" = 9;

    /// The tensor `buffer` as the copy engine sees it. `extents` are those of the box that one copy brings, of each dimension every element or, with `steps`, every second, third and so on; with `swizzle = w` (32, 64 or 128 bytes, as long as a row of the box) the pieces of 16 bytes of each row change places: bits 4 and up of an address in shared memory are XORed by those 3 higher, one bit for 32, two for 64, three for 128.
    Map MAP "map" (buffer: place(None), extents: any key, steps: any key opt, swizzle: int key opt)
    { results: Results::Count(1), verify: Some(verify::map) }

    /// Copies a box of a tensor map, row-major, to as many elements of shared memory that lie side by side. Without `barrier` all threads of the block come to it together, and it is done once, before they go on. With it, each thread that comes to it begins a copy, which reports its bytes at that barrier when they are there; until then what is copied to may be neither read nor written, and what is copied from may not be written. With `multicast` the elements go to that place in every block of the cluster, and their bytes are reported at the barrier in that place of each.
    Load LOAD "load" (to: place(Write), from: place(Read), barrier: value key opt, multicast: any key opt)
    { effect: BEGINS, verify: Some(verify::load) }

    /// Copies as many elements of shared memory that lie side by side to a box of a tensor map. Without `background` all threads that differ in threadIdx.x alone come to it together; what they wrote before is copied, once, before they go on. With it, each thread that comes to it begins a copy; until its group is waited for, what is copied from may not be written, and what is copied to be neither read nor written. With `pieces = n` the pass `spread-stores` may make it `n` copies, one after the other.
    Store STORE "store" (to: place(Write), from: place(Read), background: any key opt, pieces: int key opt)
    { effect: BEGINS, verify: Some(verify::store) }

    /// Combines as many elements of shared memory that lie side by side with a box of a tensor map, each of them atomically, as `kind` says: `add`, `min`, `max`, `and`, `or`, `xor`. All else is as of `store`. It is no race with other updates of the same kind, as numbers of the same type, and not ordered with them; sums of floats are rounded in any order.
    Reduce REDUCE "reduce" (to: place(ReadWrite), from: place(Read), kind: word key, background: any key opt, pieces: int key opt)
    { effect: BEGINS, verify: Some(verify::reduce) }

    /// Makes one group of the copies to tensors that the thread has begun since the last group.
    CommitStores COMMIT_STORES "commit_group" ()
    { effect: ORDERED }

    /// Waits until at most `pending` of the thread's youngest groups of copies to tensors are outstanding; with `read`, until the others have read what they copy.
    WaitStores WAIT_STORES "wait_group" (pending: int key, read: any key opt)
    { effect: ORDERED, verify: Some(verify::wait_group) }

    /// Lets copies to tensors that begin after it see what the thread has written to shared memory, or seen of others.
    Fence FENCE "fence" ()
    { effect: ORDERED }
}
