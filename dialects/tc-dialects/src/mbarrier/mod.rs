//! Barriers in shared memory, which threads arrive at and wait for, and at which bulk copies report their bytes.
//!
//! A barrier counts phases from 0. Its phase is complete once as many threads have arrived as `init` says and as many
//! bytes have come as were announced; then the next one begins, with the same count. `wait` is given the parity of a
//! phase, an ordinary number: it goes on once the phase before the current one has that parity. So of a fresh barrier
//! parity 1 is waited for in no time, and parity 0 until phase 0 is complete.
//!
//! What a thread did before it arrived is seen by who waits for that phase, and so is what the bulk copies brought that
//! reported there. A barrier is an element of a buffer `mbarrier.barrier[n]` in `shared`.

mod verify;

use tc_ir::opdef::Effect;

pub(crate) use verify::is_barrier;
pub use verify::{block_of, is_barrier_type};

/// The name of the type of a barrier.
pub const TYPE_NAME: &str = "mbarrier.barrier";

/// The most threads that a barrier waits for, and the most bytes of a phase (PTX ISA 8.7, "Size and alignment of mbarrier
/// object": 2^20 - 1 of both).
pub const MAX_COUNT: i64 = (1 << 20) - 1;

/// The bytes that a barrier takes in shared memory, and its alignment.
pub const BARRIER_BYTES: u32 = 8;

/// Of one thread, but nothing that accesses memory moves across it.
const ORDERED: Effect = Effect { synchronises: true, ..Effect::NOT_SPECULATABLE };

tc_ir::dialect! {
    /// The rows of `mbarrier`.
    dialect "mbarrier" = 10, types = ["mbarrier.barrier"];

    /// Makes a barrier ready, at phase 0, for `count` arrivals in each phase. One thread does so, and the others use it after a barrier of the block.
    Init INIT "init" (barrier: place(Write), count: int key)
    { effect: ORDERED, verify: Some(verify::init) }

    /// Lets bulk copies see the barriers that the thread has made ready.
    FenceInit FENCE_INIT "fence_init" ()
    { effect: ORDERED }

    /// Arrives at the current phase of a barrier; with `block`, of the barrier in its place of block number `block` of the cluster. Such an arrival orders what the thread's products have read, but not what the thread itself has read or written: for that, let all pass `gpu.barrier(cluster)`.
    Arrive ARRIVE "arrive" (barrier: place(ReadWrite), block: value key opt)
    { effect: ORDERED, verify: Some(verify::arrive) }

    /// Announces `bytes` that bulk copies will bring in the current phase, and arrives.
    ArriveExpectTx ARRIVE_EXPECT_TX "arrive_expect_tx" (barrier: place(ReadWrite), bytes: int key)
    { effect: ORDERED, verify: Some(verify::arrive_expect_tx) }

    /// Waits for the phase of parity `parity` (0 or 1).
    Wait WAIT "wait" (barrier: place(Read), parity: value)
    { effect: ORDERED, verify: Some(verify::wait) }
}
