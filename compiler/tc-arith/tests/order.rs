//! Rewriting ends: each step of a rule makes an expression less in one well-founded order (docs/adr/0012).
//!
//! Expressions are compared by triples of natural numbers, the first of which differs decides. Each part is monotone in the
//! parts of an expression, so that what is less stays so inside of another expression (a polynomial interpretation, Lankford
//! 1979). Rules that bring an expression to its normal form are computed at once and applied to nothing twice: they make it
//! no greater in the first part.

mod common;

use std::collections::BTreeMap;

use common::Case;
use tc_arith::{Analyzer, BinaryOp, Expr, Node};

const CASES: u64 = 12_000;

/// Rules that compute a normal form, as an engine of their own and not step by step.
const FORMS: &[&str] =
    &["sum-form", "product-form", "compare-form", "select-branches", "clause-under-earlier", "clause-implied"];

/// The measure of an expression.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Measure {
    /// How much there is, quotients, remainders and conditions counting for what stands in them.
    weight: u128,
    /// The digits of factors and divisors.
    factors: u128,
    /// Constants in sums, the deeper the more.
    constants: u128,
}

fn measure(az: &mut Analyzer, e: Expr) -> Measure {
    Measure { weight: weight(az, e, false), factors: factors(az, e), constants: constants(az, e) }
}

/// `in_sum`: a literal is the constant of a sum, or a side of a comparison.
fn weight(az: &mut Analyzer, e: Expr, in_sum: bool) -> u128 {
    use BinaryOp::*;
    let negative = |az: &Analyzer, e: Expr| az.pool.as_const(e).is_some_and(|value| value < 0);
    match az.pool.node(e) {
        Node::Const(_) => u128::from(!in_sum),
        Node::Bool(_) => 1,
        Node::Var(v) => {
            let own = az.pool.var(v);
            2 + u128::from(az.expand(own) != own)
        }
        Node::Binary(Add | Sub, a, b) => weight(az, a, true).saturating_add(weight(az, b, true)),
        Node::Binary(Mul, a, b) if az.pool.as_const(b).is_some() => weight(az, a, false),
        Node::Binary(Mul, a, b) => weight(az, a, false).saturating_mul(weight(az, b, false)),
        Node::Binary(op @ (FloorDiv | FloorMod | TruncDiv | TruncMod), a, b) => {
            let by = if az.pool.as_const(b).is_some() { 0 } else { weight(az, b, false) };
            let turned = if negative(az, b) { 4 } else { 0 };
            let inner = weight(az, a, false);
            let (times, plus) = if matches!(op, FloorDiv | TruncDiv) { (2, 1) } else { (1, 2) };
            let truncates = if matches!(op, TruncDiv | TruncMod) { 2 } else { 0 };
            inner.saturating_mul(times) + plus + by + turned + truncates
        }
        Node::Binary(Eq | Ne | Lt | Le, a, b) => weight(az, a, true).saturating_add(weight(az, b, true)) + 1,
        Node::Binary(_, a, b) => weight(az, a, false).saturating_add(weight(az, b, false)) + 1,
        Node::Not(a) => weight(az, a, false).saturating_mul(2),
        Node::Likely(a) | Node::Cast(_, a) => weight(az, a, false) + 1,
        Node::Select(c, a, b) => {
            let arms = weight(az, a, false).saturating_add(weight(az, b, false));
            weight(az, c, false).saturating_mul(2).saturating_add(arms) + 3
        }
    }
}

fn digits(value: i64) -> u128 {
    u128::from(64 - value.unsigned_abs().leading_zeros())
}

fn factors(az: &mut Analyzer, e: Expr) -> u128 {
    use BinaryOp::*;
    match az.pool.node(e) {
        Node::Binary(op, a, b) => {
            let own = match (op, az.pool.as_const(b)) {
                (Mul | FloorDiv | FloorMod | TruncDiv | TruncMod, Some(by)) => digits(by),
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
        Node::Binary(_, a, b) => constants(az, a).saturating_add(constants(az, b)).saturating_mul(2),
        Node::Not(a) | Node::Likely(a) | Node::Cast(_, a) => constants(az, a).saturating_mul(2),
        Node::Select(c, a, b) => {
            let all = constants(az, c).saturating_add(constants(az, a)).saturating_add(constants(az, b));
            all.saturating_mul(2)
        }
        _ => 0,
    }
}

#[test]
fn each_step_makes_an_expression_less() {
    let mut greater: BTreeMap<&str, (u32, Vec<String>)> = BTreeMap::new();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..CASES {
        let mut case = Case::new(1 << 42 | seed);
        case.az.record_steps(true);
        case.assume();
        let depth = 1 + (seed % 2) as u32;
        let e = if seed % 3 == 0 { case.condition(depth) } else { case.integer(depth) };
        case.az.simplify(e);
        for step in case.az.record_steps(false) {
            let name = step.rule.name;
            *seen.entry(name).or_default() += 1;
            let (before, after) = (measure(&mut case.az, step.before), measure(&mut case.az, step.after));
            let is_less = if FORMS.contains(&name) { after.weight <= before.weight } else { after < before };
            if !is_less {
                let (count, texts) = greater.entry(name).or_default();
                *count += 1;
                if texts.len() < 4 {
                    texts.push(format!(
                        "{} -> {}: {before:?} {after:?}",
                        case.show(step.before),
                        case.show(step.after)
                    ));
                }
            }
        }
    }
    let text: Vec<String> = greater
        .iter()
        .map(|(name, (count, texts))| format!("{name}: {count} of {}\n  {}", seen[name], texts.join("\n  ")))
        .collect();
    assert!(greater.is_empty(), "steps that make no less of it:\n{}", text.join("\n"));
}
