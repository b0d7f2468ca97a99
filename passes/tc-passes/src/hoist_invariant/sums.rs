//! Indices as sums whose terms stand in the order of the loops that change them.

use super::levels::Levels;
use crate::analysis::dead::erase_dead;
use crate::analysis::overflow::Ranges;
use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;
use tc_dialects::{arith, tir};
use tc_ir::walk::all_ops;
use tc_ir::{Builder, Func, Op, Rewriter, Value};

/// How many ops of one sum are looked at.
const MAX_OPS: usize = 256;

/// A sum of literals times values that are no sums themselves, and a literal.
#[derive(Default)]
struct Terms {
    factors: IndexMap<Value, i64, FxBuildHasher>,
    constant: i64,
}

/// Rebuilds the indices whose terms are changed by different loops; gives their number.
pub(super) fn regroup(func: &mut Func, ranges: &mut Ranges) -> u64 {
    let levels = Levels::of(func);
    let users: Vec<Op> = all_ops(func).filter(|&op| !indices(func, op).is_empty()).collect();
    let mut rw = Rewriter::new(func);
    let mut n_sums = 0;
    for op in users {
        for nth in indices(rw.func(), op) {
            let index = rw.func().operand(op, nth);
            let Some(sum) = in_order(rw.func(), &levels, index) else { continue };
            // In another order other sums are made on the way.
            if !ranges.sums_fit(rw.func(), sum.groups.iter().flatten().copied(), op) {
                continue;
            }
            let new = sum.build(&mut rw.before(op), index);
            rw.set_operand(op, nth, new);
            n_sums += 1;
        }
    }
    drop(rw);
    if n_sums > 0 {
        erase_dead(func);
    }
    n_sums
}

/// The operands of `op` that are positions.
pub(super) fn indices(func: &Func, op: Op) -> std::ops::Range<usize> {
    let n = func.operands(op).len();
    match func.opcode(op) {
        tir::LOAD | tir::REF | tir::REGION => 1..n,
        tir::STORE => 1..n.saturating_sub(1).max(1),
        arith::RAMP => 0..1,
        _ => 0..0,
    }
}

/// A sum to be built: groups of terms, from those that the fewest loops change to those that the most do.
struct Grouped {
    groups: Vec<Vec<(Value, i64)>>,
    constant: i64,
}

/// The terms of `index` in order, where they do not stand so already: terms of one level only need no order.
fn in_order(func: &Func, levels: &Levels, index: Value) -> Option<Grouped> {
    if func.value_type(index) != func.index_ty() {
        return None;
    }
    let terms = terms(func, index)?;
    let mut leveled: Vec<(u32, Value, i64)> = terms
        .factors
        .iter()
        .filter(|&(_, &factor)| factor != 0)
        .map(|(&value, &factor)| (levels.level(func, value), value, factor))
        .collect();
    leveled.sort_by_key(|&(level, ..)| level);
    let (first, last) = (leveled.first()?.0, leveled.last()?.0);
    if first == last {
        return None;
    }
    let groups = leveled.chunk_by(|a, b| a.0 == b.0);
    let groups = groups.map(|group| group.iter().map(|&(_, value, factor)| (value, factor)).collect()).collect();
    Some(Grouped { groups, constant: terms.constant })
}

/// Takes `index` apart; `None` where numbers overflow or there is too much of it.
fn terms(func: &Func, index: Value) -> Option<Terms> {
    let mut terms = Terms::default();
    let mut worklist = vec![(index, 1i64)];
    let mut n_seen = 0;
    while let Some((value, factor)) = worklist.pop() {
        n_seen += 1;
        if n_seen > MAX_OPS {
            return None;
        }
        if let Some(constant) = func.const_int(value) {
            terms.constant = terms.constant.checked_add(constant.checked_mul(factor)?)?;
            continue;
        }
        let parts = func.def_op(value).map(|op| (func.opcode(op), func.operands(op)));
        match parts {
            // Reversed, so that the left one is looked at first.
            Some((arith::ADD, &[a, b])) => worklist.extend([(b, factor), (a, factor)]),
            Some((arith::SUB, &[a, b])) => worklist.extend([(b, factor.checked_neg()?), (a, factor)]),
            Some((arith::NEG, &[a])) => worklist.push((a, factor.checked_neg()?)),
            Some((arith::MUL, &[a, b])) if func.const_int(b).is_some() => {
                worklist.push((a, factor.checked_mul(func.const_int(b)?)?));
            }
            Some((arith::MUL, &[a, b])) if func.const_int(a).is_some() => {
                worklist.push((b, factor.checked_mul(func.const_int(a)?)?));
            }
            _ => {
                let sum = terms.factors.entry(value).or_insert(0);
                *sum = sum.checked_add(factor)?;
            }
        }
    }
    Some(terms)
}

impl Grouped {
    /// Makes the sum: that of the first group, plus that of the second, and so on, plus the literal.
    fn build(&self, b: &mut Builder<'_>, index: Value) -> Value {
        let mut sum: Option<Value> = None;
        for group in &self.groups {
            let mut part: Option<Value> = None;
            for &(value, factor) in group {
                part = Some(add(b, part, value, factor));
            }
            sum = match (sum, part) {
                (Some(sum), Some(part)) => Some(b.value(arith::ADD, &[sum, part], &[])),
                (sum, part) => sum.or(part),
            };
        }
        let sum = sum.unwrap_or(index);
        let (opcode, magnitude) = match self.constant.checked_neg() {
            Some(positive) if self.constant < 0 => (arith::SUB, positive),
            _ => (arith::ADD, self.constant),
        };
        if magnitude == 0 {
            return sum;
        }
        let constant = b.index(magnitude);
        b.value(opcode, &[sum, constant], &[])
    }
}

/// `sum + value * factor`.
fn add(b: &mut Builder<'_>, sum: Option<Value>, value: Value, factor: i64) -> Value {
    let (opcode, magnitude) = match (sum, factor.checked_neg()) {
        (Some(_), Some(positive)) if factor < 0 => (arith::SUB, positive),
        _ => (arith::ADD, factor),
    };
    let term = if magnitude == 1 {
        value
    } else {
        let factor = b.index(magnitude);
        b.value(arith::MUL, &[value, factor], &[])
    };
    match sum {
        Some(sum) => b.value(opcode, &[sum, term], &[]),
        None => term,
    }
}
