//! From where to where a buffer is in use.

use super::Buffer;
use crate::analysis::launch::Nest;
use crate::analysis::uniform::Uniform;
use rustc_hash::FxHashMap;
use tc_dialects::algebra::is_launch;
use tc_dialects::threads::{begins_copy, waits_for_all};
use tc_dialects::tir;
use tc_ir::paged::Paged;
use tc_ir::uses::{Use, Uses};
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op, Region, Value};

/// A stretch of the program, by the numbers of its ops; `None` where the buffer is not used.
pub(super) type LiveRange = Option<(u32, u32)>;

/// Do the two overlap?
pub(super) fn overlap(a: LiveRange, b: LiveRange) -> bool {
    matches!((a, b), (Some((a_from, a_to)), Some((b_from, b_to))) if a_from <= b_to && b_from <= a_to)
}

/// The lives of `buffers` within `nest`.
pub(super) fn of(func: &Func, nest: &Nest, uses: &Uses, buffers: &[Buffer]) -> Vec<LiveRange> {
    let uniform = Uniform::of(func, nest);
    let mut stretches: Paged<Op, LiveRange> = Paged::default();
    // An op comes before those in its regions, so its end is known when the next one outside is reached.
    let ops: Vec<Op> = nest.ops(func).collect();
    for (nth, &op) in (0u32..).zip(&ops) {
        stretches.set(op, Some((nth, nth)));
        for outer in ancestors(func, op).take_while(|&outer| outer != nest.op) {
            stretches.set(outer, stretches.get(outer).map(|(from, _)| (from, nth)));
        }
    }
    // All of the loops and conditionals around an access in which no barrier can stand.
    let whole = |op: Op| {
        let outer = ancestors(func, op).take_while(|&outer| outer != nest.op);
        let whole = outer.filter(|&outer| !is_passed_by_all(func, &uniform, outer)).last().unwrap_or(op);
        stretches.get(whole)
    };
    // The positions of the waits for all copies, by the region that they stand in.
    let mut waits: FxHashMap<Option<Region>, Vec<u32>> = FxHashMap::default();
    for (nth, &op) in (0u32..).zip(&ops) {
        if waits_for_all(func, op) {
            waits.entry(func.region_of(op)).or_default().push(nth);
        }
    }
    // A thread that runs `op` comes to those behind it in the regions around.
    let next_wait = |op: Op, nth: u32| {
        let around = std::iter::once(op).chain(ancestors(func, op)).filter_map(|op| waits.get(&func.region_of(op)));
        let next = around.filter_map(|waits| waits.get(waits.partition_point(|&wait| wait <= nth)));
        next.min().map(|&wait| ops[wait as usize])
    };
    let last = u32::try_from(ops.len()).map_or(u32::MAX, |len| len.saturating_sub(1));
    let range = |buffer: &Buffer| {
        let mut range: LiveRange = None;
        for user in users(func, uses, buffer.value) {
            let Some((from, mut to)) = whole(user) else { continue };
            if begins_copy(func, user) {
                // What is copied arrives when the thread waits for all, if it does.
                let arrives = stretches.get(user).and_then(|(nth, _)| next_wait(user, nth));
                let end = arrives.and_then(whole).map_or(last, |(_, end)| end);
                to = to.max(end);
            }
            range = Some(range.map_or((from, to), |(first, last): (u32, u32)| (first.min(from), last.max(to))));
        }
        range
    };
    buffers.iter().map(range).collect()
}

/// Do the threads of a block go through `op` together and once, so that a barrier may stand inside it?
fn is_passed_by_all(func: &Func, uniform: &Uniform, op: Op) -> bool {
    is_launch(func, op) || (func.opcode(op) == tir::IF && uniform.is(func.operand(op, 0)))
}

/// The references to `buffer` and the views of it, and those of these.
pub(super) fn places_in(func: &Func, uses: &Uses, buffer: Value) -> Vec<Op> {
    let (mut found, mut pending) = (Vec::new(), vec![buffer]);
    while let Some(place) = pending.pop() {
        for user in uses.of_value(place).iter().filter(|user| is_place(func, user)) {
            found.push(user.op);
            pending.extend(func.results(user.op));
        }
    }
    found
}

fn is_place(func: &Func, user: &Use) -> bool {
    user.idx == 0 && matches!(func.opcode(user.op), tir::VIEW | tir::REF | tir::REGION)
}

/// The ops that access `buffer`, through references and views too.
fn users(func: &Func, uses: &Uses, buffer: Value) -> Vec<Op> {
    let places = places_in(func, uses, buffer);
    let values = std::iter::once(buffer).chain(places.iter().flat_map(|&op| func.results(op)));
    let all = values.flat_map(|value| uses.of_value(value)).filter(|user| !is_place(func, user));
    all.map(|user| user.op).collect()
}
