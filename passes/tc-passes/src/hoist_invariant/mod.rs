//! Moves loop-invariant parts of index arithmetic out of loops.
//!
//! A position in memory is a sum. Some of its terms vary with the innermost loop, some with an outer one, most with the
//! thread alone. The pass sums the terms from the outside in, so that each partial sum is computed outside the loops
//! that do not change it, and the copies of an unrolled body share common parts.
//!
//! # Input form
//!
//! Any program; run `unify-launch` first, so that launch coordinates are defined outside the serial loops.
//!
//! # Output form
//!
//! The same program. Indices of loads, stores and references are sums whose loop-invariant parts are before the loops,
//! with literals last. Other loop-invariant integer arithmetic is before the loops too.
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
//! 1. If both operands of `&&` or `||` are speculatable, compute both: such a condition is arithmetic like any other.
//! 2. Split each index into terms, literals times values that are not sums. Count for each term the serial loops that
//!    change it (its rank). If the ranks differ, rebuild the sum in the order of rank, with literals at the end, since
//!    machines add a literal in the access itself.
//! 3. In the order of the text, move each integer op that has no effect and cannot fail before the outermost loop that
//!    does not change it, except literals that are added last. An op leaves a conditional only if it also leaves a loop
//!    around it. Overflow is a failure: an op that may overflow, by the ranges of its operands before the loop, moves
//!    only if it certainly runs once the loop is reached.
//!
//! # Limits
//!
//! Floating-point arithmetic and loads do not move. To decide overflow, the pass assumes that unbounded sizes and loops
//! are below 2^31. A moved value occupies a register while the loop runs.
//!
//! # Remarks
//!
//! `not-hoisted`: a load, or arithmetic that may fail or overflow, that is invariant in its innermost loop and stays
//! inside.
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
