//! Local buffers of narrow floats that hold f32 instead.

use crate::analysis::numbers::{cast, widened};
use rustc_hash::FxHashMap;
use tc_dialects::scope::Scope;
use tc_dialects::{arith, tir};
use tc_ir::uses::Uses;
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Func, Op, Rewriter, Scalar, TypeData, Value};
use tc_pass::PassCx;
use tc_support::Diagnostic;

/// A buffer to be widened, and all that is done with it.
pub(super) struct Buffer {
    buffer: Value,
    /// Its type of element, before.
    elem: Elem,
    loads: Vec<Op>,
    stores: Vec<Op>,
}

/// The buffers that may be widened: in `local`, read and written element by element and in no other way, and something
/// that is computed is stored to them.
pub(super) fn find(func: &Func, cx: &mut PassCx) -> Vec<Buffer> {
    let allocs: Vec<(Value, Elem)> = all_ops(func)
        .filter(|&op| func.opcode(op) == tir::ALLOC)
        .filter_map(|op| func.result(op))
        .filter_map(|buffer| narrow_local(func, buffer).map(|elem| (buffer, elem)))
        .collect();
    if allocs.is_empty() {
        return Vec::new();
    }
    let uses = cx.analysis::<Uses>(func);
    let mut found = Vec::new();
    for (buffer, elem) in allocs {
        match accesses(func, &uses, buffer, elem) {
            Ok(widened) => found.push(widened),
            Err(user) => cx.missed(|| stays_narrow(func, buffer, elem, user)),
        }
    }
    found
}

/// What is reported of a buffer that is not widened, for what `user` does with it or for what nothing does.
fn stays_narrow(func: &Func, buffer: Value, elem: Elem, user: Option<Op>) -> Diagnostic {
    let (name, elem) = (func.value_text(buffer), elem.name());
    let reason = match user {
        Some(_) => "it is used otherwise than element by element",
        None => "nothing that is computed is stored to it",
    };
    let at = func.def_op(buffer).map_or(func.location(func.header.loc), |op| func.op_location(op));
    let found = Diagnostic::remark("not-widened", at, format!("`{name}` stays a buffer of `{elem}`: {reason}"));
    match user {
        Some(user) => found.label(func.op_location(user), "here").help("run the pass before loops are vectorized"),
        None => found.note("what is only copied is exact in the narrow type"),
    }
}

fn narrow_local(func: &Func, buffer: Value) -> Option<Elem> {
    let (elem, _, scope) = func.as_shaped(func.value_type(buffer))?;
    let is_narrow = |elem: Elem| elem.is_small_float() && elem.is_stored();
    let scalar = func.as_scalar(elem).filter(|scalar| scalar.lanes == 1 && is_narrow(scalar.elem))?;
    (Scope::of_name(func, scope) == Some(Scope::Local)).then_some(scalar.elem)
}

/// All that is done with `buffer`, if it may be widened; otherwise an op that keeps it from that, if it is one.
fn accesses(func: &Func, uses: &Uses, buffer: Value, elem: Elem) -> Result<Buffer, Option<Op>> {
    let (mut loads, mut stores) = (Vec::new(), Vec::new());
    let is_one = |value: Value| func.value_scalar(value) == Some(Scalar::of(elem));
    let mut computes = false;
    for found in uses.of_value(buffer) {
        let op = found.op;
        match func.opcode(op) {
            tir::LOAD if found.idx == 0 && func.result(op).is_some_and(is_one) => loads.push(op),
            tir::STORE if found.idx == 0 && func.operands(op).last().copied().is_some_and(is_one) => {
                computes |= func.operands(op).last().is_some_and(|&value| is_computed(func, value));
                stores.push(op);
            }
            _ => return Err(Some(op)),
        }
    }
    if computes { Ok(Buffer { buffer, elem, loads, stores }) } else { Err(None) }
}

/// Is `value` the result of arithmetic, and not only read or literal?
fn is_computed(func: &Func, value: Value) -> bool {
    func.def_op(value).is_some_and(|op| super::is_arithmetic(func.opcode(op)) || func.opcode(op) == arith::CAST)
}

/// Widens `buffers`, in a function whose arithmetic is promoted.
pub(super) fn apply(func: &mut Func, buffers: &[Buffer]) {
    let wide = func.elem_ty(Elem::F32);
    let mut rw = Rewriter::new(func);
    // Casts to the narrow type, which may be without users in the end.
    let mut roundings = Vec::new();
    for buffer in buffers {
        retype(&mut rw, buffer.buffer);
        roundings.extend(buffer.stores.iter().filter_map(|&store| store_unrounded(&mut rw, store)));
    }
    let mut reads: FxHashMap<Value, Value> = FxHashMap::default();
    for buffer in buffers {
        for &load in &buffer.loads {
            let operands = rw.func().operands(load).to_vec();
            let attrs = rw.func().entries(rw.func().op_attrs(load)).to_vec();
            let mut b = rw.before(load);
            let value = b.value(tir::LOAD, &operands, &attrs);
            let rounded = cast(&mut b, value, Scalar::of(buffer.elem));
            rw.replace_op(load, &[rounded]);
            roundings.extend(rw.func().def_op(rounded));
            reads.insert(rounded, value);
        }
    }
    drop(rw);
    // What was read and cast to f32 again is what the buffer holds.
    let casts: Vec<Op> = all_ops(func).filter(|&op| func.opcode(op) == arith::CAST).collect();
    let mut rw = Rewriter::new(func);
    for op in casts {
        let is_wide = rw.func().result(op).is_some_and(|result| rw.func().value_type(result) == wide);
        if let Some(&value) = reads.get(&rw.func().operand(op, 0)).filter(|_| is_wide) {
            rw.replace_op(op, &[value]);
        }
    }
    roundings.sort_unstable();
    roundings.dedup();
    for op in roundings {
        if rw.func().result(op).is_some_and(|result| rw.func().n_uses(result) == 0) {
            rw.erase(op);
        }
    }
}

/// Lets `buffer` hold f32.
fn retype(rw: &mut Rewriter<'_>, buffer: Value) {
    let func = rw.func_mut();
    let Some((_, shape, scope)) = func.as_shaped(func.value_type(buffer)) else { return };
    let shape = shape.into();
    let elem = func.elem_ty(Elem::F32);
    let ty = func.ty(TypeData::Shaped { elem, shape, scope });
    rw.set_type(buffer, ty);
}

/// Lets `store` store what its value was rounded from, and gives the op that rounded it.
fn store_unrounded(rw: &mut Rewriter<'_>, store: Op) -> Option<Op> {
    let last = rw.func().operands(store).len() - 1;
    let value = rw.func().operand(store, last);
    let rounding = rounding(rw.func(), value);
    let wide = match rounding {
        Some(op) => rw.func().operand(op, 0),
        None => widened(&mut rw.before(store), value, Elem::F32),
    };
    rw.set_operand(store, last, wide);
    rounding
}

/// The op that made `value` of an f32.
fn rounding(func: &Func, value: Value) -> Option<Op> {
    let op = func.def_op(value).filter(|&op| func.opcode(op) == arith::CAST)?;
    (func.value_scalar(func.operand(op, 0)) == Some(Scalar::of(Elem::F32))).then_some(op)
}
