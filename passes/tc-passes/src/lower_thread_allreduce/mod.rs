//! Lowers reductions across threads: `gpu.all_reduce` becomes shuffles, accesses to shared memory, or both.
//!
//! Every thread gets the result. The values of lower threads are the left operands of the combiner, so it only has to
//! be associative: an `argmax` gives the same index on all paths and in the simulator.
//!
//! # Input form
//!
//! `scheduled`, and phased: before `thread-sync`, which inserts the barriers for its buffers. Buffers may be flat or
//! multi-dimensional. The thread extents of the block are constants, and all threads reach the reduction.
//!
//! # Output form
//!
//! The same program without `gpu.all_reduce`. Its buffers in shared memory are at the head of the launch nest.
//!
//! # Example
//!
//! ```tir
//! for tx in 0..32 bind(threadIdx.x) {
//!   total = gpu.all_reduce(A[tx], axes = [threadIdx.x]) (a: f32, b: f32) {
//!     yield a + b
//!   }
//!   B[tx] = total
//! }
//! ->
//! for tx in 0..32 bind(threadIdx.x) {
//!   let $1 = A[tx]
//!   $2 = gpu.shuffle($1, 16, xor)
//!   let $3 = $1 + $2
//!   $4 = gpu.shuffle($3, 8, xor)
//!   let $5 = $3 + $4
//!   $6 = gpu.shuffle($5, 4, xor)
//!   let $7 = $5 + $6
//!   $8 = gpu.shuffle($7, 2, xor)
//!   let $9 = $7 + $8
//!   $10 = gpu.shuffle($9, 1, xor)
//!   let total = $9 + $10
//!   B[tx] = total
//! }
//! ```
//!
//! # Algorithm
//!
//! Threads that differ in the reduced launch coordinates alone form a *group*; its extent determines the path.
//!
//! 1. A group of one thread: the value itself. An unused result is not computed.
//! 2. Groups of adjacent threads within a warp: shuffles. If the combiner commutes and the extent is a power of two,
//!    each lane exchanges with the lane whose number differs in one bit, and all get the result. Else each lane
//!    combines its value with that of a lane further on, if there is one, and the first lane broadcasts the result.
//! 3. Groups of whole warps, or a single group: each warp reduces its part, and its first lane stores the result. Then
//!    each warp reduces the stored values, by shuffles if their number is a power of two, else one by one. All threads
//!    do so, which avoids a second round through shared memory.
//! 4. Else each thread stores its value, and each round halves the number of values and keeps an odd one. Two buffers
//!    alternate, so that a round costs one barrier. Every thread combines the last two values.
//!
//! # Limits
//!
//! On the paths with shared memory each reduction has its own buffers. A reduction that not all threads of a block
//! reach is refused.
//!
//! # Remarks
//!
//! `no-shuffles`: a reduction that uses only shared memory although shuffles are allowed, and why.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/lower_thread_allreduce.cc`, without its masks of groups, which leave out the calling
//! lane in all warps but the first (apache/tvm#17307). Harris (2007), "Optimizing Parallel Reduction in CUDA", for the
//! halving.

mod emit;
mod find;
mod warp;

use crate::analysis::fold;
use crate::analysis::launch::LaunchNests;
use tc_dialects::{forms, tir};
use tc_ir::Func;
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// What `lower-thread-allreduce` can be told.
    pub struct Options {
        /// Use shuffles; otherwise all goes through shared memory.
        shuffles: bool = true,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "lower-thread-allreduce",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Func(tir::FUNC, Box::new(LowerThreadAllreduce { options }))),
};

/// The pass.
pub struct LowerThreadAllreduce {
    /// What it was given.
    pub options: Options,
}

impl FuncPass for LowerThreadAllreduce {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let (mut plans, mut n_errors) = (Vec::new(), 0);
        let nests = cx.analysis::<LaunchNests>(func);
        for found in find::all(func, &nests, self.options.shuffles) {
            match found {
                Ok(plan) => plans.push(plan),
                Err(diagnostic) => {
                    cx.report(*diagnostic);
                    n_errors += 1;
                }
            }
        }
        if n_errors > 0 {
            return false;
        }
        let new = fold::mark(func);
        for plan in plans.iter().filter(|plan| self.options.shuffles && plan.path == find::Path::Shared) {
            cx.missed(|| {
                let text = format!("this reduction goes through shared memory alone: {}", find::why_shared(func, plan));
                Diagnostic::remark("no-shuffles", func.asked_location(plan.op), text)
                    .help("reduce over `threadIdx.x` first, by 2, 4, 8, 16 or 32 threads or a multiple of 32")
            });
        }
        for plan in &plans {
            emit::emit(func, plan);
            cx.count(plan.path.name(), 1);
        }
        fold::fold_new(func, new);
        !plans.is_empty()
    }
}
