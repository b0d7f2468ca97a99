//! Making the parts.

use super::Options;
use super::find::{Division, Live, is_staged};
use crate::analysis::fold;
use crate::analysis::launch::coordinate;
use tc_dialects::algebra::{self, Computation, Made as MadeValues, const_extent};
use tc_dialects::tir::{self, LoopKind};
use tc_dialects::{arith, forms};
use tc_ir::clone::{ValueMap, clone_body, clone_op, clone_ops};
use tc_ir::walk::{OpRange, ancestors, ops_under};
use tc_ir::{Builder, Func, Op, Region, Rewriter, Value, keys};

/// A loop that stands for another one now.
pub(super) struct Made {
    pub(super) op: Op,
    /// The conditions in it that it is not to be divided by; `None` where it is not to be divided at all.
    pub(super) spent: Option<Vec<Value>>,
}

/// Divides `op`; gives the loops that stand for it now.
pub(super) fn emit(func: &mut Func, op: Op, division: Division, options: &Options) -> Vec<Made> {
    let place = OpRange::at(func, op);
    let (made, copies) = match coordinate(func, op) {
        None => parts(func, op, &division, options),
        Some(_) => (vec![Made { op, spent: None }], choose(func, op, &division)),
    };
    // Last, when every value that goes on from part to part has its users: settled conditionals hand on other ones.
    settle(func, &division, &copies);
    fold::settle_branches(func, place);
    made
}

/// Lets a loop run over the iterations in which it does anything.
pub(super) fn narrow(func: &mut Func, op: Op, live: &Live) {
    for (nth, end) in [&live.begin, &live.end].into_iter().enumerate() {
        let Some(end) = end else { continue };
        let end = algebra::build(&mut Builder::before(func, op), end, &mut MadeValues::default());
        Rewriter::new(func).set_operand(op, nth, end);
    }
}

/// Lets a hinted loop that cannot be divided be unrolled instead, if that can be done.
pub(super) fn unroll(func: &mut Func, op: Op) -> bool {
    let runs_in_order = tir::loop_kind(func, op) == Some(LoopKind::Serial);
    if !runs_in_order || const_extent(func, op).is_none() {
        return false;
    }
    let kind = func.word_attr("unroll");
    Rewriter::new(func).set_attr(op, keys::KIND, kind);
    true
}

/// Up to three loops in a row in the place of one; what is carried goes through them. Gives what stands in the middle for
/// the values of the old one too.
fn parts(func: &mut Func, op: Op, division: &Division, options: &Options) -> (Vec<Made>, ValueMap) {
    let [before, after] = [division.begin.is_some(), division.end.is_some()];
    if before || after {
        // All parts share the buffers.
        move_allocs(func, func.op_regions(op)[0], |_| Some(op));
    }
    let (lo, hi) = (func.operand(op, 0), func.operand(op, 1));
    let mut b = Builder::before(func, op);
    // Written out for each loop that has it for a bound: what they share is for `cse` to find.
    let mut bounds = |end: &Option<Computation>, otherwise: Value| match end {
        Some(end) => [end, end].map(|end| algebra::build(&mut b, end, &mut MadeValues::default())),
        None => [otherwise; 2],
    };
    let begins = bounds(&division.begin, lo);
    let ends = bounds(&division.end, hi);
    let mut carried = func.operands(op)[2..].to_vec();
    let [spent_before, spent_after] = division.spent.each_ref().map(Some);
    let ranges =
        [(lo, begins[0], spent_before, before), (begins[1], ends[0], None, true), (ends[1], hi, spent_after, after)];
    let (mut made, mut within) = (Vec::new(), ValueMap::default());
    for (from, to, spent, wanted) in ranges {
        if wanted {
            let (values, part) = one_part(func, op, (from, to), &carried, options);
            let of_copy = |spent: &Vec<Value>| spent.iter().filter_map(|value| part.map.get(value).copied()).collect();
            made.extend(part.op.map(|op| Made { op, spent: spent.map(of_copy) }));
            carried = values;
            if spent.is_none() {
                within = part.map;
            }
        }
    }
    Rewriter::new(func).replace_op(op, &carried);
    (made, within)
}

/// One part of a loop: the loop, unless it has only one iteration, and which value of it stands for which of the old one.
struct PartLoop {
    op: Option<Op>,
    map: ValueMap,
}

/// A copy of the loop over another range, with what it carries out.
fn one_part(
    func: &mut Func,
    op: Op,
    (from, to): (Value, Value),
    carried: &[Value],
    options: &Options,
) -> (Vec<Value>, PartLoop) {
    let extent = func.const_int(from).zip(func.const_int(to)).and_then(|(from, to)| to.checked_sub(from));
    let body = func.op_regions(op)[0];
    let mut map = ValueMap::default();
    let mut b = Builder::before(func, op);
    if extent == Some(1) && !options.no_unroll_loop_with_extent_one {
        let args = b.func.region_args(body).to_vec();
        map.insert(args[0], from);
        map.extend(args[1..].iter().copied().zip(carried.iter().copied()));
        let values = clone_body(&mut b, body, &mut map);
        return (values, PartLoop { op: None, map });
    }
    let copy = copy_loop(&mut b, op, (from, to), carried, &mut map);
    (func.results(copy).collect(), PartLoop { op: Some(copy), map })
}

fn copy_loop(b: &mut Builder<'_>, op: Op, (from, to): (Value, Value), carried: &[Value], map: &mut ValueMap) -> Op {
    let types: Vec<_> = carried.iter().map(|&value| b.func.value_type(value)).collect();
    let copy = tir::For::build(b, from, to, carried, &[], &types);
    let attrs = b.func.op_attrs(op);
    Rewriter::new(b.func).set_attrs(copy, attrs);
    let (body, target) = (b.func.op_regions(op)[0], b.func.op_regions(copy)[0]);
    for old in b.func.region_args(body).to_vec() {
        let (ty, name) = (b.func.value_type(old), b.func.value_name(old));
        let new = b.func.push_arg(target, ty, None);
        b.func.set_value_name(new, name);
        map.insert(old, new);
    }
    b.within(target, |b| clone_ops(b, body, map));
    copy
}

/// Replaces the copies of the settled conditions by constants.
fn settle(func: &mut Func, division: &Division, map: &ValueMap) {
    let mut rw = Rewriter::new(func);
    for old in &division.settled {
        let Some(&copy) = map.get(old) else { continue };
        let Some(def) = rw.func().def_op(copy) else { continue };
        let truth = rw.before(def).bool(division.truth);
        rw.replace_value(copy, truth);
    }
}

/// The loop names a block: all threads of the block take one of two bodies. Gives what stands for the values in the first.
fn choose(func: &mut Func, op: Op, division: &Division) -> ValueMap {
    // Where there is no second one, the conditions are settled for all blocks.
    let in_place = || division.settled.iter().map(|&value| (value, value)).collect();
    let place = innermost_launch(func, op);
    move_allocs(func, place, |func| func.ops(place).find(|&op| func.opcode(op) != tir::ALLOC));
    let iv = func.region_args(func.op_regions(op)[0])[0];
    let Some(first) = func.ops(place).find(|&op| func.opcode(op) != tir::ALLOC) else { return in_place() };
    let moved: Vec<Op> = std::iter::successors(Some(first), |&op| func.next_op(op)).collect();
    let mut b = Builder::before(func, first);
    let condition = within(&mut b, iv, division);
    let Some(condition) = condition else { return in_place() };
    let branch = tir::If::build(&mut b, condition, &[], &[]);
    let [then, other] = [0, 1].map(|nth| func.op_regions(branch)[nth]);
    let mut map = ValueMap::default();
    let mut b = Builder::at_end(func, then);
    for &op in &moved {
        clone_op(&mut b, op, &mut map);
    }
    let mut rw = Rewriter::new(func);
    for op in moved {
        rw.move_to_end(op, other);
    }
    map
}

/// `begin <= iv && iv < end`, as far as that is not certain; `None` where it is.
fn within(b: &mut Builder<'_>, iv: Value, division: &Division) -> Option<Value> {
    let bound = |b: &mut Builder<'_>, end: &Computation, lower: bool| {
        let end = algebra::build(b, end, &mut MadeValues::default());
        let word = b.func.word_attr(if lower { "le" } else { "lt" });
        let operands = if lower { [end, iv] } else { [iv, end] };
        b.value(arith::CMP, &operands, &[(keys::PREDICATE, word)])
    };
    let low = division.begin.as_ref().map(|begin| bound(b, begin, true));
    let high = division.end.as_ref().map(|end| bound(b, end, false));
    match (low, high) {
        (Some(low), Some(high)) => Some(b.value(arith::AND, &[low, high], &[])),
        (low, high) => low.or(high),
    }
}

/// The body of the innermost loop over launch coordinates or virtual threads that stands alone in the one around it.
fn innermost_launch(func: &Func, op: Op) -> Region {
    let mut region = func.op_regions(op)[0];
    loop {
        let mut inner = func.ops(region).filter(|&op| !func.op_regions(op).is_empty());
        let only = inner.next().filter(|_| inner.next().is_none());
        let writes_nothing = |op: Op| func.opcode(op) == tir::ALLOC || tc_ir::effects::summary(func, op).is_pure();
        let names_threads = |op: Op| {
            coordinate(func, op).is_some()
                || (func.opcode(op) == tir::FOR && tir::loop_kind(func, op) == Some(LoopKind::Vthread))
        };
        let Some(next) = only.filter(|&op| names_threads(op)) else { return region };
        if !func.ops(region).all(|op| op == next || writes_nothing(op)) {
            return region;
        }
        region = func.op_regions(next)[0];
    }
}

/// Moves the allocs under `region` to stand before what `place` tells, so that all copies share the buffers. One that is
/// filled ahead keeps its loop, one that each virtual thread has of its own keeps that, and one that ends with a kernel stays
/// in it.
fn move_allocs(func: &mut Func, region: Region, place: impl Fn(&Func) -> Option<Op>) {
    let own_loop = |func: &Func, op: Op| {
        let parent = func.region_parent(region);
        let outlives = func.result(op).is_some_and(|buffer| forms::is_global(func, buffer));
        ancestors(func, op).take_while(|&outer| Some(outer) != parent).any(|outer| match tir::loop_kind(func, outer) {
            Some(LoopKind::Vthread) => func.opcode(outer) == tir::FOR,
            Some(LoopKind::Launch(_)) => func.opcode(outer) == tir::FOR && !outlives,
            _ => false,
        })
    };
    let allocs: Vec<Op> = ops_under(func, region)
        .filter(|&op| func.opcode(op) == tir::ALLOC && !is_staged(func, op) && !own_loop(func, op))
        .collect();
    let mut rw = Rewriter::new(func);
    for op in allocs {
        match place(rw.func()) {
            Some(place) if place != op => rw.move_before(op, place),
            _ => {}
        }
    }
}
