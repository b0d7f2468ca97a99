//! Flat buffers that hold several versions of what was one, one after another.

use tc_dialects::{arith, tir};
use tc_ir::types::Scalar;
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Elem, Func, Op, Rewriter, Value, keys};

/// Lets the accesses under `root` to a buffer with versions go to the one that starts at its element.
pub(crate) fn shift(func: &mut Func, root: Op, starts: &[(Value, Value)]) {
    let inner = func.op_regions(root).to_vec();
    let mut ops = vec![root];
    for region in inner {
        ops.extend(ops_under(func, region));
    }
    for op in ops {
        if !matches!(func.opcode(op), tir::LOAD | tir::STORE | tir::REF | tir::REGION) {
            continue;
        }
        let Some(&(_, start)) = starts.iter().find(|(buffer, _)| *buffer == func.operand(op, 0)) else { continue };
        // A flat buffer has one index; a reference to all of it has none and was refused by the form.
        let Some(&index) = func.operands(op).get(1) else { continue };
        let mut b = Builder::before(func, op);
        let index = add(&mut b, start, index);
        Rewriter::new(func).set_operand(op, 1, index);
    }
}

/// `start + index`, where the index may be a vector.
fn add(b: &mut Builder<'_>, start: Value, index: Value) -> Value {
    let scalar = b.func.value_scalar(index).unwrap_or(Scalar::of(Elem::Index));
    let start = cast(b, start, scalar.elem);
    if scalar.lanes == 1 {
        return b.value(arith::ADD, &[start, index], &[]);
    }
    let lanes = b.func.int_attr(i64::from(scalar.lanes));
    if let Some(ramp) = b.func.def_op(index).filter(|&op| b.func.opcode(op) == arith::RAMP) {
        let (base, step) = (b.func.operand(ramp, 0), b.func.operand(ramp, 1));
        let base = b.value(arith::ADD, &[start, base], &[]);
        return b.value(arith::RAMP, &[base, step], &[(keys::LANES, lanes)]);
    }
    let start = b.value(arith::BROADCAST, &[start], &[(keys::LANES, lanes)]);
    b.value(arith::ADD, &[start, index], &[])
}

fn cast(b: &mut Builder<'_>, value: Value, elem: Elem) -> Value {
    if b.func.value_scalar(value).is_none_or(|scalar| scalar.elem == elem) {
        return value;
    }
    let ty = b.func.elem_ty(elem);
    let op = arith::Cast::build(b, value, &[], &[ty]);
    b.func.result(op).unwrap_or(value)
}
