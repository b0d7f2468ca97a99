//! Writes out reductions across threads: `gpu.all_reduce` becomes shuffles, accesses to shared memory, or both.
//!
//! Every thread gets the result. The values of lower threads stand on the left of the combiner, so that it only has to be
//! associative: an `argmax` gives the same index on all paths and in the simulator.
//!
//! # Input form
//!
//! `scheduled`, and phased: it runs before `thread-sync`, which finds the barriers that its buffers want. Flat and
//! multi-dimensional buffers both do. The threads of the block are constants, and all of them come to the reduction.
//!
//! # Output form
//!
//! As it came, without `gpu.all_reduce`. Buffers in shared memory stand at the head of the launch nest.
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
//! Threads that differ in the reduced coordinates alone are a *group*; its extent decides the path.
//!
//! 1. A group of one thread: the value itself. A result that nothing uses is not computed.
//! 2. Groups that lie within a warp, their threads next to each other: shuffles. If the combiner commutes and the extent
//!    is a power of two, each lane exchanges with the one whose number differs in one bit, and all have the result. Else
//!    lanes take over from those further on, as far as there are some, and the first lane hands the result out.
//! 3. Groups of whole warps, or one group in all: each warp reduces its part; its first lane stores that; then each warp
//!    reduces what all of them stored, by shuffles where their number is a power of two, else one after another. All
//!    threads do so, and no second round through shared memory is needed.
//! 4. Else each thread stores its value, and in each round the number of values is halved, the odd one kept. Two buffers
//!    take turns, so that a round costs one barrier. The last two values are combined by every thread.
//!
//! # Limits
//!
//! On the paths with shared memory each reduction has buffers of its own. A reduction that not all threads of a block
//! reach is refused.
//!
//! # Remarks
//!
//! `no-shuffles`: a reduction that goes through shared memory alone though shuffles are allowed, and why.
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
                Diagnostic::remark("no-shuffles", func.op_location(plan.op), text)
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
