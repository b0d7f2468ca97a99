//! A statement of a loop as a loop of its own.

use super::launch::loop_var;
use super::variance::Variance;
use tc_dialects::tir;
use tc_ir::clone::{ValueMap, clone_op};
use tc_ir::walk::ops_under;
use tc_ir::{Attr, Builder, Func, Name, Op, Value};

/// Makes `group`, one of the groups of the loop `of`, anew as a serial loop over the same range, before its last op. What
/// it is computed from is computed again inside; that must be possible.
pub(crate) fn as_loop(func: &mut Func, of: Op, group: &[Op], variance: &Variance, attrs: &[(Name, Attr)]) {
    let Some(&anchor) = group.last() else { return };
    let (lo, hi, var) = (func.operand(of, 0), func.operand(of, 1), loop_var(func, of));
    let mut b = Builder::before(func, anchor);
    let new = tir::For::build(&mut b, lo, hi, &[], attrs, &[]);
    let region = b.func.op_regions(new)[0];
    let (ty, name) = (b.func.value_type(var), b.func.value_name(var));
    let own = b.arg(region, ty, None);
    b.func.set_value_name(own, name);
    let mut map = ValueMap::default();
    map.insert(var, own);
    b.within(region, |b| {
        for &op in group {
            compute_inputs(b, op, group, variance, &mut map);
            clone_op(b, op, &mut map);
        }
    });
}

/// Clones what `op` and the ops under it use of the loop-variant values outside the group.
fn compute_inputs(b: &mut Builder<'_>, op: Op, group: &[Op], variance: &Variance, map: &mut ValueMap) {
    let mut under: Vec<Op> = vec![op];
    under.extend(b.func.op_regions(op).iter().flat_map(|&region| ops_under(b.func, region)));
    let wanted = |func: &Func, value: Value, map: &ValueMap| {
        let def = func.def_op(value)?;
        (variance.op(def) && !under.contains(&def) && !group.contains(&def) && !map.contains_key(&value)).then_some(def)
    };
    for &user in &under {
        let mut worklist: Vec<Op> = Vec::new();
        for nth in 0..b.func.operands(user).len() {
            worklist.extend(wanted(b.func, b.func.operand(user, nth), map));
        }
        while let Some(&def) = worklist.last() {
            if b.func.results(def).all(|result| map.contains_key(&result)) {
                worklist.pop();
                continue;
            }
            let inputs: Vec<Op> = b.func.operands(def).iter().filter_map(|&value| wanted(b.func, value, map)).collect();
            if inputs.is_empty() {
                clone_op(b, def, map);
                worklist.pop();
            } else {
                worklist.extend(inputs);
            }
        }
    }
}
