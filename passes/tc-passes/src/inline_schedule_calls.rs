//! Puts the directives of schedule functions in the place of the calls in schedules.
//!
//! # Input form
//!
//! Any. Operators and programs are left unchanged.
//!
//! # Output form
//!
//! No schedule calls a `schedule.func`; the functions stay. `schedule` does the same first, so this pass is for those who want to
//! read what a schedule comes to.
//!
//! # Example
//!
//! ```tir
//! te.func @f(A: f32[64]) -> f32[64] {
//!   compute B[i: 64] = A[i] + 1.0
//!   return B
//! }
//! schedule.func @by_threads(B: stage, threads: i32 = 16) {
//!   o, i = split(axis(B, 0), factor = threads)
//!   bind(o, blockIdx.x)
//!   bind(i, threadIdx.x)
//! }
//! schedule @s for @f {
//!   @by_threads(B, threads = 32)
//! }
//! ->
//! schedule @s for @f {
//!   o, i = split(axis(B, 0), factor = 32)
//!   bind(o, blockIdx.x)
//!   bind(i, threadIdx.x)
//! }
//! ```
//!
//! # Algorithm
//!
//! Take the first call, copy the directives of its function before it, with the arguments for the parameters and the
//! defaults for those that are not given, and let what the function gives back stand for the results. Repeat until no call is
//! left. A function of the module hides one of the library (docs/schedule-functions.md) of the same name.
//!
//! # Limits
//!
//! A function that calls itself is refused when the module is read. A schedule has at most 20,000 ops, its calls in place.
//!
//! # Remarks
//!
//! None.
//!
//! # References
//!
//! MLIR, `transform.named_sequence` and `transform.include`, whose body is run at the place of the call.

use tc_ir::Module;
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};
use tc_schedule::calls::{Library, inline_all};

tc_pass::options! {
    /// `inline-schedule-calls` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "inline-schedule-calls",
    page: tc_support::page!("inline_schedule_calls.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Module(Box::new(InlineScheduleCalls))),
};

/// The pass.
pub struct InlineScheduleCalls;

impl ModulePass for InlineScheduleCalls {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let library = cx.get::<Library>().cloned().unwrap_or_default();
        match inline_all(module, library.items()) {
            Ok(changed) => changed,
            Err(found) => {
                cx.diagnostics.append(found);
                false
            }
        }
    }
}
