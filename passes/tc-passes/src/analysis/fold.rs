//! Folding of ops that a pass has just made, by the folders of their rows.

use super::structure::collapse_branch;
use tc_dialects::tir;
use tc_ir::opdef::Folded;
use tc_ir::rewrite::rewrite_range;
use tc_ir::walk::OpRange;
use tc_ir::{AttrData, Func, Op, Rewriter, effects};

/// Ops with at least this number were made since; see [`mark`].
#[derive(Clone, Copy)]
pub(crate) struct Mark(u32);

impl Mark {
    /// Every op counts as new.
    pub(crate) const ALL: Mark = Mark(0);

    /// Was `op` made since?
    pub(crate) fn is_new(self, op: Op) -> bool {
        op.as_u32() >= self.0
    }

    /// How many ops were made since; some of them may be gone.
    pub(crate) fn n_made(self, func: &Func) -> usize {
        func.n_op_ids() - self.0 as usize
    }
}

/// Ops made from here on are new.
pub(crate) fn mark(func: &Func) -> Mark {
    Mark(func.n_op_ids() as u32)
}

/// Folds new ops as far as literals allow, and takes out new ops that nothing uses.
pub(crate) fn fold_new(func: &mut Func, since: Mark) {
    let whole = OpRange::whole(func);
    fold_new_in(func, whole, since);
}

/// [`fold_new`] in a part of the function.
pub(crate) fn fold_new_in(func: &mut Func, part: OpRange, since: Mark) {
    rewrite_range(func, part, |rw, op| {
        if since.is_new(op) {
            fold_op(rw, op);
        }
    });
    erase_unused_in(func, part, since);
}

/// Folds `op`, whose operands are up to date, if its row can.
pub(crate) fn fold_op(rw: &mut Rewriter<'_>, op: Op) {
    let Some(fold) = rw.func().row(op).fold else { return };
    let Some(result) = rw.func().result(op) else { return };
    let value = match fold(rw.func_mut(), op) {
        Some(Folded::Value(value)) => value,
        Some(Folded::Constant(attr)) => {
            let ty = rw.func().value_type(result);
            rw.before(op).constant(attr, ty)
        }
        None => return,
    };
    if rw.current(value) != rw.current(result) {
        rw.replace_op(op, &[value]);
    }
}

/// Takes out new ops without effects whose results nothing uses.
pub(crate) fn erase_unused(func: &mut Func, since: Mark) {
    let whole = OpRange::whole(func);
    erase_unused_in(func, whole, since);
}

fn erase_unused_in(func: &mut Func, part: OpRange, since: Mark) {
    let ops: Vec<Op> = part.ops(func).filter(|&op| since.is_new(op)).collect();
    let mut rw = Rewriter::new(func);
    // Users stand after what they use, so one round from the end is enough.
    for op in ops.into_iter().rev() {
        let func = rw.func();
        let unused = func.region_of(op).is_some() && func.results(op).all(|value| func.n_uses(value) == 0);
        if unused && func.op_regions(op).is_empty() && func.n_results(op) > 0 && effects::summary(func, op).is_pure() {
            rw.erase(op);
        }
    }
}

/// Puts the branch that is taken in the place of each conditional on a literal in `part`.
pub(crate) fn settle_branches(func: &mut Func, part: OpRange) {
    let branches: Vec<Op> =
        part.ops(func).filter(|&op| func.opcode(op) == tir::IF && truth(func, op).is_some()).collect();
    let mut rw = Rewriter::new(func);
    // Inner ones first, so that an outer one takes what is left of them.
    for op in branches.into_iter().rev() {
        if let Some(truth) = truth(rw.func(), op) {
            collapse_branch(&mut rw, op, truth);
        }
    }
}

/// The literal that `op` branches on.
fn truth(func: &Func, op: Op) -> Option<bool> {
    match func.attr_data(func.constant(func.operand(op, 0))?) {
        AttrData::Bool(value) => Some(*value),
        _ => None,
    }
}
