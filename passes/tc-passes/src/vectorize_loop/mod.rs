//! Runs loops of kind `vectorize` as lanes of vectors.
//!
//! The variable becomes a ramp, what depends on it a vector, and all else is done once for all lanes.
//!
//! # Input form
//!
//! `scheduled`; after `storage-flatten`, so that neighbours differ in one index, and before `inject-virtual-thread`.
//!
//! # Output form
//!
//! No loop of kind `vectorize` is left. Vector accesses carry `aligned` as far as it is proved.
//!
//! # Example
//!
//! ```tir
//! for i in 0..4 vectorize {
//!   B[tx * 4 + i] = A[tx * 4 + i] * W[0]
//! }
//! ->
//! B[ramp(tx * 4, 1, 4)] = A[ramp(tx * 4, 1, 4)] * broadcast(W[0], 4) attributes {aligned = 16}
//! ```
//!
//! # Algorithm
//!
//! 1. For each loop choose the lanes: as many as fit 16 bytes of the narrowest element that is accessed at an index of the
//!    variable, and as divide the extent. Where the extent is larger, the loop is split and the outer part unrolled. The
//!    iterations must be able to run in step, as those of virtual threads (see `inject-virtual-thread`).
//! 2. Write guards and indices without the variable, or as a sum with it, where the algebra proves that they are that: a
//!    guard on an axis that the lanes divide is one for all lanes, and row and column of a fused index are neighbours.
//! 3. Find what depends on the variable. A buffer that is made inside and depends on it gets an element for each lane.
//! 4. Widen statement by statement. Sums and multiples of ramps stay ramps; a conditional whose condition is the same for
//!    all lanes stays one, and hands on vectors. A statement that cannot be widened, because its condition differs between
//!    lanes or its index is no last one, becomes a loop over the lanes.
//! 5. Prove the alignment of vector accesses by the remainders of their first index, and declare it.
//!
//! # Limits
//!
//! The bounds must be constant. A loop that cannot be widened becomes a serial one, unrolled if it is short, and a remark
//! says why; so does one inside another vectorized loop. Accesses of buffers of several dimensions get no `aligned`.
//!
//! # Remarks
//!
//! `not-vectorized`, without being asked for: a loop, or a statement of one, that stays scalar. `fewer-lanes`: a loop whose
//! extent allows fewer lanes than an access has room for. `unaligned`: a vector access that is not proved to start at a
//! multiple of its bytes, which takes several instructions.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/vectorize_loop.cc`. Kennedy and Allen 2001, "Optimizing Compilers for Modern
//! Architectures", chapter 2, for what lanes may do at once.

mod align;
mod decide;
mod lanes;
mod split;
mod uniform;
mod widen;

use crate::analysis::fold;
use tc_dialects::{forms, tir};
use tc_ir::Func;
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// `vectorize-loop` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "vectorize-loop",
    page: tc_support::page!("mod.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(VectorizeLoop))),
};

/// The pass.
pub struct VectorizeLoop;

impl FuncPass for VectorizeLoop {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let plan = match decide::decide(func) {
            Ok(plan) => plan,
            Err(found) => {
                cx.diagnostics.append(found);
                return false;
            }
        };
        let changed = !plan.is_empty();
        let new = fold::mark(func);
        // Inner loops stand after those around them, and are plain loops by the time an outer one is widened.
        for step in plan.into_iter().rev() {
            let remarks = match step.verdict {
                decide::Verdict::Serial(remark) => {
                    split::make_serial(func, step.op);
                    vec![remark]
                }
                decide::Verdict::Lanes(lanes) | decide::Verdict::Fewer { lanes, .. } => {
                    if let decide::Verdict::Fewer { lanes, room } = step.verdict {
                        cx.missed(|| decide::fewer(func, step.op, lanes, room));
                    }
                    let op = split::by_lanes(func, step.op, lanes);
                    if lanes > 1 {
                        uniform::expose(func, op);
                    }
                    widen::widen(func, op)
                }
            };
            cx.count(if remarks.is_empty() { "loops vectorized" } else { "loops left scalar, at least in part" }, 1);
            remarks.into_iter().for_each(|remark| cx.report(remark));
        }
        if changed {
            fold::fold_new(func, new);
        }
        let n_aligned = align::declare(func, cx);
        cx.count("accesses aligned", n_aligned);
        changed || n_aligned > 0
    }
}
