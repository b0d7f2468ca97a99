//! Ops that are done in a wider type in place of a narrower one.
//!
//! What a target has no instruction for is computed in f32 and rounded back: `cast<bf16>(cast<f32>(a) + cast<f32>(b))` is
//! a sum in bf16. In the field arithmetic in a narrow type is exact until a wider type takes it up, and here none does: the
//! casts and the op between them stand for an op of the narrow type. The same holds of comparisons of numbers that are
//! both from one narrow type, and of their integer parts.

use std::collections::BTreeSet;
use tc_dialects::arith;
use tc_ir::uses::Uses;
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Func, Op, Value};

/// The ops of `func` that stay in a narrow type, and the casts back to it.
pub(super) fn ops(func: &Func) -> BTreeSet<Op> {
    let uses = Uses::of(func);
    let mut narrow = BTreeSet::new();
    for op in all_ops(func) {
        if func.opcode(op) == arith::CMP {
            if widened_from(func, func.operands(op)).is_some() {
                narrow.insert(op);
            }
            continue;
        }
        let (Some((from, to)), &[operand]) = (cast(func, op), func.operands(op)) else { continue };
        if to.is_int() {
            if from.is_float() && widened_from(func, &[operand]).is_some() {
                narrow.insert(op);
            }
            continue;
        }
        let computes = |def: &Op| {
            func.opcode(*def).dialect() == arith::ADD.dialect()
                && !matches!(func.opcode(*def), arith::CAST | arith::CONSTANT | arith::SELECT | arith::BROADCAST)
        };
        let Some(def) = func.def_op(operand).filter(computes) else { continue };
        let only_here = uses.of_value(operand).len() == 1;
        if only_here && to.bits() < from.bits() && widened_from(func, func.operands(def)) == Some(to) {
            narrow.extend([op, def]);
        }
    }
    narrow
}

/// The types of a cast that has to do with floats.
fn cast(func: &Func, op: Op) -> Option<(Elem, Elem)> {
    let elem = |value: Value| func.value_scalar(value).map(|scalar| scalar.elem);
    if func.opcode(op) != arith::CAST {
        return None;
    }
    let (from, to) = (elem(*func.operands(op).first()?)?, elem(func.result(op)?)?);
    (from.is_float() || to.is_float()).then_some((from, to))
}

/// The narrower type that all values are cast from; literals may be of any.
fn widened_from(func: &Func, values: &[Value]) -> Option<Elem> {
    let mut narrow = None;
    for &value in values {
        let mut def = func.def_op(value)?;
        if func.opcode(def) == arith::BROADCAST {
            def = func.def_op(*func.operands(def).first()?)?;
        }
        if func.opcode(def) == arith::CONSTANT {
            continue;
        }
        let (from, to) = cast(func, def)?;
        if !from.is_float() || from.bits() >= to.bits() || narrow.is_some_and(|narrow| narrow != from) {
            return None;
        }
        narrow = Some(from);
    }
    narrow
}
