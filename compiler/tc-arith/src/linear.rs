//! Linear canonical form: a sum of constant multiples of atoms, and a constant.
//!
//! An atom is anything that is not a sum, a difference, a product with a constant or a constant. Terms keep the order
//! in which they first occur, for the reader; atoms are told apart by a key that ignores the order of sums.

use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::interval::Interval;
use crate::pool::Pool;
use smallvec::SmallVec;

/// `coef * atom`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    pub(crate) atom: Expr,
    /// Equal for atoms that differ only in the order of operands that commute.
    pub(crate) key: Expr,
    pub(crate) coef: i64,
    /// In a comparison: whether the term was first met on the right side.
    pub(crate) right: bool,
}

/// The sum of the terms and the constant. No coefficient is zero and no key occurs twice.
#[derive(Debug, Default)]
pub(crate) struct Linear {
    pub(crate) terms: SmallVec<[Term; 4]>,
    pub(crate) constant: i64,
}

/// A sum of more terms is left as it stands.
pub(crate) const MAX_TERMS: usize = 128;

/// A product of more factors is an atom.
const MAX_FACTORS: usize = 16;

/// Headroom that a variable without bounds is taken to have: it may be multiplied by factors up to this.
const UNBOUNDED_FACTOR: u64 = 1 << 31;
/// What it is taken to come to at most, so that those products fit.
const HEADROOM: u64 = i64::MAX as u64 / UNBOUNDED_FACTOR;

/// Terms are copied in one piece.
impl Clone for Linear {
    fn clone(&self) -> Linear {
        Linear { terms: SmallVec::from_slice(&self.terms), constant: self.constant }
    }
}

impl Linear {
    pub(crate) fn constant(constant: i64) -> Linear {
        Linear { terms: SmallVec::new(), constant }
    }

    /// Adds `term`. `None` on overflow, and when terms that may divide by zero would vanish.
    pub(crate) fn add_term(&mut self, pool: &Pool, term: Term) -> Option<()> {
        let Some(at) = self.terms.iter().position(|old| old.key == term.key) else {
            if term.coef != 0 {
                self.terms.push(term);
            } else if pool.may_fail(term.atom) {
                return None;
            }
            return Some(());
        };
        let coef = self.terms[at].coef.checked_add(term.coef)?;
        if coef != 0 {
            self.terms[at].coef = coef;
        } else if pool.may_fail(term.atom) {
            return None;
        } else {
            self.terms.remove(at);
        }
        Some(())
    }

    /// Adds `factor` times `other`.
    pub(crate) fn add_scaled(&mut self, pool: &Pool, other: &Linear, factor: i64) -> Option<()> {
        for term in &other.terms {
            self.add_term(pool, Term { coef: term.coef.checked_mul(factor)?, ..*term })?;
        }
        self.constant = self.constant.checked_add(other.constant.checked_mul(factor)?)?;
        Some(())
    }

    /// `self + factor * other`.
    pub(crate) fn plus(&self, pool: &Pool, other: &Linear, factor: i64) -> Option<Linear> {
        let mut sum = self.clone();
        sum.add_scaled(pool, other, factor)?;
        Some(sum)
    }

    /// `factor * self`.
    pub(crate) fn scaled(&self, factor: i64) -> Option<Linear> {
        let mut result = self.clone();
        for term in &mut result.terms {
            term.coef = term.coef.checked_mul(factor)?;
        }
        result.constant = result.constant.checked_mul(factor)?;
        result.terms.retain(|term| term.coef != 0);
        Some(result)
    }

    /// The terms that satisfy `keep`, and the others; both without the constant.
    pub(crate) fn partition(&self, keep: impl Fn(&Term) -> bool) -> (Linear, Linear) {
        let (yes, no) = self.terms.iter().copied().partition(|term| keep(term));
        (Linear { terms: yes, constant: 0 }, Linear { terms: no, constant: 0 })
    }

    /// The only term, if there is just one.
    pub(crate) fn single(&self) -> Option<Term> {
        if let [term] = self.terms[..] { Some(term) } else { None }
    }

    /// The atom, if this is an atom with coefficient 1 and no constant.
    pub(crate) fn as_atom(&self) -> Option<Expr> {
        self.single().filter(|term| term.coef == 1 && self.constant == 0).map(|term| term.atom)
    }

    /// The greatest common divisor of the coefficients; 0 without terms.
    pub(crate) fn gcd(&self) -> u64 {
        self.terms.iter().fold(0, |g, term| tc_support::gcd(g, term.coef.unsigned_abs()))
    }

    /// The coefficient of the atom with this key.
    pub(crate) fn coef_of(&self, key: Expr) -> i64 {
        self.terms.iter().find(|term| term.key == key).map_or(0, |term| term.coef)
    }

    /// Whether any atom is more than a variable.
    pub(crate) fn has_compound(&self, pool: &Pool) -> bool {
        self.terms.iter().any(|term| !matches!(pool.node(term.atom), Node::Var(_)))
    }

    /// A measure of size in which atoms that are not variables weigh more.
    pub(crate) fn weight(&self, pool: &Pool) -> u64 {
        let weigh = |term: &Term| if matches!(pool.node(term.atom), Node::Var(_)) { 1 } else { 4 };
        self.terms.iter().map(weigh).sum()
    }

    pub(crate) fn mask(&self, pool: &Pool) -> u64 {
        self.terms.iter().fold(0, |mask, term| mask | pool.mask(term.atom))
    }

    pub(crate) fn may_fail(&self, pool: &Pool) -> bool {
        self.terms.iter().any(|term| pool.may_fail(term.atom))
    }

    /// The sum as an expression: the first positive term, the other terms in order, the constant last. Without a
    /// positive term the constant comes first.
    pub(crate) fn build(&self, pool: &mut Pool) -> Expr {
        let lead = self.terms.iter().position(|term| term.coef > 0);
        let mut sum = match lead {
            Some(at) => scaled_atom(pool, self.terms[at].atom, self.terms[at].coef),
            None => pool.int(self.constant),
        };
        for (i, term) in self.terms.iter().enumerate() {
            if Some(i) != lead {
                sum = add_multiple(pool, sum, *term);
            }
        }
        if lead.is_some() { add_constant(pool, sum, self.constant) } else { sum }
    }
}

/// `coef * atom`.
fn scaled_atom(pool: &mut Pool, atom: Expr, coef: i64) -> Expr {
    let factor = pool.int(coef);
    pool.mul(atom, factor)
}

fn add_multiple(pool: &mut Pool, sum: Expr, term: Term) -> Expr {
    match term.coef.checked_neg() {
        Some(positive) if positive > 0 => {
            let product = scaled_atom(pool, term.atom, positive);
            pool.sub(sum, product)
        }
        _ => {
            let product = scaled_atom(pool, term.atom, term.coef);
            pool.add(sum, product)
        }
    }
}

/// `sum + constant`, written as a difference where the constant is negative.
pub(crate) fn add_constant(pool: &mut Pool, sum: Expr, constant: i64) -> Expr {
    match constant.checked_neg() {
        Some(positive) if positive > 0 => {
            let amount = pool.int(positive);
            pool.sub(sum, amount)
        }
        _ => {
            let amount = pool.int(constant);
            pool.add(sum, amount)
        }
    }
}

/// A part of an expression on its way into a sum.
#[derive(Clone, Copy)]
pub(crate) struct Summand {
    pub(crate) expr: Expr,
    pub(crate) factor: i64,
    /// Whether the part is to be simplified first.
    pub(crate) settle: bool,
    pub(crate) right: bool,
}

impl Analyzer {
    /// The linear form of a simplified expression.
    pub(crate) fn linear_of(&mut self, e: Expr) -> Option<Linear> {
        let mut sum = Linear::default();
        self.gather(&mut sum, Summand { expr: e, factor: 1, settle: false, right: false })?;
        Some(sum)
    }

    /// `a - b` of simplified expressions, as a sum.
    pub(crate) fn difference(&mut self, a: Expr, b: Expr) -> Option<Linear> {
        let (a, b) = (self.linear_of(a)?, self.linear_of(b)?);
        a.plus(&self.pool, &b, -1)
    }

    /// Adds an expression to a sum, part by part and from left to right. `None` where it cannot be: overflow of a
    /// constant, too many terms, or a cancellation that would hide a division by zero.
    pub(crate) fn gather(&mut self, sum: &mut Linear, part: Summand) -> Option<()> {
        let mut stack = std::mem::take(&mut self.part_stack);
        stack.clear();
        stack.push(part);
        let result = self.gather_parts(sum, &mut stack);
        self.part_stack = stack;
        result
    }

    fn gather_parts(&mut self, sum: &mut Linear, stack: &mut Vec<Summand>) -> Option<()> {
        while let Some(part) = stack.pop() {
            let Summand { expr, factor, right, .. } = part;
            match self.pool.node(expr) {
                Node::Const(value) => sum.constant = sum.constant.checked_add(value.checked_mul(factor)?)?,
                Node::Binary(BinaryOp::Add, a, b) => {
                    stack.push(Summand { expr: b, ..part });
                    stack.push(Summand { expr: a, ..part });
                }
                Node::Binary(BinaryOp::Sub, a, b) => {
                    stack.push(Summand { expr: b, factor: factor.checked_neg()?, ..part });
                    stack.push(Summand { expr: a, ..part });
                }
                Node::Binary(BinaryOp::Mul, a, b) if self.pool.as_const(b).is_some() => {
                    let scale = self.pool.as_const(b)?;
                    stack.push(Summand { expr: a, factor: factor.checked_mul(scale)?, ..part });
                }
                _ if part.settle => {
                    stack.push(Summand { expr: self.simp(expr), settle: false, ..part });
                }
                _ => {
                    let key = self.key(expr);
                    sum.add_term(&self.pool, Term { atom: expr, key, coef: factor, right })?;
                }
            }
            if sum.terms.len() > MAX_TERMS {
                self.gave_up = true;
                return None;
            }
        }
        Some(())
    }

    /// Whether the sum can be computed in any order without overflow, as far as the bounds of its atoms tell; an atom
    /// without bounds is taken to have headroom for small factors, unless it is made of what is known to be huge.
    pub(crate) fn fits(&mut self, sum: &Linear) -> bool {
        self.fits_with(sum, sum.constant.unsigned_abs())
    }

    /// [`Analyzer::fits`] with a constant of this magnitude.
    pub(crate) fn fits_with(&mut self, sum: &Linear, constant: u64) -> bool {
        let mut total = u128::from(constant);
        for term in &sum.terms {
            let factor = term.coef.unsigned_abs();
            match self.bound_of(term.atom).magnitude() {
                Some(magnitude) => total += u128::from(magnitude) * u128::from(factor),
                None if factor > UNBOUNDED_FACTOR => return false,
                None => {
                    let factors = self.pool.factors(term.atom);
                    if !self.product_fits(&factors) || self.has_huge_leaf(term.atom) {
                        return false;
                    }
                    total += u128::from(HEADROOM) * u128::from(factor);
                }
            }
        }
        total <= i64::MAX as u128
    }

    /// Whether an expression uses a literal or a variable whose bounds leave no headroom for small factors. Bounds made of
    /// such ends are lost, and do not come from what is not known.
    pub fn has_huge_leaf(&self, e: Expr) -> bool {
        self.pool.reachable(&[e]).into_iter().any(|inner| {
            let magnitude = match self.pool.node(inner) {
                Node::Const(value) => Some(value.unsigned_abs()),
                Node::Var(v) if self.pool.is_huge(v) => return true,
                Node::Var(v) => self.range(v).magnitude(),
                _ => None,
            };
            magnitude.is_some_and(|magnitude| magnitude > HEADROOM)
        })
    }

    /// Whether the factors can be multiplied in any order without overflow, as far as their bounds tell.
    pub(crate) fn product_fits(&mut self, factors: &[Expr]) -> bool {
        let sizes = factors.iter().map(|&factor| self.bound_of(factor).magnitude().unwrap_or(1).max(1));
        sizes.fold(1, |product: u128, size| product.saturating_mul(u128::from(size))) <= i64::MAX as u128
    }

    /// The interval of a sum from the intervals of its atoms alone.
    pub(crate) fn box_bounds(&mut self, sum: &Linear) -> Interval {
        let mut total = Interval::point(sum.constant);
        for term in &sum.terms {
            total = total + self.bound_of(term.atom).scale(term.coef);
        }
        total
    }

    /// An expression that is the same for expressions that differ only in the order of operands that commute. It
    /// depends on form alone, and serves to compare, never to be shown.
    pub(crate) fn key(&mut self, e: Expr) -> Expr {
        if matches!(self.pool.node(e), Node::Var(_) | Node::Const(_) | Node::Bool(_)) {
            return e;
        }
        if let Some(Some(key)) = self.keys.get(e.index()) {
            return *key;
        }
        if self.pool.depth(e) > crate::simplify::MAX_DEPTH {
            return e;
        }
        let key = self.compute_key(e);
        let needed = self.pool.len();
        if self.keys.len() < needed {
            self.keys.resize(needed, None);
        }
        self.keys[e.index()] = Some(key);
        key
    }

    fn compute_key(&mut self, e: Expr) -> Expr {
        match self.pool.node(e) {
            Node::Const(_) | Node::Bool(_) | Node::Var(_) => e,
            Node::Binary(BinaryOp::Add | BinaryOp::Sub, ..) => {
                let Some(mut sum) = self.linear_of(e) else { return e };
                for term in &mut sum.terms {
                    term.atom = term.key;
                }
                sum.terms.sort_unstable_by_key(|term| term.key);
                sum.build(&mut self.pool)
            }
            Node::Binary(BinaryOp::Mul, a, b) => {
                let mut factors = self.pool.factors(e);
                if factors.len() == 1 {
                    factors = vec![a, b];
                }
                for factor in &mut factors {
                    *factor = self.key(*factor);
                }
                factors.sort_unstable();
                self.pool.product(&factors)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.key(a), self.key(b));
                let (a, b) = if op.is_commutative() && b < a { (b, a) } else { (a, b) };
                self.pool.intern(Node::Binary(op, a, b))
            }
            Node::Not(a) => {
                let a = self.key(a);
                self.pool.intern(Node::Not(a))
            }
            Node::Likely(a) => self.key(a),
            Node::Cast(ty, a) => {
                let a = self.key(a);
                self.pool.cast(ty, a)
            }
            Node::Select(c, a, b) => {
                let (c, a, b) = (self.key(c), self.key(a), self.key(b));
                self.pool.intern(Node::Select(c, a, b))
            }
        }
    }
}

impl Pool {
    /// The factors of a product, from left to right; a product of too many counts as one.
    pub(crate) fn factors(&self, product: Expr) -> Vec<Expr> {
        let mut stack = vec![product];
        let mut factors = Vec::new();
        while let Some(e) = stack.pop() {
            match self.node(e) {
                Node::Binary(BinaryOp::Mul, a, b) => stack.extend([b, a]),
                _ => factors.push(e),
            }
            if stack.len() + factors.len() > MAX_FACTORS {
                return vec![product];
            }
        }
        factors
    }

    /// The product of factors, from left to right.
    pub(crate) fn product(&mut self, factors: &[Expr]) -> Expr {
        let mut product = self.int(1);
        for &factor in factors {
            product = self.mul(product, factor);
        }
        product
    }
}
