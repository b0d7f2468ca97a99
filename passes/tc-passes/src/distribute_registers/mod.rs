//! Gives each thread of a block its part of the buffers that the block holds together in registers.
//!
//! A block has one buffer in the storage scope `registers`, as it has one in `shared`. Loops over threads say who writes which
//! element; this pass gives the element to that thread, in a buffer in `local`. A row that is read, reduced and used again so
//! stays in registers between the passes over it.
//!
//! # Input form
//!
//! `multi-dimensional`; before `storage-flatten` and `thread-sync`.
//!
//! # Output form
//!
//! No buffer is in the storage scope `registers`. Those whose elements each thread finds in its own registers, or, by a shuffle,
//! in those of its warp, are in `local`, with the attribute `distribution`: which thread holds which element. The others are in
//! shared memory.
//!
//! # Example
//!
//! ```tir
//! alloc row: f32[1024] in registers
//! for t in 0..128 bind(threadIdx.x) {
//!   for p in 0..2 {
//!     for v in 0..4 vectorize {
//!       row[p * 512 + t * 4 + v] = X[p * 512 + t * 4 + v]
//!     }
//!   }
//! }
//! ->
//! alloc row: f32[8] in local attributes {align = 16, distribution = [[[4, register, 1], [128, thread, 1], [2, register, 4]]]}
//! for t in 0..128 bind(threadIdx.x) {
//!   for p in 0..2 unroll {
//!     for v in 0..4 vectorize {
//!       row[p * 4 + v] = X[p * 512 + t * 4 + v]
//!     }
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Number the elements of a buffer in row-major order. In the first store that is a linear form of loop variables, the loops
//!    are digits of that number: the digit of a thread's loop tells the thread, the others tell the register. Loops over threads
//!    that the number does not depend on leave copies.
//! 2. Take the digits out of the number of each other access. An access is its thread's own where the digits of threads are
//!    proved to be the coordinates of the thread that does it.
//! 3. Another load is a shuffle where a thread of the same warp holds the element, in a register that is the same for the warp,
//!    and all threads of the warp come by.
//! 4. A buffer with any other access comes to lie in shared memory; `thread-sync` orders what is done with it.
//! 5. Set the kind of serial loops whose variables select a register to `unroll`: registers have no addresses.
//!
//! # Limits
//!
//! Extents are constant. The thread that holds an element is told by sums, products, quotients and remainders; `j ^ 1` is written as
//! `j / 2 * 2 + (1 - j % 2)`. A reference to the buffer, as matrix ops and bulk copies take, wants an address: such a buffer is in
//! shared memory, and so is one of over 255 registers a thread.
//!
//! # Remarks
//!
//! `in-shared-memory`: why a buffer could not stay in registers, and where. `not-unrolled`: a loop without constant bounds that
//! selects a register.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/lower_warp_memory.cc`, does steps 1 to 3 for a warp, by pattern. That layouts are linear maps
//! of digits is from Zhou et al. 2025, "Linear Layouts".

mod accesses;
mod digits;
mod find;
mod rewrite;

use crate::analysis::launch::LaunchNests;
use crate::analysis::tiles;
use rustc_hash::FxHashSet;
use tc_dialects::{forms, tir};
use tc_ir::{Func, Op, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `distribute-registers` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "distribute-registers",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::MULTI_DIMENSIONAL],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(DistributeRegisters))),
};

/// The pass.
pub struct DistributeRegisters;

/// Why a buffer cannot stay in registers, and the op that shows it.
struct Obstacle {
    op: Op,
    text: String,
}

impl FuncPass for DistributeRegisters {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let allocs = find::allocs(func);
        if allocs.is_empty() {
            return false;
        }
        let nests = cx.analysis::<LaunchNests>(func);
        let mut algebra = tiles::algebra(func);
        let mut held: FxHashSet<Value> = FxHashSet::default();
        for alloc in allocs {
            let planned = find::buffer(func, &nests, alloc).and_then(|buffer| {
                let digits = digits::of(func, &mut algebra, &buffer)?;
                let places = accesses::places(func, &mut algebra, &buffer, &digits)?;
                Ok((buffer, digits, places))
            });
            match planned {
                Ok((buffer, digits, places)) => {
                    held.insert(buffer.value);
                    cx.count("buffers in registers", 1);
                    cx.count("loads by shuffles", places.iter().filter(|place| place.lane.is_some()).count() as u64);
                    rewrite::in_registers(func, &algebra, &buffer, &digits, &places);
                }
                Err(obstacle) => {
                    cx.report(remark(func, alloc, &obstacle));
                    cx.count("buffers in shared memory", 1);
                    rewrite::in_shared_memory(func, alloc);
                }
            }
        }
        let n_unrolled = tiles::unroll_loops_over(func, &held, cx);
        cx.count("loops unrolled", n_unrolled);
        true
    }
}

fn remark(func: &Func, alloc: Op, obstacle: &Obstacle) -> Diagnostic {
    let name = func.result(alloc).map_or("", |buffer| func.value_text(buffer));
    let text = format!("`{name}` lies in shared memory, and not in registers: {}", obstacle.text);
    let mut found = Diagnostic::remark("in-shared-memory", func.op_location(alloc), text);
    if obstacle.op != alloc {
        found = found.label(func.op_location(obstacle.op), "here");
    }
    found.help(
        "divide all loops over the buffer among threads alike: the same extents, in the same order; where threads of a warp exchange \
         elements, let no guard part them: pad the row to a multiple of the threads",
    )
}
