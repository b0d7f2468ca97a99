//! Gives bulk copies warps of their own: roles, rings and barriers.
//!
//! Buffers that `tma.load` fills in each iteration of a loop become rings of as many slots as their `stages` ask for. One
//! thread of new warps, the *producer*, fills slots as they become free; the threads that were there, the *consumers*, read
//! slots as they become full. Two arrays of barriers in shared memory order the two: `full[s]` is complete when the bytes of
//! slot `s` are there, `empty[s]` when all consumers have read them.
//!
//! # Input form
//!
//! `flat`, and not `threaded`, before `thread-sync`; after `inject-wgmma-sync`. `tma.load` has no barrier.
//!
//! # Output form
//!
//! `tma.load` has barriers. A launch nest with barriers in shared memory is *threaded* from here on: nothing but what it says
//! orders its threads, and `thread-sync` adds nothing to it. `threadIdx.y` has one more number, that of the producer. Where
//! there are two warpgroups or more that make products beside the producer's, the producer gives up registers to them.
//!
//! # Example
//!
//! ```tir
//! for tx in 0..128 bind(threadIdx.x) {
//!   for i in 0..8 {
//!     alloc S: f32[64] in shared attributes {stages = 2, align = 128}
//!     tma.load(&S[0 : 64], &M[i * 64 : 64])
//!     C[i * 128 + tx] = S[tx / 2]
//!   }
//! }
//! ->
//! for ty in 0..2 bind(threadIdx.y) {
//!   for tx in 0..128 bind(threadIdx.x) {
//!     alloc S: f32[128] in shared attributes {align = 128}
//!     alloc full: mbarrier.barrier[2] in shared
//!     alloc empty: mbarrier.barrier[2] in shared
//!     if ty == 0 && tx == 0 {
//!       for s in 0..2 {
//!         mbarrier.init(&full[s], count = 1)
//!         mbarrier.init(&empty[s], count = 128)
//!       }
//!       mbarrier.fence_init()
//!     }
//!     gpu.barrier(shared)
//!     if ty < 1 {
//!       for i in 0..8 {
//!         mbarrier.wait(&full[i % 2], i / 2 % 2)
//!         C[i * 128 + tx] = S[i % 2 * 64 + tx / 2]
//!         mbarrier.arrive(&empty[i % 2])
//!       }
//!     } else {
//!       if tx == 0 {
//!         for i in 0..8 {
//!           mbarrier.wait(&empty[i % 2], (i / 2 + 1) % 2)
//!           mbarrier.arrive_expect_tx(&full[i % 2], bytes = 256)
//!           tma.load(&S[i % 2 * 64 : 64], &M[i * 64 : 64], barrier = &full[i % 2])
//!         }
//!       }
//!     }
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. In each launch nest with loads find the loop in whose body they stand, their buffers, and the loops that run in order
//!    around it. The launch loops that hold all of the nest are those that stay outside; what is in the innermost of them
//!    becomes the consumers' role.
//! 2. Refuse what needs an order that the roles do not have: other shared memory (but that of `crew = warpgroup`), a reduction
//!    across threads, global memory that the nest writes and reads, a load under a condition that may hold again after it did not.
//! 3. Count the iterations through all loops around: iteration `i` uses slot `i % n`, in round `i / n`, and waits for the
//!    phase of that round, so parities follow from loop variables. A loop whose variable decides how often one inside of it runs
//!    carries the number of iterations that came before, up to twice the slots. The consumers of a slot arrive at `empty` when they have
//!    read it, of warpgroup products one thread a warpgroup after the wait for them, else each thread; the producer's wait
//!    for round 0 goes on at once. Where an iteration may have no product, the warpgroup meets at a barrier first: else that
//!    thread could run ahead of the others by more than a phase.
//! 4. Where an iteration is one group of products and nothing else, the group runs on while the next one begins: it is
//!    waited for an iteration later, and its slot is released then; the last one after the loop, or after the outermost of loops
//!    that hold nothing but one another and surely run.
//! 5. Copy to the producer what computes the coordinates of the loads; data that tell them are read in the same loop as before. Take the loads out of the consumers' role.
//!
//! # Limits
//!
//! One loop with loads in a nest. The coordinates of a load are computed from loop variables, sizes and what global memory holds that
//! the kernel does not write. Consumers are numbered by `threadIdx.x` and `threadIdx.y`. The bounds of loops around depend on sizes, on the block and on one another,
//! and not on data.
//!
//! # Remarks
//!
//! None: the pass refuses loads that it cannot give to a producer.
//!
//! # References
//!
//! PTX ISA 8.7, "mbarrier" and "setmaxnreg". Roles and rings: CUTLASS 3, "Efficient GEMM in CUDA", warp specialization;
//! Bauer, Cook, Khailany 2011, "CudaDMA".

mod around;
mod channel;
mod cluster;
mod consumer;
mod count;
mod find;
mod producer;
mod refuse;
mod roles;

use crate::analysis::fold;
use crate::analysis::launch::LaunchNests;
use tc_dialects::threads::{begins_bulk_copy, is_by_mbarrier};
use tc_dialects::tma;
use tc_dialects::{forms, tir};
use tc_ir::verify::is_threaded;
use tc_ir::{Func, Op};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `warp-specialize` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "warp-specialize",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::FLAT],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(WarpSpecialize))),
};

/// The pass.
pub struct WarpSpecialize;

impl FuncPass for WarpSpecialize {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let waits = |func: &Func, op: Op| begins_bulk_copy(func, op) && tma::load_barrier(func, op).is_none();
        let nests = cx.analysis::<LaunchNests>(func);
        let (mut plans, mut failed) = (Vec::new(), false);
        for nest in nests.iter() {
            let loads: Vec<Op> = nest.ops(func).filter(|&op| waits(func, op)).collect();
            let Some(&first) = loads.first() else { continue };
            let by_hand = nest.ops(func).any(|op| is_by_mbarrier(func, op));
            let found = if is_threaded(func) || by_hand {
                let text = "the threads of this nest are synchronised already, and nothing waits for this load";
                let help = "give the load a barrier, or run `warp-specialize` before `thread-sync`";
                Err(Box::new(Diagnostic::assumption("threaded", func.op_location(first), text).help(help)))
            } else {
                find::find(func, nest, &loads)
            };
            match found {
                Ok(plan) => plans.push(plan),
                Err(found) => {
                    cx.report(*found);
                    failed = true;
                }
            }
        }
        if failed || plans.is_empty() {
            return false;
        }
        let new = fold::mark(func);
        cx.count("nests divided into roles", plans.len() as u64);
        plans.iter_mut().for_each(|plan| roles::emit(func, plan));
        fold::fold_new(func, new);
        true
    }
}
