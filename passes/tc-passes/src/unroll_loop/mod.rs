//! Unrolls loops by copying their bodies, or leaves that to the emitter.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! With `explicit-unroll` no loop of kind `unroll` remains, and no `auto_unroll_max_step` or `unroll_explicit`. Without
//! it, loops keep the kind, and serial ones that qualify get it.
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
//! 1. Decide for each loop, inner ones first. A loop of kind `unroll` is unrolled, by its `factor` or fully. A serial
//!    loop of constant extent is unrolled if no loop remains inside, unrolled loops are nested in it at most
//!    `auto-max-depth` deep, and its extent times the stores of its body is at most `auto-max-step` or its extent is at
//!    most `auto-max-extent`; or, with `unroll-local-access`, if its variable indexes a buffer in `local`.
//!    `auto_unroll_max_step` and `unroll_explicit` on a loop override the options for it and the loops inside.
//! 2. Refuse a loop of kind `unroll` that would make more than a million ops; leave such a serial loop as it is.
//! 3. Copy bodies, inner loops first, and replace the variable; carried values pass from copy to copy. Fold literals.
//!
//! # Limits
//!
//! A fully unrolled loop must have constant bounds. The remainder of a factor is copied if the bounds are constant, and
//! is a loop of its own if not. A loop whose bounds differ between threads of a block is not unrolled by a factor but
//! becomes serial, since the threads would diverge between the two loops.
//!
//! # Remarks
//!
//! `not-unrolled`: a loop of kind `unroll` that becomes serial, always printed; and, with `auto-max-step` or
//! `auto-max-extent`, each serial loop that stays, with the reason.
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
