//! Dependence tests: can two accesses touch one cell in executions that stand in a given relation, and one of them writes?
//!
//! This is the one place where that is decided; a pass says which executions it asks about (other threads of the block,
//! other iterations, any) and what has one value in both.
//!
//! Two accesses touch one cell where the difference of their indices is zero in each dimension. The difference is a sum of terms
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
//! and `e % c` tell `e`, for accesses are within bounds, so that two of them touch one cell just where their flat indices are equal.
//! Where that does not decide it, and there are few points, all are tried (see [`points`]).

use super::access::{Access, NestFacts};
use super::dimension::dimension;
use super::form::{Footprint, Form, rejoined};
use super::guards::Guards;
use super::injective::tells;
use super::points;
use rustc_hash::FxHashSet;
use tc_arith::{BinaryOp, Expr, Node, Var};
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
    /// A loop variable that is smaller there.
    pub(crate) reversed: Option<Var>,
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

    /// Decides `test`. Two reads never depend on one another, and neither do two atomic updates of one class.
    pub(crate) fn dependence(&mut self, test: &DependenceTest<'_>) -> Dependence {
        // All of these together may take long, and edit nothing.
        self.func.check_cancelled();
        let DependenceTest { first, second, .. } = *test;
        if !first.may_share_memory(second) || !first.conflicts(second) {
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
    [test.carried, test.reversed].into_iter().flatten().any(|var| tells(facts, test, equal, &[var]))
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
