//! Intervals on which conditions are settled: what two have in common, and what of one lies in a loop.

use tc_arith::{BinaryOp, Expr, Node, SymInterval};
use tc_dialects::algebra::Algebra;

/// What both hold.
pub(super) fn intersection(algebra: &mut Algebra, a: SymInterval, b: SymInterval) -> SymInterval {
    let pool = &mut algebra.analyzer.pool;
    let min = match (a.min, b.min) {
        (Some(a), Some(b)) => Some(pool.max(a, b)),
        (a, b) => a.or(b),
    };
    let max = match (a.max, b.max) {
        (Some(a), Some(b)) => Some(pool.min(a, b)),
        (a, b) => a.or(b),
    };
    SymInterval { min, max }
}

/// The ends of the middle part, drawn into `lo .. hi` as far as that is not certain anyway.
pub(super) fn clamp(algebra: &mut Algebra, lo: Expr, hi: Expr, interval: SymInterval) -> (Expr, Expr) {
    let begin = match interval.min {
        None => lo,
        Some(min) => between(algebra, min, lo, hi),
    };
    let end = match interval.max {
        None => hi,
        Some(max) => {
            let one = algebra.analyzer.pool.int(1);
            let past = algebra.analyzer.pool.add(max, one);
            between(algebra, past, begin, hi)
        }
    };
    (begin, end)
}

/// `min(max(at, lo), hi)`, where `lo <= hi` or the loop does not run.
fn between(algebra: &mut Algebra, at: Expr, lo: Expr, hi: Expr) -> Expr {
    let at = if is_at_most(algebra, lo, at) { at } else { algebra.analyzer.pool.max(at, lo) };
    let at = if is_at_most(algebra, at, hi) { at } else { algebra.analyzer.pool.min(at, hi) };
    algebra.analyzer.simplify(at)
}

/// Is `a <= b` proved? Of quotients by one number the numerators decide.
fn is_at_most(algebra: &mut Algebra, a: Expr, b: Expr) -> bool {
    let (a, b) = (algebra.analyzer.simplify(a), algebra.analyzer.simplify(b));
    let pool = &mut algebra.analyzer.pool;
    if let (Node::Binary(BinaryOp::FloorDiv, x, c), Node::Binary(BinaryOp::FloorDiv, y, d)) =
        (pool.node(a), pool.node(b))
        && c == d
        && pool.as_const(c).is_some_and(|c| c > 0)
    {
        let numerators = pool.le(x, y);
        if algebra.analyzer.can_prove(numerators) {
            return true;
        }
    }
    let condition = algebra.analyzer.pool.le(a, b);
    algebra.analyzer.can_prove(condition)
}
