//! Interleaves virtual threads in one thread: copies the statements that depend on a virtual thread, one by one.
//!
//! The iterations of a loop bound to `vthread` are threads of the schedule without a thread of the GPU. They run in
//! lockstep, so that the copies of a statement follow each other: independent work, on values that are loaded once for
//! all of them.
//!
//! # Input form
//!
//! `scheduled`; after `vectorize-loop` and `storage-flatten`, and before the passes that move allocs or copy loops.
//!
//! # Output form
//!
//! No loop bound to `vthread` remains. One with a loop-carried dependence is a serial loop.
//!
//! # Example
//!
//! ```tir
//! for vx in 0..2 bind(vthread) {
//!   alloc T: f32[4] in local
//!   for i in 0..4 {
//!     T[i] = A[vx * 16 + i]
//!     B[vx * 16 + i] = T[i] * W[0]
//!   }
//! }
//! ->
//! alloc T: f32[8] in local
//! for i in 0..4 {
//!   T[i] = A[i]
//!   T[i + 4] = A[16 + i]
//!   B[i] = T[i] * W[0]
//!   B[16 + i] = T[i + 4] * W[0]
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. For each loop prove that no two iterations access the same element of a buffer from outside the loop, at least
//!    one of them by a write. For memory that threads share, prove it across threads.
//! 2. Find what depends on the variable: values, stores of them or at indices of them, and reads of such a buffer.
//!    Privatize a buffer that the loop allocates and whose content depends on the variable: it gets a part for each
//!    iteration, as its outermost dimension. All others stay as they are, and the statements that fill them run once.
//! 3. Outer loops first, copy each statement that depends on the variable for each iteration, inside the same loops and
//!    conditionals. A statement that holds a loop, or with 16 copies or more, goes into a serial loop over the
//!    iterations. A loop whose bounds, or a conditional whose condition, depend on the variable counts as one
//!    statement; virtual threads inside it come first.
//! 4. Remove the originals and replace the loop by its body. Between 3 and 4 the program does its work twice.
//!
//! # Limits
//!
//! The bounds must be constant. Statements with results are copied even if they hold a loop. A loop with a loop-carried
//! dependence, or whose buffers cannot be privatized, becomes serial, and a remark gives the reason; so does one whose
//! buffer has views that would not start at a literal, aligned offset.
//!
//! # Remarks
//!
//! `vthread-serial`, always printed: virtual threads that run one after another, and why.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/inject_virtual_thread.cc`.

mod copy;
mod decide;

use crate::analysis::fold;
use std::collections::VecDeque;
use tc_dialects::{forms, tir};
use tc_ir::Func;
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// `inject-virtual-thread` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "inject-virtual-thread",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(InjectVirtualThread))),
};

/// The pass.
pub struct InjectVirtualThread;

impl FuncPass for InjectVirtualThread {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let plan = match decide::decide(func) {
            Ok(plan) => plan,
            Err(found) => {
                cx.diagnostics.append(found);
                return false;
            }
        };
        if plan.is_empty() {
            return false;
        }
        let new = fold::mark(func);
        let mut plan = plan;
        // Inner loops first, so that the parts of a buffer lie in the order of the iterations.
        for step in plan.iter_mut().rev().filter(|step| step.kept.is_none()) {
            step.kept = copy::share_out(func, step.op).err();
        }
        let mut worklist = VecDeque::from(plan);
        // Outer loops first, so that copies stand in the order of the iterations.
        while let Some(step) = worklist.pop_front() {
            if let Some(inner) = copy::inner_first(func, &step, &worklist).and_then(|nth| worklist.remove(nth)) {
                worklist.push_front(step);
                worklist.push_front(inner);
                continue;
            }
            let kept = step.kept.is_some();
            cx.count(if kept { "virtual threads left serial" } else { "virtual threads injected" }, 1);
            match step.kept {
                None => copy::in_step(func, step.op),
                Some(remark) => {
                    copy::make_serial(func, step.op);
                    cx.report(remark);
                }
            }
        }
        fold::fold_new(func, new);
        true
    }
}
