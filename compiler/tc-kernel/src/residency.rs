//! How many blocks of a kernel of matrix products can be on one multiprocessor at a time.
//!
//! The compiler of CUDA gives a thread few registers where more blocks would find room then, though shared memory may
//! leave no room for them anyway, and loads of the next tiles find no registers to go to. The second number of
//! `__launch_bounds__` tells it how many blocks there will be.

use crate::facts::Facts;
use tc_dialects::fragment::{Fragment, per_lane};
use tc_dialects::{gpu, mma, tir, wgmma, wmma};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op};
use tc_target::Target;

/// Registers of a thread beside those that hold its part of tiles: positions, and loads that are outstanding.
const OTHER_REGISTERS: u64 = 64;

/// How many blocks fit, by shared memory and by the registers that tiles take; `None` for a kernel without matrix products.
/// One whose warps hand registers to one another has all of a multiprocessor: the assembler must know how many there are.
pub fn resident_blocks(func: &Func, facts: &Facts, target: &Target) -> Option<u64> {
    if all_ops(func).any(|op| func.opcode(op) == gpu::SETMAXNREG) {
        return Some(1);
    }
    if !all_ops(func).any(|op| matches!(func.opcode(op), mma::SYNC | wmma::MMA | wgmma::MMA)) {
        return None;
    }
    let registers = registers_of_thread(func, target);
    let by_registers = target.registers_per_block / registers.saturating_mul(facts.n_threads()).max(1);
    let shared = facts.static_shared.saturating_add(facts.dynamic_shared);
    let by_shared = target.shared_per_sm / shared.saturating_add(target.reserved_shared_per_block).max(1);
    Some(by_registers.min(by_shared).clamp(1, target.blocks_per_sm.max(1)))
}

/// The registers of a thread, by what its buffers take; an assembler may find a few more or less.
pub fn registers_of_thread(func: &Func, target: &Target) -> u64 {
    let held = all_ops(func).fold(0u64, |sum, op| sum.saturating_add(registers(func, op)));
    // Results of warpgroups are converted and placed while their sums are still held: with fewer registers the assembler
    // lets each product wait for the one before (its message C7512).
    let of_results = if all_ops(func).any(|op| func.opcode(op) == wgmma::MMA) { held / 4 } else { 0 };
    held.saturating_add(OTHER_REGISTERS + of_results).min(target.registers_per_thread)
}

/// The registers of a thread that the buffer made by `op` takes, if that lies in registers.
pub fn registers(func: &Func, op: Op) -> u64 {
    let Some((elem, shape, Some(scope))) = func
        .result(op)
        .filter(|_| func.opcode(op) == tir::ALLOC)
        .and_then(|buffer| func.as_shaped(func.value_type(buffer)))
    else {
        return 0;
    };
    let count = shape.iter().try_fold(1i64, |product, &extent| product.checked_mul(func.as_int(extent)?));
    let bytes = match Fragment::of(func, elem) {
        Some(fragment) => {
            let (rows, cols) = fragment.extents();
            rows.checked_mul(cols).map(|elements| per_lane(elements).saturating_mul(fragment.elem.bytes().into()))
        }
        None if func.text(scope) == "local" => func.as_scalar(elem).map(|scalar| scalar.bytes().into()),
        None => None,
    };
    let bytes = count.zip(bytes).and_then(|(count, bytes)| u64::try_from(count.checked_mul(bytes)?).ok());
    bytes.unwrap_or(0).div_ceil(4)
}
