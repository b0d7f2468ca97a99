//! Formulas of sizes as expressions of C.

use tc_target::sizes::{FORMULA_OPS, MAX_FORMULA_DEPTH};
use tc_target::{BinaryOp, Formula};

/// `formula` as an expression of type `int64_t`, with what `size` calls a size; `None` where it is deeper than a manifest
/// allows, or `size` knows one not. What has no value sets `tc_bad`.
pub(crate) fn expression(formula: &Formula, size: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    written(formula, size, MAX_FORMULA_DEPTH)
}

fn written(formula: &Formula, size: &dyn Fn(&str) -> Option<String>, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match formula {
        Formula::Int(int) => Some(crate::spell::int(*int)),
        Formula::Size(name) => size(name),
        Formula::Op(op, args) => {
            let (lhs, rhs) = (written(&args.0, size, depth)?, written(&args.1, size, depth)?);
            Some(match word(*op) {
                Some(word) => format!("$_tc_op(&tc_bad, $$_TC_{word}, {lhs}, {rhs})"),
                // C's operators ask for the second operand only where the first does not decide, as ours do.
                None if *op == BinaryOp::And => format!("({lhs} != 0 && {rhs} != 0)"),
                None => format!("({lhs} != 0 || {rhs} != 0)"),
            })
        }
    }
}

/// What c/sizes.c calls an operator, its name in capitals; `None` for `&&` and `||`, which are C's own.
fn word(op: BinaryOp) -> Option<String> {
    if matches!(op, BinaryOp::And | BinaryOp::Or) {
        return None;
    }
    FORMULA_OPS.iter().find(|(known, _)| *known == op).map(|(_, name)| name.to_uppercase())
}
