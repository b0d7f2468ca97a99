//! Moving a condition before its loop.

use super::find::Hoist;
use crate::analysis::structure::collapse_branch;
use tc_dialects::tir;
use tc_ir::clone::{ValueMap, clone_op};
use tc_ir::{Builder, Func, Op, Rewriter};

/// Lets the loop `op` stand inside a conditional on what `hoist` tells.
pub(super) fn emit(func: &mut Func, op: Op, hoist: &Hoist) {
    let mut rw = Rewriter::new(func);
    for &input in &hoist.inputs {
        rw.move_before(input, op);
    }
    drop(rw);
    let condition = func.operand(hoist.branch, 0);
    let branch = tir::If::build(&mut Builder::before(func, op), condition, &[], &[]);
    let regions = func.op_regions(branch).to_vec();
    let copy = if hoist.copies { copied(func, op, hoist.branch, regions[1]) } else { None };
    let mut rw = Rewriter::new(func);
    rw.move_to_end(op, regions[0]);
    collapse_branch(&mut rw, hoist.branch, true);
    if let Some(copy) = copy {
        collapse_branch(&mut rw, copy, false);
    }
}

/// Copies the loop `op` to the end of `target`; gives the copy of the conditional `branch` in it.
fn copied(func: &mut Func, op: Op, branch: Op, target: tc_ir::Region) -> Option<Op> {
    // A conditional without results is found again by its place among the ops of the loop.
    let body = func.op_regions(op)[0];
    let nth = tc_ir::walk::ops_under(func, body).position(|inner| inner == branch)?;
    let copy = clone_op(&mut Builder::at_end(func, target), op, &mut ValueMap::default());
    tc_ir::walk::ops_under(func, func.op_regions(copy)[0]).nth(nth)
}
