//! Conditions that hold of all that lies inside of a tensor, outside of which the copy engine reads zeros and writes nothing.

use crate::analysis::condition::conjuncts;
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_ir::{Func, Value};

/// Do the conditions hold, each as it says, wherever `indices` lie inside of `tensor`?
pub(super) fn hold_inside(
    func: &Func,
    algebra: &mut Algebra,
    (tensor, indices): (Value, &[Value]),
    conditions: &[(Value, bool)],
) -> bool {
    if conditions.is_empty() {
        return true;
    }
    let Some((_, shape, _)) = func.as_shaped(func.value_type(tensor)) else { return false };
    let shape = shape.to_vec();
    let zero = algebra.analyzer.pool.int(0);
    let mut inside = Vec::new();
    for (&at, &extent) in indices.iter().zip(&shape) {
        let at = algebra.expr(func, at);
        let Some(extent) = algebra.attr(func, extent) else { return false };
        inside.push(algebra.analyzer.pool.le(zero, at));
        inside.push(algebra.analyzer.pool.lt(at, extent));
    }
    let mut wanted: Vec<Expr> = Vec::new();
    for &(condition, holds) in conditions {
        if holds {
            wanted.extend(conjuncts(func, condition).into_iter().map(|part| algebra.expr(func, part)));
        } else {
            let condition = algebra.expr(func, condition);
            wanted.push(algebra.analyzer.pool.not(condition));
        }
    }
    algebra.analyzer.scope(|analyzer| {
        inside.into_iter().for_each(|fact| analyzer.constrain(fact));
        wanted.into_iter().all(|part| analyzer.can_prove(part))
    })
}
