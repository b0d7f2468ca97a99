//! Dependence decided by trying all points, where proofs over differences end.
//!
//! The variables of two accesses are those that have one value on both sides and those that each side has on its own. For
//! each point of the first, the cells that the first access touches are noted with who touches them, and those of the
//! second are looked up. Guards that can be computed at a point leave out the points where they do not hold; a guard that
//! cannot is left out itself, which can only add points.

use super::access::{Access, NestFacts};
use super::dependence::{Apart, Dependence, DependenceTest};
use super::form::Form;
use super::launch::Extent;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;
use std::hash::Hasher;
use std::ops::ControlFlow;
use tc_arith::{Evaluation, Expr, Var};

/// One test tries at most this many points, the cells of a footprint counted each.
const MAX_POINTS: u64 = 1 << 16;
/// All tests of a launch nest try at most this many points.
pub(super) const MAX_POINTS_OF_A_NEST: u64 = 1 << 24;

/// So many points of either side are tried first, for where the two overlap, they mostly do so there.
const FEW: usize = 128;

/// Variables that only guards have may take so many values together.
const MAX_OF_GUARDS: u64 = 64;

/// Variables with their least value and the number of their values.
type Domain = Vec<(Var, i64, u64)>;

/// One side of a test.
struct Side {
    own: Domain,
    /// The atoms of all dimensions and then the guards, as one program.
    evaluation: Evaluation,
    /// Of each dimension the coefficients of its atoms, and its constant.
    dimensions: Vec<(Vec<i64>, i64)>,
    /// What the cells of a footprint add to the first one.
    offsets: Vec<Vec<i64>>,
    /// The truth values that the guards have.
    guards: Vec<bool>,
    /// Each of its points is one that the program comes to.
    is_exact: bool,
}

/// Why not all points were tried.
enum Stop {
    /// The two sides touch one cell.
    Overlap,
    /// An index is no number at a point.
    NoNumber,
}

/// Who touches a cell: the one that comes first in the carried loop, and the first of all others.
struct FirstAccesses {
    first: (u64, i64),
    other: Option<(u64, i64)>,
}

/// Tries all points of `test`, if they are few.
pub(super) fn dependence(facts: &mut NestFacts<'_>, test: &DependenceTest<'_>, apart: &Apart) -> Option<Dependence> {
    let (lhs, rhs) = (test.first.index.as_deref()?, test.second.index.as_deref()?);
    // Rows of an open length are no numbers.
    if lhs.iter().chain(rhs).any(|form| form.row.is_some()) {
        return None;
    }
    let gone: Vec<Vec<(Expr, i64)>> = lhs.iter().zip(rhs).map(|(lhs, rhs)| in_both(facts, test, lhs, rhs)).collect();
    let counted = counted(facts, test, &gone);
    // Which iteration it is makes no difference where neither access depends on it, and there are two.
    let is_one = |carried: Var| facts.algebra.analyzer.range(carried).count() == Some(1);
    let carried = test.carried.filter(|&carried| {
        [test.first, test.second].into_iter().any(|access| depends_on(facts, access, carried)) || is_one(carried)
    });
    let told: Vec<Var> = apart.vars.iter().copied().chain(carried).collect();
    let left = side(facts, test.first, &gone, &told, &counted)?;
    let right = side(facts, test.second, &gone, &told, &counted)?;
    let mut shared: Domain = Vec::new();
    let mut sides = [left, right];
    for side in &mut sides {
        let (same, own) = std::mem::take(&mut side.own).into_iter().partition(|&(var, ..)| (test.same)(facts, var));
        side.own = own;
        // How often a loop runs is not asked.
        side.is_exact &= test.carried.is_none() && test.reversed.is_none();
        let same: Domain = same;
        shared.extend(same.into_iter().filter(|entry| !shared.contains(entry)).collect::<Domain>());
    }
    let [left, right] = sides;
    let of_side = |side: &Side| count(&side.own)?.checked_mul(side.offsets.len() as u64);
    let points = count(&shared)?.checked_mul(of_side(&left)?.checked_add(of_side(&right)?)?)?;
    if points > MAX_POINTS.min(facts.points_left) {
        return None;
    }
    facts.points_left -= points;
    let order = if of_side(&right) < of_side(&left) { Order::Backward } else { Order::Forward };
    find_overlap(&shared, [left, right], order, apart, carried)
}

/// Which side notes its cells. The one with fewer points does: the other one's are looked up until one is found.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// The first access, which comes before.
    Forward,
    /// The second access; time goes backward then.
    Backward,
}

/// Looks for a cell that both sides touch; `None` where an index cannot be computed.
fn find_overlap(
    shared: &Domain,
    mut sides: [Side; 2],
    order: Order,
    apart: &Apart,
    carried: Option<Var>,
) -> Option<Dependence> {
    if order == Order::Backward {
        sides.reverse();
    }
    let [mut noted, mut looked] = sides;
    let time = |point: &[(Var, i64)], var: Var| match order {
        Order::Forward => value_of(point, var),
        Order::Backward => value_of(point, var).saturating_neg(),
    };
    let mut touched = Cells::with_room_for(noted.n_points());
    let mut at = start(shared);
    let mut limit = FEW;
    loop {
        touched.clear();
        let all = noted.each_cell(shared, &at, limit, |point, cell| {
            touched.add(cell, (apart.number(point), carried.map_or(0, |var| time(point, var))));
            ControlFlow::Continue(())
        });
        let overlap = all.is_continue().then(|| {
            looked.each_cell(shared, &at, limit, |point, cell| {
                let (who, when) = (apart.number(point), carried.map_or(1, |var| time(point, var)));
                let is_before = |(other, then): (u64, i64)| (!apart.is_told || other != who) && then < when;
                let overlaps =
                    touched.get(cell).is_some_and(|known| is_before(known.first) || known.other.is_some_and(is_before));
                if overlaps { ControlFlow::Break(Stop::Overlap) } else { ControlFlow::Continue(()) }
            })
        });
        match overlap {
            Some(ControlFlow::Continue(())) => {}
            Some(ControlFlow::Break(Stop::Overlap)) if noted.is_exact && looked.is_exact => {
                return Some(Dependence::Dependent);
            }
            Some(ControlFlow::Break(Stop::Overlap)) => return Some(Dependence::Unknown),
            Some(ControlFlow::Break(Stop::NoNumber)) | None => return None,
        }
        // What a few points do not decide, all do.
        let is_few = limit == FEW && [&noted, &looked].iter().any(|side| side.n_points() > FEW as u64);
        limit = usize::MAX;
        if !is_few && !advance(shared, &mut at) {
            return Some(Dependence::Independent);
        }
    }
}

impl FirstAccesses {
    fn add(&mut self, who: (u64, i64)) {
        if who.0 == self.first.0 {
            self.first.1 = self.first.1.min(who.1);
        } else if who.1 < self.first.1 {
            self.other = Some(std::mem::replace(&mut self.first, who));
        } else if self.other.is_none_or(|other| who.1 < other.1) {
            self.other = Some(who);
        }
    }
}

/// The cells of one side, all of as many dimensions.
struct Cells {
    /// The indices, one cell after another.
    indices: Vec<i64>,
    /// Where the indices of a cell begin, and who touches it.
    table: HashTable<(usize, FirstAccesses)>,
}

impl Cells {
    /// None yet; not many points make the table grow.
    fn with_room_for(n_points: u64) -> Cells {
        let room = n_points.min(8 * FEW as u64) as usize;
        Cells { indices: Vec::new(), table: HashTable::with_capacity(room) }
    }

    fn clear(&mut self) {
        self.indices.clear();
        self.table.clear();
    }

    /// Notes that `who` touches `cell`.
    fn add(&mut self, cell: &[i64], who: (u64, i64)) {
        let Cells { indices, table } = self;
        let known = table.entry(
            hash_of(cell),
            |&(at, _)| indices[at..].starts_with(cell),
            |&(at, _)| hash_of(&indices[at..at + cell.len()]),
        );
        match known {
            Entry::Occupied(mut known) => known.get_mut().1.add(who),
            Entry::Vacant(place) => {
                place.insert((indices.len(), FirstAccesses { first: who, other: None }));
                indices.extend_from_slice(cell);
            }
        }
    }

    fn get(&self, cell: &[i64]) -> Option<&FirstAccesses> {
        let known = self.table.find(hash_of(cell), |&(at, _)| self.indices[at..].starts_with(cell));
        known.map(|(_, touched)| touched)
    }
}

fn hash_of(cell: &[i64]) -> u64 {
    let mut hasher = FxHasher::default();
    cell.iter().for_each(|&index| hasher.write_i64(index));
    hasher.finish()
}

impl Side {
    /// How many points there are for each of what both sides share; more than can be counted where that is so.
    fn n_points(&self) -> u64 {
        count(&self.own).unwrap_or(u64::MAX)
    }

    /// Shows the cells of the first `limit` points, as far as the guards hold there, until `show` or an index that cannot be
    /// computed ends it.
    fn each_cell(
        &mut self,
        shared: &Domain,
        at: &[i64],
        limit: usize,
        mut show: impl FnMut(&[(Var, i64)], &[i64]) -> ControlFlow<Stop>,
    ) -> ControlFlow<Stop> {
        let mut own = start(&self.own);
        let mut point: Vec<(Var, i64)> = shared.iter().zip(at).map(|(entry, &value)| (entry.0, value)).collect();
        let n_shared = point.len();
        point.extend(self.own.iter().map(|entry| (entry.0, entry.1)));
        let (mut values, mut cell, mut reached) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..limit {
            point[n_shared..].iter_mut().zip(&own).for_each(|(entry, &value)| entry.1 = value);
            values.clear();
            values.extend(self.evaluation.at(|var| value_of(&point, var)));
            let guards = &values[values.len() - self.guards.len()..];
            let may_run =
                guards.iter().zip(&self.guards).all(|(value, &truth)| value.is_none_or(|v| (v != 0) == truth));
            if may_run {
                let mut atoms = values.iter();
                cell.clear();
                for (coefs, constant) in &self.dimensions {
                    let terms = coefs.iter().zip(&mut atoms);
                    let mut terms = terms.map(|(&coef, value)| value.and_then(|value| value.checked_mul(coef)));
                    let Some(sum) = terms.try_fold(*constant, |sum, term| sum.checked_add(term?)) else {
                        return ControlFlow::Break(Stop::NoNumber);
                    };
                    cell.push(sum);
                }
                for offset in &self.offsets {
                    reached.clear();
                    for (&index, &more) in cell.iter().zip(offset) {
                        let Some(index) = i64::checked_add(index, more) else {
                            return ControlFlow::Break(Stop::NoNumber);
                        };
                        reached.push(index);
                    }
                    show(&point, &reached)?;
                }
            }
            if !advance(&self.own, &mut own) {
                break;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Does an index or a guard of `access` have the variable?
fn depends_on(facts: &NestFacts<'_>, access: &Access, var: Var) -> bool {
    let atoms = access.index.iter().flatten().flat_map(|form| &form.terms).map(|term| term.0);
    let conditions = access.guards.conditions.iter().map(|condition| condition.0);
    atoms.chain(conditions).any(|expr| facts.algebra.analyzer.pool.vars(expr).contains(&var))
}

/// The terms that both indices have and that have one value: they make no difference.
fn in_both(facts: &NestFacts<'_>, test: &DependenceTest<'_>, lhs: &Form, rhs: &Form) -> Vec<(Expr, i64)> {
    let is_same = |atom: Expr| facts.algebra.analyzer.pool.vars(atom).iter().all(|&var| (test.same)(facts, var));
    lhs.terms.iter().copied().filter(|&term| rhs.terms.contains(&term) && is_same(term.0)).collect()
}

/// The variables that are worth to be counted where a guard has them: those that have one value on both sides and occur in
/// either index, and the coordinates in which threads differ.
fn counted(facts: &NestFacts<'_>, test: &DependenceTest<'_>, gone: &[Vec<(Expr, i64)>]) -> Vec<Var> {
    let pool = &facts.algebra.analyzer.pool;
    let mut vars: Vec<Var> = Vec::new();
    for access in [test.first, test.second] {
        for (form, gone) in access.index.iter().flatten().zip(gone) {
            let terms = form.terms.iter().filter(|term| !gone.contains(term));
            vars.extend(terms.flat_map(|&(atom, _)| pool.vars(atom)).filter(|&var| (test.same)(facts, var)));
        }
    }
    vars.extend(facts.coordinate_vars.iter().flatten().copied().filter(|&var| !(test.same)(facts, var)));
    // What guards alone have, as far as it is few: `i < 3` with `i = bx * 2 + tx` says of the last block which thread it is.
    let conditions = [test.first, test.second].into_iter().flat_map(|access| &access.guards.conditions);
    let mut points = 1u64;
    for var in conditions.flat_map(|&(condition, _)| pool.vars(condition)) {
        let count = facts.algebra.analyzer.range(var).count().and_then(|count| points.checked_mul(count));
        if !vars.contains(&var)
            && (test.same)(facts, var)
            && let Some(count) = count.filter(|&count| count <= MAX_OF_GUARDS)
        {
            points = count;
            vars.push(var);
        }
    }
    vars
}

/// One side of a test; `told` are variables that have to be known at each point, `counted` those that may be where a guard
/// has them. `None` where a variable has no range.
fn side(
    facts: &mut NestFacts<'_>,
    access: &Access,
    gone: &[Vec<(Expr, i64)>],
    told: &[Var],
    counted: &[Var],
) -> Option<Side> {
    let forms = access.index.as_deref()?;
    let mut exprs: Vec<Expr> = Vec::new();
    let mut dimensions = Vec::new();
    for (form, gone) in forms.iter().zip(gone) {
        let terms: Vec<(Expr, i64)> = form.terms.iter().copied().filter(|term| !gone.contains(term)).collect();
        exprs.extend(terms.iter().map(|term| term.0));
        dimensions.push((terms.into_iter().map(|term| term.1).collect(), form.constant));
    }
    let pool = &facts.algebra.analyzer.pool;
    let mut vars: Vec<Var> = told.iter().copied().chain(exprs.iter().flat_map(|&atom| pool.vars(atom))).collect();
    vars.sort_unstable();
    vars.dedup();
    let mut guards = Vec::new();
    for &(condition, truth) in &access.guards.conditions {
        let own = pool.vars(condition);
        if own.iter().all(|var| vars.contains(var) || counted.contains(var)) {
            vars.extend(own.into_iter().filter(|var| !vars.contains(var)).collect::<Vec<_>>());
            exprs.push(condition);
            guards.push(truth);
        }
    }
    let extents = facts.nest.extents;
    let is_exact = |(nth, var): (usize, &Option<Var>)| matches!(extents[nth], Extent::Const(_)).then_some((*var)?);
    let exact: Vec<Var> = facts.coordinate_vars.iter().enumerate().filter_map(is_exact).collect();
    let is_exact = guards.len() == access.guards.conditions.len() && vars.iter().all(|var| exact.contains(var));
    let mut own: Domain = Vec::new();
    for var in vars {
        let range = facts.algebra.analyzer.range(var);
        own.push((var, range.min()?, range.count()?));
    }
    let offsets = offsets(forms)?;
    let evaluation = facts.algebra.analyzer.pool.evaluation(&exprs);
    Some(Side { own, evaluation, dimensions, offsets, guards, is_exact })
}

/// What the cells of a footprint add to the first, in all dimensions.
fn offsets(forms: &[Form]) -> Option<Vec<Vec<i64>>> {
    let mut all: Vec<Vec<i64>> = vec![Vec::new()];
    for form in forms {
        let [(n, step), (m, inner)] = form.footprint.0;
        let cells = u64::try_from(n).ok()?.checked_mul(u64::try_from(m).ok()?)?;
        if cells.checked_mul(all.len() as u64)? > MAX_POINTS {
            return None;
        }
        let mut own = Vec::new();
        for i in 0..n {
            for j in 0..m {
                own.push(i.checked_mul(step)?.checked_add(j.checked_mul(inner)?)?);
            }
        }
        all = all.iter().flat_map(|start| own.iter().map(|&at| [start.as_slice(), &[at]].concat())).collect();
    }
    Some(all)
}

fn count(domain: &Domain) -> Option<u64> {
    domain.iter().try_fold(1u64, |product, &(_, _, count)| product.checked_mul(count))
}

fn start(domain: &Domain) -> Vec<i64> {
    domain.iter().map(|&(_, least, _)| least).collect()
}

/// Goes on to the next point; `false` after the last.
fn advance(domain: &Domain, at: &mut [i64]) -> bool {
    for (value, &(_, least, count)) in at.iter_mut().zip(domain) {
        if value.abs_diff(least) + 1 < count {
            *value += 1;
            return true;
        }
        *value = least;
    }
    false
}

/// The value of `var` at `point`, on which all variables are.
pub(super) fn value_of(point: &[(Var, i64)], var: Var) -> i64 {
    point.iter().find(|(other, _)| *other == var).map_or(0, |&(_, value)| value)
}
