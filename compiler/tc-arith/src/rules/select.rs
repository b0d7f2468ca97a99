//! Rules for `select`.

use super::{Apply, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::facts::Relation;

/// The canonical form of `select`: each branch is simplified where it is taken.
pub(crate) static FORMS: &[Rule] = &[Rule {
    name: "select-branches",
    laws: &["select(p, x, y) -> select(p', x', y') if p = p', p => x = x', !p => y = y'"],
    apply: Apply::Form,
}];

pub(crate) static ROWS: &[Rule] = &[
    Rule { name: "select-not", laws: &["select(!p, x, y) -> select(p, y, x)"], apply: Apply::Node(select_not) },
    Rule {
        name: "select-truth",
        laws: &[
            "select(p, true, q) -> p || q",
            "select(p, false, q) -> !p && q",
            "select(p, q, true) -> !p || q",
            "select(p, q, false) -> p && q",
        ],
        apply: Apply::Node(select_truth),
    },
    Rule {
        name: "select-minmax",
        laws: &[
            "select(x - y <= k, x + z, y + z) -> min(x + z, y + z) if -1 <= k <= 0",
            "select(y - x <= k, x + z, y + z) -> max(x + z, y + z) if -1 <= k <= 0",
        ],
        apply: Apply::Node(select_minmax),
    },
    Rule {
        name: "select-nested",
        laws: &["select(p, select(q, x, y), y) -> select(p && q, x, y)"],
        apply: Apply::Node(select_nested),
    },
];

fn parts(az: &Analyzer, e: Expr) -> Option<(Expr, Expr, Expr)> {
    if let Node::Select(c, x, y) = az.pool.node(e) { Some((c, x, y)) } else { None }
}

fn select_not(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (c, x, y) = parts(az, e)?;
    let Node::Not(inner) = az.pool.node(c) else { return None };
    Some(az.pool.select(inner, y, x))
}

fn select_truth(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (c, x, y) = parts(az, e)?;
    let not = az.pool.not(c);
    match (az.pool.as_bool(x), az.pool.as_bool(y)) {
        (Some(true), _) => Some(az.pool.or(c, y)),
        (Some(false), _) => Some(az.pool.and(not, y)),
        (_, Some(true)) => Some(az.pool.or(not, x)),
        (_, Some(false)) => Some(az.pool.and(c, x)),
        _ => None,
    }
}

fn select_minmax(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (c, x, y) = parts(az, e)?;
    let Node::Binary(op @ (BinaryOp::Lt | BinaryOp::Le), a, b) = az.pool.node(c) else { return None };
    let condition = az.comparison(op, a, b, false).filter(|c| c.relation == Relation::Le)?;
    let difference = az.difference(x, y)?;
    if difference.terms.len() != condition.form.terms.len() || condition.form.terms.is_empty() {
        return None;
    }
    // The condition reads `s * (x - y) <= k`: with `k` 0 or -1 it tells which is less.
    let constant = difference.constant;
    [1, -1].into_iter().find_map(|sign: i64| {
        let same = |term: &crate::linear::Term| Some(condition.form.coef_of(term.key)) == term.coef.checked_mul(sign);
        let slack = condition.bound.checked_add(constant.checked_mul(sign)?)?;
        if !difference.terms.iter().all(same) || !matches!(slack, 0 | -1) {
            return None;
        }
        Some(if sign > 0 { az.pool.min(x, y) } else { az.pool.max(x, y) })
    })
}

fn select_nested(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (p, inner, y) = parts(az, e)?;
    let (q, x, z) = parts(az, inner)?;
    if z != y {
        return None;
    }
    let both = az.pool.and(p, q);
    Some(az.pool.select(both, x, y))
}
