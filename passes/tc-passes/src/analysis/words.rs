//! Parts of a program as an author would write them, for diagnostics.

use tc_arith::{Expr, Interval};
use tc_dialects::algebra::Algebra;
use tc_dialects::tir;
use tc_ir::{Func, Op, Value};

/// The arithmetic behind `value` as text; the name of a buffer for what is read from it.
pub(crate) fn arithmetic(func: &Func, value: Value) -> String {
    if let Some(op) = func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD) {
        return place(func, op);
    }
    let mut algebra = Algebra::of_func(func);
    let expr = algebra.expr(func, value);
    algebra.text(expr)
}

/// The arithmetic behind `value`, where every name in it is an author's: what the compiler made has none, and is nothing to
/// tell an author of.
pub(crate) fn authored(func: &Func, value: Value) -> Option<String> {
    if let Some(op) = func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD) {
        let operands = func.operands(op);
        let is_named = !func.value_text(operands[0]).is_empty();
        let indices = operands[1..].iter().map(|&index| authored(func, index));
        let indices: Option<Vec<String>> = indices.collect();
        return indices
            .filter(|_| is_named)
            .map(|indices| format!("{}[{}]", func.value_text(operands[0]), indices.join(", ")));
    }
    let mut algebra = Algebra::of_func(func);
    let expr = algebra.expr(func, value);
    authored_text(&algebra, expr)
}

/// The text of `expr`, where every name in it is an author's.
pub(crate) fn authored_text(algebra: &Algebra, expr: Expr) -> Option<String> {
    let pool = &algebra.analyzer.pool;
    let is_authored = pool.vars(expr).iter().all(|&var| pool.name(var).is_some_and(|name| !name.is_empty()));
    is_authored.then(|| algebra.text(expr))
}

/// The element that the load or store `op` is of.
pub(crate) fn place(func: &Func, op: Op) -> String {
    let operands = func.operands(op);
    let n_indices = operands.len() - usize::from(func.opcode(op) == tir::STORE);
    let indices: Vec<String> = operands[1..n_indices].iter().map(|&index| arithmetic(func, index)).collect();
    format!("{}[{}]", func.value_text(operands[0]), indices.join(", "))
}

/// From where to where something runs, to go behind a name.
pub(crate) fn range(interval: Interval) -> String {
    match (interval.min(), interval.max()) {
        (Some(min), Some(max)) if min == max => format!("is {min}"),
        (Some(min), Some(max)) => format!("runs from {min} to {max}"),
        (Some(min), None) => format!("is at least {min}, and nothing says how large it can be"),
        (None, Some(max)) => format!("is at most {max}, and nothing says how small it can be"),
        (None, None) => "is bounded by nothing".to_string(),
    }
}
