//! Formulas of sizes as expressions of C.

use tc_target::sizes::MAX_FORMULA_DEPTH;
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

/// What c/sizes.c calls an operator; `None` for `&&` and `||`, which are C's own.
fn word(op: BinaryOp) -> Option<&'static str> {
    Some(match op {
        BinaryOp::Add => "ADD",
        BinaryOp::Sub => "SUB",
        BinaryOp::Mul => "MUL",
        BinaryOp::FloorDiv => "DIV",
        BinaryOp::FloorMod => "MOD",
        BinaryOp::TruncDiv => "TDIV",
        BinaryOp::TruncMod => "TMOD",
        BinaryOp::Min => "MIN",
        BinaryOp::Max => "MAX",
        BinaryOp::Eq => "EQ",
        BinaryOp::Ne => "NE",
        BinaryOp::Lt => "LT",
        BinaryOp::Le => "LE",
        BinaryOp::Shl => "SHL",
        BinaryOp::Shr => "SHR",
        BinaryOp::BitAnd => "BITAND",
        BinaryOp::BitOr => "BITOR",
        BinaryOp::BitXor => "BITXOR",
        BinaryOp::And | BinaryOp::Or => return None,
    })
}
