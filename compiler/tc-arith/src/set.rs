//! Sets of values with symbolic ends: what an index runs over while some variables run and the others stand still.

use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node, Var};
use crate::facts::Relation;
use crate::interval::Interval;
use crate::linear::Linear;
use crate::simplify::MAX_DEPTH;

/// The integers from `min` to `max`, both included; a missing end is no bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SymInterval {
    /// A lower bound.
    pub min: Option<Expr>,
    /// An upper bound.
    pub max: Option<Expr>,
}

impl SymInterval {
    /// Everything.
    pub const FULL: SymInterval = SymInterval { min: None, max: None };

    /// One value.
    pub fn point(e: Expr) -> SymInterval {
        SymInterval { min: Some(e), max: Some(e) }
    }

    /// From one end to the other, both included.
    pub fn new(min: Expr, max: Expr) -> SymInterval {
        SymInterval { min: Some(min), max: Some(max) }
    }

    /// The only value, if both ends are the same expression.
    pub fn as_point(self) -> Option<Expr> {
        self.min.filter(|_| self.min == self.max)
    }
}

/// The variables that run, and what each runs over.
pub type Relaxed<'a> = &'a [(Var, SymInterval)];

impl Analyzer {
    /// The interval that `e` runs over while the variables of `relaxed` run over theirs and all others stand still.
    /// The ends do not use the relaxed variables. Exact for sums of multiples of variables; otherwise it may be wider.
    pub fn eval_set(&mut self, e: Expr, relaxed: Relaxed<'_>) -> SymInterval {
        let mark = self.mark();
        self.start_set(relaxed);
        let e = self.expand(e);
        let simplified = self.simp(e);
        let set = self.set_of(simplified, relaxed);
        let set = self.total(set);
        self.rollback(mark);
        set
    }

    /// The set without an end that may divide by zero: ends are computed where the expression itself is not.
    pub(crate) fn total(&mut self, set: SymInterval) -> SymInterval {
        let [min, max] = [set.min, set.max].map(|end| end.filter(|&end| !self.may_divide_by_zero(end)));
        SymInterval { min, max }
    }

    /// [`Analyzer::eval_set`] of the points at which `condition` holds as well. Comparisons that bound `e` itself, up
    /// to terms that stand still, draw the ends in.
    pub fn eval_set_under(&mut self, e: Expr, relaxed: Relaxed<'_>, condition: Expr) -> SymInterval {
        let mark = self.mark();
        self.start_set(relaxed);
        let condition = self.pool.truth_of(condition);
        let condition = self.expand(condition);
        let condition = self.simp(condition);
        // Ends are stated for the place outside, where the condition is not known.
        let e = self.expand(e);
        let simplified = self.simp(e);
        let mut set = self.set_of(simplified, relaxed);
        for clause in self.clauses(true, condition) {
            set = self.drawn_in(set, simplified, relaxed, clause);
        }
        let set = self.total(set);
        self.rollback(mark);
        set
    }

    /// The hull of two sets.
    pub fn union(&mut self, a: SymInterval, b: SymInterval) -> SymInterval {
        self.start_query();
        self.hull(a, b)
    }

    fn hull(&mut self, a: SymInterval, b: SymInterval) -> SymInterval {
        SymInterval { min: self.both(BinaryOp::Min, a.min, b.min), max: self.both(BinaryOp::Max, a.max, b.max) }
    }

    /// The hull of several sets; everything for none.
    pub fn union_all(&mut self, sets: &[SymInterval]) -> SymInterval {
        let Some((&first, rest)) = sets.split_first() else { return SymInterval::FULL };
        rest.iter().fold(first, |hull, &set| self.union(hull, set))
    }

    /// `max - min + 1`, simplified.
    pub fn extent(&mut self, set: SymInterval) -> Option<Expr> {
        let one = self.pool.int(1);
        let width = self.pool.sub(set.max?, set.min?);
        let extent = self.pool.add(width, one);
        self.start_query();
        Some(self.simp(extent))
    }

    /// Lets each relaxed variable have the constant bounds of its set.
    fn start_set(&mut self, relaxed: Relaxed<'_>) {
        self.sets.clear();
        for &(v, set) in relaxed {
            self.bind_relaxed(v, set);
        }
        // One budget for all the parts.
        self.start_query();
    }

    /// Lets `v` have the constant bounds of its set, as far as it has none of its own.
    fn bind_relaxed(&mut self, v: Var, set: SymInterval) {
        let low = set.min.map_or(Interval::FULL, |min| self.bounds(min));
        let high = set.max.map_or(Interval::FULL, |max| self.bounds(max));
        let range = self.range(v).narrowed(Interval::from_ends(low.min(), high.max()));
        if range != self.range(v) {
            self.bind_range(v, range.min(), range.max());
        }
    }

    fn set_of(&mut self, e: Expr, relaxed: Relaxed<'_>) -> SymInterval {
        if !self.moves(e, relaxed) {
            return SymInterval::point(e);
        }
        if self.pool.depth(e) > MAX_DEPTH {
            return SymInterval::FULL;
        }
        if let Some(&known) = self.sets.get(&e) {
            return known;
        }
        let set = match self.linear_of(e) {
            Some(form) if form.as_atom() != Some(e) => self.set_of_sum(&form, relaxed),
            _ => self.set_of_atom(e, relaxed),
        };
        self.sets.insert(e, set);
        set
    }

    fn moves(&self, e: Expr, relaxed: Relaxed<'_>) -> bool {
        if self.pool.mask(e) == 0 {
            return false;
        }
        match self.pool.node(e) {
            Node::Var(v) => relaxed.iter().any(|&(r, _)| r == v),
            _ => self.pool.vars(e).iter().any(|v| relaxed.iter().any(|(r, _)| r == v)),
        }
    }

    fn set_of_sum(&mut self, form: &Linear, relaxed: Relaxed<'_>) -> SymInterval {
        let mut ends = [Some(Linear::constant(form.constant)), Some(Linear::constant(form.constant))];
        for term in &form.terms {
            let set = self.set_of(term.atom, relaxed);
            let (low, high) = if term.coef > 0 { (set.min, set.max) } else { (set.max, set.min) };
            for (end, value) in ends.iter_mut().zip([low, high]) {
                let value = value.and_then(|value| self.linear_of(value));
                *end = end.take().zip(value).and_then(|(sum, value)| sum.plus(&self.pool, &value, term.coef));
            }
        }
        let [min, max] = ends.map(|end| {
            let end = end.filter(|end| self.fits(end))?.build(&mut self.pool);
            Some(self.simp(end))
        });
        SymInterval { min, max }
    }

    /// The set of an atom that uses relaxed variables.
    fn set_of_atom(&mut self, e: Expr, relaxed: Relaxed<'_>) -> SymInterval {
        let set = match self.pool.node(e) {
            Node::Var(v) => relaxed.iter().find(|(r, _)| *r == v).map(|&(_, set)| set),
            Node::Binary(op @ (BinaryOp::FloorDiv | BinaryOp::FloorMod), x, c) => {
                self.set_of_division(op, x, c, relaxed)
            }
            Node::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) => {
                let (a, b) = (self.set_of(a, relaxed), self.set_of(b, relaxed));
                // One known end is enough where the operator picks the better of two.
                let pick = |az: &mut Analyzer, a: Option<Expr>, b: Option<Expr>, one_is_enough: bool| match (a, b) {
                    (Some(end), None) | (None, Some(end)) if one_is_enough => Some(end),
                    (a, b) => az.both(op, a, b),
                };
                let min = pick(self, a.min, b.min, op == BinaryOp::Max);
                let max = pick(self, a.max, b.max, op == BinaryOp::Min);
                Some(SymInterval { min, max })
            }
            Node::Binary(BinaryOp::Mul, a, b) => self.set_of_product(a, b, relaxed),
            Node::Select(c, a, b) => {
                let moves = self.moves(c, relaxed);
                let (a, b) = (self.set_of(a, relaxed), self.set_of(b, relaxed));
                Some(if moves { self.hull(a, b) } else { self.select_ends(c, a, b) })
            }
            _ => None,
        };
        let constant = self.bound_of(e);
        let set = set.unwrap_or_default();
        SymInterval {
            min: set.min.or_else(|| constant.min().map(|min| self.pool.int(min))),
            max: set.max.or_else(|| constant.max().map(|max| self.pool.int(max))),
        }
    }

    fn select_ends(&mut self, c: Expr, a: SymInterval, b: SymInterval) -> SymInterval {
        let [min, max] = [(a.min, b.min), (a.max, b.max)].map(|(a, b)| {
            let end = a.zip(b).map(|(a, b)| self.pool.select(c, a, b))?;
            Some(self.simp(end))
        });
        SymInterval { min, max }
    }

    /// `min` or `max` of two ends.
    fn both(&mut self, op: BinaryOp, a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
        let end = self.pool.binary(op, a?, b?);
        Some(self.simp(end))
    }

    fn divided(&mut self, op: BinaryOp, x: Expr, c: Expr) -> Expr {
        let e = self.pool.binary(op, x, c);
        self.simp(e)
    }

    fn set_of_division(&mut self, op: BinaryOp, x: Expr, c: Expr, relaxed: Relaxed<'_>) -> Option<SymInterval> {
        self.pool.as_const(c).filter(|&c| c > 0)?;
        let x = self.set_of(x, relaxed);
        let ends = [x.min, x.max].map(|end| end.map(|end| self.divided(BinaryOp::FloorDiv, end, c)));
        if op == BinaryOp::FloorDiv {
            return Some(SymInterval { min: ends[0], max: ends[1] });
        }
        // Within one period a remainder rises with its dividend.
        let ((first, last), (min, max)) = (ends[0].zip(ends[1])?, x.min.zip(x.max)?);
        let same = self.pool.eq(first, last);
        let same = self.simp(same);
        if self.pool.as_bool(same) != Some(true) {
            return None;
        }
        Some(SymInterval::new(self.divided(BinaryOp::FloorMod, min, c), self.divided(BinaryOp::FloorMod, max, c)))
    }

    fn set_of_product(&mut self, a: Expr, b: Expr, relaxed: Relaxed<'_>) -> Option<SymInterval> {
        let (a_moves, b_moves) = (self.moves(a, relaxed), self.moves(b, relaxed));
        let (a_bound, b_bound) = (self.bound_of(a), self.bound_of(b));
        let (a, b) = (self.set_of(a, relaxed), self.set_of(b, relaxed));
        if a_moves && b_moves {
            let nonnegative = a_bound.all_at_least(0) && b_bound.all_at_least(0);
            let low = a.min.zip(b.min).filter(|_| nonnegative);
            let high = a.max.zip(b.max).filter(|_| nonnegative);
            return Some(SymInterval { min: self.times(low), max: self.times(high) });
        }
        let (set, factor, sign) = if a_moves { (a, b.min, b_bound) } else { (b, a.min, a_bound) };
        let (low, high) = (self.times(set.min.zip(factor)), self.times(set.max.zip(factor)));
        Some(if sign.all_at_least(0) {
            SymInterval { min: low, max: high }
        } else if sign.all_at_most(0) {
            SymInterval { min: high, max: low }
        } else {
            SymInterval { min: self.both(BinaryOp::Min, low, high), max: self.both(BinaryOp::Max, low, high) }
        })
    }

    fn times(&mut self, factors: Option<(Expr, Expr)>) -> Option<Expr> {
        let (a, b) = factors?;
        let product = self.pool.mul(a, b);
        Some(self.simp(product))
    }

    /// The set of `e` where a clause holds too.
    fn drawn_in(&mut self, set: SymInterval, e: Expr, relaxed: Relaxed<'_>, clause: Expr) -> SymInterval {
        let Node::Binary(op, a, b) = self.pool.node(clause) else { return set };
        if !op.is_comparison() {
            return set;
        }
        let Some(comparison) = self.comparison(op, a, b, false).filter(|c| c.relation != Relation::Ne) else {
            return set;
        };
        let Some(form) = self.linear_of(e) else { return set };
        let ratios = comparison.form.terms.iter().filter_map(|term| {
            let here = form.coef_of(term.key);
            if here.checked_rem(term.coef)? == 0 { here.checked_div(term.coef) } else { None }
        });
        let ratio = ratios.filter(|&ratio| ratio != 0).min_by_key(|ratio| ratio.unsigned_abs());
        let Some(ratio) = ratio else { return set };
        // e = ratio * form + rest, so form <= bound bounds e from above, or from below.
        let rest = ratio.checked_neg().and_then(|less| form.plus(&self.pool, &comparison.form, less));
        let Some(rest) = rest.filter(|rest| self.fits(rest)) else { return set };
        let rest = self.set_of_sum(&rest, relaxed);
        let Some(bound) = comparison.bound.checked_mul(ratio) else { return set };
        let equal = comparison.relation == Relation::Eq;
        let mut set = set;
        if ratio > 0 || equal {
            let end = self.shifted(rest.max, bound);
            set.max = if set.max.is_none() || end.is_none() {
                set.max.or(end)
            } else {
                self.both(BinaryOp::Min, set.max, end)
            };
        }
        if ratio < 0 || equal {
            let end = self.shifted(rest.min, bound);
            set.min = if set.min.is_none() || end.is_none() {
                set.min.or(end)
            } else {
                self.both(BinaryOp::Max, set.min, end)
            };
        }
        set
    }

    fn shifted(&mut self, end: Option<Expr>, by: i64) -> Option<Expr> {
        let end = crate::linear::add_constant(&mut self.pool, end?, by);
        Some(self.simp(end))
    }
}
