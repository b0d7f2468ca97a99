//! Copies the bodies of loops that are to be unrolled, or leaves that to the emitter.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! With `explicit-unroll` no loop of kind `unroll` is left, and with it no `auto_unroll_max_step` or `unroll_explicit`.
//! Without, loops keep the kind, and serial ones that qualify get it.
//!
//! # Example
//!
//! ```tir
//! for ri in 0..2 unroll {
//!   B[0] = B[0] + A[ro * 2 + ri]
//! }
//! ->
//! B[0] = B[0] + A[ro * 2]
//! B[0] = B[0] + A[ro * 2 + 1]
//! ```
//!
//! # Algorithm
//!
//! 1. From the inside out decide for each loop. A loop of kind `unroll` is unrolled, by its `factor` or as a whole. A
//!    serial loop of constant extent is, if no loop is left inside, loops that were unrolled are nested in it at most
//!    `auto-max-depth` deep, and its extent times the stores of its body is at most `auto-max-step` or its extent is at
//!    most `auto-max-extent`; or, with `unroll-local-access`, if its variable indexes a buffer in `local`.
//!    `auto_unroll_max_step` and `unroll_explicit` on a loop hold for it and within it, in the place of the options.
//! 2. Refuse a loop of kind `unroll` that would make more than a million ops; a serial one is left then.
//! 3. Copy bodies, inner loops first, with the variable replaced; values that are carried pass from copy to copy. What
//!    literals allow is folded.
//!
//! # Limits
//!
//! A loop that is to be unrolled whole must have constant bounds. What a factor leaves over is copied where the bounds
//! are constant and is a loop of its own where not; a loop that threads of a block begin or end at different values is not
//! unrolled by a factor but becomes serial, for they would part between the two.
//!
//! # Remarks
//!
//! `not-unrolled`: a loop marked `unroll` that becomes serial, without being asked for; and, where `auto-max-step` or
//! `auto-max-extent` says which serial loops are unrolled, each other one with what keeps it from that.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/unroll_loop.cc`.

mod copy;
mod decide;
mod local;

use crate::analysis::fold;
use tc_dialects::{forms, tir};
use tc_ir::Func;
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// What `unroll-loop` can be told.
    pub struct Options {
        /// Serial loops are unrolled up to this many stores, extent times stores of the body.
        auto_max_step: i64 = 0,
        /// Serial loops are unrolled around loops that were unrolled, nested at most this deep.
        auto_max_depth: i64 = 8,
        /// Serial loops are unrolled up to this extent, whatever they hold.
        auto_max_extent: i64 = 0,
        /// Unroll serial loops of constant extent that index memory in the scope `local`, whatever they hold.
        unroll_local_access: bool = false,
        /// Make copies; otherwise leave it to the emitter, which writes `#pragma unroll`.
        explicit_unroll: bool = true,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "unroll-loop",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Func(tir::FUNC, Box::new(UnrollLoop { options }))),
};

/// The pass.
pub struct UnrollLoop {
    /// What it was given.
    pub options: Options,
}

impl FuncPass for UnrollLoop {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let decide::Unrolling { steps, remarks } = match decide::decide(func, &self.options, cx.wants_missed()) {
            Ok(plan) => plan,
            Err(found) => {
                cx.diagnostics.append(found);
                return false;
            }
        };
        cx.diagnostics.append(remarks);
        if steps.is_empty() {
            return false;
        }
        let new = fold::mark(func);
        for step in &steps {
            match step.action {
                decide::Action::Copy(_) => cx.count("loops unrolled", 1),
                decide::Action::Mark => cx.count("loops marked", 1),
                decide::Action::Clean | decide::Action::Serial => {}
            }
            copy::carry_out(func, step);
        }
        fold::fold_new(func, new);
        true
    }
}
