//! Rules that turn truncating division into floor division where the signs are known.

use super::{Apply, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::interval::Interval;

pub(crate) static DIVISIONS: &[Rule] = &[
    Rule {
        name: "tdiv-range",
        laws: &[
            "tdiv(x, n) -> k if k <= tdiv(x, n) <= k, defined(tdiv(x, n))",
            "tmod(x, n) -> k if k <= tmod(x, n) <= k, defined(tmod(x, n))",
        ],
        apply: Apply::Node(truncate_range),
    },
    Rule {
        name: "tdiv-nonnegative",
        laws: &["tdiv(x, n) -> x / n if 0 <= x, 0 < n", "tmod(x, n) -> x % n if 0 <= x, 0 < n"],
        apply: Apply::Node(truncate_nonnegative),
    },
    Rule {
        name: "tdiv-nonpositive",
        laws: &["tdiv(x, n) -> -(-x / n) if x <= 0, 0 < n", "tmod(x, n) -> -(-x % n) if x <= 0, 0 < n"],
        apply: Apply::Node(truncate_nonpositive),
    },
    Rule {
        name: "tdiv-negative-divisor",
        laws: &["tdiv(x, -c) -> -tdiv(x, c) if c > 0", "tmod(x, -c) -> tmod(x, c) if c > 0"],
        apply: Apply::Node(truncate_negative_divisor),
    },
    Rule {
        name: "tdiv-exact",
        laws: &["tdiv(x, c) -> x / c if c > 0, x % c == 0", "tmod(x, c) -> 0 if c > 0, x % c == 0, defined(x)"],
        apply: Apply::Node(truncate_exact),
    },
];

/// Whether it is a quotient, the dividend and the divisor.
fn parts(az: &Analyzer, e: Expr) -> Option<(bool, Expr, Expr)> {
    match az.pool.node(e) {
        Node::Binary(BinaryOp::TruncDiv, x, n) => Some((true, x, n)),
        Node::Binary(BinaryOp::TruncMod, x, n) => Some((false, x, n)),
        _ => None,
    }
}

fn floored(quotient: bool) -> BinaryOp {
    if quotient { BinaryOp::FloorDiv } else { BinaryOp::FloorMod }
}

fn negated(az: &mut Analyzer, e: Expr) -> Expr {
    let zero = az.pool.int(0);
    az.pool.sub(zero, e)
}

fn truncate_range(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let Node::Binary(op, x, n) = az.pool.node(e) else { return None };
    let value = Interval::apply(op, az.bound_of(x), az.bound_of(n)).as_point()?;
    if az.may_divide_by_zero(e) {
        return None;
    }
    Some(az.pool.int(value))
}

fn truncate_nonnegative(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (quotient, x, n) = parts(az, e)?;
    let signs = az.bound_of(x).all_at_least(0) && az.bound_of(n).all_at_least(1);
    signs.then(|| az.pool.binary(floored(quotient), x, n))
}

fn truncate_nonpositive(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (quotient, x, n) = parts(az, e)?;
    // The least number has no opposite.
    let range = az.bound_of(x);
    if !range.all_at_most(0) || range.min().is_none() || !az.bound_of(n).all_at_least(1) {
        return None;
    }
    let x = negated(az, x);
    let inner = az.pool.binary(floored(quotient), x, n);
    Some(negated(az, inner))
}

fn truncate_negative_divisor(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (quotient, x, n) = parts(az, e)?;
    let divisor = az.pool.as_const(n)?.checked_neg().filter(|&divisor| divisor > 0)?;
    let divisor = az.pool.int(divisor);
    if quotient {
        let inner = az.pool.trunc_div(x, divisor);
        Some(negated(az, inner))
    } else {
        Some(az.pool.trunc_mod(x, divisor))
    }
}

fn truncate_exact(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (quotient, x, n) = parts(az, e)?;
    let divisor = az.pool.as_const(n).filter(|&divisor| divisor > 0)?;
    if az.modular_of(x).residue(divisor) != Some(0) || az.pool.may_fail(x) {
        return None;
    }
    Some(if quotient { az.pool.floor_div(x, n) } else { az.pool.int(0) })
}
