//! Loads of conditions that are the same in all iterations of a loop, such as the length of a row, before the loop.

use crate::analysis::invariant::movable_inputs;
use crate::analysis::overflow::runs_with;
use indexmap::IndexSet;
use tc_dialects::tir;
use tc_ir::verify::has_flag;
use tc_ir::walk::{is_inside, ops_under};
use tc_ir::{Func, Op, Rewriter, Value, effects, keys};

/// Moves before the loop `op` the loads that `conditions` are computed from, where they certainly run, and nothing in the loop
/// changes what they read. Returns whether there was one.
pub(super) fn hoist(func: &mut Func, op: Op, conditions: &[Value]) -> bool {
    let loads: Vec<Op> = loads_of(func, op, conditions);
    let mut changed = false;
    for load in loads {
        let indices = func.operands(load)[1..].to_vec();
        let inputs: Option<Vec<Vec<Op>>> = indices.iter().map(|&index| movable_inputs(func, index, op)).collect();
        let Some(inputs) =
            inputs.filter(|_| runs_with(func, load, op) && is_unchanged(func, op, func.operand(load, 0)))
        else {
            continue;
        };
        let mut rw = Rewriter::new(func);
        for inner in inputs.into_iter().flatten().collect::<IndexSet<Op>>().into_iter().chain([load]) {
            rw.move_before(inner, op);
        }
        changed = true;
    }
    changed
}

/// The loads in the loop that the values are computed from.
fn loads_of(func: &Func, op: Op, conditions: &[Value]) -> Vec<Op> {
    let mut found: IndexSet<Op> = IndexSet::new();
    let mut worklist: Vec<Op> = conditions.iter().filter_map(|&value| func.def_op(value)).collect();
    let mut seen: IndexSet<Op> = IndexSet::new();
    while let Some(def) = worklist.pop() {
        if !is_inside(func, def, op) || !seen.insert(def) {
            continue;
        }
        if func.opcode(def) == tir::LOAD {
            found.insert(def);
        }
        worklist.extend(func.operands(def).iter().filter_map(|&value| func.def_op(value)));
    }
    found.into_iter().collect()
}

/// Does nothing in the loop write the buffer?
fn is_unchanged(func: &Func, op: Op, buffer: Value) -> bool {
    let root = effects::root_buffer(func, buffer);
    let is_param = |value: Value| func.def_op(value).is_none();
    let may_be_one = |other: Value| {
        other == root || (is_param(other) && is_param(root) && !has_flag(func, func.header.attrs, keys::NOALIAS))
    };
    !ops_under(func, func.op_regions(op)[0]).any(|inner| {
        let writes = |&(place, access): &(Value, tc_ir::opdef::Access)| {
            access.writes() && may_be_one(effects::root_buffer(func, place))
        };
        effects::own(func, inner).unknown || effects::accesses(func, inner).iter().any(writes)
    })
}
