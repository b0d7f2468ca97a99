//! Replaces reads of a tensor by its expression, and calls of functions by their bodies.
//!
//! # Input form
//!
//! Any. Calls of kernels are left unchanged, and so is a call under a conditional of the host, of a program that launches
//! kernels: after `split-host-device`, such a program only launches, and the pass inlines it.
//!
//! # Output form
//!
//! Operators without the inlined tensors, and programs without the calls. Functions that were only called are removed,
//! unless `keep`; `private` ones that nothing calls are removed in any case.
//!
//! # Example
//!
//! ```tir
//! te.func @f(A: f32[16]) -> f32[16] {
//!   compute B[i: 16] = A[i] + 1.0
//!   compute C[i: 16] = B[i] * 2.0
//!   return C
//! }
//! ->
//! te.func @f(A: f32[16]) -> f32[16] {
//!   compute C[i: 16] = (A[i] + 1.0) * 2.0
//!   return C
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Visit the tensors of an operator in order. Copy one that is no reduction and no result to each of its reads,
//!    inside the conditional around the read, with its axes replaced by the indices.
//! 2. Visit calls, callees first, and copy the callee's body with its parameters replaced by the arguments.
//!
//! # Limits
//!
//! Schedules that name an inlined tensor no longer apply. In `tensors`, the pass refuses a reduction, a result, a
//! tensor that is computed together with another, and one whose axes do not start at 0. It also refuses a call that
//! would make more than a million ops, and a function that calls itself, has a parameter of another type than its
//! argument, or has sizes that the caller lacks, or of which it says more than is known where it is called (unless the call
//! says `assumed = true`).
//!
//! # Remarks
//!
//! `not-inlined`: a tensor that stays although `tensors` is not given, and why.
//!
//! # References
//!
//! TVM 0.16, `src/te/schedule/operation_inline.cc`.

mod calls;
mod tensors;

use tc_dialects::te;
use tc_ir::Module;
use tc_pass::{ModulePass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// What `inline` can be told.
    pub struct Options {
        /// The tensors to inline, separated by spaces; without it, all that can be.
        tensors: String = String::new(),
        /// Only calls; leave operators as they are.
        calls: bool = false,
        /// Keep functions that were only called.
        keep: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "inline",
    page: tc_support::page!("mod.rs"),
    anchor: PassInfo::MODULE,
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Module(Box::new(Inline { options }))),
};

/// The pass.
pub struct Inline {
    /// What it was given.
    pub options: Options,
}

impl ModulePass for Inline {
    fn run(&self, module: &mut Module, cx: &mut PassCx) -> bool {
        let wanted: Vec<&str> = self.options.tensors.split_whitespace().collect();
        let mut changed = false;
        if !self.options.calls {
            for func in module.items.iter_mut().filter(|item| item.header.opcode == te::FUNC) {
                changed |= tensors::inline(func, &wanted, cx);
            }
        }
        changed |= calls::inline(module, self.options.keep, cx);
        changed
    }
}
