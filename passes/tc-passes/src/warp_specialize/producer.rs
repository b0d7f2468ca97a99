//! The producer: one thread that goes through the loops and makes the loads.

use super::channel::Channel;
use super::cluster::Maps;
use super::count;
use super::find::Ring;
use super::refuse::reads_tensor;
use super::roles::for_first_lane;
use crate::analysis::launch::loop_var;
use crate::analysis::versions::shift;
use rustc_hash::FxHashSet;
use tc_dialects::{tir, tma};
use tc_ir::builder::OperandSegment;
use tc_ir::clone::{ValueMap, clone_op};
use tc_ir::walk::ops_under;
use tc_ir::{Attr, AttrData, Builder, Func, Name, Op, Region, Rewriter, Value, keys};

/// Builds it at the end of where `b` stands.
pub(super) fn emit(b: &mut Builder<'_>, ring: &Ring, maps: &Maps, channel: Channel) {
    for_first_lane(b, ring, None, |b| {
        let mut map = ValueMap::default();
        read(b, ring, ring.home, &mut map);
        level(b, (ring, maps), channel, 0, (&mut map, None));
    });
}

/// The loop or condition number `nth` of those around the loads, and what is in it, where `before` iterations came before if
/// loops carry their number; gives it behind them.
fn level(
    b: &mut Builder<'_>,
    (ring, maps): (&Ring, &Maps),
    channel: Channel,
    nth: usize,
    (map, before): (&mut ValueMap, Option<Value>),
) -> Option<Value> {
    let Some(&op) = ring.around.get(nth) else {
        fill(b, (ring, maps), channel, map, before);
        return None;
    };
    let operands: Vec<Value> = match b.func.opcode(op) {
        tir::FOR => b.func.operands(op)[..2].to_vec(),
        _ => b.func.operands(op)[..1].to_vec(),
    };
    compute(b, ring, &operands, map);
    let mapped: Vec<Value> = operands.iter().map(|value| *map.get(value).unwrap_or(value)).collect();
    let region = if nth < ring.n_counted {
        return counting(b, (ring, maps), channel, nth, ([mapped[0], mapped[1]], map, before));
    } else if b.func.opcode(op) == tir::FOR {
        let made = tir::For::build(b, mapped[0], mapped[1], &[], &[], &[]);
        let region = b.func.op_regions(made)[0];
        let old = loop_var(b.func, op);
        let (ty, name) = (b.func.value_type(old), b.func.value_name(old));
        let var = b.arg(region, ty, None);
        b.func.set_value_name(var, name);
        map.insert(old, var);
        region
    } else {
        let made = tir::If::build(b, mapped[0], &[], &[]);
        b.func.op_regions(made)[0]
    };
    // What is computed inside is computed anew in each branch and iteration.
    let mut inner = map.clone();
    b.within(region, |b| {
        read(b, ring, b.func.op_regions(op)[0], &mut inner);
        level(b, (ring, maps), channel, nth + 1, (&mut inner, before))
    });
    None
}

/// Reads what tells, in the region `old` of the consumers, where the loads start: once, and not in each iteration of the ring.
fn read(b: &mut Builder<'_>, ring: &Ring, old: Region, map: &mut ValueMap) {
    let places: Vec<Value> = ring.loads.iter().flat_map(|&load| b.func.operands(load)[..2].to_vec()).collect();
    let wanted = inputs(b.func, ring, &places, map);
    let is_read = |&op: &Op| b.func.region_of(op) == Some(old) && reads_tensor(b.func, op);
    let values: Vec<Value> = wanted.into_iter().filter(is_read).filter_map(|op| b.func.result(op)).collect();
    compute(b, ring, &values, map);
}

/// The same of a loop that carries the number of iterations.
fn counting(
    b: &mut Builder<'_>,
    (ring, maps): (&Ring, &Maps),
    channel: Channel,
    nth: usize,
    ([lo, hi], map, before): ([Value; 2], &mut ValueMap, Option<Value>),
) -> Option<Value> {
    let op = ring.around[nth];
    let before = before.unwrap_or_else(|| b.index(0));
    let ty = b.func.value_type(before);
    let made = tir::For::build(b, lo, hi, &[before], &[], &[ty]);
    let region = b.func.op_regions(made)[0];
    let old = loop_var(b.func, op);
    let (var_ty, name) = (b.func.value_type(old), b.func.value_name(old));
    let var = b.arg(region, var_ty, None);
    b.func.set_value_name(var, name);
    let count = b.arg(region, ty, Some(count::TURNS));
    let mut inner = map.clone();
    inner.insert(old, var);
    b.within(region, |b| {
        read(b, ring, b.func.op_regions(op)[0], &mut inner);
        let is_innermost = nth + 1 == ring.n_counted;
        let total = is_innermost.then(|| count::after(b, ring, count, &inner));
        let of_inner = level(b, (ring, maps), channel, nth + 1, (&mut inner, Some(count)));
        tir::Yield::build(b, total.or(of_inner).as_slice(), &[], &[]);
    });
    b.func.result(made)
}

/// Waits for the slot and fills it.
fn fill(
    b: &mut Builder<'_>,
    (ring, maps): (&Ring, &Maps),
    channel: Channel,
    map: &mut ValueMap,
    before: Option<Value>,
) {
    let there = |value: Value| *map.get(&value).unwrap_or(&value);
    let loops = ring.loops(b.func);
    let number = count::iteration(b, (&loops[ring.n_counted..], before), |func, op| there(loop_var(func, op)), there);
    let turn = channel.turn(b, number);
    channel.wait_empty(b, turn);
    let barrier = channel.expect(b, turn, ring.bytes);
    let rank = ring.cluster.as_ref().map(|cluster| cluster.rank(b));
    for (nth, &load) in ring.loads.iter().enumerate() {
        let places = b.func.operands(load)[..2].to_vec();
        // References are made for each load: those of the ring are moved to the slot.
        let mut own = map.clone();
        compute(b, ring, &places, &mut own);
        let [to, from] = [places[0], places[1]].map(|place| *own.get(&place).unwrap_or(&place));
        let of_cluster = ring.cluster.as_ref().zip(rank);
        let part = of_cluster.and_then(|(cluster, rank)| cluster.places(b, maps, (nth, rank), [to, from]));
        let yes = b.func.attr(AttrData::Bool(true));
        let attrs: Vec<(Name, Attr)> = part.iter().map(|_| (keys::MULTICAST, yes)).collect();
        let [to, from] = part.unwrap_or([to, from]);
        let parts = [OperandSegment::One(to), OperandSegment::One(from), OperandSegment::Many(&[barrier])];
        b.locs = b.func.op_locs(load);
        b.build_segments(tma::LOAD, &parts, &attrs, &[]);
        if let Some(reference) = b.func.def_op(to)
            && let Some(slots) = ring.slots.iter().find(|slots| slots.buffer == b.func.operand(reference, 0))
        {
            let mut at = Builder::before(b.func, reference);
            let distance = at.index(slots.distance);
            let start = at.value(tc_dialects::arith::MUL, &[turn.slot, distance], &[]);
            shift(b.func, reference, &[(slots.buffer, start)]);
        }
    }
}

/// Copies what computes `values` from what stands in the consumers' region, as far as it is not mapped yet.
pub(super) fn compute(b: &mut Builder<'_>, ring: &Ring, values: &[Value], map: &mut ValueMap) {
    for op in inputs(b.func, ring, values, map) {
        clone_op(b, op, map);
    }
}

/// The ops of the consumers' region that `values` are computed from, as far as they are not mapped yet, in their order.
fn inputs(func: &Func, ring: &Ring, values: &[Value], map: &ValueMap) -> Vec<Op> {
    let inside: Vec<Op> = ops_under(func, ring.home).collect();
    let known: FxHashSet<Op> = inside.iter().copied().collect();
    let (mut wanted, mut worklist): (FxHashSet<Op>, Vec<Value>) = (FxHashSet::default(), values.to_vec());
    while let Some(value) = worklist.pop() {
        if map.contains_key(&value) {
            continue;
        }
        let Some(def) = func.def_op(value).filter(|def| known.contains(def)) else { continue };
        if func.opcode(def) != tir::ALLOC && wanted.insert(def) {
            worklist.extend_from_slice(func.operands(def));
        }
    }
    inside.into_iter().filter(|op| wanted.contains(op)).collect()
}

/// Takes the loads out of the consumers' role.
pub(super) fn remove_loads(func: &mut Func, ring: &Ring) {
    for &load in &ring.loads {
        let places = func.operands(load)[..2].to_vec();
        Rewriter::new(func).erase(load);
        crate::analysis::tiles::erase_unused(func, places);
    }
}
