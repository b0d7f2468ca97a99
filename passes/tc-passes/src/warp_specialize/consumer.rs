//! The consumers: what was there before, with waits and releases.

use super::channel::{Channel, Turn, iteration};
use super::find::Ring;
use super::producer::remove_loads;
use super::roles::for_first_lanes;
use crate::analysis::launch::{coordinate, loop_var};
use crate::analysis::versions::shift;
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::{arith, gpu, tir, wgmma};
use tc_ir::effects::summary;
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{Builder, Func, Op, Region, Rewriter, Value, keys};

/// Lets `body`, that of the ring's loop, or all that consumers do, wait for its slot, read it, and release it.
pub(super) fn emit(func: &mut Func, ring: &Ring, body: Region, channel: Channel) {
    remove_loads(func, ring);
    let statements: Vec<Op> = func.ops(body).filter(|&op| !func.row(op).terminator).collect();
    let late = late_wait(func, ring, &statements);
    let mut b = Builder::at_start(func, body);
    let number = iteration(&mut b, ring, loop_var, |value| value);
    let turn = channel.turn(&mut b, number);
    channel.wait_full(&mut b, turn);
    let starts: Vec<(Value, Value)> = ring
        .slots
        .iter()
        .map(|slots| {
            let distance = b.index(slots.distance);
            (slots.buffer, b.value(arith::MUL, &[turn.slot, distance], &[]))
        })
        .collect();
    for &op in &statements {
        shift(func, op, &starts);
    }
    match late {
        Some((loop_op, wait)) => release_later(func, ring, channel, (loop_op, wait), number),
        None => {
            let mut b = match func.terminator(body) {
                Some(end) => Builder::before(func, end),
                None => Builder::at_end(func, body),
            };
            release(&mut b, ring, channel, turn);
        }
    }
}

/// The loop and the wait for its products, where an iteration is one group of products and nothing else.
fn late_wait(func: &Func, ring: &Ring, statements: &[Op]) -> Option<(Op, Op)> {
    let loop_op = ring.loop_op(func).filter(|_| ring.by_products && ring.n > 1)?;
    // Where it may run never, there is no last slot to release.
    let (lo, hi) = (func.operand(loop_op, 0), func.operand(loop_op, 1));
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, loop_op);
    let (lo, hi) = (algebra.expr(func, lo), algebra.expr(func, hi));
    let runs = algebra.analyzer.pool.lt(lo, hi);
    if !algebra.analyzer.can_prove(runs) {
        return None;
    }
    let mut wait = None;
    for &op in statements.iter().filter(|&&op| !summary(func, op).is_pure()) {
        match func.opcode(op) {
            wgmma::FENCE | wgmma::COMMIT if wait.is_none() => {}
            wgmma::WAIT if wait.is_none() && func.int_of(op, keys::PENDING) == Some(0) => wait = Some(op),
            _ if wait.is_none() && is_of_products(func, op) => {}
            _ => return None,
        }
    }
    Some((loop_op, wait?))
}

fn is_of_products(func: &Func, op: Op) -> bool {
    let is_product = |op: Op| func.opcode(op) == wgmma::MMA;
    let inner = |op: Op| func.op_regions(op).iter().flat_map(|&region| ops_under(func, region)).collect::<Vec<Op>>();
    let is_loop = |op: Op| func.opcode(op) == tir::FOR;
    is_product(op)
        || (is_loop(op)
            && inner(op)
                .into_iter()
                .all(|op| is_product(op) || is_loop(op) || func.row(op).terminator || summary(func, op).is_pure()))
}

/// One group runs on: that of the iteration before is waited for, and its slot released; the last one after the loop.
fn release_later(func: &mut Func, ring: &Ring, channel: Channel, (loop_op, wait): (Op, Op), number: Value) {
    let one = func.int_attr(1);
    Rewriter::new(func).set_attr(wait, keys::PENDING, one);
    let lo = func.operand(loop_op, 0);
    let mut b = Builder::after(func, wait);
    let greater = b.func.word_attr("gt");
    let var = loop_var(b.func, loop_op);
    let is_later = b.value(arith::CMP, &[var, lo], &[(keys::PREDICATE, greater)]);
    let branch = tir::If::build(&mut b, is_later, &[], &[]);
    let region = b.func.op_regions(branch)[0];
    b.within(region, |b| {
        let one = b.index(1);
        let before = b.value(arith::SUB, &[number, one], &[]);
        let turn = channel.turn(b, before);
        release(b, ring, channel, turn);
    });
    let hi = func.operand(loop_op, 1);
    let mut b = Builder::after(func, loop_op);
    let none = b.func.int_attr(0);
    wgmma::Wait::build(&mut b, &[(keys::PENDING, none)], &[]);
    // The last value of the loop's variable.
    let elem = b.func.value_scalar(hi).map_or(tc_ir::Elem::Index, |scalar| scalar.elem);
    let one = b.int(1, elem);
    let last = b.value(arith::SUB, &[hi, one], &[]);
    let of_last = |func: &Func, op: Op| if op == loop_op { last } else { loop_var(func, op) };
    let number = iteration(&mut b, ring, of_last, |value| value);
    let turn = channel.turn(&mut b, number);
    release(&mut b, ring, channel, turn);
}

/// May an iteration have no product? Then its threads do not meet in one, and the first would run ahead of the others.
fn may_skip_products(func: &Func, ring: &Ring) -> bool {
    let always_runs = |op: Op| func.opcode(op) == tir::FOR && const_extent(func, op).is_some_and(|extent| extent > 0);
    let is_sure = |product: Op| {
        let around = ancestors(func, product).take_while(|&outer| !func.op_regions(outer).contains(&ring.body));
        around.into_iter().all(|outer| coordinate(func, outer).is_some() || always_runs(outer))
    };
    !ops_under(func, ring.body).any(|op| func.opcode(op) == wgmma::MMA && is_sure(op))
}

/// Says that the slot of `turn` was read: one thread of each warpgroup for its products, which all of it waited for, or one for
/// each block of a cluster; else each thread.
fn release(b: &mut Builder<'_>, ring: &Ring, channel: Channel, turn: Turn) {
    if ring.by_products {
        if may_skip_products(b.func, ring) {
            let warpgroup = b.func.word_attr("warpgroup");
            gpu::Barrier::build(b, &[(keys::SCOPE, warpgroup)], &[]);
        }
        let is_alone = ring.cluster.is_none();
        for_first_lanes(b, ring, None, ring.n_blocks(), |b, lane| {
            channel.release(b, turn, (!is_alone).then_some(lane));
        });
    } else if ring.lanes.is_some() {
        channel.release(b, turn, None);
    } else {
        super::roles::for_each_lane(b, ring, |b| channel.release(b, turn, None));
    }
}
