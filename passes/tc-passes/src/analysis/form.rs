//! Indices as linear forms: sums of multiples of atoms, which are variables and what the algebra makes no sum of.

use super::access::NestFacts;
use tc_arith::{BinaryOp, Expr, Node, Pool};
use tc_dialects::arith;
use tc_ir::Value;
use tc_support::gcd;

/// A product of more factors is left alone.
const MAX_FACTORS: usize = 16;

/// What one access covers beside its first element: `step * i` for all `i` below `count`, in up to two directions. A
/// vector has one, a tile two: its rows, and the elements of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Footprint(pub(crate) [(i64, i64); 2]);

impl Footprint {
    /// The first element alone.
    pub(crate) const NONE: Footprint = Footprint([(1, 0); 2]);

    /// `count` elements, `step` from one to the next.
    pub(crate) fn row(count: i64, step: i64) -> Footprint {
        Footprint([(count, step), (1, 0)])
    }

    /// How far it goes below the first element and above it; `None` where that is too far to tell.
    pub(super) fn span(self) -> Option<(i64, i64)> {
        self.0.iter().try_fold((0i64, 0i64), |(lo, hi), &(count, step)| {
            let last = step.checked_mul(count - 1)?;
            Some((lo.checked_add(last.min(0))?, hi.checked_add(last.max(0))?))
        })
    }
}

/// `sum of coef * atom + constant`, and how far the access reaches beyond it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Form {
    pub(crate) terms: Vec<(Expr, i64)>,
    pub(crate) constant: i64,
    /// How far the access goes beyond the sum.
    pub(crate) footprint: Footprint,
    /// The length of the rows in which this is a column: the dimension before says which row.
    pub(crate) row: Option<Expr>,
}

impl NestFacts<'_> {
    /// The index `value`, which may be a vector.
    pub(crate) fn form(&mut self, value: Value) -> Option<Form> {
        let func = self.func;
        let scalar = func.value_scalar(value)?;
        if scalar.lanes == 1 {
            let expr = self.expr(value);
            return Some(self.form_of(expr, Footprint::NONE));
        }
        let op = func.def_op(value).filter(|&op| func.opcode(op) == arith::RAMP)?;
        let stride = func.const_int(func.operand(op, 1))?;
        let base = self.expr(func.operand(op, 0));
        Some(self.form_of(base, Footprint::row(i64::from(scalar.lanes), stride)))
    }

    pub(crate) fn form_of(&mut self, expr: Expr, footprint: Footprint) -> Form {
        let blank = Form { terms: Vec::new(), constant: 0, footprint, row: None };
        let mut form = blank.clone();
        let pool = &mut self.algebra.analyzer.pool;
        let is_sum = linear(pool, expr, 1, &mut form).is_some();
        if is_sum {
            form = rejoined(pool, form);
        }
        // Multiples of variables are as plain as they get.
        if !is_sum || form.terms.iter().any(|&(atom, _)| !matches!(pool.node(atom), Node::Var(_))) {
            let expr = if is_sum { sum_of(pool, &form) } else { expr };
            let expr = self.algebra.analyzer.simplify(expr);
            let pool = &mut self.algebra.analyzer.pool;
            form = blank.clone();
            form = match linear(pool, expr, 1, &mut form) {
                Some(()) => rejoined(pool, form),
                None => Form { terms: vec![(expr, 1)], ..blank },
            };
        }
        self.join_threads(&mut form);
        form
    }

    /// Joins terms over the same coordinates, where one of them is no plain multiple: `tx + tx / 8 * 16` tells the
    /// thread as a whole and not term by term, as `tx / 4 * 32 + tx % 4 * 2` does.
    fn join_threads(&mut self, form: &mut Form) {
        let pool = &mut self.algebra.analyzer.pool;
        let of_threads = |pool: &Pool, atom: Expr| {
            let vars = pool.vars(atom);
            (!vars.is_empty() && vars.iter().all(|&var| self.coordinate_vars.contains(&Some(var)))).then_some(vars)
        };
        let Some(at) = form
            .terms
            .iter()
            .position(|&(atom, _)| !matches!(pool.node(atom), Node::Var(_)) && of_threads(pool, atom).is_some())
        else {
            return;
        };
        let vars = of_threads(pool, form.terms[at].0).unwrap_or_default();
        let fits = |pool: &Pool, atom: Expr| {
            of_threads(pool, atom).is_some_and(|own| own.iter().all(|var| vars.contains(var)))
        };
        let (mut joined, rest): (Vec<_>, Vec<_>) = form.terms.iter().copied().partition(|&(atom, _)| fits(pool, atom));
        if joined.len() < 2 {
            return;
        }
        if let Some(mut digits) = self.digits(&joined) {
            form.terms = rest;
            form.terms.append(&mut digits);
            return;
        }
        let pool = &mut self.algebra.analyzer.pool;
        // In one order, so that two forms that have the same terms get one expression.
        joined.sort_unstable();
        let divisor = common_divisor(&joined).max(1);
        let mut sum = pool.int(0);
        for (atom, coef) in joined {
            let factor = pool.int(coef / divisor);
            let term = pool.mul(atom, factor);
            sum = pool.add(sum, term);
        }
        form.terms = rest;
        form.terms.push((sum, divisor));
    }

    /// The sum as one of digits: `tx * 8 - tx % 4 * 6` is `tx / 4 * 32 + tx % 4 * 2`.
    fn digits(&mut self, terms: &[(Expr, i64)]) -> Option<Vec<(Expr, i64)>> {
        if self.are_digits(terms) {
            return Some(terms.to_vec());
        }
        let pool = &self.algebra.analyzer.pool;
        let (var, factor) = *terms.iter().find(|&&(atom, _)| matches!(pool.node(atom), Node::Var(_)))?;
        let divided = terms.iter().find_map(|&(atom, _)| match pool.node(atom) {
            Node::Binary(BinaryOp::FloorMod | BinaryOp::FloorDiv, number, divisor) if number == var => Some(divisor),
            _ => None,
        })?;
        let by = pool.as_const(divided).filter(|&by| by > 0)?;
        let pool = &mut self.algebra.analyzer.pool;
        let parts = [(pool.floor_div(var, divided), factor.checked_mul(by)?), (pool.floor_mod(var, divided), factor)];
        let mut new: Vec<(Expr, i64)> = terms.iter().copied().filter(|&(atom, _)| atom != var).collect();
        for (atom, coef) in parts {
            match new.iter_mut().find(|(other, _)| *other == atom) {
                Some((_, sum)) => *sum = sum.checked_add(coef)?,
                None => new.push((atom, coef)),
            }
        }
        new.retain(|&(_, coef)| coef != 0);
        self.are_digits(&new).then_some(new)
    }

    /// Is each coefficient greater than all that the terms with smaller ones can differ by? Then equal sums have equal
    /// terms.
    fn are_digits(&mut self, terms: &[(Expr, i64)]) -> bool {
        let mut terms = terms.to_vec();
        terms.sort_by_key(|&(_, coef)| coef.unsigned_abs());
        let mut below = 0u64;
        terms.into_iter().all(|(atom, coef)| {
            let width = self.bounds(atom).count().map(|count| count.saturating_sub(1));
            let is_above = coef.unsigned_abs() > below;
            below = width.map_or(u64::MAX, |width| below.saturating_add(width.saturating_mul(coef.unsigned_abs())));
            is_above
        })
    }
}

/// Adds `factor * expr` to `form`; `None` on overflow.
pub(super) fn linear(pool: &Pool, expr: Expr, factor: i64, form: &mut Form) -> Option<()> {
    let mut worklist = vec![(expr, factor)];
    while let Some((expr, factor)) = worklist.pop() {
        match pool.node(expr) {
            Node::Const(value) => form.constant = form.constant.checked_add(value.checked_mul(factor)?)?,
            Node::Binary(BinaryOp::Add, a, b) => worklist.extend([(b, factor), (a, factor)]),
            Node::Binary(BinaryOp::Sub, a, b) => worklist.extend([(b, factor.checked_neg()?), (a, factor)]),
            Node::Binary(BinaryOp::Mul, a, b) if pool.as_const(b).is_some() => {
                worklist.push((a, factor.checked_mul(pool.as_const(b)?)?));
            }
            _ => match form.terms.iter_mut().find(|(atom, _)| *atom == expr) {
                Some((_, coef)) => *coef = coef.checked_add(factor)?,
                None => form.terms.push((expr, factor)),
            },
        }
    }
    form.terms.retain(|&(_, coef)| coef != 0);
    Some(())
}

/// The greatest common divisor of all coefficients; 0 where there is none.
pub(super) fn common_divisor(terms: &[(Expr, i64)]) -> i64 {
    i64::try_from(terms.iter().fold(0, |g, &(_, coef)| gcd(g, coef.unsigned_abs()))).unwrap_or(0)
}

/// `form` with its quotients and remainders put together again: `x / n * n + x % n` is `x`, and
/// `x / n % m * n + x % n` is `x % (m * n)`.
pub(super) fn rejoined(pool: &mut Pool, mut form: Form) -> Form {
    let mut nth = 0;
    while let Some(&(atom, coef)) = form.terms.get(nth) {
        nth += 1;
        let Node::Binary(BinaryOp::FloorMod, number, divisor) = pool.node(atom) else { continue };
        // Of a number that may fail, the remainder by one is an atom, which is not to be joined with itself.
        let mut others = form.terms.iter().filter(|&&(other, _)| other != atom);
        let found = others.find_map(|&term| Some((term.0, joined_with(pool, term, (number, divisor), coef)?)));
        let Some((other, whole)) = found else { continue };
        let mut joined = form.clone();
        joined.terms.retain(|&(old, _)| old != atom && old != other);
        if linear(pool, whole, coef, &mut joined).is_some() {
            form = joined;
            nth = 0;
        }
    }
    form
}

/// What `other` and `coef * (number % divisor)` come to together, divided by `coef`, if that is one number.
fn joined_with(pool: &mut Pool, (other, of): (Expr, i64), (number, divisor): (Expr, Expr), coef: i64) -> Option<Expr> {
    let quotient = pool.floor_div(number, divisor);
    let Some(n) = pool.as_const(divisor).filter(|&n| n > 0) else {
        return (of == coef && without(pool, other, divisor) == Some(quotient)).then_some(number);
    };
    if coef.checked_mul(n) != Some(of) {
        return None;
    }
    if other == quotient {
        return Some(number);
    }
    let Node::Binary(BinaryOp::FloorMod, upper, m) = pool.node(other) else { return None };
    let both = pool.as_const(m).filter(|&m| m > 0)?.checked_mul(n)?;
    let both = pool.int(both);
    (upper == quotient).then(|| pool.floor_mod(number, both))
}

/// The sum as an expression, without what lies beyond its first element.
pub(super) fn sum_of(pool: &mut Pool, form: &Form) -> Expr {
    let mut sum = pool.int(form.constant);
    for &(atom, coef) in &form.terms {
        let coef = pool.int(coef);
        let term = pool.mul(atom, coef);
        sum = pool.add(sum, term);
    }
    sum
}

/// The product `atom` without its factor `size`; `None` where that is no factor.
pub(super) fn without(pool: &mut Pool, atom: Expr, size: Expr) -> Option<Expr> {
    let (mut worklist, mut factors) = (vec![atom], Vec::new());
    while let Some(at) = worklist.pop() {
        match pool.node(at) {
            Node::Binary(BinaryOp::Mul, a, b) => worklist.extend([b, a]),
            _ => factors.push(at),
        }
        if factors.len() + worklist.len() > MAX_FACTORS {
            return None;
        }
    }
    let at = factors.iter().position(|&factor| factor == size)?;
    factors.remove(at);
    let mut product = pool.int(1);
    for factor in factors {
        product = pool.mul(product, factor);
    }
    Some(product)
}
