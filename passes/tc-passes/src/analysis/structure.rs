//! Control flow that is known: what replaces it.

use tc_dialects::tir::{self, LoopKind};
use tc_ir::{Func, Op, Rewriter, Value, keys};

/// Puts the branch that the condition takes in the place of the conditional `op`.
pub(crate) fn collapse_branch(rw: &mut Rewriter<'_>, op: Op, truth: bool) {
    let taken = rw.func().op_regions(op).get(if truth { 0 } else { 1 }).copied();
    let values: Vec<Value> = match taken {
        None => Vec::new(),
        Some(region) => {
            let values = rw.func().yielded(region).to_vec();
            if let Some(end) = rw.func().terminator(region) {
                rw.erase(end);
            }
            rw.splice_before(region, op);
            values
        }
    };
    rw.replace_op(op, &values);
}

/// Does the loop run in order, so that its body may be put in its place?
pub(crate) fn runs_in_order(func: &Func, op: Op) -> bool {
    matches!(
        tir::loop_kind(func, op),
        Some(LoopKind::Serial | LoopKind::Unroll(_) | LoopKind::Vthread | LoopKind::Vectorize)
    )
}

/// Does the loop `op` stand for an intrinsic, which a pass is yet to put in its place?
pub(crate) fn is_marked(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::FOR && func.attr_of(op, keys::TENSORIZE).is_some()
}

/// Puts what it comes to in the place of a loop with literal bounds that runs never or once. A loop that stands for an
/// intrinsic is kept, though it may run once.
pub(crate) fn collapse_loop(rw: &mut Rewriter<'_>, op: Op) {
    let func = rw.func();
    let (lo, hi) = (func.operand(op, 0), func.operand(op, 1));
    let (Some(first), Some(end)) = (func.const_int(lo), func.const_int(hi)) else { return };
    if !runs_in_order(func, op) {
        return;
    }
    if first >= end {
        let inits = func.operands(op)[2..].to_vec();
        rw.replace_op(op, &inits);
    } else if first.checked_add(1) == Some(end) && !is_marked(func, op) {
        run_once(rw, op, lo);
    }
}

/// Puts the body, with `lo` for the variable, in the place of a loop that runs once.
pub(crate) fn run_once(rw: &mut Rewriter<'_>, op: Op, lo: Value) {
    let func = rw.func();
    let body = func.op_regions(op)[0];
    let args = func.region_args(body).to_vec();
    let mut starts = vec![lo];
    starts.extend_from_slice(&func.operands(op)[2..]);
    let values = func.yielded(body).to_vec();
    if let Some(end) = func.terminator(body) {
        rw.erase(end);
    }
    for (arg, start) in args.into_iter().zip(starts) {
        rw.replace_value(arg, start);
    }
    rw.splice_before(body, op);
    rw.replace_op(op, &values);
}

/// Has the conditional `op` no second branch, or nothing in it?
pub(crate) fn is_one_armed(func: &Func, op: Op) -> bool {
    let otherwise = func.op_regions(op).get(1);
    func.n_results(op) == 0 && otherwise.is_none_or(|&region| func.ops(region).all(|op| func.row(op).terminator))
}
