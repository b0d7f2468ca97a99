//! What matrix products and asynchronous copies ask of the target and of the launch.

use super::blamed;
use crate::analysis::launch::{Extent, Nest};
use indexmap::IndexMap;
use rustc_hash::FxHashSet;
use tc_dialects::fragment::{Fragment, moved, per_lane, per_thread, register_tiles, scope_use};
use tc_dialects::gpu;
use tc_dialects::threads::is_warpgroup_barrier;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::effects::root_buffer;
use tc_ir::{Func, Op, Value, keys};
use tc_support::{Diagnostic, counted};
use tc_target::{DType, Feature, Target, matrix};

/// All diagnostics about the nest `nest`.
pub(super) fn check(func: &Func, nest: &Nest, target: &Target) -> Vec<Diagnostic> {
    let ops: Vec<Op> = nest.ops(func).collect();
    let mut found = features(func, &ops, target);
    found.extend(warps(func, &ops, nest, target));
    found.extend(warpgroups(func, &ops, nest));
    found.extend(registers(func, &ops, nest, target));
    found
}

/// What the target does not have, each once, where a directive first asks for it, or else where it is first used.
fn features(func: &Func, ops: &[Op], target: &Target) -> Vec<Diagnostic> {
    let mut lacking: IndexMap<Feature, Op> = IndexMap::new();
    let is_asked = |op: Op| !func.op_locs(op).directive.is_none();
    for &op in ops {
        let elem = moved(func, op).and_then(|elem| DType::parse(elem.name()));
        let needed = matrix::needs(func.op_name(op), elem).filter(|&feature| !target.has(feature));
        let Some(feature) = needed else { continue };
        let first = lacking.entry(feature).or_insert(op);
        if !is_asked(*first) && is_asked(op) {
            *first = op;
        }
    }
    let mut found = Vec::new();
    for (feature, op) in lacking {
        let text = format!("`{}` needs `{feature}`, which `{target}` does not have", func.op_name(op));
        let mut diagnostic = Diagnostic::error("target-feature", func.asked_location(op), text);
        if let Some(first) = Target::first_with(feature) {
            diagnostic = diagnostic.help(format!("compile for `{first}` or newer, or leave it out"));
        }
        found.push(diagnostic);
    }
    found
}

/// A warp is what `threadIdx.x` numbers: with another extent some warp would hold threads of two rows, or too few.
fn warps(func: &Func, ops: &[Op], nest: &Nest, target: &Target) -> Option<Diagnostic> {
    let op = *ops.iter().find(|&&op| matrix::takes_warp(func.op_name(op)))?;
    let name = func.op_name(op);
    let runs = match nest.extents[Coordinate::ThreadX.index()] {
        Extent::Const(extent) if u64::try_from(extent) == Ok(target.warp_size) => return None,
        Extent::Const(extent) => format!("runs to {extent}"),
        Extent::One => "is not bound".to_string(),
        Extent::Symbolic => "runs to no constant".to_string(),
    };
    let text = format!(
        "`{name}` is done by the {} threads that `threadIdx.x` numbers, and here that {runs}",
        target.warp_size
    );
    let mut diagnostic = Diagnostic::error("whole-warps", func.op_location(op), text)
        .help(format!("bind an axis of extent {} to `threadIdx.x`, and the others to `.y` and `.z`", target.warp_size));
    if let Some(&(bound, _)) = nest.loops.iter().find(|(_, coordinate)| *coordinate == Coordinate::ThreadX) {
        diagnostic = diagnostic.label(func.op_location(bound), "it is bound here");
    }
    Some(blamed(func, op, diagnostic))
}

/// Warpgroups are counted from the first thread on; of a block that they do not make up, the last would lack threads.
fn warpgroups(func: &Func, ops: &[Op], nest: &Nest) -> Option<Diagnostic> {
    let by_groups = |op: Op| matrix::takes_warpgroup(func.op_name(op)) || is_warpgroup_barrier(func, op);
    let op = *ops.iter().find(|&&op| by_groups(op))?;
    let threads = n_threads(nest);
    if threads.is_multiple_of(matrix::WARPGROUP) {
        return None;
    }
    let text = format!(
        "`{}` is done by whole warpgroups of {} threads, and the block has {}",
        func.op_name(op),
        matrix::WARPGROUP,
        counted(threads, "thread")
    );
    let help =
        format!("bind an axis of extent {} to `threadIdx.x`, and the others to `.y` and `.z`", matrix::WARPGROUP);
    Some(blamed(func, op, Diagnostic::error("whole-warps", func.op_location(op), text).help(help)))
}

/// The threads of a block of the nest, as far as they are constant.
fn n_threads(nest: &Nest) -> u64 {
    Coordinate::ALL.into_iter().filter(|coordinate| coordinate.is_thread()).fold(1u64, |product, dim| {
        match nest.extents[dim.index()] {
            Extent::Const(extent) => product.saturating_mul(u64::try_from(extent).unwrap_or(1).max(1)),
            Extent::One | Extent::Symbolic => product,
        }
    })
}

/// Tiles that do not fit the registers of a thread will be kept in memory, which costs what tiles are for.
fn registers(func: &Func, ops: &[Op], nest: &Nest, target: &Target) -> Option<Diagnostic> {
    let held = held_by_lanes(func, ops);
    let mut tiles: Vec<(Op, Value, u64)> = Vec::new();
    for &op in ops.iter().filter(|&&op| func.opcode(op) == tir::ALLOC) {
        let Some(buffer) = func.result(op) else { continue };
        if let Some(words) = tile_words(func, buffer, &held) {
            tiles.push((op, buffer, words));
        }
    }
    let total = tiles.iter().fold(0u64, |total, &(_, _, words)| total.saturating_add(words));
    let limit = budget(func, ops, nest, target);
    let &(largest, _, _) = tiles.iter().max_by_key(|&&(_, _, words)| words)?;
    if total <= limit {
        return None;
    }
    let text =
        format!("the tiles take {} of a thread, and `{target}` leaves {limit} to each", counted(total, "register"));
    let mut diagnostic = Diagnostic::warning("registers", func.op_location(largest), text);
    for (_, buffer, words) in tiles {
        let (name, ty) = (func.value_text(buffer), func.show_type(func.value_type(buffer)));
        diagnostic = diagnostic.note(format!("`{name}: {ty}`: {}", counted(words, "register")));
    }
    let diagnostic = diagnostic.help("let a warp hold fewer tiles: split by a smaller factor, or bind more threads");
    Some(blamed(func, largest, diagnostic))
}

/// The registers that a thread of the nest can have: where warps hand registers to one another, as many as it asks for.
fn budget(func: &Func, ops: &[Op], nest: &Nest, target: &Target) -> u64 {
    let asked = ops.iter().filter(|&&op| func.opcode(op) == gpu::SETMAXNREG);
    let asked = asked.filter_map(|&op| func.int_of(op, keys::COUNT).and_then(|count| u64::try_from(count).ok())).max();
    let share = target.registers_per_block / n_threads(nest).max(1);
    target.registers_per_thread.min(asked.unwrap_or(share))
}

/// The registers that a thread needs for its part of `buffer`, if that holds tiles, as those of `held` do.
fn tile_words(func: &Func, buffer: Value, held: &FxHashSet<Value>) -> Option<u64> {
    let (elem, shape, scope) = func.as_shaped(func.value_type(buffer))?;
    let count =
        shape.iter().try_fold(1i64, |product, &extent| Some(product.saturating_mul(func.as_int(extent)?.max(0))))?;
    let words =
        |elements: i64, bytes: u32| u64::try_from(elements.saturating_mul(bytes.into())).unwrap_or(0).div_ceil(4);
    if let Some(fragment) = Fragment::of(func, elem) {
        let (rows, cols) = fragment.extents();
        let elements = rows.saturating_mul(cols).saturating_mul(count);
        return Some(words(per_lane(elements), fragment.elem.bytes()));
    }
    let bytes = func.as_scalar(elem)?.bytes();
    let scope = func.text(scope?);
    if let Some((family, _)) = scope_use(scope) {
        return Some(words(per_thread(family, count), bytes));
    }
    (scope == "local" && held.contains(&buffer)).then(|| words(count, bytes))
}

/// The buffers that ops on registers take tiles from.
fn held_by_lanes(func: &Func, ops: &[Op]) -> FxHashSet<Value> {
    let places = ops.iter().flat_map(|&op| register_tiles(func, op));
    places.map(|&place| root_buffer(func, place)).collect()
}
