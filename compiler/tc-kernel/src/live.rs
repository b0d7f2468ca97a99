//! What the ops of a kernel do, and which values anything needs. What nothing needs is left out of a text.

use tc_dialects::tir::LoopKind;
use tc_dialects::{arith, tir};
use tc_ir::opdef::ParamKind;
use tc_ir::{Func, Op, Opcode, Role};

/// Reads memory.
pub const READS: u8 = 1;
/// Writes, synchronises, allocates, or its effect is not known.
pub const ACTS: u8 = 2;

/// For each op, what it and the ops in its regions do: [`READS`] and [`ACTS`]. All ops of `func` are `ops`, in order.
pub fn effects(func: &Func, ops: &[Op]) -> Vec<u8> {
    let mut effects = vec![0; func.n_op_ids()];
    // An op stands before those in its regions, so that backwards they add up.
    for &op in ops.iter().rev() {
        let idx = op.as_u32() as usize;
        effects[idx] |= own_effects(func, op);
        if let Some(parent) = func.parent_op(op) {
            effects[parent.as_u32() as usize] |= effects[idx];
        }
    }
    effects
}

/// What `op` does apart from its regions.
fn own_effects(func: &Func, op: Op) -> u8 {
    let row = func.row(op);
    let mut effects = 0;
    for param in row.params {
        if let ParamKind::Place(access) = param.kind {
            effects |= if access.reads() { READS } else { 0 } | if access.writes() { ACTS } else { 0 };
        }
    }
    let effect = row.effect;
    let acts = effect.synchronises || effect.unknown || effect.convergent || func.opcode(op) == Opcode::UNKNOWN;
    effects | if acts { ACTS } else { 0 }
}

/// Which values are needed, for each one; `effects` is what [`effects`] gives.
pub fn values(func: &Func, ops: &[Op], effects: &[u8]) -> Vec<bool> {
    let mut live = vec![false; func.n_value_ids()];
    // Backwards, all uses of a result come before the op; of an op that has regions, after those.
    for &op in ops.iter().rev() {
        let needed = if func.role(op) == Role::Yield {
            let Some(parent) = func.parent_op(op) else { continue };
            for (nth, &value) in func.operands(op).iter().enumerate() {
                live[value.as_u32() as usize] |= carries(func, parent, nth, &live);
            }
            continue;
        } else {
            effects[op.as_u32() as usize] & ACTS != 0 || func.results(op).any(|value| live[value.as_u32() as usize])
        };
        if !needed {
            continue;
        }
        let n_fixed = if func.opcode(op) == tir::FOR { 2 } else { usize::MAX };
        for (nth, &operand) in func.operands(op).iter().enumerate() {
            let needed =
                if nth < n_fixed { is_printed(func, op, nth) } else { carries(func, op, nth - n_fixed, &live) };
            live[operand.as_u32() as usize] |= needed;
        }
        if func.opcode(op) == tir::FOR && !matches!(tir::loop_kind(func, op), Some(LoopKind::Launch(_))) {
            // The variable counts.
            if let Some(&var) = func.region_args(func.op_regions(op)[0]).first() {
                live[var.as_u32() as usize] = true;
            }
        }
    }
    live
}

/// Is operand number `nth` of `op` printed where it is used? The numbers of a launch and of a ramp are not.
fn is_printed(func: &Func, op: Op, nth: usize) -> bool {
    match func.opcode(op) {
        tir::FOR => !matches!(tir::loop_kind(func, op), Some(LoopKind::Launch(_))),
        arith::RAMP => nth == 0 || func.const_int(func.operand(op, 1)).is_none(),
        _ => true,
    }
}

/// Is the `nth` value that `op`, a loop or conditional, hands on needed?
fn carries(func: &Func, op: Op, nth: usize, live: &[bool]) -> bool {
    let result = func.results(op).nth(nth).is_some_and(|value| live[value.as_u32() as usize]);
    // Within a loop, a use that itself is not needed is rare; it costs a variable.
    result
        || (func.opcode(op) == tir::FOR
            && func.region_args(func.op_regions(op)[0]).get(nth + 1).is_some_and(|&arg| func.n_uses(arg) > 0))
}
