//! Folds literals and brings ops into the form that other passes match.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! The same program, with ops folded by their rows, with literals on the right of commutative ops, and without
//! conditionals of known condition and loops of no or one iteration.
//!
//! # Example
//!
//! ```tir
//! for i in 0..1 {
//!   if 2 < 3 {
//!     A[4 + 1 * i] = 0.0
//!   }
//! }
//! ->
//! A[4] = 0.0
//! ```
//!
//! # Algorithm
//!
//! The pass visits the ops in rounds until nothing changes; a round visits each op once, after its operands.
//!
//! # Limits
//!
//! At most 10 rounds. Launch loops stay, whatever their extent. The pass does not use ranges; `simplify` does.
//!
//! # Remarks
//!
//! None.
//!
//! # References
//!
//! MLIR's `canonicalize`, for the scope of such a pass.

use crate::analysis::dead::erase_dead;
use crate::analysis::fold::fold_op;
use crate::analysis::structure::{collapse_branch, collapse_loop};
use tc_dialects::tir;
use tc_ir::attrs::AttrData;
use tc_ir::rewrite::rewrite_ops;
use tc_ir::{Func, Op, Rewriter};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

/// How often the text is gone over.
const MAX_ROUNDS: usize = 10;

tc_pass::options! {
    /// `canonicalize` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "canonicalize",
    page: tc_support::page!("canonicalize.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(Canonicalize))),
};

/// The pass.
pub struct Canonicalize;

impl FuncPass for Canonicalize {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let mut changed = false;
        for _ in 0..MAX_ROUNDS {
            let round = rewrite_ops(func, canonicalize_op) | (erase_dead(func) > 0);
            changed |= round;
            cx.count("rounds", 1);
            if !round {
                break;
            }
        }
        changed
    }
}

fn canonicalize_op(rw: &mut Rewriter<'_>, op: Op) {
    let opcode = rw.func().opcode(op);
    if opcode == tir::IF {
        if let Some(AttrData::Bool(truth)) =
            rw.func().constant(rw.func().operand(op, 0)).map(|attr| rw.func().attr_data(attr))
        {
            let truth = *truth;
            collapse_branch(rw, op, truth);
        }
        return;
    }
    if opcode == tir::FOR {
        collapse_loop(rw, op);
        return;
    }
    literal_to_right(rw, op);
    fold_op(rw, op);
}

fn literal_to_right(rw: &mut Rewriter<'_>, op: Op) {
    let func = rw.func();
    let &[lhs, rhs] = func.operands(op) else { return };
    if func.row(op).commutative && func.constant(lhs).is_some() && func.constant(rhs).is_none() {
        rw.set_operands(op, &[rhs, lhs]);
    }
}
