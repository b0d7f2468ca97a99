//! Dependence tests: can two accesses touch one cell in executions that stand in a given relation, and one of them writes?
//!
//! This is the one place where that is decided; a pass says which executions it asks about (other threads of the block,
//! other iterations, any) and what has one value in both.
//!
//! Two accesses meet where the difference of their indices is zero in each dimension. The difference is a sum of terms
//! `coef * d`, where `d` is the difference of one variable between the two sides (or a variable that only one side has).
//! Two proofs are tried:
//!
//! - the sum cannot be zero: by its interval, or because a common divisor of the coefficients does not divide the rest
//!   (for the remainders `i % n` and `(i + k) % n`, which name versions of a buffer, in each of the two cases there are);
//! - the sum is zero only where certain `d` are: sorted by coefficient, a term whose coefficient exceeds all that the
//!   smaller ones can come to must vanish on its own. Where the thread's coordinates vanish so, it is one thread. This is
//!   injectivity in all coordinates, in mixed radix. What the smaller ones can come to is told by the ranges of variables,
//!   or by the guards of the accesses where these say more.
//!
//! What guards leave one value is a further equation. Dimensions that tell little on their own are taken together: `e / c`
//! and `e % c` tell `e`, for accesses are within bounds, so that two of them meet just where their flat indices are equal.
//! Where that does not decide it, and there are few points, all are tried (see [`points`]).

use super::access::{Access, NestFacts};
use super::difference::{Ends, Sum, add};
use super::form::{Footprint, Form, rejoined};
use super::guards::Guards;
use super::points;
use rustc_hash::FxHashSet;
use tc_arith::{BinaryOp, Expr, Interval, Node, Var};
use tc_dialects::tir::Coordinate;

/// The answer of a dependence test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dependence {
    /// The two never touch one cell.
    Independent,
    /// They do, if the loops around them run.
    Dependent,
    /// It is not decided.
    Unknown,
}

/// The executions of two accesses that are asked about.
#[derive(Clone, Copy)]
pub(crate) enum Between<'a> {
    /// Those by two threads, or blocks: they differ in one of the coordinates.
    Coordinates(&'a [Coordinate]),
    /// Those in which one of the variables of loops differs.
    Iterations(&'a [Var]),
    /// Any two.
    Any,
}

/// What is asked of two accesses.
#[derive(Clone, Copy)]
pub(crate) struct DependenceTest<'a> {
    /// The access that comes first, if there is an order.
    pub(crate) first: &'a Access,
    /// The other one.
    pub(crate) second: &'a Access,
    /// The executions that are asked about.
    pub(crate) between: Between<'a>,
    /// Does the variable have one value in both?
    pub(crate) same: &'a dyn Fn(&NestFacts<'_>, Var) -> bool,
    /// The loop variable that is greater on the side of the second access.
    pub(crate) carried: Option<Var>,
}

/// What tells two executions apart: one of the variables differs.
pub(super) struct Apart {
    pub(super) vars: Vec<Var>,
    /// Equal variables tell that it is one execution, or one thread.
    pub(super) is_told: bool,
}

impl Apart {
    /// `None` where there are no two such executions.
    fn of(facts: &NestFacts<'_>, test: &DependenceTest<'_>) -> Option<Apart> {
        let coordinates = match test.between {
            Between::Any => return Some(Apart { vars: Vec::new(), is_told: false }),
            Between::Iterations([]) => return None,
            Between::Iterations(vars) => return Some(Apart { vars: vars.to_vec(), is_told: true }),
            Between::Coordinates(coordinates) => coordinates,
        };
        let varying = || coordinates.iter().filter(|&&coordinate| facts.nest.varies(coordinate));
        varying().next()?;
        // What a warp does together is done by none of its threads alone.
        let by_warp = (test.first.by_warp || test.second.by_warp) && varying().any(|coordinate| coordinate.is_thread());
        let vars: Option<Vec<Var>> = varying().map(|coordinate| facts.coordinate_vars[coordinate.index()]).collect();
        Some(Apart { is_told: vars.is_some() && !by_warp, vars: vars.unwrap_or_default() })
    }

    /// A number for the variables at `point`, of which each has at most 2^16 values.
    pub(super) fn number(&self, point: &[(Var, i64)]) -> u64 {
        self.vars.iter().fold(0, |number, &var| number << 16 | (points::value_of(point, var).cast_unsigned() & 0xffff))
    }
}

impl NestFacts<'_> {
    /// Are the two accesses of `test` proved not to depend on one another?
    pub(crate) fn is_independent(&mut self, test: &DependenceTest<'_>) -> bool {
        self.dependence(test) == Dependence::Independent
    }

    /// Decides `test`. Two reads never depend on one another.
    pub(crate) fn dependence(&mut self, test: &DependenceTest<'_>) -> Dependence {
        let DependenceTest { first, second, .. } = *test;
        if !first.may_share_memory(second) || !(first.writes || second.writes) {
            return Dependence::Independent;
        }
        let Some(apart) = Apart::of(self, test) else { return Dependence::Independent };
        let (Some(lhs), Some(rhs)) = (&first.index, &second.index) else { return Dependence::Unknown };
        if lhs.len() != rhs.len() || !first.is_comparable(second) {
            return Dependence::Unknown;
        }
        let mut equal: FxHashSet<Expr> = FxHashSet::default();
        for (lhs, rhs) in lhs.iter().zip(rhs) {
            if !dimension(self, test, lhs, rhs, &mut equal) {
                return Dependence::Independent;
            }
        }
        if tells_one(self, test, &apart, &equal) {
            return Dependence::Independent;
        }
        if let Some((lhs, rhs)) = flat(self, first).zip(flat(self, second))
            && !dimension(self, test, &lhs, &rhs, &mut equal)
        {
            return Dependence::Independent;
        }
        for (lhs, rhs) in common_equations(&first.guards, &second.guards) {
            if !dimension(self, test, &lhs, &rhs, &mut equal) {
                return Dependence::Independent;
            }
        }
        if !whole_numbers(self, test, &mut equal) || tells_one(self, test, &apart, &equal) {
            return Dependence::Independent;
        }
        if apart.vars.len() > 4 {
            return Dependence::Unknown;
        }
        points::dependence(self, test, &apart).unwrap_or(Dependence::Unknown)
    }
}

/// Does what is equal on both sides tell that it is one execution, or one iteration of the loop that carries?
fn tells_one(facts: &mut NestFacts<'_>, test: &DependenceTest<'_>, apart: &Apart, equal: &FxHashSet<Expr>) -> bool {
    test.carried.is_some_and(|var| tells(facts, test, equal, &[var]))
        || (apart.is_told && tells(facts, test, equal, &apart.vars))
}

/// The index as one number, for dimensions of constant extents; `None` where there is one dimension, or none divides.
fn flat(facts: &mut NestFacts<'_>, access: &Access) -> Option<Form> {
    let forms = access.index.as_deref().filter(|forms| forms.len() > 1)?;
    let pool = &mut facts.algebra.analyzer.pool;
    let divides =
        |&(atom, _): &(Expr, i64)| matches!(pool.node(atom), Node::Binary(BinaryOp::FloorMod | BinaryOp::FloorDiv, ..));
    if forms.iter().any(|form| form.row.is_some()) || !forms.iter().any(|form| form.terms.iter().any(divides)) {
        return None;
    }
    let ty = access.window.map_or(facts.func.value_type(access.root), |window| window.ty());
    let (_, shape, _) = facts.func.as_shaped(ty).filter(|(_, shape, _)| shape.len() == forms.len())?;
    let mut sum = Form { terms: Vec::new(), constant: 0, footprint: Footprint::NONE, row: None };
    let mut stride = 1i64;
    for (form, &extent) in forms.iter().zip(shape).rev() {
        sum.constant = sum.constant.checked_add(form.constant.checked_mul(stride)?)?;
        for &(atom, coef) in &form.terms {
            let coef = coef.checked_mul(stride)?;
            match sum.terms.iter_mut().find(|(other, _)| *other == atom) {
                Some((_, sum)) => *sum = sum.checked_add(coef)?,
                None => sum.terms.push((atom, coef)),
            }
        }
        if form.footprint != Footprint::NONE {
            // One dimension alone may reach beyond its first element.
            if sum.footprint != Footprint::NONE {
                return None;
            }
            let [(n, step), (m, inner)] = form.footprint.0;
            sum.footprint = Footprint([(n, step.checked_mul(stride)?), (m, inner.checked_mul(stride)?)]);
        }
        stride = stride.checked_mul(facts.func.as_int(extent)?)?;
    }
    sum.terms.retain(|&(_, coef)| coef != 0);
    Some(rejoined(&mut facts.algebra.analyzer.pool, sum))
}

/// Pairs of equations of the guards of either side that have an atom in common.
fn common_equations(first: &Guards, second: &Guards) -> Vec<(Form, Form)> {
    let mut pairs = Vec::new();
    for lhs in first.equations() {
        for rhs in second.equations() {
            if lhs.terms.iter().any(|(atom, _)| rhs.terms.iter().any(|(other, _)| other == atom)) {
                pairs.push((lhs.clone(), rhs));
            }
        }
    }
    pairs
}

/// Adds what follows where quotient and remainder of one number are equal on both sides: so is the number. `false` if
/// it cannot be.
fn whole_numbers(facts: &mut NestFacts<'_>, test: &DependenceTest<'_>, equal: &mut FxHashSet<Expr>) -> bool {
    let mut remainders: Vec<Expr> = equal.iter().copied().collect();
    remainders.sort_unstable();
    for remainder in remainders {
        let pool = &mut facts.algebra.analyzer.pool;
        let Node::Binary(BinaryOp::FloorMod, number, divisor) = pool.node(remainder) else { continue };
        let quotient = pool.floor_div(number, divisor);
        if equal.contains(&quotient) {
            let form = facts.form_of(number, Footprint::NONE);
            if !dimension(facts, test, &form, &form, equal) {
                return false;
            }
        }
    }
    true
}

/// Are all of `vars` equal on both sides, given what is? Those that are not themselves may be told by the expressions
/// that are: `tx / 8` and `tx % 8` tell `tx`. That is decided by trying all points.
fn tells(facts: &mut NestFacts<'_>, test: &DependenceTest<'_>, equal: &FxHashSet<Expr>, vars: &[Var]) -> bool {
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

/// Looks at one dimension: `false` if the indices cannot be equal; else adds to `equal` what must be equal if they are.
fn dimension(
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
            let carried = test.carried.is_some_and(|var| facts.algebra.analyzer.pool.node(atom) == Node::Var(var));
            sum.term(left, difference(bounds, carried), Some(atom));
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

/// What `x - x'` runs over while both run over `interval`; where `x'` is the later value of a loop, below zero.
fn difference(interval: Interval, carried: bool) -> Ends {
    let width = match ends(interval) {
        (Some(lo), Some(hi)) => Some(hi - lo),
        _ => None,
    };
    if carried { (width.map(|width| -width), Some(-1)) } else { (width.map(|width| -width), width) }
}
