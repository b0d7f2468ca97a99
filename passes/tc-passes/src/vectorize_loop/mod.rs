//! Runs loops of kind `vectorize` as lanes of vectors.
//!
//! The loop variable becomes a ramp, values that depend on it become vectors, and all else is computed once for all
//! lanes.
//!
//! # Input form
//!
//! `scheduled`; after `storage-flatten`, so that one index determines neighbours, and before `inject-virtual-thread`.
//!
//! # Output form
//!
//! No loop of kind `vectorize` remains. Vector accesses carry `aligned` if it is proved.
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
//! 1. For each loop choose the number of lanes: as many as fit 16 bytes of the narrowest element that the variable
//!    indexes, and as divide the extent. If the extent is larger, split the loop and unroll the outer part. The loop
//!    must have no loop-carried dependence, as for virtual threads (see `inject-virtual-thread`).
//!    Where iterations of a short loop do not all meet the same conditions, neighbours that do and start at a multiple of their lanes
//!    are loops of their own: a row of a window of 4 columns, whose first and last may lie outside of an image, is one
//!    number, a vector of 2, and one number.
//! 2. Rewrite guards and indices to be free of the variable, or a sum with it, if the algebra proves them equal: a
//!    guard on an axis whose extent is a multiple of the lanes is the same for all lanes, and the rows and columns of a
//!    fused index are neighbours.
//! 3. Find what depends on the variable. A dependent buffer that the loop allocates gets an element for each lane.
//! 4. Widen statement by statement. Sums and multiples of ramps stay ramps; a conditional whose condition is the same
//!    for all lanes stays, and yields vectors. A statement that cannot be widened, because its condition differs
//!    between lanes or the variable is not in its last index, becomes a loop over the lanes.
//! 5. Prove the alignment of vector accesses by the remainders of their first index, and declare it.
//!
//! # Limits
//!
//! The bounds must be constant. A loop that cannot be widened becomes serial, unrolled if it is short, and a remark
//! gives the reason; so does a loop inside another vectorized loop. Accesses of buffers of several dimensions get no
//! `aligned`.
//!
//! # Remarks
//!
//! `not-vectorized`, always printed: a loop, or a statement of one, that stays scalar. `fewer-lanes`: a loop whose
//! extent allows fewer lanes than fit an access. `unaligned`: a vector access that does not provably start at a
//! multiple of its bytes, which takes several instructions.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/vectorize_loop.cc`. Kennedy and Allen 2001, "Optimizing Compilers for Modern
//! Architectures", chapter 2, for the legality of vectorization.

mod align;
mod decide;
mod lanes;
mod runs;
mod split;
mod uniform;
mod widen;

use crate::analysis::fold;
use tc_dialects::algebra::const_extent;
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
                decide::Verdict::Lanes(lanes) | decide::Verdict::Fewer(lanes) => {
                    let room = decide::room(func, step.op);
                    let pieces = runs::divide(func, step.op, room);
                    if pieces.is_none() && matches!(step.verdict, decide::Verdict::Fewer(_)) {
                        cx.missed(|| decide::fewer(func, step.op, lanes, room));
                    }
                    let pieces = pieces.unwrap_or_else(|| vec![split::by_lanes(func, step.op, lanes)]);
                    let mut remarks = Vec::new();
                    for op in pieces {
                        if const_extent(func, op).is_some_and(|lanes| lanes > 1) {
                            uniform::expose(func, op);
                        }
                        remarks.append(&mut widen::widen(func, op));
                    }
                    remarks
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
