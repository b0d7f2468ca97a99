//! Literals that the compiler made.
//!
//! Where both operands of an op become literals, by unrolling or by inlining, the compiler evaluates it, and rounds as the
//! program would. In the field that is a rounding too many, for which the program is not to blame: a program with such a
//! literal is not said to differ.

use crate::cell::{float_of, of_float, show};
use crate::tolerance::with_callees;
use std::collections::BTreeSet;
use tc_dialects::arith;
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Elem, Func, Module, Op, keys};
use tc_support::Diagnostic;

/// A literal of program `@program`, or of what it calls, that no function of `source` holds; whole numbers aside.
pub(super) fn evaluated(source: &Module, (module, program): (&Module, &str)) -> Option<Diagnostic> {
    let known: BTreeSet<u64> = source
        .items
        .iter()
        .flat_map(|func| all_ops(func).filter_map(move |op| literal(func, op)).map(|(_, value)| value.abs().to_bits()))
        .collect();
    let is_made = |value: f64| value.is_finite() && value.fract() != 0.0 && !known.contains(&value.abs().to_bits());
    with_callees(module, module.function(program)?).into_iter().find_map(|func| {
        let mut made = all_ops(func).filter_map(|op| Some((op, literal(func, op)?)));
        let (op, (elem, value)) = made.find(|(_, (_, value))| is_made(*value))?;
        let text = format!("`{}` is a constant that was evaluated, and rounded", show(elem, of_float(elem, value)));
        Some(Diagnostic::error("evaluated", func.op_location(op), text))
    })
}

/// The type and the value of a literal of floats.
fn literal(func: &Func, op: Op) -> Option<(Elem, f64)> {
    if func.opcode(op) != arith::CONSTANT {
        return None;
    }
    let elem = func.value_scalar(func.result(op)?)?.elem;
    let AttrData::Float(bits, _) = func.attr_data(func.attr_of(op, keys::VALUE)?) else { return None };
    elem.is_float().then(|| (elem, float_of(elem, of_float(elem, f64::from_bits(*bits)))))
}
