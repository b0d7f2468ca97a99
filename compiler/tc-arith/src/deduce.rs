//! Solving for a variable: linear decompositions, and the interval on which a comparison always holds.

use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node, Var};
use crate::facts::{Comparison, Relation};
use crate::linear::{Linear, Term};
use crate::set::{Relaxed, SymInterval};
use crate::simplify::MAX_DEPTH;

/// `coeffs[0]*vars[0] + coeffs[1]*vars[1] + ... + constant`; neither coefficients nor constant use the variables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinearForm {
    /// One for each variable that was asked for, in that order.
    pub coeffs: Vec<Expr>,
    /// What is left.
    pub constant: Expr,
}

/// A [`LinearForm`] of integers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstLinearForm {
    /// One for each variable that was asked for, in that order.
    pub coeffs: Vec<i64>,
    /// What is left.
    pub constant: i64,
}

impl Analyzer {
    /// The expression as a linear form in the variables, if it is one.
    pub fn linear(&mut self, e: Expr, vars: &[Var]) -> Option<LinearForm> {
        self.start_query();
        let e = self.simp(e);
        let form = self.linear_of(e)?;
        let mut coeffs = vec![Linear::default(); vars.len()];
        let mut constant = Linear::constant(form.constant);
        for &term in &form.terms {
            let factors = self.pool.factors(term.atom);
            let at = factors.iter().position(|&factor| self.pool.uses_any(factor, vars));
            let Some(at) = at else {
                constant.add_term(&self.pool, term)?;
                continue;
            };
            let Node::Var(v) = self.pool.node(factors[at]) else { return None };
            let mut others = factors;
            others.remove(at);
            if others.iter().any(|&factor| self.pool.uses_any(factor, vars)) {
                return None;
            }
            let coeff = &mut coeffs[vars.iter().position(|&var| var == v)?];
            if others.is_empty() {
                coeff.constant = coeff.constant.checked_add(term.coef)?;
            } else {
                let atom = self.pool.product(&others);
                let key = self.key(atom);
                coeff.add_term(&self.pool, Term { atom, key, ..term })?;
            }
        }
        let coeffs = coeffs.into_iter().map(|coeff| coeff.build(&mut self.pool)).collect();
        Some(LinearForm { coeffs, constant: constant.build(&mut self.pool) })
    }

    /// The expression as a linear form in the variables with integers only, if it is one.
    pub fn linear_const(&mut self, e: Expr, vars: &[Var]) -> Option<ConstLinearForm> {
        let form = self.linear(e, vars)?;
        let constant = self.pool.as_const(form.constant)?;
        let coeffs = form.coeffs.iter().map(|&coeff| self.pool.as_const(coeff)).collect::<Option<_>>()?;
        Some(ConstLinearForm { coeffs, constant })
    }

    /// Whether floor and truncating division of `num` by `den` agree, remainders included: nothing negative over
    /// something positive, or a division without remainder.
    pub fn floor_is_trunc(&mut self, num: Expr, den: Expr) -> bool {
        if self.bounds(num).all_at_least(0) && self.bounds(den).all_at_least(1) {
            return true;
        }
        let divisor = self.bounds(den).as_point().filter(|&c| c > 0);
        divisor.is_some_and(|c| self.modular(num).residue(c) == Some(0))
    }

    /// The values of `var` for which `condition` holds for every value of the relaxed variables, as ends that use
    /// neither. Every value within the ends that `var` can have at all is one; for a comparison that is linear in
    /// `var` there is no other. An end without bound is missing. `None` where the condition cannot be solved for `var`, which must occur once in
    /// each comparison; conjunctions are solved comparison by comparison.
    pub fn deduce_bound(&mut self, var: Var, condition: Expr, relaxed: Relaxed<'_>) -> Option<SymInterval> {
        if relaxed.iter().any(|&(v, _)| v == var) {
            return None;
        }
        let condition = self.pool.truth_of(condition);
        let condition = self.expand(condition);
        self.start_query();
        let simplified = self.simp(condition);
        if self.pool.depth(simplified) > MAX_DEPTH || self.may_divide_by_zero(simplified) {
            return None;
        }
        let mut result = Some(SymInterval::FULL);
        for clause in self.clauses(true, simplified) {
            result = result.and_then(|known| {
                let next = self.deduce_clause(var, clause, relaxed)?;
                // An end that is lost to a division that may fail would let every value in.
                if self.total(next) != next {
                    return None;
                }
                Some(self.intersection(known, next))
            });
        }
        result
    }

    fn intersection(&mut self, a: SymInterval, b: SymInterval) -> SymInterval {
        let mut pick = |op, a: Option<Expr>, b: Option<Expr>| match (a, b) {
            (Some(a), Some(b)) => {
                let end = self.pool.binary(op, a, b);
                Some(self.simp(end))
            }
            (a, b) => a.or(b),
        };
        SymInterval { min: pick(BinaryOp::Max, a.min, b.min), max: pick(BinaryOp::Min, a.max, b.max) }
    }

    fn deduce_clause(&mut self, var: Var, clause: Expr, relaxed: Relaxed<'_>) -> Option<SymInterval> {
        let (op, a, b) = match self.pool.node(clause) {
            Node::Bool(true) => return Some(SymInterval::FULL),
            Node::Likely(inner) => return self.deduce_clause(var, inner, relaxed),
            Node::Binary(op, a, b) if op.is_comparison() => (op, a, b),
            _ => return None,
        };
        let Comparison { relation, form, bound } = self.comparison(op, a, b, false)?;
        match relation {
            Relation::Le => self.solve_le(var, form, bound, relaxed),
            Relation::Eq => self.solve_eq(var, &form, bound, relaxed),
            Relation::Ne => None,
        }
    }

    /// The only term that uses `var`, and the others.
    fn isolated(&mut self, var: Var, form: &Linear) -> Option<(Term, Linear)> {
        let (with, rest) = form.partition(|term| self.pool.uses(term.atom, var));
        Some((with.single()?, rest))
    }

    /// Solves `form <= bound`.
    fn solve_le(&mut self, var: Var, form: Linear, bound: i64, relaxed: Relaxed<'_>) -> Option<SymInterval> {
        let (term, rest) = self.isolated(var, &form)?;
        let factor = term.coef.checked_abs()?;
        let mut room = rest.scaled(-1)?;
        room.constant = bound;
        if !self.fits(&room) {
            return None;
        }
        let room = room.build(&mut self.pool);
        // The least room that the relaxed variables leave.
        let room = self.eval_set(room, relaxed).min?;
        let factor = self.pool.int(factor);
        let quotient = self.pool.floor_div(room, factor);
        let quotient = self.simp(quotient);
        if term.coef > 0 {
            self.solve_atom(var, term.atom, SymInterval { min: None, max: Some(quotient) }, relaxed)
        } else {
            let zero = self.pool.int(0);
            let least = self.pool.sub(zero, quotient);
            let least = self.simp(least);
            self.solve_atom(var, term.atom, SymInterval { min: Some(least), max: None }, relaxed)
        }
    }

    /// Solves `least <= atom` or `atom <= most`, whichever end is there.
    fn solve_atom(&mut self, var: Var, atom: Expr, ends: SymInterval, relaxed: Relaxed<'_>) -> Option<SymInterval> {
        if self.pool.node(atom) == Node::Var(var) {
            return Some(ends);
        }
        let Node::Binary(BinaryOp::FloorDiv, x, c) = self.pool.node(atom) else { return None };
        self.pool.as_const(c).filter(|&c| c > 0)?;
        // least <= x/c is c*least <= x; x/c <= most is x <= c*most + c - 1.
        let end = ends.min.or(ends.max)?;
        let scaled = self.pool.mul(end, c);
        let condition = if ends.min.is_some() {
            self.pool.le(scaled, x)
        } else {
            let past = self.pool.add(scaled, c);
            self.pool.lt(x, past)
        };
        let Node::Binary(op, a, b) = self.pool.node(condition) else { return None };
        let Comparison { form, bound, .. } = self.comparison(op, a, b, false)?;
        self.solve_le(var, form, bound, relaxed)
    }

    /// Solves `form == bound` with `var` on its own: one value, if it is an integer for certain.
    fn solve_eq(&mut self, var: Var, form: &Linear, bound: i64, relaxed: Relaxed<'_>) -> Option<SymInterval> {
        let (term, rest) = self.isolated(var, form)?;
        if self.pool.node(term.atom) != Node::Var(var) || !matches!(term.coef, 1 | -1) {
            return None;
        }
        let mut value = rest.scaled(-1)?;
        value.constant = bound;
        let value = value.scaled(term.coef).filter(|value| self.fits(value))?.build(&mut self.pool);
        if relaxed.iter().any(|&(v, _)| self.pool.uses(value, v)) {
            return None;
        }
        Some(SymInterval::point(self.simp(value)))
    }
}
