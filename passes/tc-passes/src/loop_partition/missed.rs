//! Guards that stay where they are.

use super::find::{self, Why};
use super::{MAX_OPS, Options};
use crate::analysis::launch::{coordinate, loop_var};
use crate::analysis::words;
use indexmap::{IndexMap, IndexSet};
use tc_dialects::algebra::Algebra;
use tc_dialects::{arith, tir};
use tc_ir::walk::{all_ops, ancestors, n_ops};
use tc_ir::{Func, Op};
use tc_support::Diagnostic;

/// What is reported of each `likely` condition that is left: of the outermost loop that it could have divided, why not. Those
/// of parts of a divided loop are where they belong.
pub(super) fn all(func: &Func, options: &Options, tried: &IndexMap<Op, Why>, parts: &IndexSet<Op>) -> Vec<Diagnostic> {
    let hints = all_ops(func).filter(|&op| func.opcode(op) == arith::LIKELY);
    let outside = hints.filter(|&op| !ancestors(func, op).any(|outer| parts.contains(&outer)));
    let mut algebra = Algebra::of_func(func);
    let has_grown = n_ops(func) > MAX_OPS;
    outside.filter_map(|op| one(func, op, options, tried, has_grown, &mut algebra)).collect()
}

fn one(
    func: &Func,
    hint: Op,
    options: &Options,
    tried: &IndexMap<Op, Why>,
    has_grown: bool,
    algebra: &mut Algebra,
) -> Option<Diagnostic> {
    let condition = algebra.expr(func, func.operand(hint, 0));
    let mut loops: Vec<Op> = ancestors(func, hint).filter(|&op| func.opcode(op) == tir::FOR).collect();
    loops.reverse();
    let depends = |op: &&Op| algebra.analyzer.pool.uses(condition, Algebra::var(loop_var(func, **op)));
    let concerned: Vec<Op> = loops.iter().filter(depends).copied().collect();
    let shown = words::arithmetic(func, func.operand(hint, 0));
    let place = func.asked_location(hint);
    let remark = |reason: String| {
        Diagnostic::remark(
            "guard-kept",
            place.clone(),
            format!("the guard `{shown}` stays in every iteration: {reason}"),
        )
    };
    let is_thread = |op: &Op| coordinate(func, *op).is_some_and(|coordinate| coordinate.is_thread());
    let Some(&op) = concerned.iter().find(|op| !is_thread(op)) else {
        let reason = "it depends on no loop but those of threads, and these are not divided";
        return Some(remark(reason.to_string()).help("choose a number of threads that divides the extent"));
    };
    let var = func.value_text(loop_var(func, op));
    let (reason, help) = match tried.get(&op) {
        _ if has_grown => (format!("the function has grown to {MAX_OPS} ops"), "unroll later, or less"),
        Some(Why::StartsApart) => (
            format!("threads of a block begin the loop `{var}` at different values"),
            "let it begin at one value for all",
        ),
        Some(Why::Unsettled) => (
            format!("no values of `{var}` are found for which it holds whatever loops inside and threads do"),
            "a guard is solved where it compares sums of variables times numbers",
        ),
        Some(Why::CountOpen) => {
            (format!("how often a part of the unrolled loop `{var}` runs is not known"), "unroll an inner loop instead")
        }
        None => find::not_a_candidate(func, op, options)?,
    };
    Some(remark(reason).help(help))
}
