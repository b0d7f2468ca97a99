//! The consumers: what was there before, with waits and releases.

use super::channel::{Channel, Turn};
use super::count;
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
pub(super) fn emit(func: &mut Func, ring: &mut Ring, body: Region, channel: Channel) {
    remove_loads(func, ring);
    let before = count::carry(func, ring);
    let statements: Vec<Op> = func.ops(body).filter(|&op| !func.row(op).terminator).collect();
    let late = late_wait(func, ring, &statements);
    let mut b = Builder::at_start(func, body);
    let loops = ring.loops(b.func);
    let number = count::iteration(&mut b, (&loops[ring.n_counted..], before), loop_var, |bound| bound);
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
        Some((chain, wait)) => release_later(func, ring, channel, (&chain, wait), (before, number)),
        None => {
            let mut b = match func.terminator(body) {
                Some(end) => Builder::before(func, end),
                None => Builder::at_end(func, body),
            };
            release(&mut b, ring, channel, turn);
        }
    }
}

/// The loops through which products run on, outermost first, and the wait for them, where an iteration is one group of products
/// and nothing else.
fn late_wait(func: &Func, ring: &Ring, statements: &[Op]) -> Option<(Vec<Op>, Op)> {
    let chain = Some(chain(func, ring)).filter(|chain| ring.by_products && ring.n > 1 && !chain.is_empty())?;
    let mut wait = None;
    for &op in statements.iter().filter(|&&op| !summary(func, op).is_pure()) {
        match func.opcode(op) {
            wgmma::FENCE | wgmma::COMMIT if wait.is_none() => {}
            wgmma::WAIT if wait.is_none() && func.int_of(op, keys::PENDING) == Some(0) => wait = Some(op),
            _ if wait.is_none() && is_of_products(func, op) => {}
            _ => return None,
        }
    }
    Some((chain, wait?))
}

/// The loops of which each holds nothing but the next one, down to that which goes round the ring, and runs at least once:
/// where one may run never, there is no last slot to release. Outermost first.
fn chain(func: &Func, ring: &Ring) -> Vec<Op> {
    let loops = &ring.loops(func)[ring.n_counted..];
    let mut chain: Vec<Op> = Vec::new();
    for &loop_op in loops.iter().rev() {
        let body = func.op_regions(loop_op)[0];
        let is_perfect = match chain.last() {
            None => body == ring.body,
            Some(&inner) => {
                func.region_of(inner) == Some(body)
                    && func.ops(body).all(|op| op == inner || func.row(op).terminator || summary(func, op).is_pure())
            }
        };
        let (lo, hi) = (func.operand(loop_op, 0), func.operand(loop_op, 1));
        let mut algebra = Algebra::of_func(func);
        algebra.enter_place(func, loop_op);
        let (lo, hi) = (algebra.expr(func, lo), algebra.expr(func, hi));
        let runs = algebra.analyzer.pool.lt(lo, hi);
        if !is_perfect || !algebra.analyzer.can_prove(runs) {
            break;
        }
        chain.push(loop_op);
    }
    chain.reverse();
    chain
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

/// One group runs on: that of the iteration before is waited for, and its slot released; the last one after the loops.
fn release_later(
    func: &mut Func,
    ring: &Ring,
    channel: Channel,
    (chain, wait): (&[Op], Op),
    (before, number): (Option<Value>, Value),
) {
    let one = func.int_attr(1);
    Rewriter::new(func).set_attr(wait, keys::PENDING, one);
    let mut b = Builder::after(func, wait);
    let is_later = count::is_later(&mut b, chain);
    let branch = tir::If::build(&mut b, is_later, &[], &[]);
    let region = b.func.op_regions(branch)[0];
    b.within(region, |b| {
        let one = b.index(1);
        let before = b.value(arith::SUB, &[number, one], &[]);
        let turn = channel.turn(b, before);
        release(b, ring, channel, turn);
    });
    let mut b = Builder::after(func, chain[0]);
    let none = b.func.int_attr(0);
    wgmma::Wait::build(&mut b, &[(keys::PENDING, none)], &[]);
    let number = count::last(&mut b, ring, before, chain);
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
