//! What the conditions around an access say of its index.
//!
//! In `if tx * 3 + j < 34 { S[row * 34 + tx * 3 + j] = … }` the condition keeps a row's elements within the row, which the
//! ranges of `tx` and `j` alone do not. A cap is such a part of a sum, with the interval that the condition draws it into.

use super::access::{Form, NestFacts, Reach};
use std::rc::Rc;
use tc_arith::{BinaryOp, Expr, Interval, Node};
use tc_dialects::tir;
use tc_ir::{Op, Region};

/// Conditions around one access that are looked at.
const MAX_CAPS: usize = 32;

/// `sum of coef * atom` lies in the interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Cap {
    terms: Vec<(Expr, i64)>,
    interval: Interval,
}

impl Cap {
    /// The interval of the sum of `terms`, where that is a multiple of the cap's.
    pub(crate) fn interval_of(&self, terms: &[(Expr, i64)]) -> Option<Interval> {
        if terms.len() != self.terms.len() {
            return None;
        }
        let mut factor = None;
        for &(atom, coef) in terms {
            let &(_, own) = self.terms.iter().find(|(other, _)| *other == atom)?;
            let quotient = coef.checked_div(own)?;
            if coef.checked_rem(own)? != 0 || factor.is_some_and(|factor| factor != quotient) {
                return None;
            }
            factor = Some(quotient);
        }
        Some(Interval::apply(BinaryOp::Mul, self.interval, Interval::point(factor?)))
    }
}

impl NestFacts<'_> {
    /// The caps of parts of `form`, an index of the access `op`.
    pub(super) fn caps_of(&mut self, op: Op, form: &Form) -> Rc<[Cap]> {
        let Some(region) = self.func.region_of(op) else { return Rc::default() };
        let all = self.caps_in(region);
        let has = |atom: Expr| form.terms.iter().any(|&(other, _)| other == atom);
        let fits = |cap: &&Cap| cap.terms.iter().all(|&(atom, _)| has(atom));
        if all.iter().all(|cap| fits(&cap)) { all } else { all.iter().filter(fits).cloned().collect() }
    }

    fn caps_in(&mut self, region: Region) -> Rc<[Cap]> {
        if let Some(known) = self.caps.get(&region) {
            return known.clone();
        }
        let func = self.func;
        let mut caps: Vec<Cap> = Vec::new();
        let mut at = region;
        while let Some(op) = func.region_parent(at)
            && caps.len() < MAX_CAPS
        {
            if func.opcode(op) == tir::IF && func.op_regions(op)[0] == at {
                let condition = self.expr(func.operand(op, 0));
                self.add_caps(condition, &mut caps);
            }
            let Some(outer) = func.region_of(op) else { break };
            at = outer;
        }
        let caps: Rc<[Cap]> = caps.into();
        self.caps.insert(region, caps.clone());
        caps
    }

    /// Adds what follows from `condition`.
    fn add_caps(&mut self, condition: Expr, caps: &mut Vec<Cap>) {
        let mut pending = vec![condition];
        while let Some(at) = pending.pop() {
            let pool = &mut self.algebra.analyzer.pool;
            let (difference, greatest) = match pool.node(at) {
                Node::Likely(inner) => {
                    pending.push(inner);
                    continue;
                }
                Node::Binary(BinaryOp::And, a, b) => {
                    pending.extend([b, a]);
                    continue;
                }
                Node::Binary(BinaryOp::Lt, a, b) => (pool.sub(a, b), -1),
                Node::Binary(BinaryOp::Le, a, b) => (pool.sub(a, b), 0),
                _ => continue,
            };
            if caps.len() >= MAX_CAPS {
                return;
            }
            // The sum and its constant are at most `greatest`.
            let form = self.form_of(difference, Reach::NONE);
            let Some(greatest) = form.constant.checked_neg().and_then(|rest| rest.checked_add(greatest)) else {
                continue;
            };
            if form.terms.is_empty() {
                continue;
            }
            let own = self.sum_bounds(&form.terms);
            let interval = own.narrowed(Interval::from_ends(None, Some(greatest)));
            caps.push(Cap { terms: form.terms, interval });
        }
    }

    /// The interval of a sum by the ranges of its atoms.
    pub(super) fn sum_bounds(&mut self, terms: &[(Expr, i64)]) -> Interval {
        terms.iter().fold(Interval::point(0), |sum, &(atom, coef)| {
            let bounds = self.bounds(atom);
            sum + Interval::apply(BinaryOp::Mul, bounds, Interval::point(coef))
        })
    }
}
