//! Rules for floor division and remainder by an expression.

use super::{Apply, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::interval::Interval;
use crate::linear::{Linear, Term};

pub(crate) static DIVISIONS: &[Rule] = &[
    Rule {
        name: "symbolic-range",
        laws: &["x / n -> k if k <= x / n <= k, defined(x / n)", "x % n -> k if k <= x % n <= k, defined(x % n)"],
        apply: Apply::Node(symbolic_range),
    },
    Rule {
        name: "symbolic-below",
        laws: &["x / n -> 0 if 0 <= x < n, defined(x), defined(n)", "x % n -> x if 0 <= x < n, defined(n)"],
        apply: Apply::Node(symbolic_below),
    },
    Rule {
        name: "symbolic-split",
        laws: &["(x*n + y) / n -> x + y/n", "(x*n + y) % n -> y % n if defined(x)"],
        apply: Apply::Node(symbolic_split),
    },
];

fn parts(az: &Analyzer, e: Expr) -> Option<(BinaryOp, Expr, Expr)> {
    match az.pool.node(e) {
        Node::Binary(op @ (BinaryOp::FloorDiv | BinaryOp::FloorMod), x, n) => Some((op, x, n)),
        _ => None,
    }
}

fn symbolic_range(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (op, x, n) = parts(az, e)?;
    let value = Interval::apply(op, az.bound_of(x), az.bound_of(n)).as_point()?;
    if az.may_divide_by_zero(e) {
        return None;
    }
    Some(az.pool.int(value))
}

fn symbolic_below(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (op, x, n) = parts(az, e)?;
    if !az.bound_of(x).all_at_least(0) {
        return None;
    }
    let difference = az.difference(x, n)?;
    if !az.form_bounds(&difference).all_at_most(-1) || az.may_divide_by_zero(x) || az.may_divide_by_zero(n) {
        return None;
    }
    Some(if op == BinaryOp::FloorDiv { az.pool.int(0) } else { x })
}

fn symbolic_split(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (op, x, n) = parts(az, e)?;
    let divisor = az.linear_of(n)?.as_atom()?;
    let divisor: Vec<Expr> = az.pool.factors(divisor).into_iter().map(|factor| az.key(factor)).collect();
    let form = az.linear_of(x)?;
    let (mut whole, mut rest) = (Linear::default(), Linear::constant(form.constant));
    for &term in &form.terms {
        match divided(az, term.atom, &divisor) {
            // What is dropped must not be able to fail; the divisor itself stays.
            Some(atom) if !az.pool.may_fail(atom) => {
                let key = az.key(atom);
                whole.add_term(&az.pool, Term { atom, key, ..term })?;
            }
            _ => rest.add_term(&az.pool, term)?,
        }
    }
    if whole.terms.is_empty() {
        return None;
    }
    let rest = rest.build(&mut az.pool);
    let rest = az.pool.binary(op, rest, n);
    if op == BinaryOp::FloorMod {
        return Some(rest);
    }
    let whole = whole.build(&mut az.pool);
    Some(az.pool.add(whole, rest))
}

/// `product` without the factors of `divisor`, if it has them all.
fn divided(az: &mut Analyzer, product: Expr, divisor: &[Expr]) -> Option<Expr> {
    let mut factors = az.pool.factors(product);
    for &wanted in divisor {
        let at = factors.iter().position(|&factor| az.key(factor) == wanted)?;
        factors.remove(at);
    }
    Some(az.pool.product(&factors))
}
