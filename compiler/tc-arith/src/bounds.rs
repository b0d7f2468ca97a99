//! Constant bounds and modular sets of expressions, from ranges, definitions and the facts of the place.

use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::facts::Fact;
use crate::interval::Interval;
use crate::linear::{Linear, Term};
use crate::modular::ModularSet;
use crate::simplify::MAX_DEPTH;
use smallvec::smallvec;

/// How many levels of operators are looked through where facts are not asked.
const PLAIN_LEVELS: u32 = 4;
/// How many facts may be combined to bound one form.
const FACTS_COMBINED: u32 = 2;
/// Of the facts that share a variable with a form, how many are tried.
const FACTS_TRIED: usize = 12;

impl Analyzer {
    /// The least interval that can be told to hold every value of the expression.
    pub fn bounds(&mut self, e: Expr) -> Interval {
        if let Some(value) = self.pool.as_const(e) {
            self.gave_up = false;
            return Interval::point(value);
        }
        if let Some(known) = self.answered.get(e, self.context) {
            self.gave_up = false;
            return known;
        }
        let expanded = self.expand(e);
        let simplified = self.simplify(expanded);
        let mut interval = self.bound_of(simplified);
        if let Some(form) = self.linear_of(simplified) {
            interval = self.on_grid(&form, interval);
        }
        if !self.gave_up {
            self.answered.set(e, self.context, interval);
        }
        interval
    }

    /// An interval that holds every value of the expression, from ranges and definitions alone: neither is the expression
    /// simplified nor are facts asked. What this proves costs a fraction of [`Analyzer::bounds`].
    pub fn quick_bounds(&mut self, e: Expr) -> Interval {
        let node = self.pool.node(e);
        match node {
            Node::Const(value) => return Interval::point(value),
            Node::Bool(value) => return Interval::point(i64::from(value)),
            _ => {}
        }
        if self.pool.is_bool(e) {
            return Interval::BOOL;
        }
        if let Some(known) = self.quick.get(e, self.context) {
            return known;
        }
        if self.pool.depth(e) > MAX_DEPTH {
            return Interval::FULL;
        }
        let interval = match node {
            // Definitions are made of what was defined before, so this ends.
            Node::Var(v) => match self.definitions.get(&v).copied() {
                Some(value) if self.pool.depth(value) <= MAX_DEPTH => {
                    let range = self.range(v);
                    self.quick_bounds(value).narrowed(range)
                }
                _ => self.range(v),
            },
            Node::Binary(op, a, b) => {
                let (a, b) = (self.quick_bounds(a), self.quick_bounds(b));
                Interval::apply(op, a, b)
            }
            Node::Select(_, a, b) => {
                let (a, b) = (self.quick_bounds(a), self.quick_bounds(b));
                a.union(b)
            }
            Node::Cast(ty, a) => ty.bounds_of_cast(self.quick_bounds(a)),
            _ => Interval::FULL,
        };
        self.quick.set(e, self.context, interval);
        interval
    }

    /// A modular set that holds every value of the expression.
    pub fn modular(&mut self, e: Expr) -> ModularSet {
        let expanded = self.expand(e);
        let simplified = self.simplify(expanded);
        match self.bound_of(simplified).as_point() {
            Some(value) => ModularSet::point(value),
            None => self.modular_of(simplified),
        }
    }

    /// Draws the ends of an interval of `form` in to values of its modular set.
    pub(crate) fn on_grid(&mut self, form: &Linear, interval: Interval) -> Interval {
        let set = self.modular_of_form(form);
        if set.coeff() < 2 {
            return interval;
        }
        let coeff = i128::from(set.coeff());
        let away = |end: i64| (i128::from(set.base()) - i128::from(end)).rem_euclid(coeff);
        let min = interval.min().map(|lo| i128::from(lo) + away(lo));
        let max = interval.max().map(|hi| i128::from(hi) - (coeff - away(hi)) % coeff);
        // An end that leaves the range of numbers leaves no value at all: the place is never reached.
        let narrow = |end: Option<i128>| end.map(|end| i64::try_from(end).ok());
        match (narrow(min), narrow(max)) {
            (Some(None), _) | (_, Some(None)) => interval,
            (min, max) => interval.narrowed(Interval::from_ends(min.flatten(), max.flatten())),
        }
    }

    /// [`Analyzer::bounds`] of an expression that is taken as it stands.
    pub(crate) fn bound_of(&mut self, e: Expr) -> Interval {
        match self.pool.node(e) {
            Node::Const(value) => return Interval::point(value),
            Node::Bool(value) => return Interval::point(i64::from(value)),
            _ => {}
        }
        if let Some(known) = self.bounds.get(e, self.context) {
            return known;
        }
        if self.pool.depth(e) > MAX_DEPTH {
            return if self.pool.is_bool(e) { Interval::BOOL } else { Interval::FULL };
        }
        if self.bound_fuel == 0 {
            self.gave_up = true;
            return if self.pool.is_bool(e) { Interval::BOOL } else { Interval::FULL };
        }
        self.bound_fuel -= 1;
        let interval = match self.sum_of(e) {
            Some(form) => self.form_bounds(&form),
            None if self.facts.is_empty() || self.pool.is_bool(e) => self.structural_bound(e),
            None => {
                let own = self.structural_bound(e);
                let form =
                    Linear { terms: smallvec![Term { atom: e, key: self.key(e), coef: 1, right: false }], constant: 0 };
                self.narrowed_by_facts(&form, own, FACTS_COMBINED)
            }
        };
        if !self.gave_up {
            self.bounds.set(e, self.context, interval);
        }
        interval
    }

    /// The linear form of an expression that is not an atom.
    fn sum_of(&mut self, e: Expr) -> Option<Linear> {
        let sum = match self.pool.node(e) {
            Node::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => true,
            Node::Binary(BinaryOp::Mul, _, factor) => self.pool.as_const(factor).is_some(),
            _ => false,
        };
        if sum { self.linear_of(e) } else { None }
    }

    /// The interval of an atom from its operands.
    fn structural_bound(&mut self, e: Expr) -> Interval {
        match self.pool.node(e) {
            Node::Var(v) => match self.definitions.get(&v).copied() {
                Some(value) => self.bound_of(value).narrowed(self.range(v)),
                None => self.range(v),
            },
            Node::Binary(op, a, b) => {
                let (a, b) = (self.bound_of(a), self.bound_of(b));
                Interval::apply(op, a, b)
            }
            Node::Select(_, a, b) => {
                let (a, b) = (self.bound_of(a), self.bound_of(b));
                a.union(b)
            }
            Node::Cast(ty, a) => ty.bounds_of_cast(self.bound_of(a)),
            _ if self.pool.is_bool(e) => Interval::BOOL,
            _ => Interval::FULL,
        }
    }

    /// The interval of an atom by its form and by what is said of it directly: what facts tie it to is not asked, for
    /// that may lead back here.
    fn plain_bound(&self, term: &Term) -> Interval {
        let own = self.plain_structural(term.atom, PLAIN_LEVELS);
        let single = |fact: &&Fact| fact.form.terms.len() == 1 && fact.form.coef_of(term.key) == 1;
        let facts = self.facts.iter().rev().filter(single).take(FACTS_TRIED);
        facts.fold(own, |interval, fact| interval.narrowed(fact.range))
    }

    fn plain_structural(&self, e: Expr, levels: u32) -> Interval {
        match self.pool.node(e) {
            Node::Const(value) => Interval::point(value),
            Node::Var(v) => self.range(v),
            _ if self.pool.is_bool(e) => Interval::BOOL,
            Node::Binary(op, a, b) if levels > 0 => {
                Interval::apply(op, self.plain_structural(a, levels - 1), self.plain_structural(b, levels - 1))
            }
            Node::Cast(ty, a) if levels > 0 => ty.bounds_of_cast(self.plain_structural(a, levels - 1)),
            _ => Interval::FULL,
        }
    }

    /// The interval of a linear form: from its atoms, and from facts about forms that share atoms with it.
    pub(crate) fn form_bounds(&mut self, form: &Linear) -> Interval {
        let interval = self.box_bounds(form);
        self.narrowed_by_facts(form, interval, FACTS_COMBINED)
    }

    /// Narrows an interval of `form` by what is left of it when a fact accounts for a part, and by a further fact for
    /// what is left then.
    fn narrowed_by_facts(&mut self, form: &Linear, interval: Interval, combine: u32) -> Interval {
        if combine == 0 || self.facts.is_empty() || form.terms.is_empty() {
            return interval;
        }
        let mut interval = interval;
        let mask = form.mask(&self.pool);
        let mut tried = 0;
        for i in (0..self.facts.len()).rev() {
            if self.facts[i].mask & mask == 0 {
                continue;
            }
            tried += 1;
            if tried > FACTS_TRIED {
                break;
            }
            if let Some((rest, factor)) = self.without_fact(form, i) {
                let range = self.facts[i].range.scale(factor);
                let mut left = Interval::point(rest.constant);
                for term in &rest.terms {
                    left = left + self.plain_bound(term).scale(term.coef);
                }
                let left = self.narrowed_by_facts(&rest, left, combine - 1);
                interval = interval.narrowed(left + range);
            }
        }
        self.shave(form, interval)
    }

    /// `form` less a multiple of a fact's form that takes an atom away, and the multiple.
    fn without_fact(&self, form: &Linear, fact: usize) -> Option<(Linear, i64)> {
        let fact = &self.facts[fact].form;
        fact.terms.iter().find_map(|term| {
            let here = form.coef_of(term.key);
            if here == 0 || here.checked_rem(term.coef)? != 0 {
                return None;
            }
            let factor = here.checked_div(term.coef)?;
            Some((form.plus(&self.pool, fact, factor.checked_neg()?)?, factor))
        })
    }

    /// Draws an end in by one where facts exclude it.
    fn shave(&mut self, form: &Linear, interval: Interval) -> Interval {
        if form.constant != 0 || self.facts.iter().all(|fact| fact.excluded.is_none()) {
            return interval;
        }
        let mut interval = interval;
        if let Some(lo) = interval.min().filter(|&lo| self.excludes(form, lo)) {
            interval = interval.narrowed(Interval::at_least(lo.saturating_add(1)));
        }
        if let Some(hi) = interval.max().filter(|&hi| self.excludes(form, hi)) {
            interval = interval.narrowed(Interval::at_most(hi.saturating_sub(1)));
        }
        interval
    }

    /// [`Analyzer::modular`] of an expression that is taken as it stands.
    pub(crate) fn modular_of(&mut self, e: Expr) -> ModularSet {
        match self.pool.node(e) {
            Node::Const(value) => return ModularSet::point(value),
            Node::Bool(value) => return ModularSet::point(i64::from(value)),
            _ => {}
        }
        if let Some(known) = self.moduli.get(e, self.context) {
            return known;
        }
        if self.pool.depth(e) > MAX_DEPTH || self.pool.is_bool(e) {
            return ModularSet::ALL;
        }
        let set = match self.linear_of(e) {
            Some(form) if form.as_atom() != Some(e) => self.modular_of_form(&form),
            Some(_) => self.structural_set(e),
            None => ModularSet::ALL,
        };
        let set = self.with_residues(e, set);
        self.moduli.set(e, self.context, set);
        set
    }

    pub(crate) fn modular_of_form(&mut self, form: &Linear) -> ModularSet {
        let mut total = ModularSet::point(form.constant);
        for term in &form.terms {
            if total.coeff() == 1 {
                break;
            }
            total = total + self.modular_of(term.atom).scale(term.coef);
        }
        total
    }

    fn structural_set(&mut self, e: Expr) -> ModularSet {
        match self.pool.node(e) {
            Node::Var(v) => match self.definitions.get(&v).copied() {
                Some(value) => self.modular_of(value),
                None => self.range(v).as_point().map_or(ModularSet::ALL, ModularSet::point),
            },
            Node::Binary(BinaryOp::Mul, a, b) => {
                let (a, b) = (self.modular_of(a), self.modular_of(b));
                a * b
            }
            Node::Binary(BinaryOp::Min | BinaryOp::Max, a, b) | Node::Select(_, a, b) => {
                let (a, b) = (self.modular_of(a), self.modular_of(b));
                a.union(b)
            }
            Node::Cast(ty, a) if ty.bits() < 63 => self.modular_of(a) + ModularSet::new(1 << ty.bits(), 0),
            Node::Binary(op @ (BinaryOp::FloorDiv | BinaryOp::FloorMod), a, b) => {
                let Some(divisor) = self.pool.as_const(b) else { return ModularSet::ALL };
                let a = self.modular_of(a);
                if op == BinaryOp::FloorDiv { a.floor_div(divisor) } else { a.floor_mod(divisor) }
            }
            _ => ModularSet::ALL,
        }
    }

    fn with_residues(&mut self, e: Expr, set: ModularSet) -> ModularSet {
        if self.residues.is_empty() {
            return set;
        }
        let key = self.key(e);
        let known = self.residues.iter().filter(|(of, _)| *of == key);
        known.fold(set, |set, &(_, more)| set.narrowed(more))
    }
}
