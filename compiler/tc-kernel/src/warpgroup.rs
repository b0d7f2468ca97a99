//! What products of a warpgroup ask of a kernel, whoever writes it.

use crate::bulk::literal_start;
use crate::facts::Facts;
use tc_dialects::algebra::const_extent;
use tc_dialects::fragment::register_tiles;
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_dialects::wgmma::{self, Descriptor, Side};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::walk::{all_ops, ancestors, ops_under};
use tc_ir::{Func, Op, Region, Value};
use tc_support::{Diagnostic, Diagnostics};

/// Threads of a warp.
const WARP: u64 = 32;

/// The alignment that the product `op` counts on where it reads `place` in memory; `None` for what is in registers.
pub fn alignment(func: &Func, op: Op, place: Value) -> Option<u64> {
    let in_memory = |side: &Side| *side == Side::B || !wgmma::left_in_registers(func, op);
    let side =
        [Side::A, Side::B].into_iter().filter(in_memory).find(|side| func.operand(op, side.operand()) == place)?;
    let alignment = side.descriptor(func, op).map_or(0, Descriptor::alignment);
    u64::try_from(alignment).ok()
}

/// The arrays of a thread that hold the sums of the products of `func`, and left factors in registers, each once.
pub fn arrays(func: &Func) -> Vec<Value> {
    let mut found = Vec::new();
    for op in all_ops(func).filter(|&op| func.opcode(op) == wgmma::MMA) {
        for &place in register_tiles(func, op) {
            let root = root_buffer(func, place);
            if !found.contains(&root) {
                found.push(root);
            }
        }
    }
    found
}

/// Those of [`arrays`] that are declared in a region around `op`.
pub fn arrays_in_sight(func: &Func, op: Op) -> Vec<Value> {
    let around: Vec<Region> =
        std::iter::once(op).chain(ancestors(func, op)).filter_map(|op| func.region_of(op)).collect();
    let is_in_sight = |&buffer: &Value| {
        func.def_op(buffer).and_then(|made| func.region_of(made)).is_some_and(|region| around.contains(&region))
    };
    arrays(func).into_iter().filter(is_in_sight).collect()
}

/// Is `coordinate`, the variable of the launch loop `op`, one number for a warp, where all threads of it are and warpgroups
/// multiply? The assembler does not see that it is; what products of warpgroups are computed of it would stand in registers of
/// each thread, and be moved to those of the warp for each product. So it is read from the first lane.
pub fn is_told_uniform(func: &Func, facts: &Facts, op: Op, coordinate: Coordinate) -> bool {
    let rows = coordinate.is_thread() && coordinate.dim() > 0;
    let launches = |op: Op| matches!(tir::loop_kind(func, op), Some(LoopKind::Launch(_)));
    rows && facts.block[0].is_multiple_of(WARP)
        && ancestors(func, op).all(launches)
        && all_ops(func).any(|op| func.opcode(op) == wgmma::MMA)
}

/// Finds what keeps `op` from being written.
pub fn check(func: &Func, op: Op, found: &mut Diagnostics) {
    if func.opcode(op) != wgmma::MMA {
        return;
    }
    if let Some(loop_op) = overwritten(func, op) {
        let name = func.value_text(root_buffer(func, func.operand(op, Side::A.operand())));
        let text = format!(
            "the left factor `{name}` of 8-bit numbers lies in registers and is the same in all iterations of a loop: ptxas 12.9 and \
             13.0 overwrite it in the first"
        );
        let help = "bring it to shared memory, and let the product read it there; or write it anew in each iteration";
        let found_here = Diagnostic::error("no-emitter", func.op_location(op), text).help(help);
        found.push(found_here.label(func.op_location(loop_op), "the loop"));
    }
    for side in [Side::A, Side::B] {
        let place = func.operand(op, side.operand());
        // A factor without one is a region of two dimensions, of which the form `device` has said so.
        let Some(descriptor) = side.descriptor(func, op) else { continue };
        let name = func.value_text(root_buffer(func, place));
        // Steps of k may start within the first row of a pattern, and nothing further on: the hardware counts rows from
        // the address.
        let within = |at: &i128| at.rem_euclid(i128::from(descriptor.alignment())) < i128::from(descriptor.row());
        if let Some(at) = literal_start(func, place).filter(|at| descriptor.swizzle > 0 && !within(at)) {
            let text = format!("the factor starts at byte {at} of `{name}`, inside a pattern of its swizzle");
            let help = format!("start at a multiple of {} bytes, or within the row there", descriptor.alignment());
            found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
        }
    }
}

/// The loop in order around the product `op` in which its left factor of 8-bit numbers in registers is not written: the registers are
/// taken for others in its first iteration. Seen of `QGMMA` in the machine code of ptxas 12.9 and 13.0 for sm_90a, and not of `HGMMA`;
/// products of integers of 8 bits were not looked at, and count as affected.
fn overwritten(func: &Func, op: Op) -> Option<Op> {
    if !wgmma::left_in_registers(func, op) {
        return None;
    }
    let left = root_buffer(func, func.operand(op, Side::A.operand()));
    let (elem, ..) = func.as_shaped(func.value_type(left))?;
    if func.as_scalar(elem)?.bytes() != 1 {
        return None;
    }
    let is_loop = |outer: &Op| {
        func.opcode(*outer) == tir::FOR
            && tir::loop_kind(func, *outer) == Some(LoopKind::Serial)
            && const_extent(func, *outer) != Some(1)
    };
    let loop_op = ancestors(func, op).find(is_loop)?;
    let writes = |inner: Op| {
        accesses(func, inner).into_iter().any(|(place, access)| access.writes() && root_buffer(func, place) == left)
    };
    let is_written = ops_under(func, func.op_regions(loop_op)[0]).any(writes);
    (!is_written).then_some(loop_op)
}
