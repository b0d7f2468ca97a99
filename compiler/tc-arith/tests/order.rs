//! Rewriting ends: each step of a rule makes an expression less in one well-founded order (docs/adr/0012).
//!
//! Expressions are compared by four natural numbers, of which the first that differs decides. The first two are monotone in
//! the parts of an expression (a polynomial interpretation, Lankford 1979), so that what is less stays so inside of another
//! expression; the others are compared in the place of the step, and operands are brought to their canonical form before what
//! they are operands of. The canonical form of a sum, a product, a comparison or a list of clauses is computed at once: it is no
//! greater in the first number.

mod common;

use std::collections::BTreeMap;

use common::each_step;
use tc_arith::{Analyzer, BinaryOp, Expr, Node};

const CASES: u64 = 12_000;

/// Rules that compute a canonical form, as an engine of their own and not step by step.
const FORMS: &[&str] = &["sum-form", "product-form", "compare-form", "select-branches", "clause-under-earlier"];

/// The measure of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Measure {
    /// How much there is, quotients, remainders and conditions counting for what stands in them.
    weight: u128,
    /// The logarithms of factors and divisors.
    factors: u128,
    /// Constants in sums, the deeper the more; below zero in a numerator they are far from settled.
    constants: u128,
    /// Minima and maxima with a literal first.
    unordered: u128,
}

fn measure(az: &mut Analyzer, e: Expr) -> Measure {
    Measure {
        weight: weight(az, e, Place::Alone),
        factors: factors(az, e),
        constants: constants(az, e),
        unordered: unordered(az, e),
    }
}

/// Where an expression stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Alone,
    /// In a sum or a comparison, where a literal is but the constant.
    Sum,
    /// In a sum that is a factor: the product has a term of it.
    Factor,
}

fn weight(az: &mut Analyzer, e: Expr, place: Place) -> u128 {
    use BinaryOp::*;
    let negative = |az: &Analyzer, e: Expr| az.pool.as_const(e).is_some_and(|value| value < 0);
    match az.pool.node(e) {
        Node::Const(_) => u128::from(place != Place::Sum),
        Node::Bool(_) => 1,
        Node::Var(v) => {
            let own = az.pool.var(v);
            2 + u128::from(az.expand(own) != own)
        }
        Node::Binary(Sub, a, b) if az.pool.as_const(a) == Some(0) => weight(az, b, place),
        Node::Binary(Add | Sub, a, b) => {
            let inner = if place == Place::Factor { Place::Factor } else { Place::Sum };
            let joins_constant = n_terms(az, a) == 0 || n_terms(az, b) == 0;
            let join = if joins_constant && inner == Place::Sum { 0 } else { 2 };
            weight(az, a, inner).saturating_add(weight(az, b, inner)) + join
        }
        Node::Binary(Mul, a, b) if az.pool.as_const(b).is_some() => weight(az, a, place),
        Node::Binary(Mul, a, b) => weight(az, a, Place::Factor).saturating_mul(weight(az, b, Place::Factor)),
        Node::Binary(op @ (FloorDiv | FloorMod | TruncDiv | TruncMod), a, b) if az.pool.as_const(b).is_none() => {
            let truncates = if matches!(op, TruncDiv | TruncMod) { 2 } else { 0 };
            // The quotient of each term may come to stand on its own.
            weight(az, a, Place::Factor).saturating_mul(4).saturating_add(weight(az, b, Place::Alone)) + 8 + truncates
        }
        Node::Binary(op @ (FloorDiv | FloorMod | TruncDiv | TruncMod), a, b) => {
            let turned = if negative(az, b) { 4 } else { 0 };
            let inner = weight(az, a, Place::Alone);
            let own = if matches!(op, FloorDiv | TruncDiv) { 4 } else { 2 };
            let truncates = if matches!(op, TruncDiv | TruncMod) { 2 } else { 0 };
            inner.saturating_add(own + turned + truncates)
        }
        Node::Binary(Eq | Ne | Lt | Le, a, b) => {
            // On whichever side a term stands.
            let join = if n_terms(az, a) > 0 && n_terms(az, b) > 0 { 2 } else { 0 };
            weight(az, a, Place::Sum).saturating_add(weight(az, b, Place::Sum)) + join + 3
        }
        Node::Binary(_, a, b) => weight(az, a, Place::Alone).saturating_add(weight(az, b, Place::Alone)) + 1,
        Node::Not(a) => weight(az, a, Place::Alone).saturating_mul(2),
        Node::Likely(a) => weight(az, a, Place::Alone) + 1,
        // As a factor it may give way to a sum and its constant.
        Node::Cast(_, a) => weight(az, a, Place::Alone) + 4,
        Node::Select(c, a, b) => {
            let arms = weight(az, a, Place::Alone).saturating_add(weight(az, b, Place::Alone));
            weight(az, c, Place::Alone).saturating_mul(2).saturating_add(arms) + 3
        }
    }
}

/// How many terms a sum has beside its constant.
fn n_terms(az: &Analyzer, e: Expr) -> usize {
    match az.pool.node(e) {
        Node::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => n_terms(az, a) + n_terms(az, b),
        Node::Const(_) => 0,
        _ => 1,
    }
}

/// The logarithm of a magnitude, finely enough for the least factor there is.
fn logarithm(value: i64) -> u128 {
    ((value.unsigned_abs().max(1) as f64).log2() * 4096.0).round() as u128
}

fn factors(az: &mut Analyzer, e: Expr) -> u128 {
    use BinaryOp::*;
    match az.pool.node(e) {
        Node::Binary(op, a, b) => {
            let own = match (op, az.pool.as_const(b)) {
                (Mul | FloorDiv | FloorMod | TruncDiv | TruncMod, Some(by)) => logarithm(by),
                _ => 0,
            };
            own + factors(az, a) + factors(az, b)
        }
        Node::Not(a) | Node::Likely(a) | Node::Cast(_, a) => factors(az, a),
        Node::Select(c, a, b) => factors(az, c) + factors(az, a) + factors(az, b),
        _ => 0,
    }
}

fn constants(az: &mut Analyzer, e: Expr) -> u128 {
    use BinaryOp::*;
    match az.pool.node(e) {
        Node::Const(value) => u128::from(value.unsigned_abs()),
        Node::Binary(Add | Sub | Eq | Ne | Lt | Le, a, b) => constants(az, a).saturating_add(constants(az, b)),
        Node::Binary(Mul, a, b) if az.pool.as_const(b).is_some() => constants(az, a),
        Node::Binary(FloorDiv | FloorMod, a, b) if az.pool.as_const(b).is_some_and(|by| by > 0) => {
            let by = az.pool.as_const(b).map_or(0, i64::unsigned_abs);
            let constant = constant_of(az, a);
            let below = if constant < 0 { constant.unsigned_abs().saturating_add(by) } else { 0 };
            constants(az, a).saturating_mul(2).saturating_add(u128::from(below) * 8)
        }
        Node::Binary(_, a, b) => constants(az, a).saturating_add(constants(az, b)).saturating_mul(2),
        Node::Not(a) | Node::Likely(a) | Node::Cast(_, a) => constants(az, a).saturating_mul(2),
        Node::Select(c, a, b) => {
            let all = constants(az, c).saturating_add(constants(az, a)).saturating_add(constants(az, b));
            all.saturating_mul(2)
        }
        _ => 0,
    }
}

/// The constant of a sum.
fn constant_of(az: &Analyzer, e: Expr) -> i64 {
    match az.pool.node(e) {
        Node::Binary(BinaryOp::Add, a, b) => constant_of(az, a).saturating_add(constant_of(az, b)),
        Node::Binary(BinaryOp::Sub, a, b) => constant_of(az, a).saturating_sub(constant_of(az, b)),
        Node::Const(value) => value,
        _ => 0,
    }
}

fn unordered(az: &Analyzer, e: Expr) -> u128 {
    let is_unordered = |&part: &Expr| match az.pool.node(part) {
        Node::Binary(BinaryOp::Min | BinaryOp::Max, a, _) => az.pool.as_const(a).is_some(),
        _ => false,
    };
    az.pool.reachable(&[e]).iter().filter(|part| is_unordered(part)).count() as u128
}

#[test]
fn each_step_makes_an_expression_less() {
    let mut greater: BTreeMap<&str, (u32, Vec<String>)> = BTreeMap::new();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    each_step(4, CASES, |case, step| {
        let name = step.rule.name;
        // Building what a rule had in its hands may have decided it.
        if step.before == step.after {
            return;
        }
        *seen.entry(name).or_default() += 1;
        let (before, after) = (measure(&mut case.az, step.before), measure(&mut case.az, step.after));
        let is_less = if FORMS.contains(&name) { after.weight <= before.weight } else { after < before };
        if !is_less {
            let (count, texts) = greater.entry(name).or_default();
            *count += 1;
            if texts.len() < 4 {
                texts.push(format!("{} -> {}: {before:?} {after:?}", case.show(step.before), case.show(step.after)));
            }
        }
    });
    let unseen: Vec<&str> =
        tc_arith::rules::all().map(|rule| rule.name).filter(|name| !seen.contains_key(name)).collect();
    assert!(unseen.is_empty(), "rules of which no step was seen: {unseen:?}");
    let text: Vec<String> = greater
        .iter()
        .map(|(name, (count, texts))| format!("{name}: {count} of {}\n  {}", seen[name], texts.join("\n  ")))
        .collect();
    assert!(greater.is_empty(), "steps that make no less of it:\n{}", text.join("\n"));
}
