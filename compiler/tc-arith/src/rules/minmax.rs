//! Rules for `min` and `max`.

use super::{Apply, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::linear::Linear;

pub(crate) static ROWS: &[Rule] = &[
    Rule {
        name: "minmax-order",
        laws: &["min(x, y) -> x if x <= y, defined(y)", "max(x, y) -> x if y <= x, defined(y)"],
        apply: Apply::Node(minmax_order),
    },
    Rule {
        name: "minmax-constant-last",
        laws: &["min(k, x) -> min(x, k)", "max(k, x) -> max(x, k)"],
        apply: Apply::Node(minmax_constant_last),
    },
    Rule {
        name: "minmax-constants",
        laws: &["min(min(x, a), b) -> min(x, min(a, b))", "max(max(x, a), b) -> max(x, max(a, b))"],
        apply: Apply::Node(minmax_constants),
    },
    Rule {
        name: "minmax-nested",
        laws: &[
            "min(min(x, y), z) -> min(x, y) if x <= z, defined(z)",
            "min(max(x, y), z) -> z if z <= x, defined(max(x, y))",
            "max(max(x, y), z) -> max(x, y) if z <= x, defined(z)",
            "max(min(x, y), z) -> z if x <= z, defined(min(x, y))",
        ],
        apply: Apply::Node(minmax_nested),
    },
    Rule {
        name: "minmax-common-addend",
        laws: &["min(x + z, y + z) -> min(x, y) + z", "max(x + z, y + z) -> max(x, y) + z"],
        apply: Apply::Node(minmax_common_addend),
    },
];

fn parts(az: &Analyzer, e: Expr) -> Option<(BinaryOp, Expr, Expr)> {
    match az.pool.node(e) {
        Node::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) => Some((op, a, b)),
        _ => None,
    }
}

/// Whether `a <= b` can be told from bounds.
fn at_most(az: &mut Analyzer, a: Expr, b: Expr) -> bool {
    az.difference(a, b).is_some_and(|form| az.form_bounds(&form).all_at_most(0))
}

fn minmax_order(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (op, a, b) = parts(az, e)?;
    let (low, high) = if at_most(az, a, b) {
        (a, b)
    } else if at_most(az, b, a) {
        (b, a)
    } else {
        return None;
    };
    let (kept, dropped) = if op == BinaryOp::Min { (low, high) } else { (high, low) };
    (!az.may_divide_by_zero(dropped)).then_some(kept)
}

fn minmax_constant_last(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (op, a, b) = parts(az, e)?;
    az.pool.as_const(a).map(|_| az.pool.binary(op, b, a))
}

fn minmax_constants(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (op, a, b) = parts(az, e)?;
    let (inner, x, c) = parts(az, a)?;
    if inner != op || az.pool.as_const(b).is_none() || az.pool.as_const(c).is_none() {
        return None;
    }
    let constant = az.pool.binary(op, c, b);
    Some(az.pool.binary(op, x, constant))
}

fn minmax_nested(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (op, a, b) = parts(az, e)?;
    let pairs = [(a, b), (b, a)];
    pairs.into_iter().find_map(|(nested, other)| {
        let (inner, x, y) = parts(az, nested)?;
        // Whether `first` comes out of `op` when it meets `second`.
        let wins = |az: &mut Analyzer, first, second| {
            if op == BinaryOp::Min { at_most(az, first, second) } else { at_most(az, second, first) }
        };
        if inner == op {
            let covered = wins(az, x, other) || wins(az, y, other);
            (covered && !az.may_divide_by_zero(other)).then_some(nested)
        } else {
            let covered = wins(az, other, x) || wins(az, other, y);
            (covered && !az.may_divide_by_zero(nested)).then_some(other)
        }
    })
}

fn minmax_common_addend(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (op, a, b) = parts(az, e)?;
    let (a, b) = (az.linear_of(a)?, az.linear_of(b)?);
    if a.terms.is_empty() || b.terms.is_empty() {
        return None;
    }
    let (mut common, _) = a.partition(|term| b.coef_of(term.key) == term.coef);
    if a.constant == b.constant {
        common.constant = a.constant;
    }
    if (common.terms.is_empty() && common.constant == 0) || common.may_fail(&az.pool) {
        return None;
    }
    let less = |form: &Linear, az: &Analyzer| form.plus(&az.pool, &common, -1);
    let (a, b) = (less(&a, az)?, less(&b, az)?);
    if !(az.fits(&a) && az.fits(&b)) {
        return None;
    }
    let (a, b) = (a.build(&mut az.pool), b.build(&mut az.pool));
    let inner = az.pool.binary(op, a, b);
    let common = common.build(&mut az.pool);
    Some(az.pool.add(inner, common))
}
