//! Parts of a program as an author would write them, for findings.

use tc_arith::Interval;
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
