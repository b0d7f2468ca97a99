//! How many registers a thread takes, about: an assembler may find a few more or less.

use tc_dialects::{mma, tir, wmma};
use tc_ir::effects::root_buffer;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Value};
use tc_kernel::residency;
use tc_target::Target;

/// Registers for positions, addresses and values on their way.
const OTHERS: u64 = 24;
/// Registers are given to a thread in units of so many.
const UNIT: u64 = 8;

/// The registers of a thread of `func`.
pub(crate) fn estimate(func: &Func, target: &Target) -> u64 {
    let ops: Vec<Op> = all_ops(func).collect();
    if ops.iter().any(|&op| matches!(func.opcode(op), mma::SYNC | wmma::MMA)) {
        return residency::registers_of_thread(func, target);
    }
    let mut held = vec![false; func.n_value_ids()];
    for &op in ops.iter().filter(|&&op| func.opcode(op) == tir::STORE) {
        // A copy of what is loaded goes where it is used, one value at a time.
        let is_copy = func.operands(op).last().is_some_and(|&value| is_loaded(func, value));
        held[root_buffer(func, func.operand(op, 0)).as_u32() as usize] |= !is_copy;
    }
    let is_held = |op: &&Op| func.result(**op).is_some_and(|buffer| held[buffer.as_u32() as usize]);
    let all = ops.iter().filter(is_held).map(|&op| residency::registers(func, op)).fold(OTHERS, u64::saturating_add);
    all.checked_next_multiple_of(UNIT).unwrap_or(u64::MAX).min(target.registers_per_thread)
}

fn is_loaded(func: &Func, value: Value) -> bool {
    func.def_op(value).is_some_and(|op| matches!(func.opcode(op), tir::LOAD | tir::IF))
}
