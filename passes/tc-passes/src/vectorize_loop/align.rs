//! What is known of where vector accesses start.

use crate::analysis::places::walk_places;
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::scope::Scope;
use tc_dialects::{arith, tir};
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Op, Rewriter, Scalar, TypeData, Value, keys};
use tc_pass::PassCx;
use tc_support::Diagnostic;

/// The most that an access can count on, and what buffers have where they say nothing.
const MOST: u64 = 16;

/// Declares the alignment of vector accesses as far as it can be proved; gives their number.
pub(super) fn declare(func: &mut Func, cx: &mut PassCx) -> u64 {
    if !all_ops(func).any(|op| neighbours(func, op).is_some()) {
        return 0;
    }
    let mut found: Vec<(Op, u64)> = Vec::new();
    walk_places(func, |places, op| {
        let Some((base, elem)) = neighbours(func, op) else { return };
        let aligned = proved(func, places.algebra(), op, base, elem);
        let declared = func.int_of(op, keys::ALIGNED).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0);
        if aligned >= 2 * u64::from(elem.bytes()) && aligned > declared {
            found.push((op, aligned));
        }
        let aligned = aligned.max(declared);
        // A vector of what a thread keeps to itself is numbers in registers.
        let is_own = Scope::of(func, func.operand(op, 0)) == Some(Scope::Local);
        if aligned < whole(func, op, elem) && !is_own {
            cx.missed(|| unaligned(func, places.algebra(), op, (base, elem), aligned));
        }
    });
    let n = found.len() as u64;
    for (op, aligned) in found {
        raise(func, op, aligned);
    }
    n
}

/// The first index of an access to neighbours in a flat buffer, and the type of the vector's elements.
fn neighbours(func: &Func, op: Op) -> Option<(Value, Scalar)> {
    if !matches!(func.opcode(op), tir::LOAD | tir::STORE) {
        return None;
    }
    let buffer = func.operand(op, 0);
    let TypeData::Shaped { elem, shape, .. } = func.type_data(func.value_type(buffer)) else { return None };
    if shape.len() != 1 || func.buffer_attr(buffer, keys::STRIDES).is_some() {
        return None;
    }
    let ramp = func.def_op(func.operand(op, 1)).filter(|&def| func.opcode(def) == arith::RAMP)?;
    let by_one = func.const_int(func.operand(ramp, 1)) == Some(1);
    let elem = func.as_scalar(*elem).filter(|elem| elem.lanes == 1)?;
    by_one.then(|| (func.operand(ramp, 0), elem))
}

/// The bytes of all lanes of the access, as far as alignment counts.
fn whole(func: &Func, op: Op, elem: Scalar) -> u64 {
    let value = if func.opcode(op) == tir::STORE { func.operands(op).last().copied() } else { func.result(op) };
    let lanes = value.and_then(|value| func.value_scalar(value)).map_or(1, |scalar| u64::from(scalar.lanes));
    power_of(lanes * u64::from(elem.bytes()))
}

/// What is reported of an access whose lanes are not known to lie in one piece.
fn unaligned(func: &Func, algebra: &mut Algebra, op: Op, (base, elem): (Value, Scalar), aligned: u64) -> Diagnostic {
    let (name, all) = (func.value_text(func.operand(op, 0)), whole(func, op, elem));
    let known = power_of(aligned.max(u64::from(elem.bytes())));
    let text = format!(
        "a vector of `{name}` is only known to start at a multiple of {known} bytes, and would have to at one of {all}"
    );
    let (bytes, at) = (elem.bytes(), algebra.expr(func, base));
    let found = Diagnostic::remark("unaligned", func.op_location(op), text);
    let found = found.note(format!("it starts at element `{}`, of {bytes} bytes each", algebra.text(at)));
    if of_buffer(func, func.operand(op, 0)) < all {
        return found.help(format!("declare that the buffer is aligned: `align = {all}`"));
    }
    found.help(format!("make its rows multiples of {} elements, or vectorize by fewer", all / u64::from(bytes.max(1))))
}

/// The power of two, in bytes, that the access is sure to start at a multiple of.
fn proved(func: &Func, algebra: &mut Algebra, op: Op, base: Value, elem: Scalar) -> u64 {
    let base = algebra.expr(func, base);
    let bytes = u64::from(elem.bytes());
    let lanes = func.value_scalar(func.operand(op, 1)).map_or(1, |scalar| u64::from(scalar.lanes));
    let most = power_of(bytes * lanes).min(of_buffer(func, func.operand(op, 0)));
    let plain = step_of(algebra, base).saturating_mul(bytes).min(most);
    if plain >= most {
        return plain;
    }
    let simple = algebra.analyzer.simplify(base);
    plain.max(step_of(algebra, simple).saturating_mul(bytes).min(most))
}

/// The power of two that divides every value of `expr`.
fn step_of(algebra: &mut Algebra, expr: Expr) -> u64 {
    let set = algebra.analyzer.modular(expr);
    power_of(set.coeff().unsigned_abs()).min(power_of(set.base().unsigned_abs()))
}

/// The largest power of two that divides `value`, at most 16: zero is a multiple of all.
fn power_of(value: u64) -> u64 {
    1 << value.trailing_zeros().min(MOST.trailing_zeros())
}

/// The alignment of a buffer. That of an alloc can be raised, that of a parameter is as declared.
fn of_buffer(func: &Func, buffer: Value) -> u64 {
    match func.def_op(buffer) {
        Some(op) if func.opcode(op) == tir::ALLOC => MOST,
        // Of a part of a buffer nothing is known.
        Some(_) => 1,
        None => declared(func, buffer).unwrap_or(MOST),
    }
}

fn declared(func: &Func, buffer: Value) -> Option<u64> {
    let align = func.buffer_attr(buffer, keys::ALIGN)?;
    func.as_int(align).and_then(|align| u64::try_from(align).ok())
}

/// Declares that `op` starts at a multiple of `aligned`, and sees to it that its buffer does.
fn raise(func: &mut Func, op: Op, aligned: u64) {
    let value = func.attr(AttrData::Int(aligned.into(), None));
    let buffer = func.operand(op, 0);
    let too_low = declared(func, buffer).is_some_and(|align| align < aligned);
    let mut rw = Rewriter::new(func);
    rw.set_attr(op, keys::ALIGNED, value);
    if let Some(alloc) = rw.func().def_op(buffer).filter(|_| too_low) {
        rw.set_attr(alloc, keys::ALIGN, value);
    }
}
