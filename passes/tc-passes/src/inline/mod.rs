//! Puts what a tensor is computed from in the place of its reads, and the bodies of functions in the place of calls.
//!
//! # Input form
//!
//! Any. Calls of kernels are left alone.
//!
//! # Output form
//!
//! In operators the tensors that were inlined are gone, in programs the calls; functions that were only called are taken
//! out, unless `keep`.
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
//! 1. Tensors of an operator in order: one that is no reduction and is not returned is copied to each of its reads, inside
//!    the conditional that the read stands in, with its axes replaced by the indices.
//! 2. Calls, callees first: the callee's body is copied with its parameters replaced by the arguments.
//!
//! # Limits
//!
//! Schedules that name an inlined tensor no longer apply. Named in `tensors`, a reduction, a tensor that is returned,
//! one that is computed together with another or does not start at 0 is refused. A call that would make more than a
//! million ops, a function that calls itself, has symbols, or takes a buffer of another type than it is given is
//! refused.
//!
//! # Remarks
//!
//! `not-inlined`: a tensor that stays where all are inlined that can be, and why.
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
