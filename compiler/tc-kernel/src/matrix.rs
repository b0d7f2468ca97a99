//! What matrix products and asynchronous copies ask of a kernel: a target that has them, whole warps, alignment, and
//! registers that are told by literals.

use crate::facts::Facts;
use tc_dialects::fragment::{Fragment, moved, register_tiles, transfer};
use tc_dialects::threads::{begins_copy, is_warpgroup_barrier};
use tc_dialects::tir::{self, place_type};
use tc_dialects::{gpu, tma, wgmma};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::func::Def;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, TypeData, Value};
use tc_support::{Diagnostic, Diagnostics, counted};
use tc_target::{DType, Target, matrix};

/// The alignment of a tile that `wmma` loads or stores ("CUDA C++ Programming Guide" 12.9, section 10.24: 256 bits).
const TILE_ALIGNMENT: u64 = 32;

/// The alignment of what a thread holds of a tile, so that it is taken by words, and of a row of `ldmatrix`.
const WORDS_ALIGNMENT: u64 = 16;

/// Loops with more iterations are not unrolled for what they index.
const MAX_UNROLLED: i64 = 1024;

/// Finds what the target does not have, each once, and blocks that are not made of whole warps.
pub fn check(func: &Func, facts: &Facts, target: &Target, found: &mut Diagnostics) {
    let mut told = Vec::new();
    let mut is_whole_groups = facts.n_threads().is_multiple_of(matrix::WARPGROUP);
    let mut is_whole = facts.n_threads().is_multiple_of(target.warp_size);
    for op in all_ops(func) {
        let name = func.op_name(op);
        if let Some(feature) = matrix::needs(name, moved(func, op).and_then(|elem| DType::parse(elem.name())))
            && !target.has(feature)
            && !told.contains(&feature)
        {
            told.push(feature);
            let text = format!("`{name}` needs `{feature}`, which `{target}` does not have");
            let mut diagnostic = Diagnostic::error("target-feature", func.op_location(op), text);
            if let Some(first) = Target::first_with(feature) {
                diagnostic = diagnostic.help(format!("compile for `{first}` or newer"));
            }
            found.push(diagnostic);
        }
        if (matrix::takes_warpgroup(name) || is_warpgroup_barrier(func, op)) && !is_whole_groups {
            is_whole_groups = true;
            let text = format!(
                "`{name}` is done by a whole warpgroup, and the block has {}, which no warpgroups of {} make up",
                counted(facts.n_threads(), "thread"),
                matrix::WARPGROUP
            );
            let help = "bind an axis of extent 128 to `threadIdx.x`";
            found.push(Diagnostic::error("whole-warps", func.op_location(op), text).help(help));
        }
        if matrix::takes_warp(name) && !is_whole {
            is_whole = true;
            let text = format!(
                "`{name}` is done by a whole warp, and the block has {}, which no warps of {} make up",
                counted(facts.n_threads(), "thread"),
                target.warp_size
            );
            let help = "bind an axis of extent 32 to `threadIdx.x`";
            found.push(Diagnostic::error("whole-warps", func.op_location(op), text).help(help));
        }
    }
}

/// The alignment that `op` counts on where it accesses `place`, beyond what is declared; 0 if none.
pub fn alignment(func: &Func, op: Op, place: Value) -> u64 {
    let is_fragment = place_type(func, place).is_some_and(|(elem, _, _)| Fragment::of(func, elem).is_some());
    match func.opcode(op) {
        _ if transfer(func, op).is_some() && !is_fragment => TILE_ALIGNMENT,
        wgmma::MMA => crate::warpgroup::alignment(func, op, place).unwrap_or(WORDS_ALIGNMENT),
        _ if tma::is_copy(func, op) && place == tma::sides(func, op)[0] => crate::bulk::alignment(func, op),
        _ if !register_tiles(func, op).is_empty() => WORDS_ALIGNMENT,
        _ if begins_copy(func, op) => {
            gpu::copied_bytes(func, op).and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0)
        }
        _ => 0,
    }
}

/// For each op, whether it is a loop of few iterations whose variable picks registers: fragments, or elements of an array
/// that a matrix op takes.
pub fn register_loops(func: &Func) -> Vec<bool> {
    let mut is_registers = vec![false; func.n_value_ids()];
    for op in all_ops(func) {
        for &place in register_tiles(func, op) {
            is_registers[root_buffer(func, place).as_u32() as usize] = true;
        }
        if let Some(buffer) = func.result(op).filter(|_| func.opcode(op) == tir::ALLOC)
            && crate::facts::fragment_of(func, buffer).is_some()
        {
            is_registers[buffer.as_u32() as usize] = true;
        }
    }
    let mut unrolled = vec![false; func.n_op_ids()];
    let mut seen = vec![false; func.n_value_ids()];
    let mut worklist = Vec::new();
    for op in all_ops(func) {
        for (place, _) in accesses(func, op) {
            if is_registers[root_buffer(func, place).as_u32() as usize] {
                worklist.extend(indices(func, op, place));
            }
        }
    }
    while let Some(value) = worklist.pop() {
        if std::mem::replace(&mut seen[value.as_u32() as usize], true) {
            continue;
        }
        match func.def(value) {
            Def::Arg(region, 0) => {
                let Some(op) = func.region_parent(region).filter(|&op| func.opcode(op) == tir::FOR) else { continue };
                unrolled[op.as_u32() as usize] = is_short(func, op);
            }
            _ => worklist.extend(func.def_op(value).into_iter().flat_map(|op| func.operands(op).iter().copied())),
        }
    }
    unrolled
}

/// The numbers that say which element of `place` the op `op` accesses.
fn indices(func: &Func, op: Op, place: Value) -> Vec<Value> {
    let mut found = Vec::new();
    for reference in crate::place::references(func, place) {
        found.extend(func.operands(reference).iter().skip(1));
    }
    if matches!(func.opcode(op), tir::LOAD | tir::STORE) {
        found.extend(crate::access::index(func, op));
    }
    found.retain(|&value| matches!(func.type_data(func.value_type(value)), TypeData::Scalar(_)));
    found
}

/// Has the loop `op` a constant and small number of iterations?
fn is_short(func: &Func, op: Op) -> bool {
    let bound = |nth| func.const_int(func.operand(op, nth)).map(i128::from);
    bound(0).zip(bound(1)).is_some_and(|(lo, hi)| hi - lo <= i128::from(MAX_UNROLLED))
}
