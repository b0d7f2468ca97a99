//! Building the roles: barriers, the condition, what each role begins with.

use super::channel::Channel;
use super::cluster::Maps;
use super::find::Ring;
use super::{consumer, producer};
use crate::analysis::launch::{build_launch, loop_var};
use tc_dialects::tir::{self, Coordinate};
use tc_dialects::{arith, gpu, wgmma};
use tc_ir::walk::ops_under;
use tc_ir::{AttrData, Builder, Func, Op, Rewriter, TypeData, Value, keys};

/// The least registers that a thread may be left.
const LEAST_REGISTERS: i64 = 24;
/// What `setmaxnreg` counts by, and the most it gives.
const REGISTER_STEP: i64 = 8;
const MOST_REGISTERS: i64 = 240;
/// The registers of a block.
const REGISTERS: i64 = 65536;

/// Divides the nest of `ring`.
pub(super) fn emit(func: &mut Func, ring: &mut Ring) {
    make_slots(func, ring);
    let maps = ring.cluster.as_ref().map_or_else(Maps::default, |cluster| cluster.maps(func, &ring.loads));
    let is_slot = |&op: &Op| ring.slots.iter().any(|slots| slots.alloc == op);
    let statements = func.ops(ring.home).filter(|op| !func.row(*op).terminator && !is_slot(op));
    let statements: Vec<Op> = statements.collect();
    let Some(&first) = statements.first() else { return };
    // Around everything there is: the loop over roles, unless it is one that is there.
    let (mut b, row) = match ring.rows {
        Some(rows) => {
            let end = Builder::before(func, rows).index(ring.n_rows + 1);
            Rewriter::new(func).set_operand(rows, 1, end);
            let row = loop_var(func, rows);
            (Builder::before(func, first), row)
        }
        None => {
            let mut b = Builder::before(func, first);
            let (region, row) = build_launch(&mut b, Coordinate::ThreadY, ring.n_rows + 1, "role");
            (Builder::at_end(func, region), row)
        }
    };
    let channel = Channel::alloc(&mut b, ring.n);
    let readers = ring.n_blocks() * ring.n_rows * if ring.by_products { 1 } else { ring.n_lanes };
    for_first_lane(&mut b, ring, Some(row), |b| channel.init(b, readers));
    let scope = b.func.word_attr(if ring.cluster.is_some() { "cluster" } else { "shared" });
    gpu::Barrier::build(&mut b, &[(keys::SCOPE, scope)], &[]);
    let n_rows = b.index(ring.n_rows);
    let less = b.func.word_attr("lt");
    let is_consumer = b.value(arith::CMP, &[row, n_rows], &[(keys::PREDICATE, less)]);
    let branch = tir::If::build(&mut b, is_consumer, &[], &[]);
    let consumers = b.func.op_regions(branch)[0];
    let producers = b.func.op_regions(branch)[1];
    let registers = registers(b.func, ring);
    if let Some((few, many)) = registers {
        b.within(consumers, |b| set_registers(b, many, "increase"));
        b.within(producers, |b| set_registers(b, few, "decrease"));
    }
    if ring.cluster.is_some() {
        // A block stays until the others have no more to say to it.
        gpu::Barrier::build(&mut Builder::after(func, branch), &[(keys::SCOPE, scope)], &[]);
    }
    producer::emit(&mut Builder::at_end(func, producers), ring, &maps, channel);
    for op in statements {
        Rewriter::new(func).move_to_end(op, consumers);
    }
    let body = if ring.body == ring.home { consumers } else { ring.body };
    consumer::emit(func, ring, body, channel);
}

/// Makes rings of the buffers, before all that uses them.
fn make_slots(func: &mut Func, ring: &Ring) {
    let first = func.first_op(ring.home);
    for slots in &ring.slots {
        let attrs = func.op_attrs(slots.alloc);
        let attrs = func.without_entry(attrs, keys::STAGES);
        Rewriter::new(func).set_attrs(slots.alloc, attrs);
        if let Some(first) = first.filter(|&first| first != slots.alloc) {
            Rewriter::new(func).move_before(slots.alloc, first);
        }
        if let Some((elem, _, scope)) = func.as_shaped(func.value_type(slots.buffer)) {
            let size = i128::from(slots.distance) * i128::from(ring.n);
            let extent = func.attr(AttrData::Int(size, None));
            let ty = func.ty(TypeData::Shaped { elem, shape: [extent].into(), scope });
            Rewriter::new(func).set_type(slots.buffer, ty);
        }
    }
}

/// What `build` builds is done by one thread of a warpgroup, or, given the row, of the first one.
pub(super) fn for_first_lane(
    b: &mut Builder<'_>,
    ring: &Ring,
    row: Option<Value>,
    build: impl FnOnce(&mut Builder<'_>),
) {
    for_first_lanes(b, ring, row, 1, |b, _| build(b));
}

/// The same by the first `n` threads, whose numbers `build` is given.
pub(super) fn for_first_lanes(
    b: &mut Builder<'_>,
    ring: &Ring,
    row: Option<Value>,
    n: i64,
    build: impl FnOnce(&mut Builder<'_>, Value),
) {
    let inside = |b: &mut Builder<'_>, lane: Value| {
        let is_below = |b: &mut Builder<'_>, value: Value, n: i64| {
            let elem = b.func.value_scalar(value).map_or(tc_ir::Elem::Index, |scalar| scalar.elem);
            let (word, end) = if n == 1 { ("eq", b.int(0, elem)) } else { ("lt", b.int(n, elem)) };
            let word = b.func.word_attr(word);
            b.value(arith::CMP, &[value, end], &[(keys::PREDICATE, word)])
        };
        let mut condition = is_below(b, lane, n);
        if let Some(row) = row {
            let of_row = is_below(b, row, 1);
            condition = b.value(arith::AND, &[of_row, condition], &[]);
        }
        let branch = tir::If::build(b, condition, &[], &[]);
        let region = b.func.op_regions(branch)[0];
        b.within(region, |b| build(b, lane));
    };
    match ring.lanes {
        Some(lanes) => {
            let lane = loop_var(b.func, lanes);
            inside(b, lane);
        }
        None => {
            let (region, lane) = build_launch(b, Coordinate::ThreadX, ring.n_lanes, "tx");
            b.within(region, |b| inside(b, lane));
        }
    }
}

/// What `build` builds is done by each thread of a row.
pub(super) fn for_each_lane(b: &mut Builder<'_>, ring: &Ring, build: impl FnOnce(&mut Builder<'_>)) {
    let (region, _) = build_launch(b, Coordinate::ThreadX, ring.n_lanes, "tx");
    b.within(region, build);
}

/// The registers that the producer keeps and that the consumers get; `None` where all have enough, or warps of one warpgroup
/// would have different numbers. Whoever reads the ring, a kernel with products of warpgroups is for a target that has the op.
fn registers(func: &Func, ring: &Ring) -> Option<(i64, i64)> {
    let groups = ring.n_rows + 1;
    let has_products = ops_under(func, ring.home).any(|op| func.opcode(op) == wgmma::MMA);
    if !has_products || ring.n_lanes != wgmma::WARPGROUP || groups < 3 {
        return None;
    }
    let down = |registers: i64| registers / REGISTER_STEP * REGISTER_STEP;
    let all = groups * down(REGISTERS / (wgmma::WARPGROUP * groups));
    let many = down((all - LEAST_REGISTERS) / ring.n_rows).min(MOST_REGISTERS);
    (many > all / groups).then_some((LEAST_REGISTERS, many))
}

fn set_registers(b: &mut Builder<'_>, count: i64, action: &str) {
    let (count, action) = (b.func.int_attr(count), b.func.word_attr(action));
    gpu::SetMaxNReg::build(b, &[(keys::COUNT, count), (keys::ACTION, action)], &[]);
}
