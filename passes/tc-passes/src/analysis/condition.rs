//! Conditions as conjunctions.

use super::structure::collapse_branch;
use tc_dialects::arith;
use tc_ir::{Builder, Func, Op, Rewriter, Value};

/// What has to hold for `condition` to hold, in the order of the text; `likely` is looked through.
pub(crate) fn conjuncts(func: &Func, condition: Value) -> Vec<Value> {
    parts(func, condition, |opcode| matches!(opcode, arith::AND | arith::LIKELY))
}

/// The same, but a part that is `likely` stays so.
pub(crate) fn likely_conjuncts(func: &Func, condition: Value) -> Vec<Value> {
    parts(func, condition, |opcode| opcode == arith::AND)
}

fn parts(func: &Func, condition: Value, is_divided: impl Fn(tc_ir::Opcode) -> bool) -> Vec<Value> {
    let mut found = Vec::new();
    let mut worklist = vec![condition];
    while let Some(value) = worklist.pop() {
        match func.def_op(value).filter(|&op| is_divided(func.opcode(op))) {
            Some(op) => worklist.extend(func.operands(op).iter().rev()),
            None => found.push(value),
        }
    }
    found
}

/// The conjunction of `parts` where `b` stands; `None` of none.
pub(crate) fn conjunction(b: &mut Builder<'_>, parts: &[Value]) -> Option<Value> {
    parts.iter().copied().reduce(|all, part| b.value(arith::AND, &[all, part], &[]))
}

/// Lets the conditional `branch`, which has one branch, ask for `kept` alone; puts its body in its place where that is nothing.
pub(crate) fn ask_for(func: &mut Func, branch: Op, kept: &[Value]) {
    match conjunction(&mut Builder::before(func, branch), kept) {
        Some(condition) => Rewriter::new(func).set_operand(branch, 0, condition),
        None => collapse_branch(&mut Rewriter::new(func), branch, true),
    }
}
