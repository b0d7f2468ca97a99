//! Computes positions before the loops in which they do not change.
//!
//! A position in memory is a sum. Some of its terms change with the innermost loop, some with an outer one, most with the
//! thread alone. Summed up from the outside in, each part is computed where it is first known, and the copies of an
//! unrolled body share what they have in common.
//!
//! # Input form
//!
//! Any program; `unify-launch` first, so that threads are known outside of loops.
//!
//! # Output form
//!
//! As it came; indices of loads, stores and references are sums whose parts stand before the loops that do not change them,
//! literals last. Other integer arithmetic that a loop does not change stands before it too.
//!
//! # Example
//!
//! ```tir
//! for tx in 0..32 bind(threadIdx.x) {
//!   for k in 0..4 {
//!     B[k * 32 + tx * 128 + 1] = A[tx / 4]
//!   }
//! }
//! ->
//! for tx in 0..32 bind(threadIdx.x) {
//!   let $1 = tx / 4
//!   let $2 = tx * 128
//!   for k in 0..4 {
//!     B[$2 + k * 32 + 1] = A[$1]
//!   }
//! }
//! ```
//!
//! # Algorithm
//!
//! 1. Where both sides of `&&` or `||` may be computed anywhere, compute both: such a condition is arithmetic like any other.
//! 2. Take each index apart into terms, literals times values that are no sums. Of each find how many loops that are run
//!    change it. Where there are terms of several kinds, build the sum anew: those of no loop first, then those of one,
//!    and so on, literals at the end, where a machine has room for them in the access.
//! 3. In the order of the text, move each integer op that has no effect and cannot fail before the outermost loop that
//!    does not change it, but for literals that are added last. Nothing leaves a conditional unless it leaves a loop around it
//!    too. Overflow is a failure: an op that may overflow, by the ranges of its operands before the loop, is moved there only
//!    if it is certain to run once the loop is reached.
//!
//! # Limits
//!
//! Floating-point arithmetic and loads stay where they are. Sizes and loops that nothing bounds are taken to be below 2^31
//! where overflow is asked for. What is moved holds a register while the loop runs.
//!
//! # Remarks
//!
//! `not-hoisted`: a load, or arithmetic that might fail or overflow, that its innermost loop does not change and that is
//! done in each iteration.
//!
//! # References
//!
//! Aho, Lam, Sethi and Ullman (2006), Compilers, section 9.5 on code motion; Briggs and Cooper (1994), "Effective partial
//! redundancy elimination", for sums ordered by rank.

mod eager;
mod levels;
mod missed;
mod motion;
mod sums;

use crate::analysis::overflow::Ranges;
use tc_dialects::tir;
use tc_ir::Func;
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// `hoist-invariant` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "hoist-invariant",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(HoistInvariant))),
};

/// The pass.
pub struct HoistInvariant;

impl FuncPass for HoistInvariant {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let n_eager = eager::compute_both(func);
        let mut ranges = Ranges::default();
        let n_sums = sums::regroup(func, &mut ranges);
        let n_moved = motion::hoist(func, &mut ranges);
        cx.count("conditions that compute both sides", n_eager);
        cx.count("indices regrouped", n_sums);
        cx.count("ops hoisted", n_moved);
        let changed = n_eager + n_sums + n_moved > 0;
        if cx.wants_missed() {
            missed::all(func).into_iter().for_each(|found| cx.report(found));
        }
        changed
    }
}
