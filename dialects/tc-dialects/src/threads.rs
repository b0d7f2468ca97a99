//! What ops do beyond their own thread: where threads meet, and what copies go on in the background.
//!
//! An op of a new kind gets its line here, and whoever asks about barriers, exchanges or copies knows of it.

use crate::fragment::Family;
use crate::scope::Scope;
use crate::{gpu, mbarrier, mma, tma, wgmma, wmma};
use tc_ir::{Func, Op, keys};

/// The key at an alloc of shared memory that says whose threads exchange elements through it: `crew = warpgroup`. No thread of
/// another warpgroup accesses the same part of it, and barriers of that warpgroup stand around each such exchange.
pub const CREW: &str = "crew";

/// Do the threads of a warpgroup alone exchange elements by the buffer that `alloc` makes?
pub fn is_of_warpgroup(func: &Func, alloc: Op) -> bool {
    func.attr_named(alloc, CREW).is_some_and(|crew| func.as_word(crew) == Some("warpgroup"))
}

/// How threads meet in an op: all that it is for come to it together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meeting {
    /// All of the block, or of the warp; what they wrote to memory of the scope is then seen by all of them.
    Barrier(Option<Scope>),
    /// All of the block, as at a barrier over all memory: each gives a value.
    Reduction,
    /// The lanes of a warp hand one another values, and do not wait.
    Exchange,
    /// The lanes of a warp work on tiles together.
    Tiles(Family),
}

/// How threads meet in `op`, if they do.
#[inline]
pub fn meeting(func: &Func, op: Op) -> Option<Meeting> {
    Some(match func.opcode(op) {
        gpu::BARRIER => Meeting::Barrier(func.word_of(op, keys::SCOPE).and_then(Scope::parse)),
        gpu::ALL_REDUCE => Meeting::Reduction,
        gpu::SHUFFLE => Meeting::Exchange,
        wmma::FILL | wmma::LOAD | wmma::STORE | wmma::MMA => Meeting::Tiles(Family::Wmma),
        mma::LDMATRIX | mma::SYNC => Meeting::Tiles(Family::Mma),
        wgmma::MMA => Meeting::Tiles(Family::Wgmma),
        _ => return None,
    })
}

/// Is `op` a barrier?
pub fn is_barrier(func: &Func, op: Op) -> bool {
    matches!(meeting(func, op), Some(Meeting::Barrier(_)))
}

/// Does `op` combine the values of all threads of a block?
pub fn is_reduction(func: &Func, op: Op) -> bool {
    meeting(func, op) == Some(Meeting::Reduction)
}

/// What an op does to the asynchronous copies of its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyStep {
    /// It begins one.
    Begin,
    /// It makes a group of those that were begun.
    Commit,
    /// It waits until at most so many groups are outstanding.
    Wait {
        /// How many.
        pending: i64,
    },
}

/// What `op` does to the asynchronous copies of its thread, if anything.
#[inline]
pub fn copy_step(func: &Func, op: Op) -> Option<CopyStep> {
    Some(match func.opcode(op) {
        gpu::COPY_ASYNC => CopyStep::Begin,
        gpu::COMMIT_GROUP => CopyStep::Commit,
        gpu::WAIT_GROUP => CopyStep::Wait { pending: func.int_of(op, keys::PENDING).unwrap_or(0) },
        _ => return None,
    })
}

/// Does `op` begin an asynchronous copy?
#[inline]
pub fn begins_copy(func: &Func, op: Op) -> bool {
    copy_step(func, op) == Some(CopyStep::Begin)
}

/// Does `op` wait for all asynchronous copies of its thread?
pub fn waits_for_all(func: &Func, op: Op) -> bool {
    copy_step(func, op) == Some(CopyStep::Wait { pending: 0 })
}

/// Does `op` touch no more of a place than the elements that it names, all in one row?
pub fn takes_a_row(func: &Func, op: Op) -> bool {
    begins_copy(func, op) || func.opcode(op) == mma::LDMATRIX
}

/// Does `op` order threads by a barrier in shared memory? A launch nest with one is threaded from the start: nothing but
/// what it says orders its threads.
pub fn is_by_mbarrier(func: &Func, op: Op) -> bool {
    func.opcode(op).dialect() == mbarrier::WAIT.dialect()
}

/// Does `op` find the elements of a swizzled buffer itself, given the place of the first one without the swizzle?
pub fn mixes_positions(func: &Func, op: Op) -> bool {
    tma::is_copy(func, op) || func.opcode(op) == wgmma::MMA
}

/// Does `op` begin a bulk copy to shared memory?
pub fn begins_bulk_copy(func: &Func, op: Op) -> bool {
    func.opcode(op) == tma::LOAD
}

/// Is `op` a barrier of a warpgroup?
pub fn is_warpgroup_barrier(func: &Func, op: Op) -> bool {
    func.opcode(op) == gpu::BARRIER && func.word_of(op, keys::SCOPE) == Some("warpgroup")
}

/// Is `op` a barrier of all blocks of a cluster?
pub fn is_cluster_barrier(func: &Func, op: Op) -> bool {
    func.opcode(op) == gpu::BARRIER && func.word_of(op, keys::SCOPE) == Some("cluster")
}
