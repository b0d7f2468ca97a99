//! What is known in a place: conditions that hold, broken up into facts about linear forms.

use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::interval::Interval;
use crate::linear::{Linear, Summand};
use crate::modular::ModularSet;

/// A linear form without a constant whose value is known to lie in an interval.
#[derive(Clone, Debug)]
pub(crate) struct Fact {
    pub(crate) form: Linear,
    pub(crate) range: Interval,
    /// A value that the form is known not to have.
    pub(crate) excluded: Option<i64>,
    pub(crate) mask: u64,
}

/// How many parts of one condition are looked at.
pub(crate) const MAX_PARTS: usize = 256;

/// How a comparison relates a linear form to a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Relation {
    /// `form <= bound`.
    Le,
    /// `form == bound`.
    Eq,
    /// `form != bound`.
    Ne,
}

/// `form relation bound`; the form has no constant.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) relation: Relation,
    pub(crate) form: Linear,
    pub(crate) bound: i64,
}

impl Comparison {
    /// What holds when this does not.
    pub(crate) fn negated(&self) -> Option<Comparison> {
        Some(match self.relation {
            Relation::Eq => Comparison { relation: Relation::Ne, ..self.clone() },
            Relation::Ne => Comparison { relation: Relation::Eq, ..self.clone() },
            Relation::Le => {
                let bound = self.bound.checked_add(1)?.checked_neg()?;
                Comparison { relation: Relation::Le, form: self.form.scaled(-1)?, bound }
            }
        })
    }
}

impl Analyzer {
    /// A comparison as a linear form against a constant; with `settle` its parts are simplified first.
    pub(crate) fn comparison(&mut self, op: BinaryOp, a: Expr, b: Expr, settle: bool) -> Option<Comparison> {
        let mut form = Linear::default();
        self.gather(&mut form, Summand { expr: a, factor: 1, settle, right: false })?;
        self.gather(&mut form, Summand { expr: b, factor: -1, settle, right: true })?;
        let relation = match op {
            BinaryOp::Eq => Relation::Eq,
            BinaryOp::Ne => Relation::Ne,
            _ => Relation::Le,
        };
        let strict = i64::from(op == BinaryOp::Lt);
        let bound = form.constant.checked_neg()?.checked_sub(strict)?;
        form.constant = 0;
        Some(Comparison { relation, form, bound })
    }

    /// Takes a simplified condition to be true or false from here on.
    pub(crate) fn assume(&mut self, condition: Expr, truth: bool) {
        if self.pool.as_bool(condition).is_some() {
            return;
        }
        let given = if truth { condition } else { self.pool.not(condition) };
        if self.assume_again(condition, truth) {
            return self.assumed.push(given);
        }
        let before = self.mark();
        self.start_assuming();
        self.assumed.push(given);
        let mut stack = vec![(condition, truth)];
        let mut asked = false;
        // Beyond this a conjunction goes on being true, but nothing is learnt from it.
        for _ in 0..MAX_PARTS {
            let Some((e, truth)) = stack.pop() else { break };
            match (self.pool.node(e), truth) {
                (Node::Binary(BinaryOp::And, a, b), true) | (Node::Binary(BinaryOp::Or, a, b), false) => {
                    stack.extend([(b, truth), (a, truth)]);
                }
                (Node::Not(a), _) => stack.push((a, !truth)),
                (Node::Likely(a), _) => stack.push((a, truth)),
                (Node::Binary(op, a, b), _) if op.is_comparison() => {
                    let both = self.both_of_minmax(op, a, b, truth);
                    asked |= !both.is_empty();
                    stack.extend(both.into_iter().map(|part| (part, true)));
                    self.assume_comparison(op, a, b, truth);
                }
                (Node::Const(_) | Node::Bool(_), _) => {}
                _ => {
                    let key = self.key(e);
                    self.literals.push((key, truth));
                }
            }
        }
        if asked {
            // What was found while a part of the condition was known is less than what all of it tells.
            self.fresh_context();
        }
        self.remember_assumed(&before, condition, truth);
    }

    /// What is below `min(x, y)` is below both; likewise what both of `max(x, y)` are below.
    fn both_of_minmax(&mut self, op: BinaryOp, a: Expr, b: Expr, truth: bool) -> Vec<Expr> {
        // Most comparisons hold neither, and are not worth a closer look.
        let is_minmax = |e: Expr| matches!(self.pool.node(e), Node::Binary(BinaryOp::Min | BinaryOp::Max, ..));
        if !is_minmax(a) && !is_minmax(b) {
            return Vec::new();
        }
        let Some(comparison) = self.comparison(op, a, b, false) else { return Vec::new() };
        let comparison = if truth { Some(comparison) } else { comparison.negated() };
        let Some(comparison) = comparison.filter(|comparison| comparison.relation == Relation::Le) else {
            return Vec::new();
        };
        let parts = comparison.form.terms.iter().find_map(|term| match (self.pool.node(term.atom), term.coef > 0) {
            (Node::Binary(BinaryOp::Min, x, y), false) | (Node::Binary(BinaryOp::Max, x, y), true) => {
                Some((*term, [x, y]))
            }
            _ => None,
        });
        let Some((term, parts)) = parts else { return Vec::new() };
        let mut both = Vec::with_capacity(2);
        for part in parts {
            if let Some((_, part)) = crate::rules::compare::replaced(self, &comparison, &term, part) {
                let part = part.build(self);
                both.push(self.simp(part));
            }
        }
        both
    }

    fn assume_comparison(&mut self, op: BinaryOp, a: Expr, b: Expr, truth: bool) {
        let Some(comparison) = self.comparison(op, a, b, false) else { return };
        let comparison = if truth { Some(comparison) } else { comparison.negated() };
        let Some(Comparison { relation, form, bound }) = comparison else { return };
        let Some(first) = form.terms.first() else { return };
        // A fact that divides by zero in some order of evaluation must not decide whether that happens.
        if form.may_fail(&self.pool) {
            return;
        }
        let (sign, range, excluded) = match relation {
            Relation::Le if first.coef < 0 => (-1, bound.checked_neg().map(Interval::at_least), None),
            Relation::Le => (1, Some(Interval::at_most(bound)), None),
            Relation::Eq => (1, Some(Interval::point(bound)), None),
            Relation::Ne => (1, Some(Interval::FULL), Some(bound)),
        };
        let (Some(form), Some(range)) = (form.scaled(sign), range) else { return };
        if relation == Relation::Eq {
            self.assume_residue(&form, bound);
        }
        let mask = form.mask(&self.pool);
        self.facts.push(Fact { form, range, excluded, mask });
    }

    /// `x % c == r` tells a modular set, of `x` or of the only atom in it.
    fn assume_residue(&mut self, form: &Linear, bound: i64) {
        let Some(atom) = form.as_atom() else { return };
        let Node::Binary(BinaryOp::FloorMod, x, c) = self.pool.node(atom) else { return };
        let Some(modulus) = self.pool.as_const(c).filter(|&c| c > 0) else { return };
        let key = self.key(x);
        self.residues.push((key, ModularSet::new(modulus, bound)));
        let Some(inner) = self.linear_of(x) else { return };
        if let Some(term) = inner.single().filter(|term| matches!(term.coef, 1 | -1)) {
            let base = (i128::from(bound) - i128::from(inner.constant)) * i128::from(term.coef);
            // The remainder by an i64 fits in an i64.
            let base = base.rem_euclid(i128::from(modulus)) as i64;
            self.residues.push((term.key, ModularSet::new(modulus, base)));
        }
    }

    /// What the facts say of a form that equals one of theirs, or its negation.
    pub(crate) fn excludes(&mut self, form: &Linear, value: i64) -> bool {
        let mask = form.mask(&self.pool);
        self.facts.iter().any(|fact| {
            let same_size = fact.mask == mask && fact.form.terms.len() == form.terms.len();
            let Some(excluded) = fact.excluded.filter(|_| same_size) else { return false };
            let matches = |sign: i64| {
                form.terms.iter().all(|term| Some(fact.form.coef_of(term.key)) == term.coef.checked_mul(sign))
            };
            (excluded == value && matches(1)) || (excluded.checked_neg() == Some(value) && matches(-1))
        })
    }
}
