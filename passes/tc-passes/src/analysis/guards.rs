//! The guards of an access: what the conditions around it say wherever it is executed.
//!
//! In `if tx * 3 + j < 34 { S[row * 34 + tx * 3 + j] = … }` the guard keeps a row's elements within the row, which the
//! ranges of `tx` and `j` alone do not. A guard that leaves a sum one value (`tx == 0`, `tx < 1`) is an equation: it holds
//! on both sides of a dependence test, and so may tell that both are one thread.

use super::access::NestFacts;
use super::form::{Footprint, Form};
use std::rc::Rc;
use tc_arith::{BinaryOp, Expr, Interval, Node};
use tc_dialects::tir;
use tc_ir::Region;

/// Conditions around one access that are looked at; of more, the innermost count.
const MAX_GUARDS: usize = 32;

/// What holds where an access is executed.
#[derive(PartialEq, Eq, Default, Debug)]
pub(crate) struct Guards {
    /// Conditions that hold, each with the truth value that it has.
    pub(super) conditions: Vec<(Expr, bool)>,
    /// What those of them say that bound a sum.
    pub(super) bounds: Vec<SumBound>,
}

/// `sum of coef * atom` lies in the interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SumBound {
    terms: Vec<(Expr, i64)>,
    interval: Interval,
}

impl SumBound {
    /// The interval of the sum of `terms`, where that is a multiple of the bounded sum.
    pub(super) fn interval_of(&self, terms: &[(Expr, i64)]) -> Option<Interval> {
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

    /// The sum less its value, where it has only one: a form that is zero.
    fn equation(&self) -> Option<Form> {
        let constant = self.interval.as_point()?.checked_neg()?;
        Some(Form { terms: self.terms.clone(), constant, footprint: Footprint::NONE, row: None })
    }
}

impl Guards {
    /// The forms that are zero where the access is executed.
    pub(super) fn equations(&self) -> impl Iterator<Item = Form> + '_ {
        self.bounds.iter().filter_map(SumBound::equation)
    }
}

impl NestFacts<'_> {
    /// What holds in `region` by the conditions around it.
    pub(super) fn guards_in(&mut self, region: Region) -> Rc<Guards> {
        if let Some(known) = self.guards.get(&region) {
            return known.clone();
        }
        let func = self.func;
        let mut guards = Guards::default();
        let mut at = region;
        while let Some(op) = func.region_parent(at)
            && guards.conditions.len() < MAX_GUARDS
        {
            if func.opcode(op) == tir::IF {
                let condition = self.expr(func.operand(op, 0));
                self.add_guards(condition, func.op_regions(op)[0] == at, &mut guards);
            }
            let Some(outer) = func.region_of(op) else { break };
            at = outer;
        }
        let guards = Rc::new(guards);
        self.guards.insert(region, guards.clone());
        guards
    }

    /// Adds what follows from `condition` having the value `truth`.
    fn add_guards(&mut self, condition: Expr, truth: bool, guards: &mut Guards) {
        let mut worklist = vec![(condition, truth)];
        while let Some((at, truth)) = worklist.pop() {
            match self.algebra.analyzer.pool.node(at) {
                Node::Likely(inner) => worklist.push((inner, truth)),
                Node::Not(inner) => worklist.push((inner, !truth)),
                Node::Binary(BinaryOp::And, a, b) if truth => worklist.extend([(b, true), (a, true)]),
                Node::Binary(BinaryOp::Or, a, b) if !truth => worklist.extend([(b, false), (a, false)]),
                _ if guards.conditions.len() >= MAX_GUARDS => return,
                node => {
                    guards.conditions.push((at, truth));
                    let bound = self.sum_bound(node, truth);
                    guards.bounds.extend(bound);
                }
            }
        }
    }

    /// What the comparison `node` says of the difference of its sides, if its value is `truth`.
    fn sum_bound(&mut self, node: Node, truth: bool) -> Option<SumBound> {
        let Node::Binary(op, a, b) = node else { return None };
        // The difference of `a` and `b` is at least the first and at most the second.
        let (first, last) = match (op, truth) {
            (BinaryOp::Lt, true) => (None, Some(-1)),
            (BinaryOp::Le, true) => (None, Some(0)),
            (BinaryOp::Lt, false) => (Some(0), None),
            (BinaryOp::Le, false) => (Some(1), None),
            (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => (Some(0), Some(0)),
            _ => return None,
        };
        let difference = self.algebra.analyzer.pool.sub(a, b);
        let form = self.form_of(difference, Footprint::NONE);
        let without_constant = |end: Option<i64>| match end {
            None => Some(None),
            Some(end) => end.checked_sub(form.constant).map(Some),
        };
        let (first, last) = (without_constant(first)?, without_constant(last)?);
        if form.terms.is_empty() {
            return None;
        }
        let interval = self.sum_bounds(&form.terms).narrowed(Interval::from_ends(first, last));
        Some(SumBound { terms: form.terms, interval })
    }

    /// The interval of a sum by the ranges of its atoms.
    pub(crate) fn sum_bounds(&mut self, terms: &[(Expr, i64)]) -> Interval {
        terms.iter().fold(Interval::point(0), |sum, &(atom, coef)| {
            let bounds = self.bounds(atom);
            sum + Interval::apply(BinaryOp::Mul, bounds, Interval::point(coef))
        })
    }
}
