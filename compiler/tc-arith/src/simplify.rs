//! The simplifier: a walk from operands to results that brings each node to its canonical form and applies the rules of
//! its kind until none applies. Results are remembered until more, or less, is known.

use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::facts::Comparison;
use crate::interval::Interval;
use crate::linear::{Linear, Summand};
use crate::rules::{self, Apply, Division, Outcome, Rule};

/// A deeper expression is returned as it stands.
pub const MAX_DEPTH: u32 = 200;
/// How many nodes one query may visit, counting a node again for each condition under which it is seen.
pub const WORK_BUDGET: u32 = 5_000;
/// How many bounds one query may compute, counting an expression again for each condition under which it is seen.
const BOUND_BUDGET: u32 = 20_000;
/// How deep the recursion of one query may go, rewriting included.
const MAX_NEST: u32 = 260;
/// How many conditions of `&&`, `||` and `select` around a place are taken into account.
const MAX_BRANCHES: u32 = 8;
/// How many rules may be applied to one sum or comparison.
const MAX_ROUNDS: usize = 24;
/// A conjunction or disjunction of more clauses is simplified clause by clause.
const MAX_CLAUSES: usize = 64;

impl Analyzer {
    /// An expression that is equal to `e` under all that is known, in canonical form. Simplifying the result again changes
    /// nothing, but in places that no values reach: what contradicts itself may be used in any order.
    pub fn simplify(&mut self, e: Expr) -> Expr {
        self.start_query();
        self.simp(e)
    }

    pub(crate) fn start_query(&mut self) {
        self.fuel = WORK_BUDGET;
        self.bound_fuel = BOUND_BUDGET;
        self.nest = 0;
        self.branches = 0;
        self.gave_up = false;
    }

    /// [`Analyzer::simplify`] as part of a query.
    pub(crate) fn simp(&mut self, e: Expr) -> Expr {
        if matches!(self.pool.node(e), Node::Const(_) | Node::Bool(_)) {
            return e;
        }
        if let Some(known) = self.simplified.get(e, self.context) {
            return known;
        }
        if self.pool.depth(e) > MAX_DEPTH || self.nest >= MAX_NEST || self.fuel == 0 {
            self.gave_up = true;
            return e;
        }
        self.fuel -= 1;
        self.nest += 1;
        let result = self.simp_node(e);
        self.nest -= 1;
        if !self.gave_up {
            self.simplified.set(e, self.context, result);
            self.simplified.set(result, self.context, result);
        }
        result
    }

    fn simp_node(&mut self, e: Expr) -> Expr {
        use BinaryOp::*;
        let result = match self.pool.node(e) {
            Node::Const(_) | Node::Bool(_) => e,
            Node::Var(_) => self.apply_rules(rules::add::VARIABLES, e),
            Node::Binary(Mul, a, b) if self.pool.as_const(a).or(self.pool.as_const(b)).is_none() => {
                self.simp_product(e)
            }
            Node::Binary(Add | Sub | Mul, ..) => self.simp_sum(e),
            Node::Binary(op @ (FloorDiv | FloorMod), a, b) => self.simp_division(op, a, b),
            Node::Binary(Eq | Ne | Lt | Le, ..) => self.simp_comparison(e),
            Node::Binary(op @ (And | Or), ..) => self.simp_clauses(e, op == And),
            Node::Select(c, a, b) => self.simp_select(e, c, a, b),
            Node::Binary(Min | Max, ..) => self.rebuild_and_apply(rules::minmax::ROWS, e),
            Node::Binary(TruncDiv | TruncMod, ..) => self.rebuild_and_apply(rules::truncate::DIVISIONS, e),
            Node::Cast(..) => self.rebuild_and_apply(rules::cast::ROWS, e),
            Node::Not(_) => self.rebuild_and_apply(rules::boolean::NOTS, e),
            // Bits have no rules but the one that a range of one number is that number, with facts or without.
            Node::Binary(..) => {
                let rebuilt = self.rebuild(e);
                if self.pool.as_const(rebuilt).is_some() {
                    rebuilt
                } else {
                    self.apply_rules(rules::add::KNOWN, rebuilt)
                }
            }
            Node::Likely(_) => self.rebuild(e),
        };
        match self.pool.is_bool(result) {
            true if !self.literals.is_empty() => self.apply_rules(rules::boolean::KNOWN, result),
            false if !self.facts.is_empty() && self.pool.as_const(result).is_none() => {
                self.apply_rules(rules::add::KNOWN, result)
            }
            _ => result,
        }
    }

    /// The node with simplified operands, and nothing else done to it. Where its constructor makes something else of
    /// the operands, that is simplified.
    pub(crate) fn rebuild(&mut self, e: Expr) -> Expr {
        let (built, same_kind) = match self.pool.node(e) {
            Node::Const(_) | Node::Bool(_) | Node::Var(_) => (e, true),
            Node::Not(a) => {
                let a = self.simp(a);
                let built = self.pool.not(a);
                (built, matches!(self.pool.node(built), Node::Not(_)))
            }
            Node::Likely(a) => {
                let a = self.simp(a);
                let built = self.pool.likely(a);
                (built, matches!(self.pool.node(built), Node::Likely(_)))
            }
            Node::Cast(ty, a) => {
                let a = self.simp(a);
                let built = self.pool.cast(ty, a);
                (built, matches!(self.pool.node(built), Node::Cast(..)))
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.simp(a), self.simp(b));
                let built = self.pool.binary(op, a, b);
                (built, matches!(self.pool.node(built), Node::Binary(found, ..) if found == op))
            }
            Node::Select(c, a, b) => {
                let (c, a, b) = (self.simp(c), self.simp(a), self.simp(b));
                let built = self.pool.select(c, a, b);
                (built, matches!(self.pool.node(built), Node::Select(..)))
            }
        };
        if same_kind { built } else { self.simp(built) }
    }

    /// [`Analyzer::rebuild`], for a node that has no canonical form as it stands but may have one with simplified operands.
    fn rebuild_and_retry(&mut self, e: Expr) -> Expr {
        let rebuilt = self.rebuild(e);
        if rebuilt == e { e } else { self.simp(rebuilt) }
    }

    fn rebuild_and_apply(&mut self, table: &'static [Rule], e: Expr) -> Expr {
        let rebuilt = self.rebuild(e);
        self.apply_rules(table, rebuilt)
    }

    /// Applies the first rule of a table that fires, and simplifies what comes out. `e` has simplified operands.
    pub(crate) fn apply_rules(&mut self, table: &'static [Rule], e: Expr) -> Expr {
        for rule in table {
            let Apply::Node(apply) = rule.apply else { continue };
            if let Some(result) = apply(self, e)
                && result != e
            {
                self.note(rule, e, result);
                return self.simp(result);
            }
        }
        e
    }

    pub(crate) fn note_form(&mut self, rule: &'static Rule, before: Expr, form: &Linear) {
        if self.trace.is_some() {
            let after = form.build(&mut self.pool);
            if after != before {
                self.note(rule, before, after);
            }
        }
    }

    fn simp_sum(&mut self, e: Expr) -> Expr {
        let mut form = Linear::default();
        let whole = Summand { expr: e, factor: 1, settle: true, right: false };
        if self.gather(&mut form, whole).is_none() || !self.fits(&form) {
            return if self.gave_up { e } else { self.rebuild_and_retry(e) };
        }
        self.note_form(&rules::add::FORMS[0], e, &form);
        self.finish_sum(form)
    }

    /// Applies the rules of sums until none fires.
    pub(crate) fn finish_sum(&mut self, mut form: Linear) -> Expr {
        if !form.has_compound(&self.pool) {
            return form.build(&mut self.pool);
        }
        for _ in 0..MAX_ROUNDS {
            let fired = rules::add::SUMS.iter().find_map(|rule| {
                let Apply::Sum(apply) = rule.apply else { return None };
                let next = apply(self, &form)?;
                self.fits(&next).then_some((rule, next))
            });
            let Some((rule, next)) = fired else { break };
            if self.trace.is_some() {
                let before = form.build(&mut self.pool);
                self.note_form(rule, before, &next);
            }
            form = next;
        }
        form.build(&mut self.pool)
    }

    fn simp_division(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Expr {
        let (num, den) = (self.simp(a), self.simp(b));
        let e = self.pool.binary(op, num, den);
        // The constructor may have folded it to an operand or to a literal.
        let (num, den) = match self.pool.node(e) {
            Node::Binary(found, x, n) if found == op && (x, n) == (num, den) => (x, n),
            _ => return self.simp(e),
        };
        match self.pool.as_const(den) {
            Some(0) => e,
            Some(by) => self.simp_division_by(e, op, num, by),
            None => self.apply_rules(rules::symbolic::DIVISIONS, e),
        }
    }

    fn simp_division_by(&mut self, e: Expr, op: BinaryOp, num: Expr, by: i64) -> Expr {
        let Some(form) = self.linear_of(num) else { return e };
        let division = Division { num, form, by };
        let table = if op == BinaryOp::FloorDiv { rules::divide::QUOTIENTS } else { rules::divide::REMAINDERS };
        for rule in table {
            let Apply::Division(apply) = rule.apply else { continue };
            if let Some(result) = apply(self, &division)
                && result != e
            {
                self.note(rule, e, result);
                return self.simp(result);
            }
        }
        e
    }

    fn simp_comparison(&mut self, e: Expr) -> Expr {
        let Node::Binary(op, a, b) = self.pool.node(e) else { return e };
        let Some(mut comparison) = self.comparison(op, a, b, true) else {
            return if self.gave_up { e } else { self.rebuild_and_retry(e) };
        };
        if self.form_may_fail(&comparison.form) || !self.comparison_fits(&comparison) {
            return self.rebuild_and_retry(e);
        }
        if self.trace.is_some() {
            let after = comparison.build(self);
            self.note(&rules::compare::FORMS[0], e, after);
        }
        for _ in 0..MAX_ROUNDS {
            let fired = rules::compare::ROWS.iter().find_map(|rule| {
                let Apply::Comparison(apply) = rule.apply else { return None };
                match apply(self, &comparison)? {
                    Outcome::Changed(next) if !self.comparison_fits(&next) => None,
                    outcome => Some((rule, outcome)),
                }
            });
            let Some((rule, outcome)) = fired else { break };
            let before = if self.trace.is_some() { comparison.build(self) } else { e };
            let result = match outcome {
                Outcome::Decided(value) => self.pool.bool(value),
                Outcome::Into(result) => result,
                Outcome::Changed(next) => {
                    comparison = next;
                    if self.trace.is_some() {
                        let after = comparison.build(self);
                        self.note(rule, before, after);
                    }
                    continue;
                }
            };
            self.note(rule, before, result);
            return self.simp(result);
        }
        comparison.build(self)
    }

    /// May its terms and its bound stand on either side?
    fn comparison_fits(&mut self, comparison: &Comparison) -> bool {
        // `<` has a bound that is one higher.
        self.fits_with(&comparison.form, comparison.bound.unsigned_abs().saturating_add(1))
    }

    fn form_may_fail(&mut self, form: &Linear) -> bool {
        form.terms.iter().any(|term| self.may_divide_by_zero(term.atom))
    }

    /// Whether some division in the expression is not known to have a divisor other than zero.
    pub(crate) fn may_divide_by_zero(&mut self, e: Expr) -> bool {
        self.pool.may_fail(e)
            && self.pool.reachable(&[e]).into_iter().any(|inner| match self.pool.node(inner) {
                Node::Binary(op, _, divisor) if op.is_division() => self.bound_of(divisor).contains(0),
                _ => false,
            })
    }

    /// Whether the expression, or what becomes of it where more is known, may fail where that is not known: some divisor is
    /// neither a literal nor a variable whose declared range leaves zero out, or some count of a shift neither a literal
    /// nor a variable of 0 to 63.
    pub fn may_fail_anywhere(&self, e: Expr) -> bool {
        let is_within = |operand: Expr, fits: fn(Interval) -> bool| match self.pool.node(operand) {
            Node::Const(value) => fits(Interval::point(value)),
            Node::Var(v) => fits(self.range(v)),
            _ => false,
        };
        self.pool.reachable(&[e]).into_iter().any(|inner| match self.pool.node(inner) {
            Node::Binary(op, _, divisor) if op.is_division() => !is_within(divisor, |range| !range.contains(0)),
            Node::Binary(BinaryOp::Shl | BinaryOp::Shr, _, count) => {
                !is_within(count, |range| range.all_at_least(0) && range.all_at_most(63))
            }
            _ => false,
        })
    }

    fn simp_clauses(&mut self, e: Expr, and: bool) -> Expr {
        let clauses = self.clauses(and, e);
        if clauses.len() > MAX_CLAUSES || self.branches >= MAX_BRANCHES {
            let clauses: Vec<Expr> = clauses.into_iter().map(|clause| self.simp(clause)).collect();
            return self.join_clauses(and, &clauses);
        }
        self.branches += 1;
        let mut clauses = clauses;
        for rule in rules::boolean::CLAUSES {
            let Apply::Clauses(apply) = rule.apply else { continue };
            for _ in 0..MAX_ROUNDS {
                let Some(next) = apply(self, and, &clauses) else { break };
                if self.trace.is_some() {
                    let (before, after) = (self.join_clauses(and, &clauses), self.join_clauses(and, &next));
                    self.note(rule, before, after);
                }
                clauses = next;
                if self.gave_up {
                    break;
                }
            }
        }
        self.branches -= 1;
        self.join_clauses(and, &clauses)
    }

    fn simp_select(&mut self, e: Expr, c: Expr, a: Expr, b: Expr) -> Expr {
        let c = self.simp(c);
        let settled = self.pool.select(c, a, b);
        if settled != e && !matches!(self.pool.node(settled), Node::Select(..)) {
            return self.simp(settled);
        }
        let (x, y) = (self.simp_under(c, true, a), self.simp_under(c, false, b));
        let rebuilt = self.pool.select(c, x, y);
        if rebuilt != e {
            self.note(&rules::select::FORMS[0], e, rebuilt);
        }
        if matches!(self.pool.node(rebuilt), Node::Select(..)) {
            self.apply_rules(rules::select::ROWS, rebuilt)
        } else {
            self.simp(rebuilt)
        }
    }

    /// Simplifies what is evaluated only where `condition` has the given truth.
    fn simp_under(&mut self, condition: Expr, truth: bool, e: Expr) -> Expr {
        if self.branches >= MAX_BRANCHES || !self.may_share(self.pool.mask(condition), self.pool.mask(e)) {
            return self.simp(e);
        }
        let mark = self.mark();
        self.branches += 1;
        self.assume(condition, truth);
        let result = self.simp(e);
        self.branches -= 1;
        self.rollback(mark);
        result
    }
}
