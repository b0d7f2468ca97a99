//! Moves loop-invariant conditions out of loops.
//!
//! The program then evaluates such a condition once instead of in each iteration.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! The same form.
//!
//! # Example
//!
//! ```tir
//! for i in 0..n {
//!   for k in 0..8 {
//!     if i < 60 {
//!       B[i] = B[i] + A[i * 8 + k]
//!     }
//!   }
//! }
//! ->
//! for i in 0..n {
//!   if i < 60 {
//!     for k in 0..8 {
//!       B[i] = B[i] + A[i * 8 + k]
//!     }
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! For each loop, inner ones first:
//!
//! 1. Find the chain of conditionals that guard all of its body: besides them the body and the outer branches hold only
//!    computations and reads. A conditional with an `else` ends the chain.
//! 2. Keep those whose condition depends only on values outside the loop, through ops that read nothing and cannot
//!    fail, so that it may be evaluated even if the loop does not run. Nothing leaves a launch loop. A condition on
//!    launch coordinates alone stays, unless `support-block-scope-hoisting`.
//! 3. Move the loop into a conditional on that condition, with the guarded statements as its body. An `else` makes a
//!    second loop, with the statements of the `else`.
//! 4. With `hoist-expressions`, treat the conditions of `if_then_else` and of the lazy `&&` and `||` in the same way:
//!    each branch gets a copy of the loop.
//!
//! # Limits
//!
//! A loop with carried values stays. If the condition may diverge within a block, a loop stays that contains a
//! convergent op, or whose iterations need a barrier between them, which must not be in divergent control flow. A
//! condition is not merged with an equal one beside it. The pass copies no more loops once a function has 100,000 ops.
//!
//! # Remarks
//!
//! `not-hoisted`: a loop-invariant condition that guards all of a loop and stays inside, with the reason.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/hoist_expression.cc`. Hoisting out of a value is loop unswitching (Allen and Cocke
//! 1971, "A catalogue of optimizing transformations").

mod barriers;
mod emit;
mod find;

use crate::analysis::{fold, words};
use tc_dialects::algebra::is_launch;
use tc_dialects::{forms, tir};
use tc_ir::walk::{OpRange, all_ops};
use tc_ir::{Func, Op};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// What `hoist-if` can be told.
    pub struct Options {
        /// Move conditions on launch coordinates alone too.
        support_block_scope_hoisting: bool = false,
        /// Move the conditions of lazy values too, which makes a copy of the loop.
        hoist_expressions: bool = false,
    }
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "hoist-if",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|options| PassKind::Func(tir::FUNC, Box::new(HoistIf { options }))),
};

/// The pass.
pub struct HoistIf {
    /// What it was given.
    pub options: Options,
}

impl FuncPass for HoistIf {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let loops: Vec<Op> = all_ops(func).filter(|&op| find::is_candidate(func, op)).collect();
        let mut barriers = barriers::Barriers::default();
        let mut room = find::Room::of(func);
        let mut changed = false;
        // Inner ones first: what leaves one loop may leave the next.
        for op in loops.into_iter().rev() {
            while let Some(hoist) = find::next(func, op, &self.options, &mut barriers, &mut room) {
                let (new, place) = (fold::mark(func), OpRange::at(func, op));
                emit::emit(func, op, &hoist);
                if hoist.copies {
                    barriers.copied(func, place);
                }
                room.grow(new.n_made(func));
                cx.count("conditions moved", 1);
                changed = true;
            }
        }
        if cx.wants_missed() {
            self.tell(func, &mut barriers::Barriers::default(), cx);
        }
        changed
    }
}

impl HoistIf {
    /// Tells of the conditions that stay in loops that they do not depend on.
    fn tell(&self, func: &Func, barriers: &mut barriers::Barriers, cx: &mut PassCx) {
        let mut room = find::Room::of(func);
        for op in all_ops(func).filter(|&op| func.opcode(op) == tir::FOR && !is_launch(func, op)) {
            for (branch, reason, help) in find::left(func, op, &self.options, barriers, &mut room) {
                let shown = words::arithmetic(func, func.operand(branch, 0));
                let text = format!("the condition `{shown}` is asked in each iteration, with one answer: {reason}");
                cx.report(Diagnostic::remark("not-hoisted", func.op_location(branch), text).help(help));
            }
        }
    }
}
