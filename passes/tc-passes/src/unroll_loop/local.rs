//! Loops that index memory that each thread has of its own: copied, they let it lie in registers.

use crate::analysis::invariant::arguments;
use rustc_hash::FxHashSet;
use tc_dialects::scope::Scope;
use tc_dialects::tir;
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Value};

/// The loop variables that an index into such memory is computed from.
pub(super) fn vars(func: &Func) -> FxHashSet<Value> {
    all_ops(func).flat_map(|op| indices(func, op)).flat_map(|index| arguments(func, index)).collect()
}

/// What tells the cells that `op` touches of memory that each thread has of its own.
fn indices(func: &Func, op: Op) -> Vec<Value> {
    let is_local = |place: Value| {
        let root = root_buffer(func, place);
        Scope::of(func, root) == Some(Scope::Local)
    };
    // A reference is computed from its indices.
    let mut found: Vec<Value> =
        accesses(func, op).into_iter().map(|(place, _)| place).filter(|&place| is_local(place)).collect();
    let operands = func.operands(op);
    match func.opcode(op) {
        tir::LOAD if !found.is_empty() => found.extend_from_slice(&operands[1..]),
        tir::STORE if !found.is_empty() => found.extend_from_slice(&operands[1..operands.len() - 1]),
        _ => {}
    }
    found
}
