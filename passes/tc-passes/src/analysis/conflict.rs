//! Can two threads touch one cell? Proofs over the difference of two indices.
//!
//! Two accesses of threads T and T' meet where the difference of their indices is zero. The difference is a sum of
//! terms `coef * d`, where `d` is the difference of one variable between the two sides (or a variable that only one side
//! has). Two proofs are tried:
//!
//! - the sum cannot be zero: by its interval, or because a common divisor of the coefficients does not divide the rest
//!   (for the remainders `i % n` and `(i + k) % n`, which name versions of a buffer, in each of the two cases there are);
//! - the sum is zero only where certain `d` are: sorted by coefficient, a term whose coefficient exceeds all that the
//!   smaller ones can come to must vanish on its own. Where the thread's coordinates vanish so, T is T' and there is no
//!   conflict. This is injectivity in all coordinates, in mixed radix. What the smaller ones can come to is told by the
//!   ranges of variables, or by the conditions around the accesses where these say more.
//!
//! Where indices depend on nothing but the thread, all threads of a block are tried (see [`threads`]). What is not proved
//! is taken to be a conflict.

use super::access::{Access, Form, NestFacts};
use super::difference::{Ends, Sum, add};
use super::threads;
use rustc_hash::FxHashSet;
use tc_arith::{BinaryOp, Expr, Interval, Node, Var};
use tc_dialects::tir::Coordinate;

/// How the two accesses lie to one another.
pub(crate) struct Relation<'a> {
    /// Does the variable have one value on both sides?
    pub(crate) same: &'a dyn Fn(&NestFacts<'_>, Var) -> bool,
    /// The loop variable that is greater on the side of the second access.
    pub(crate) carried: Option<Var>,
    /// The coordinates in which two threads may differ; where all are equal it is one thread.
    pub(crate) between: &'a [Coordinate],
}

/// May two threads that `relation` tells apart touch one cell by `first` and `second`, at least one writing?
pub(crate) fn may_conflict(
    facts: &mut NestFacts<'_>,
    first: &Access,
    second: &Access,
    relation: &Relation<'_>,
) -> bool {
    if !first.may_meet(second) || !(first.writes || second.writes) {
        return false;
    }
    let between: Vec<Coordinate> =
        relation.between.iter().copied().filter(|&coordinate| facts.nest.varies(coordinate)).collect();
    if between.is_empty() {
        return false;
    }
    let (Some(lhs), Some(rhs)) = (&first.index, &second.index) else { return true };
    if lhs.len() != rhs.len() || !first.is_comparable(second) {
        return true;
    }
    let mut equal: FxHashSet<Expr> = FxHashSet::default();
    for (lhs, rhs) in lhs.iter().zip(rhs) {
        if !dimension(facts, lhs, rhs, relation, &mut equal) {
            return false;
        }
    }
    if relation.carried.is_some_and(|var| tells(facts, &equal, var)) {
        return false;
    }
    // What a warp does together is done by none of its threads alone.
    let of_threads = between.iter().any(|coordinate| coordinate.is_thread());
    let by_warp = of_threads && (first.by_warp || second.by_warp);
    if !by_warp && is_one_thread(facts, &between, equal) {
        return false;
    }
    !(of_threads && threads::are_apart(facts, first, second, relation) == Some(true))
}

/// Are all coordinates equal on both sides, given what is? Those that are not themselves may be told by the expressions
/// that are: `tx / 8` and `tx % 8` tell `tx`. That is decided by trying all points.
fn is_one_thread(facts: &mut NestFacts<'_>, between: &[Coordinate], equal: FxHashSet<Expr>) -> bool {
    let mut open: Vec<Var> = Vec::new();
    for coordinate in between {
        let Some(var) = facts.coordinate_vars[coordinate.index()] else { return false };
        let expr = facts.algebra.analyzer.pool.var(var);
        if !equal.contains(&expr) {
            open.push(var);
        }
    }
    if open.is_empty() {
        return true;
    }
    let pool = &facts.algebra.analyzer.pool;
    let mut told: Vec<Expr> =
        equal.into_iter().filter(|&expr| pool.vars(expr).iter().all(|var| open.contains(var))).collect();
    told.sort_unstable();
    if told.is_empty() {
        return false;
    }
    let key = (told, open);
    if let Some(&known) = facts.injective.get(&key) {
        return known;
    }
    let injective = is_injective(facts, &key.0, &key.1);
    facts.injective.insert(key, injective);
    injective
}

/// Do the expressions, if they are equal on both sides, tell that `var` is too?
pub(crate) fn tells(facts: &mut NestFacts<'_>, equal: &FxHashSet<Expr>, var: Var) -> bool {
    let expr = facts.algebra.analyzer.pool.var(var);
    if equal.contains(&expr) {
        return true;
    }
    let pool = &facts.algebra.analyzer.pool;
    let mut told: Vec<Expr> = equal.iter().copied().filter(|&expr| pool.uses(expr, var)).collect();
    told.sort_unstable();
    let mut vars: Vec<Var> = told.iter().flat_map(|&expr| pool.vars(expr)).collect();
    vars.sort_unstable();
    vars.dedup();
    !told.is_empty() && is_injective(facts, &told, &vars)
}

/// At most this many points are tried.
const MAX_POINTS: i64 = 4096;

/// Do different points of `vars` differ in one of `exprs`?
fn is_injective(facts: &mut NestFacts<'_>, exprs: &[Expr], vars: &[Var]) -> bool {
    let mut points: Vec<Vec<i64>> = vec![Vec::new()];
    for &var in vars {
        let range = facts.algebra.analyzer.range(var);
        let (Some(lo), Some(hi)) = (range.min(), range.max()) else { return false };
        let count = hi.checked_sub(lo).and_then(|width| width.checked_add(1)?.checked_mul(points.len() as i64));
        if count.is_none_or(|count| count > MAX_POINTS) {
            return false;
        }
        points = points.iter().flat_map(|point| (lo..=hi).map(|at| [point.as_slice(), &[at]].concat())).collect();
    }
    let mut evaluation = facts.algebra.analyzer.pool.evaluation(exprs);
    let mut seen: FxHashSet<Vec<i64>> = FxHashSet::default();
    points.iter().all(|point| {
        let value_of =
            |var: Var| vars.iter().zip(point).find(|(other, _)| **other == var).map_or(0, |(_, &value)| value);
        let values: Option<Vec<i64>> = evaluation.at(value_of).collect();
        values.is_some_and(|values| seen.insert(values))
    })
}

/// Looks at one dimension: `false` if the indices cannot be equal; else adds to `equal` what must be equal if they are.
pub(crate) fn dimension(
    facts: &mut NestFacts<'_>,
    lhs: &Form,
    rhs: &Form,
    relation: &Relation<'_>,
    equal: &mut FxHashSet<Expr>,
) -> bool {
    let constant = i128::from(lhs.constant) - i128::from(rhs.constant);
    if let Some(versions) = versions(facts, lhs, rhs, relation) {
        let without = |form: &Form, atom: Expr| {
            let terms = form.terms.iter().copied().filter(|&(other, _)| other != atom).collect();
            Form { terms, ..form.clone() }
        };
        let (lhs, rhs) = (without(lhs, versions.lhs), without(rhs, versions.rhs));
        // Of a remainder less another one that is some steps on there are two values, and none of them is zero.
        let both = versions.differences.map(|difference| {
            let difference = constant + i128::from(versions.coef) * i128::from(difference);
            difference_of(facts, &lhs, &rhs, difference, relation).cannot_vanish()
        });
        if both == [true; 2] {
            return false;
        }
    }
    let mut sum = difference_of(facts, lhs, rhs, constant, relation);
    if sum.cannot_vanish() {
        return false;
    }
    sum.separate(equal);
    true
}

/// Two remainders by one divisor, one in either index, of numbers a fixed distance apart: `i % 2` and `(i + 1) % 2`.
struct Versions {
    lhs: Expr,
    rhs: Expr,
    coef: i64,
    /// What the first less the second comes to, either way.
    differences: [i64; 2],
}

/// The versions of a buffer that the two indices name, if they name two that are never the same.
fn versions(facts: &mut NestFacts<'_>, lhs: &Form, rhs: &Form, relation: &Relation<'_>) -> Option<Versions> {
    for &(left, coef) in &lhs.terms {
        let Node::Binary(BinaryOp::FloorMod, number, divisor) = facts.algebra.analyzer.pool.node(left) else {
            continue;
        };
        let n = facts.algebra.analyzer.pool.as_const(divisor).filter(|&n| n > 1);
        let Some(n) = n else { continue };
        let vars = facts.algebra.analyzer.pool.vars(number);
        if !vars.iter().all(|&var| (relation.same)(facts, var)) {
            continue;
        }
        for &(right, _) in rhs.terms.iter().filter(|&&(atom, other)| atom != left && other == coef) {
            let Node::Binary(BinaryOp::FloorMod, other, other_divisor) = facts.algebra.analyzer.pool.node(right) else {
                continue;
            };
            if facts.algebra.analyzer.pool.as_const(other_divisor) != Some(n) {
                continue;
            }
            let distance = facts.algebra.analyzer.pool.sub(number, other);
            let distance = facts.algebra.analyzer.simplify(distance);
            let distance = facts.algebra.analyzer.pool.as_const(distance).map(|distance| distance.rem_euclid(n));
            if let Some(distance) = distance.filter(|&distance| distance != 0) {
                return Some(Versions { lhs: left, rhs: right, coef, differences: [distance, distance - n] });
            }
        }
    }
    None
}

/// The difference of two indices whose constants differ by `constant`.
fn difference_of(facts: &mut NestFacts<'_>, lhs: &Form, rhs: &Form, constant: i128, relation: &Relation<'_>) -> Sum {
    let mut sum = Sum { constant, ..Sum::default() };
    let mut atoms: Vec<Expr> = lhs.terms.iter().map(|&(atom, _)| atom).collect();
    atoms.extend(rhs.terms.iter().map(|&(atom, _)| atom).filter(|atom| lhs.terms.iter().all(|(seen, _)| seen != atom)));
    for atom in atoms {
        let coef = |form: &Form| form.terms.iter().find(|(other, _)| *other == atom).map_or(0, |&(_, coef)| coef);
        let (left, right) = (i128::from(coef(lhs)), i128::from(coef(rhs)));
        let bounds = facts.bounds(atom);
        let vars = facts.algebra.analyzer.pool.vars(atom);
        if vars.iter().all(|&var| (relation.same)(facts, var)) {
            sum.term(left - right, ends(bounds), None);
        } else if left == right {
            let carried = relation.carried.is_some_and(|var| facts.algebra.analyzer.pool.node(atom) == Node::Var(var));
            sum.term(left, difference(bounds, carried), Some(atom));
        } else {
            sum.term(left, ends(bounds), None);
            sum.term(-right, ends(bounds), None);
        }
    }
    for (form, sign) in [(lhs, 1), (rhs, -1)] {
        for (count, step) in form.reach.0 {
            sum.term(sign * i128::from(step), (Some(0), Some(i128::from(count) - 1)), None);
        }
    }
    cap(facts, lhs, rhs, relation, &mut sum);
    sum
}

/// Notes where conditions keep what lies below a coefficient closer together than the ranges of variables do.
fn cap(facts: &mut NestFacts<'_>, lhs: &Form, rhs: &Form, relation: &Relation<'_>, sum: &mut Sum) {
    if lhs.caps.is_empty() && rhs.caps.is_empty() {
        return;
    }
    // A term that partly cancels lies in another group than in either index.
    let shifts = |a: &Form, b: &Form| {
        let other = |atom: Expr| b.terms.iter().find(|(other, _)| *other == atom);
        a.terms.iter().any(|&(atom, coef)| other(atom).is_some_and(|&(_, other)| other != coef))
    };
    if shifts(lhs, rhs) {
        return;
    }
    // What both have and is one value takes no part in the difference.
    let cancels = |&(atom, coef): &(Expr, i64)| {
        let both = [lhs, rhs].iter().all(|form| form.terms.contains(&(atom, coef)));
        both && facts.algebra.analyzer.pool.vars(atom).iter().all(|&var| (relation.same)(facts, var))
    };
    let gone: Vec<(Expr, i64)> = lhs.terms.iter().copied().filter(cancels).collect();
    let limits: Vec<i128> = sum.groups.iter().map(|group| group.coef).chain([i128::MAX]).collect();
    for limit in limits {
        let mut range: Ends = (Some(0), Some(0));
        for (form, sign) in [(lhs, 1), (rhs, -1)] {
            let is_below = |term: &&(Expr, i64)| i128::from(term.1).abs() < limit && !gone.contains(term);
            let terms: Vec<(Expr, i64)> = form.terms.iter().filter(is_below).copied().collect();
            let own = facts.sum_bounds(&terms);
            let capped = form.caps.iter().filter_map(|cap| cap.interval_of(&terms)).fold(own, Interval::narrowed);
            range = add(range, signed(ends(capped), sign), 1);
            for (count, step) in form.reach.0.into_iter().filter(|&(_, step)| i128::from(step).abs() < limit) {
                let reach = i128::from(step) * (i128::from(count) - 1);
                range = add(range, signed((Some(reach.min(0)), Some(reach.max(0))), sign), 1);
            }
        }
        sum.caps.push((limit, range));
    }
}

fn signed((lo, hi): Ends, sign: i32) -> Ends {
    let minus = |end: Option<i128>| end.and_then(i128::checked_neg);
    if sign > 0 { (lo, hi) } else { (minus(hi), minus(lo)) }
}

fn ends(interval: Interval) -> Ends {
    (interval.min().map(i128::from), interval.max().map(i128::from))
}

/// What `x - x'` runs over while both run over `interval`; where `x'` is the later value of a loop, below zero.
fn difference(interval: Interval, carried: bool) -> Ends {
    let width = match ends(interval) {
        (Some(lo), Some(hi)) => Some(hi - lo),
        _ => None,
    };
    if carried { (width.map(|width| -width), Some(-1)) } else { (width.map(|width| -width), width) }
}
