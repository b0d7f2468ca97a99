//! What iterations that are unrolled together share.
//!
//! The compiler of CUDA loads each address once, and joins loads and stores of neighbours in shared memory into vectors.
//! How often an address comes again, and whether positions are neighbours, follows from the factors of the loop variables
//! in the position.

use crate::unroll::Unrolled;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use tc_dialects::arith;
use tc_dialects::tir;
use tc_ir::attrs::BinOp;
use tc_ir::opdef::Role;
use tc_ir::walk::ancestors;
use tc_ir::{Def, Func, Op, Value};

/// Iterations that are looked at, at most.
const MOST: u64 = 4096;
/// Ops that a position is followed through.
const DEPTH: u32 = 64;

/// The share of the loads `op` from the position `index` that have an address of their own, among iterations that are
/// unrolled together.
pub(crate) fn share(func: &Func, op: Op, index: Value, unrolled: &Unrolled) -> f64 {
    let mut sums: BTreeSet<i64> = BTreeSet::from([0]);
    let mut all = 1;
    for around in ancestors(func, op).filter(|&around| func.opcode(around) == tir::FOR) {
        if unrolled.has_barrier(around) {
            break;
        }
        let n = unrolled.copies(around);
        let Some(&var) = func.region_args(func.op_regions(around)[0]).first() else { break };
        let factor = factor(func, index, var);
        if n > 1 && all * n <= MOST {
            let Some(factor) = factor else { return 1.0 };
            all *= n;
            sums = sums
                .iter()
                .flat_map(|sum| (0..n as i64).map(move |at| sum.wrapping_add(factor.wrapping_mul(at))))
                .collect();
        }
        if !unrolled.is_whole(func, around) {
            break;
        }
    }
    sums.len() as f64 / all as f64
}

/// The loop around `op` whose iterations, so many of which are unrolled together, access neighbours: the position `index`
/// grows by one with its variable.
pub(crate) fn neighbours(func: &Func, op: Op, index: Value, unrolled: &Unrolled) -> Option<(Value, u64)> {
    let mut loops = ancestors(func, op).filter(|&around| func.opcode(around) == tir::FOR);
    let around = loops.next()?;
    let var = *func.region_args(func.op_regions(around)[0]).first()?;
    let n = unrolled.copies(around);
    (n > 1 && factor(func, index, var) == Some(1)).then_some((var, n))
}

/// By what `value` grows where the loop variable `var` grows by one; `None` where that is not the same everywhere.
pub(crate) fn factor(func: &Func, value: Value, var: Value) -> Option<i64> {
    Factors { func, var, known: FxHashMap::default() }.of(value, DEPTH)
}

/// By what values grow with a loop variable, each asked once.
struct Factors<'f> {
    func: &'f Func,
    var: Value,
    known: FxHashMap<Value, Option<i64>>,
}

impl Factors<'_> {
    fn of(&mut self, value: Value, depth: u32) -> Option<i64> {
        if let Some(&known) = self.known.get(&value) {
            return known;
        }
        let found = self.compute(value, depth);
        self.known.insert(value, found);
        found
    }

    fn compute(&mut self, value: Value, depth: u32) -> Option<i64> {
        let func = self.func;
        if value == self.var {
            return Some(1);
        }
        let Def::Result(op, _) = func.def(value) else { return Some(0) };
        if depth == 0 || func.role(op) == Role::Constant {
            return (depth > 0).then_some(0);
        }
        // A vector of equal literals is one.
        let scalar = |value: Value| match func.def_op(value) {
            Some(op) if func.opcode(op) == arith::BROADCAST => func.operand(op, 0),
            _ => value,
        };
        let literal = |nth: usize| func.const_int(scalar(func.operand(op, nth)));
        let mut of = |nth: usize| self.of(func.operand(op, nth), depth - 1);
        match (func.role(op), func.opcode(op)) {
            (Role::Binary(BinOp::Add), _) => of(0)?.checked_add(of(1)?),
            (Role::Binary(BinOp::Sub), _) => of(0)?.checked_sub(of(1)?),
            (Role::Binary(BinOp::Mul), _) if literal(0).is_some() => of(1)?.checked_mul(literal(0)?),
            (Role::Binary(BinOp::Mul), _) if literal(1).is_some() => of(0)?.checked_mul(literal(1)?),
            (Role::Cast, _) | (_, arith::BROADCAST) => of(0),
            (_, arith::RAMP) if of(1) == Some(0) => of(0),
            // What no operand changes stays as it is.
            _ => (0..func.operands(op).len()).all(|nth| of(nth) == Some(0)).then_some(0),
        }
    }
}
