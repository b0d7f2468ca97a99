//! Which variables are equal where some expressions are.

use super::access::NestFacts;
use super::dependence::DependenceTest;
use rustc_hash::FxHashSet;
use tc_arith::{Expr, Var};

/// Are all of `vars` equal on both sides, given what is? Those that are not themselves may be told by the expressions
/// that are: `tx / 8` and `tx % 8` tell `tx`. That is decided by trying all points.
pub(super) fn tells(
    facts: &mut NestFacts<'_>,
    test: &DependenceTest<'_>,
    equal: &FxHashSet<Expr>,
    vars: &[Var],
) -> bool {
    let is_open = |facts: &mut NestFacts<'_>, var: Var| {
        let expr = facts.algebra.analyzer.pool.var(var);
        !equal.contains(&expr)
    };
    let open: Vec<Var> = vars.iter().copied().filter(|&var| is_open(facts, var)).collect();
    if open.is_empty() {
        return true;
    }
    let pool = &facts.algebra.analyzer.pool;
    let mut exprs: Vec<Expr> = equal.iter().copied().filter(|&expr| pool.uses_any(expr, &open)).collect();
    exprs.sort_unstable();
    let is_own = |expr: &Expr| pool.vars(*expr).iter().all(|var| open.contains(var));
    let own: Vec<Expr> = exprs.iter().copied().filter(is_own).collect();
    if is_injective(facts, own, open.clone()) {
        return true;
    }
    // What else the expressions are over is either the same, or has to be told with the rest.
    let mut all: Vec<Var> = exprs.iter().flat_map(|&expr| facts.algebra.analyzer.pool.vars(expr)).collect();
    all.sort_unstable();
    all.dedup();
    if all == open || open.iter().any(|var| !all.contains(var)) {
        return false;
    }
    for &var in &all {
        let expr = facts.algebra.analyzer.pool.var(var);
        if (test.same)(facts, var) || equal.contains(&expr) {
            exprs.push(expr);
        }
    }
    is_injective(facts, exprs, all)
}

/// At most this many points are tried.
const MAX_POINTS: i64 = 4096;

/// Do different points of `vars` differ in one of `exprs`?
fn is_injective(facts: &mut NestFacts<'_>, exprs: Vec<Expr>, vars: Vec<Var>) -> bool {
    if exprs.is_empty() {
        return false;
    }
    let key = (exprs, vars);
    if let Some(&known) = facts.injective.get(&key) {
        return known;
    }
    let injective = differ_at_all_points(facts, &key.0, &key.1);
    facts.injective.insert(key, injective);
    injective
}

fn differ_at_all_points(facts: &NestFacts<'_>, exprs: &[Expr], vars: &[Var]) -> bool {
    let mut all: Vec<Vec<i64>> = vec![Vec::new()];
    for &var in vars {
        let range = facts.algebra.analyzer.range(var);
        let (Some(lo), Some(hi)) = (range.min(), range.max()) else { return false };
        let count = hi.checked_sub(lo).and_then(|width| width.checked_add(1)?.checked_mul(all.len() as i64));
        if count.is_none_or(|count| count > MAX_POINTS) {
            return false;
        }
        all = all.iter().flat_map(|point| (lo..=hi).map(|at| [point.as_slice(), &[at]].concat())).collect();
    }
    let mut evaluation = facts.algebra.analyzer.pool.evaluation(exprs);
    let mut seen: FxHashSet<Vec<i64>> = FxHashSet::default();
    all.iter().all(|point| {
        let value_of =
            |var: Var| vars.iter().zip(point).find(|(other, _)| **other == var).map_or(0, |(_, &value)| value);
        let values: Option<Vec<i64>> = evaluation.at(value_of).collect();
        values.is_some_and(|values| seen.insert(values))
    })
}
