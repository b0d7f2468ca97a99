//! Tensors of an operator into their readers: which can go there, and what is written in the place of a read.

use super::fold;
use tc_dialects::te::{self, Compute, top_reduce};
use tc_ir::clone::{ValueMap, clone_op};
use tc_ir::opdef::Role;
use tc_ir::uses::{Use, Uses};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter, Value, effects};
use tc_schedule::inline_into_consumers;

/// Why the tensors of `op` cannot be inlined.
pub(crate) fn obstacle(func: &Func, op: Op) -> Option<&'static str> {
    if top_reduce(func, Compute(op)).is_some() {
        return Some("is a reduction, which is not computed anew at each read");
    }
    if func.n_results(op) != 1 {
        return Some("is computed together with others");
    }
    if func.operands(op).chunks(2).any(|bounds| func.const_int(bounds[0]) != Some(0)) {
        return Some("does not start at 0");
    }
    let uses = Uses::of(func);
    let users = || func.results(op).flat_map(|value| uses.of_value(value)).copied().collect::<Vec<Use>>();
    let is_read = |user: &Use| func.opcode(user.op) == te::READ && user.idx == 0;
    if !users().iter().all(is_read) {
        return Some("is returned, or used as a whole");
    }
    None
}

/// Puts what `op` computes in the place of each read of its tensor, and takes it out; `false` where that would make the
/// operator too large.
pub(crate) fn into_reads(func: &mut Func, op: Op) -> bool {
    let new = fold::mark(func);
    let done = inline_into_consumers(func, op).is_some();
    if done {
        write_out(func, new);
    }
    done
}

/// Writes out each unnamed index expression that new ops share: what a tensor is computed from is one expression.
fn write_out(func: &mut Func, new: fold::Mark) {
    let users: Vec<Op> = all_ops(func).filter(|&op| new.is_new(op)).collect();
    let mut rw = Rewriter::new(func);
    let mut shared = Vec::new();
    for user in users {
        for idx in 0..rw.func().operands(user).len() {
            let value = rw.func().operand(user, idx);
            let Some(def) = rw.func().def_op(value).filter(|&def| is_arithmetic(rw.func(), def)) else { continue };
            if rw.func().n_uses(value) > 1 || rw.func().region_of(def) != rw.func().region_of(user) {
                let copy = copy_tree(&mut rw, user, value);
                rw.set_operand(user, idx, copy);
                shared.push(value);
            }
        }
    }
    for value in shared {
        erase_tree(&mut rw, value);
    }
}

/// Takes out the arithmetic behind `value` as far as nothing uses it.
fn erase_tree(rw: &mut Rewriter<'_>, value: Value) {
    let mut worklist = vec![value];
    while let Some(value) = worklist.pop() {
        let def = rw.func().def_op(value).filter(|&def| rw.func().region_of(def).is_some());
        let Some(def) = def.filter(|&def| is_arithmetic(rw.func(), def)) else { continue };
        if rw.func().n_uses(value) == 0 {
            worklist.extend_from_slice(rw.func().operands(def));
            rw.erase(def);
        }
    }
}

/// Copies the arithmetic behind `value` to stand before `place`. Index expressions are written by hand and so not deep.
fn copy_tree(rw: &mut Rewriter<'_>, place: Op, value: Value) -> Value {
    let Some(def) = rw.func().def_op(value).filter(|&def| is_arithmetic(rw.func(), def)) else { return value };
    let operands = rw.func().operands(def).to_vec();
    let mut map = ValueMap::default();
    for operand in operands {
        let copy = copy_tree(rw, place, operand);
        map.insert(operand, copy);
    }
    clone_op(&mut rw.before(place), def, &mut map);
    map[&value]
}

/// Unnamed arithmetic; what has a name stays one value.
fn is_arithmetic(func: &Func, op: Op) -> bool {
    let unnamed = func.results(op).all(|value| func.value_name(value).is_none());
    let pure = func.op_regions(op).is_empty() && effects::summary(func, op).is_pure();
    unnamed && pure && func.n_results(op) == 1 && func.role(op) != Role::Load
}
