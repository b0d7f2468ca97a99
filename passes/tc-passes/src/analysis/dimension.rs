//! One dimension of a dependence test: the difference of two indices.

use super::access::NestFacts;
use super::dependence::DependenceTest;
use super::difference::{Ends, Sum, add};
use super::form::Form;
use rustc_hash::FxHashSet;
use tc_arith::{BinaryOp, Expr, Interval, Node, Var};

/// Looks at one dimension: `false` if the indices cannot be equal; else adds to `equal` what must be equal if they are.
pub(super) fn dimension(
    facts: &mut NestFacts<'_>,
    test: &DependenceTest<'_>,
    lhs: &Form,
    rhs: &Form,
    equal: &mut FxHashSet<Expr>,
) -> bool {
    let constant = i128::from(lhs.constant) - i128::from(rhs.constant);
    if let Some(versions) = versions(facts, test, lhs, rhs) {
        let without = |form: &Form, atom: Expr| {
            let terms = form.terms.iter().copied().filter(|&(other, _)| other != atom).collect();
            Form { terms, ..form.clone() }
        };
        let (lhs, rhs) = (without(lhs, versions.lhs), without(rhs, versions.rhs));
        // Of a remainder less another one that is some steps on there are two values, and none of them is zero.
        let both = versions.differences.map(|difference| {
            let difference = constant + i128::from(versions.coef) * i128::from(difference);
            difference_of(facts, test, (&lhs, &rhs), difference).cannot_vanish()
        });
        if both == [true; 2] {
            return false;
        }
    }
    let mut sum = difference_of(facts, test, (lhs, rhs), constant);
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
fn versions(facts: &mut NestFacts<'_>, test: &DependenceTest<'_>, lhs: &Form, rhs: &Form) -> Option<Versions> {
    for &(left, coef) in &lhs.terms {
        let Node::Binary(BinaryOp::FloorMod, number, divisor) = facts.algebra.analyzer.pool.node(left) else {
            continue;
        };
        let n = facts.algebra.analyzer.pool.as_const(divisor).filter(|&n| n > 1);
        let Some(n) = n else { continue };
        let vars = facts.algebra.analyzer.pool.vars(number);
        if !vars.iter().all(|&var| (test.same)(facts, var)) {
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
fn difference_of(
    facts: &mut NestFacts<'_>,
    test: &DependenceTest<'_>,
    (lhs, rhs): (&Form, &Form),
    constant: i128,
) -> Sum {
    let mut sum = Sum { constant, ..Sum::default() };
    let mut atoms: Vec<Expr> = lhs.terms.iter().map(|&(atom, _)| atom).collect();
    atoms.extend(rhs.terms.iter().map(|&(atom, _)| atom).filter(|atom| lhs.terms.iter().all(|(seen, _)| seen != atom)));
    for atom in atoms {
        let coef = |form: &Form| form.terms.iter().find(|(other, _)| *other == atom).map_or(0, |&(_, coef)| coef);
        let (left, right) = (i128::from(coef(lhs)), i128::from(coef(rhs)));
        let bounds = facts.bounds(atom);
        let vars = facts.algebra.analyzer.pool.vars(atom);
        if vars.iter().all(|&var| (test.same)(facts, var)) {
            sum.term(left - right, ends(bounds), None);
        } else if left == right {
            let is = |var: Option<Var>| var.is_some_and(|var| facts.algebra.analyzer.pool.node(atom) == Node::Var(var));
            let (lo, hi) = difference(bounds);
            let difference = match (is(test.carried), is(test.reversed)) {
                (true, _) => (lo, Some(-1)),
                (_, true) => (Some(1), hi),
                _ => (lo, hi),
            };
            sum.term(left, difference, Some(atom));
        } else {
            sum.term(left, ends(bounds), None);
            sum.term(-right, ends(bounds), None);
        }
    }
    for (form, sign) in [(lhs, 1), (rhs, -1)] {
        for (count, step) in form.footprint.0 {
            sum.term(sign * i128::from(step), (Some(0), Some(i128::from(count) - 1)), None);
        }
    }
    bound_by_guards(facts, test, lhs, rhs, &mut sum);
    sum
}

/// Notes where guards keep what lies below a coefficient closer together than the ranges of variables do.
fn bound_by_guards(facts: &mut NestFacts<'_>, test: &DependenceTest<'_>, lhs: &Form, rhs: &Form, sum: &mut Sum) {
    let (first, second) = (&test.first.guards.bounds, &test.second.guards.bounds);
    if first.is_empty() && second.is_empty() {
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
        both && facts.algebra.analyzer.pool.vars(atom).iter().all(|&var| (test.same)(facts, var))
    };
    let gone: Vec<(Expr, i64)> = lhs.terms.iter().copied().filter(cancels).collect();
    let limits: Vec<i128> = sum.groups.iter().map(|group| group.coef).chain([i128::MAX]).collect();
    for limit in limits {
        let mut range: Ends = (Some(0), Some(0));
        for (form, bounds, sign) in [(lhs, first, 1), (rhs, second, -1)] {
            let is_below = |term: &&(Expr, i64)| i128::from(term.1).abs() < limit && !gone.contains(term);
            let terms: Vec<(Expr, i64)> = form.terms.iter().filter(is_below).copied().collect();
            let own = facts.sum_bounds(&terms);
            let bounded = bounds.iter().filter_map(|bound| bound.interval_of(&terms)).fold(own, Interval::narrowed);
            range = add(range, signed(ends(bounded), sign), 1);
            for (count, step) in form.footprint.0.into_iter().filter(|&(_, step)| i128::from(step).abs() < limit) {
                let reach = i128::from(step) * (i128::from(count) - 1);
                range = add(range, signed((Some(reach.min(0)), Some(reach.max(0))), sign), 1);
            }
        }
        sum.bounds.push((limit, range));
    }
}

fn signed((lo, hi): Ends, sign: i32) -> Ends {
    let minus = |end: Option<i128>| end.and_then(i128::checked_neg);
    if sign > 0 { (lo, hi) } else { (minus(hi), minus(lo)) }
}

fn ends(interval: Interval) -> Ends {
    (interval.min().map(i128::from), interval.max().map(i128::from))
}

/// What `x - x'` runs over while both run over `interval`.
fn difference(interval: Interval) -> Ends {
    let width = match ends(interval) {
        (Some(lo), Some(hi)) => Some(hi - lo),
        _ => None,
    };
    (width.map(|width| -width), width)
}
