//! Whether a recorded step is an instance of a law: names stand for parts of what the rule was applied to.
//!
//! The left side is matched against the canonical form of the expression. A sum is shared out among the addends of the
//! pattern: first those with a quotient, a minimum and the like, then multiples of names, names, and literals.

use tc_arith::{Analyzer, BinaryOp, Expr, Node, Pool, RuleApplication};

use super::canon::{self, Polynomial, canonical, polynomial};
use super::{Condition, Law, Meaning, Name, Sort, Term};

/// What names stand for.
type Binding = Vec<Option<Expr>>;

/// How many ways to match are followed.
const MAX_BINDINGS: usize = 400;
/// Literals of the right side only are looked for among the numbers up to this.
const MAX_LITERAL: i64 = 130;

/// A part of a sum: `coef` times literals times factors.
#[derive(Clone, Debug)]
struct Addend<'a> {
    coef: i64,
    literals: Vec<Name>,
    factors: Vec<&'a Term>,
}

impl Law {
    /// Whether the step is an instance of the law whose conditions hold at the points, which satisfy what was known there.
    /// With `settle`, up to simplifying what came out.
    pub(crate) fn matches(&self, az: &mut Analyzer, step: &RuleApplication, points: &[Vec<i64>], settle: bool) -> bool {
        let before = canonical(&mut az.pool, step.before);
        let after = settled(az, step, step.after, settle);
        for rest in [false, true] {
            let found = if rest { self.with_rest(&mut az.pool, before) } else { self.alone(&mut az.pool, before) };
            for (binding, rest) in found {
                for binding in self.completed(&mut az.pool, binding, after) {
                    let Some(mut right) = self.instance(&mut az.pool, &self.right, &binding) else { continue };
                    if let Some(rest) = &rest {
                        let rest = canon::build(&mut az.pool, rest);
                        right = az.pool.add(right, rest);
                    }
                    let same = settled(az, step, right, settle) == after;
                    if same && points.iter().all(|point| self.holds_at(&az.pool, &binding, point)) {
                        return true;
                    }
                }
            }
        }
        false
    }

    fn alone(&self, pool: &mut Pool, before: Expr) -> Vec<(Binding, Option<Polynomial>)> {
        let empty = vec![None; self.names.len()];
        self.matched(pool, &self.left, before, empty).into_iter().map(|binding| (binding, None)).collect()
    }

    /// Matches the law to a part of a sum; what is over comes with it.
    fn with_rest(&self, pool: &mut Pool, before: Expr) -> Vec<(Binding, Option<Polynomial>)> {
        if self.is_truth(&self.left) || pool.is_bool(before) {
            return Vec::new();
        }
        let sum = polynomial(pool, before);
        let mut addends = Vec::new();
        self.addends(&self.left, 1, &[], &mut addends);
        if addends.iter().any(|addend| matches!(addend.factors[..], [] | [Term::Name(_)])) {
            return Vec::new();
        }
        let found = self.shared(pool, &addends, sum, vec![None; self.names.len()]);
        found.into_iter().map(|(binding, rest)| (binding, Some(rest))).collect()
    }

    /// The binding with what only the right side has: read off the result, or a literal that is looked for.
    fn completed(&self, pool: &mut Pool, binding: Binding, after: Expr) -> Vec<Binding> {
        let mut used = Vec::new();
        names(&self.right, &mut used);
        used.retain(|&name| binding[name].is_none());
        used.dedup();
        if used.is_empty() {
            return vec![binding];
        }
        let read = self.matched(pool, &self.right, after, binding.clone());
        match used[..] {
            [name] if read.is_empty() && self.names[name].1 == Sort::Literal && !self.is_truth(&self.right) => {
                let mut found = Vec::new();
                for value in -MAX_LITERAL..=MAX_LITERAL {
                    let value = pool.int(value);
                    found.extend(self.bound(pool, &binding, name, value));
                }
                found
            }
            _ => read,
        }
    }

    fn bound(&self, pool: &Pool, binding: &Binding, name: Name, e: Expr) -> Option<Binding> {
        let fits = match self.names[name].1 {
            Sort::Literal => pool.as_const(e).is_some(),
            Sort::Variable => matches!(pool.node(e), Node::Var(_)),
            Sort::Truth => pool.is_bool(e),
            Sort::Integer => true,
            Sort::Type => false,
        };
        match binding[name] {
            Some(known) => (known == e).then(|| binding.clone()),
            None if fits => {
                let mut binding = binding.clone();
                binding[name] = Some(e);
                Some(binding)
            }
            None => None,
        }
    }

    /// The ways in which the pattern is the canonical expression.
    fn matched(&self, pool: &mut Pool, pattern: &Term, e: Expr, binding: Binding) -> Vec<Binding> {
        let node = pool.node(e);
        match pattern {
            Term::Name(name) => self.bound(pool, &binding, *name, e).into_iter().collect(),
            Term::Bool(value) => {
                if pool.as_bool(e) == Some(*value) {
                    vec![binding]
                } else {
                    Vec::new()
                }
            }
            Term::Int(_) | Term::Neg(_) | Term::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) => {
                let sum = polynomial(pool, e);
                self.matched_sum(pool, &[(pattern, 1)], sum, binding)
            }
            Term::Not(inner) => {
                let turned = pool.not(e);
                let turned = canonical(pool, turned);
                self.matched(pool, inner, turned, binding)
            }
            Term::Select(c, a, b) => {
                let Node::Select(found, x, y) = node else { return Vec::new() };
                // The branches first: they bind what the condition compares.
                self.matched_all(pool, &[(a, x), (b, y), (c, found)], binding)
            }
            Term::Binary(op, a, b) if op.is_comparison() => {
                let Node::Binary(found, x, y) = node else { return Vec::new() };
                let equality = |op| matches!(op, BinaryOp::Eq | BinaryOp::Ne);
                if !found.is_comparison() || equality(*op) != equality(found) || (equality(found) && *op != found) {
                    return Vec::new();
                }
                let mut sum = canon::compared(pool, found, x, y);
                let one = Term::Int(1);
                let strict = i64::from(*op == BinaryOp::Lt);
                let sides = [(&**a, 1), (&**b, -1), (&one, strict)];
                let mut found = self.matched_sum(pool, &sides, sum.clone(), binding.clone());
                if equality(*op) {
                    sum.values_mut().for_each(|coef| *coef = -*coef);
                    found.extend(self.matched_sum(pool, &sides, sum, binding));
                }
                found
            }
            Term::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                let clauses = canon::clauses(pool, *op, e);
                let mut found = Vec::new();
                for at in 1..clauses.len() {
                    let [left, right] = [&clauses[..at], &clauses[at..]].map(|part| {
                        part.iter().copied().reduce(|joined, clause| pool.binary(*op, joined, clause)).unwrap_or(e)
                    });
                    found.extend(self.matched_all(pool, &[(a, left), (b, right)], binding.clone()));
                }
                found
            }
            Term::Binary(op, a, b) => {
                let Node::Binary(found, x, y) = node else { return Vec::new() };
                if found != *op {
                    return Vec::new();
                }
                // The divisor first: it binds what the dividend is made of.
                let mut all = self.matched_all(pool, &[(b, y), (a, x)], binding.clone());
                if op.is_commutative() {
                    all.extend(self.matched_all(pool, &[(b, x), (a, y)], binding));
                }
                all
            }
            Term::Cast(..) => Vec::new(),
        }
    }

    fn matched_all(&self, pool: &mut Pool, pairs: &[(&Term, Expr)], binding: Binding) -> Vec<Binding> {
        let mut bindings = vec![binding];
        for &(pattern, e) in pairs {
            bindings = bindings.into_iter().flat_map(|binding| self.matched(pool, pattern, e, binding)).collect();
            bindings.truncate(MAX_BINDINGS);
        }
        bindings
    }

    fn matched_sum(&self, pool: &mut Pool, sides: &[(&Term, i64)], sum: Polynomial, binding: Binding) -> Vec<Binding> {
        let mut addends = Vec::new();
        for &(side, sign) in sides.iter().filter(|(_, sign)| *sign != 0) {
            self.addends(side, sign, &[], &mut addends);
        }
        let found = self.shared(pool, &addends, sum, binding);
        found.into_iter().filter(|(_, rest)| rest.is_empty()).map(|(binding, _)| binding).collect()
    }

    fn addends<'a>(&'a self, term: &'a Term, coef: i64, literals: &[Name], out: &mut Vec<Addend<'a>>) {
        match term {
            Term::Neg(a) => self.addends(a, -coef, literals, out),
            Term::Binary(BinaryOp::Add, a, b) => {
                self.addends(a, coef, literals, out);
                self.addends(b, coef, literals, out);
            }
            Term::Binary(BinaryOp::Sub, a, b) => {
                self.addends(a, coef, literals, out);
                self.addends(b, -coef, literals, out);
            }
            Term::Binary(BinaryOp::Mul, a, b) => {
                let mut factor = (coef, literals.to_vec());
                match (self.literal_product(a, &mut factor), self.literal_product(b, &mut factor)) {
                    (true, true) => out.push(Addend { coef: factor.0, literals: factor.1, factors: Vec::new() }),
                    (true, false) => self.addends(b, factor.0, &factor.1, out),
                    (false, true) => self.addends(a, factor.0, &factor.1, out),
                    (false, false) => out.push(Addend { coef, literals: literals.to_vec(), factors: vec![a, b] }),
                }
            }
            _ => {
                let mut factor = (coef, literals.to_vec());
                let factors = if self.literal_product(term, &mut factor) { Vec::new() } else { vec![term] };
                out.push(Addend { coef: factor.0, literals: factor.1, factors });
            }
        }
    }

    /// Multiplies a factor by a term that is a product of literals.
    fn literal_product(&self, term: &Term, factor: &mut (i64, Vec<Name>)) -> bool {
        match term {
            Term::Int(value) => factor.0 *= value,
            Term::Name(name) if self.names[*name].1 == Sort::Literal => factor.1.push(*name),
            Term::Neg(a) => {
                let mut inner = (-factor.0, factor.1.clone());
                if !self.literal_product(a, &mut inner) {
                    return false;
                }
                *factor = inner;
            }
            Term::Binary(BinaryOp::Mul, a, b) => {
                let mut inner = factor.clone();
                if !(self.literal_product(a, &mut inner) && self.literal_product(b, &mut inner)) {
                    return false;
                }
                *factor = inner;
            }
            _ => return false,
        }
        true
    }

    /// The ways to share a sum out among addends, with what is over.
    fn shared(
        &self,
        pool: &mut Pool,
        addends: &[Addend<'_>],
        sum: Polynomial,
        binding: Binding,
    ) -> Vec<(Binding, Polynomial)> {
        // What is told most about comes first.
        let weight = |addend: &Addend<'_>| match addend.factors[..] {
            [Term::Name(name)] if binding[*name].is_some() => 1,
            [Term::Name(_)] if addend.literals.is_empty() => 4,
            [Term::Name(_)] => 3,
            [_, _] => 2,
            [_] => 0,
            _ => 5,
        };
        let mut order: Vec<&Addend<'_>> = addends.iter().collect();
        order.sort_by_key(|addend| weight(addend));
        let mut ways = vec![(binding, sum)];
        for (at, addend) in order.iter().enumerate() {
            let names_left = order[at + 1..].iter().any(|later| matches!(later.factors[..], [Term::Name(_)]));
            let literal_left = order[at + 1..].iter().any(|later| later.factors.is_empty());
            let mut next = Vec::new();
            for (binding, sum) in ways {
                next.extend(self.taken(pool, addend, sum, binding, names_left, literal_left));
            }
            next.truncate(MAX_BINDINGS);
            ways = next;
        }
        ways
    }

    /// The ways to take an addend out of a sum.
    fn taken(
        &self,
        pool: &mut Pool,
        addend: &Addend<'_>,
        sum: Polynomial,
        binding: Binding,
        names_left: bool,
        literal_left: bool,
    ) -> Vec<(Binding, Polynomial)> {
        match addend.factors[..] {
            [] => {
                // A constant; all of it.
                let constant = sum.get(&Vec::new()).copied().unwrap_or(0);
                let solved = self.solved(pool, addend, constant, binding.clone());
                let partly = self.product(pool, addend, &binding).filter(|value| *value != constant);
                let mut ways: Vec<(Binding, i64)> = solved.into_iter().map(|binding| (binding, constant)).collect();
                ways.extend(partly.map(|value| (binding, value)));
                ways.into_iter().map(|(binding, value)| (binding, without(&sum, &Vec::new(), value))).collect()
            }
            [Term::Name(name)] => match binding[*name] {
                Some(known) => {
                    let Some(factor) = self.product(pool, addend, &binding) else { return Vec::new() };
                    let known = polynomial(pool, known);
                    let mut rest = sum;
                    canon::add_scaled(&mut rest, &known, -factor);
                    vec![(binding, rest)]
                }
                None => self.multiples(pool, addend, *name, sum, binding, names_left, literal_left),
            },
            [pattern] => {
                let atoms: Vec<(Vec<Expr>, i64)> = sum.iter().map(|(factors, coef)| (factors.clone(), *coef)).collect();
                let mut ways = Vec::new();
                for (factors, coef) in atoms {
                    let [atom] = factors[..] else { continue };
                    for matched in self.matched(pool, pattern, atom, binding.clone()) {
                        for solved in self.solved(pool, addend, coef, matched) {
                            ways.push((solved, without(&sum, &factors, coef)));
                        }
                    }
                }
                ways
            }
            // A name times one that is known.
            [Term::Name(name), Term::Name(by)] if binding[*by].is_some() && binding[*name].is_none() => {
                let by = binding[*by].map(|by| polynomial(pool, by)).unwrap_or_default();
                let Some((wanted, 1)) = by.iter().next().map(|(factors, coef)| (factors.clone(), *coef)) else {
                    return Vec::new();
                };
                let (mut whole, mut rest) = (Polynomial::new(), Polynomial::new());
                for (factors, coef) in sum {
                    match quotient(&factors, &wanted) {
                        Some(left) => canon::add(&mut whole, left, coef * addend.coef),
                        None => canon::add(&mut rest, factors, coef),
                    }
                }
                let whole = canon::build(pool, &whole);
                self.bound(pool, &binding, *name, whole).into_iter().map(|binding| (binding, rest.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The ways in which a name takes multiples of literals out of a sum.
    #[expect(clippy::too_many_arguments, reason = "the state of one search")]
    fn multiples(
        &self,
        pool: &mut Pool,
        addend: &Addend<'_>,
        name: Name,
        sum: Polynomial,
        binding: Binding,
        names_left: bool,
        literal_left: bool,
    ) -> Vec<(Binding, Polynomial)> {
        let mut bindings = vec![binding];
        if let Some(&unknown) = addend.literals.iter().find(|literal| bindings[0][**literal].is_none()) {
            let divisors = sum.values().flat_map(|coef| divisors(*coef)).collect::<std::collections::BTreeSet<i64>>();
            let binding = bindings.remove(0);
            for divisor in divisors {
                let divisor = pool.int(divisor);
                bindings.extend(self.bound(pool, &binding, unknown, divisor));
            }
        }
        let mut ways = Vec::new();
        for binding in bindings {
            let Some(factor) = self.product(pool, addend, &binding).filter(|factor| *factor != 0) else { continue };
            let fitting: Vec<(&Vec<Expr>, i64)> =
                sum.iter().map(|(factors, coef)| (factors, *coef)).filter(|(_, coef)| coef % factor == 0).collect();
            // All that fits, with the constant and without; where other names may take some, any part.
            let masks: Vec<u32> = if names_left && fitting.len() <= 5 {
                (0..1 << fitting.len()).rev().collect()
            } else {
                let all = (1_u32 << fitting.len().min(31)) - 1;
                let constant = fitting.iter().position(|(factors, _)| factors.is_empty()).map_or(0, |at| 1 << at);
                if literal_left { vec![all & !constant, all] } else { vec![all, all & !constant] }
            };
            for mask in masks {
                let (mut taken, mut rest) = (Polynomial::new(), sum.clone());
                for (at, (factors, coef)) in fitting.iter().enumerate() {
                    if mask >> at & 1 != 0 {
                        canon::add(&mut taken, (*factors).clone(), coef / factor);
                        rest.remove(*factors);
                    }
                }
                let taken = canon::build(pool, &taken);
                ways.extend(self.bound(pool, &binding, name, taken).map(|binding| (binding, rest)));
            }
        }
        ways
    }

    /// The product of the literals of an addend, if all are known.
    fn product(&self, pool: &Pool, addend: &Addend<'_>, binding: &Binding) -> Option<i64> {
        let mut values = addend.literals.iter().map(|&literal| binding[literal].and_then(|e| pool.as_const(e)));
        values.try_fold(addend.coef, |product, value| Some(product * value?))
    }

    /// The ways to choose unknown literals so that the product is the value.
    fn solved(&self, pool: &mut Pool, addend: &Addend<'_>, value: i64, binding: Binding) -> Vec<Binding> {
        let Some(at) = addend.literals.iter().position(|literal| binding[*literal].is_none()) else {
            return if self.product(pool, addend, &binding) == Some(value) { vec![binding] } else { Vec::new() };
        };
        let others = addend.literals.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, literal)| *literal);
        let rest = Addend { literals: others.collect(), ..addend.clone() };
        let unknown = addend.literals[at];
        let choices = match self.product(pool, &rest, &binding) {
            Some(0) => Vec::new(),
            Some(known) if value % known == 0 => vec![value / known],
            Some(_) => Vec::new(),
            None => divisors(value),
        };
        let mut ways = Vec::new();
        for choice in choices {
            let choice = pool.int(choice);
            if let Some(binding) = self.bound(pool, &binding, unknown, choice) {
                ways.extend(self.solved(pool, addend, value, binding));
            }
        }
        ways
    }

    /// The term with what its names stand for.
    fn instance(&self, pool: &mut Pool, term: &Term, binding: &Binding) -> Option<Expr> {
        Some(match term {
            Term::Int(value) => pool.int(*value),
            Term::Bool(value) => pool.bool(*value),
            Term::Name(name) => binding[*name]?,
            Term::Neg(a) => {
                let (zero, a) = (pool.int(0), self.instance(pool, a, binding)?);
                pool.sub(zero, a)
            }
            Term::Not(a) => {
                let a = self.instance(pool, a, binding)?;
                pool.not(a)
            }
            Term::Binary(op, a, b) => {
                let (a, b) = (self.instance(pool, a, binding)?, self.instance(pool, b, binding)?);
                pool.binary(*op, a, b)
            }
            Term::Select(c, a, b) => {
                let c = self.instance(pool, c, binding)?;
                let (a, b) = (self.instance(pool, a, binding)?, self.instance(pool, b, binding)?);
                pool.select(c, a, b)
            }
            Term::Cast(..) => return None,
        })
    }

    /// Whether the conditions about names that stand for something hold at a point.
    fn holds_at(&self, pool: &Pool, binding: &Binding, point: &[i64]) -> bool {
        let value = |e: Expr| pool.eval(e, &|v| point[v.0 as usize]).map_or(Meaning::Fails, Meaning::Value);
        let meanings: Vec<Meaning> = binding.iter().map(|e| e.map_or(Meaning::Fails, value)).collect();
        let known = |condition: &&Condition| condition.names().into_iter().all(|name| binding[name].is_some());
        self.conditions.iter().filter(known).all(|condition| self.satisfied(condition, &meanings))
    }
}

/// The canonical form of what came out of a step, if asked for simplified under what was known there.
fn settled(az: &mut Analyzer, step: &RuleApplication, e: Expr, settle: bool) -> Expr {
    let mut result = e;
    if settle {
        result = az.scope(|az| {
            for &condition in &step.under {
                az.constrain(condition);
            }
            az.simplify(e)
        });
    }
    canonical(&mut az.pool, result)
}

fn names(term: &Term, out: &mut Vec<Name>) {
    if let Term::Name(name) = term {
        out.push(*name);
    }
    term.operands().into_iter().for_each(|operand| names(operand, out));
}

fn without(sum: &Polynomial, factors: &[Expr], coef: i64) -> Polynomial {
    let mut rest = sum.clone();
    canon::add(&mut rest, factors.to_vec(), -coef);
    rest
}

/// The factors without those of a divisor, if all of these are there.
fn quotient(factors: &[Expr], divisor: &[Expr]) -> Option<Vec<Expr>> {
    let mut left = factors.to_vec();
    for wanted in divisor {
        let at = left.iter().position(|factor| factor == wanted)?;
        left.remove(at);
    }
    Some(left)
}

/// The positive divisors of a number, the greatest first; of zero, zero.
fn divisors(value: i64) -> Vec<i64> {
    let magnitude = value.abs();
    if magnitude == 0 {
        vec![0]
    } else {
        (1..=magnitude.min(4096)).rev().filter(|divisor| magnitude % divisor == 0).collect()
    }
}
