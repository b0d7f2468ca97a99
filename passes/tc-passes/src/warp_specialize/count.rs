//! The number of an iteration, from which slots and phases follow.
//!
//! Where each loop runs equally often whatever those around it do, the number follows from their variables. Where it does not,
//! the outer loops carry the number of iterations that came before. It repeats after twice the slots, as slots and phases do, so
//! it stays small, and is known to be.

use super::find::Ring;
use super::producer::compute;
use crate::analysis::carried::{carry_more, hand_on};
use crate::analysis::launch::loop_var;
use crate::analysis::tiles::as_index;
use tc_dialects::arith;
use tc_ir::clone::ValueMap;
use tc_ir::{Builder, Elem, Func, Op, Value, keys};

/// What the count is called.
pub(super) const TURNS: &str = "turns";

/// The number of the iteration through `loops`, the first of which begins with number `before`; `var` gives the variable of
/// each, and `there` what a bound is in the role at hand.
pub(super) fn iteration(
    b: &mut Builder<'_>,
    (loops, before): (&[Op], Option<Value>),
    var: impl Fn(&Func, Op) -> Value,
    there: impl Fn(Value) -> Value,
) -> Value {
    let mut number = None;
    for &loop_op in loops {
        let of_loop = var(b.func, loop_op);
        let [lo, hi] = bounds(b, loop_op, &there);
        let of_loop = as_index(b, Some(of_loop));
        let is_zero = b.func.const_int(lo) == Some(0);
        let step = if is_zero { of_loop } else { b.value(arith::SUB, &[of_loop, lo], &[]) };
        number = Some(match number {
            None => step,
            Some(outer) => {
                let extent = if is_zero { hi } else { b.value(arith::SUB, &[hi, lo], &[]) };
                let start = b.value(arith::MUL, &[outer, extent], &[]);
                b.value(arith::ADD, &[start, step], &[])
            }
        });
    }
    match (before, number) {
        (Some(before), Some(number)) => b.value(arith::ADD, &[before, number], &[]),
        (before, number) => before.or(number).unwrap_or_else(|| b.index(0)),
    }
}

/// The bounds of `loop_op`; `there` gives what one is in the role at hand.
fn bounds(b: &mut Builder<'_>, loop_op: Op, there: impl Fn(Value) -> Value) -> [Value; 2] {
    [0, 1].map(|nth| {
        let bound = b.func.operand(loop_op, nth);
        // A literal stands where it is used: one of a bound is not in scope in the other role.
        match b.func.const_int(bound) {
            Some(number) => b.index(number),
            None => as_index(b, Some(there(bound))),
        }
    })
}

/// Computes the count after `before` and the iterations of all loops that are inside of those that carry it, where `b` stands in
/// the innermost of these; `map` gives what is known there.
pub(super) fn after(b: &mut Builder<'_>, ring: &Ring, before: Value, map: &ValueMap) -> Value {
    let (mut total, mut map) = (None, map.clone());
    for loop_op in ring.loops(b.func)[ring.n_counted..].to_vec() {
        let own = b.func.operands(loop_op)[..2].to_vec();
        compute(b, ring, &own, &mut map);
        let [lo, hi] = bounds(b, loop_op, |bound| *map.get(&bound).unwrap_or(&bound));
        let extent = b.value(arith::SUB, &[hi, lo], &[]);
        let none = b.index(0);
        let extent = b.value(arith::MAX, &[extent, none], &[]);
        total = Some(match total {
            None => extent,
            Some(total) => b.value(arith::MUL, &[total, extent], &[]),
        });
    }
    let after = total.map_or(before, |total| b.value(arith::ADD, &[before, total], &[]));
    let cycle = b.index(2 * ring.n);
    b.value(arith::MOD, &[after, cycle], &[])
}

/// Lets the consumers' outer loops carry the count, and puts the loops that do so into `ring`; gives the count in the innermost
/// of them.
pub(super) fn carry(func: &mut Func, ring: &mut Ring) -> Option<Value> {
    let mut before: Option<Value> = None;
    let mut made: Vec<(Op, Value)> = Vec::new();
    for old in ring.loops(func)[..ring.n_counted].to_vec() {
        let init = before.unwrap_or_else(|| Builder::before(func, old).index(0));
        let new = carry_more(func, old, &[(init, TURNS)]);
        ring.around.iter_mut().filter(|op| **op == old).for_each(|op| *op = new);
        before = func.region_args(func.op_regions(new)[0]).last().copied();
        made.extend(func.results(new).last().map(|result| (new, result)));
    }
    let count = before?;
    let innermost = ring.loops(func)[ring.n_counted - 1];
    let body = func.op_regions(innermost)[0];
    let mut next = after(&mut Builder::at_start(func, body), ring, count, &ValueMap::default());
    for (op, result) in made.into_iter().rev() {
        hand_on(func, op, &[next]);
        next = result;
    }
    Some(count)
}

/// The number of the iteration after which the loops `chain`, the innermost of the ring's, have ended: that of the last one.
/// It is computed where `b` stands, behind the outermost of them.
pub(super) fn last(b: &mut Builder<'_>, ring: &Ring, before: Option<Value>, chain: &[Op]) -> Value {
    let mut map = ValueMap::default();
    for &loop_op in &chain[1..] {
        let own = b.func.operands(loop_op)[..2].to_vec();
        compute(b, ring, &own, &mut map);
    }
    let there = |bound: Value| *map.get(&bound).unwrap_or(&bound);
    let last_of: Vec<(Op, Value)> = chain
        .iter()
        .map(|&loop_op| {
            let hi = there(b.func.operand(loop_op, 1));
            let elem = b.func.value_scalar(hi).map_or(Elem::Index, |scalar| scalar.elem);
            let one = b.int(1, elem);
            (loop_op, b.value(arith::SUB, &[hi, one], &[]))
        })
        .collect();
    let var = |func: &Func, op: Op| match last_of.iter().find(|&&(of, _)| of == op) {
        Some(&(_, last)) => last,
        None => loop_var(func, op),
    };
    iteration(b, (&ring.loops(b.func)[ring.n_counted..], before), var, there)
}

/// Is this iteration of the loops `chain` another one than their first?
pub(super) fn is_later(b: &mut Builder<'_>, chain: &[Op]) -> Value {
    let (value, least) = match *chain {
        [loop_op] => (loop_var(b.func, loop_op), b.func.operand(loop_op, 0)),
        _ => (iteration(b, (chain, None), loop_var, |bound| bound), b.index(0)),
    };
    let greater = b.func.word_attr("gt");
    b.value(arith::CMP, &[value, least], &[(keys::PREDICATE, greater)])
}
