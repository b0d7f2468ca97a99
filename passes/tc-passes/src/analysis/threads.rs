//! What all threads of a block do, counted out: where indices depend on nothing but the thread, whether two threads touch
//! one cell is decided by trying all of them.
//!
//! Fragments of a warp lie at indices such as `tx / 4 * 64 + tx % 4 * 2`, of which intervals and coefficients tell little.

use super::access::{Access, Form, NestFacts};
use super::conflict::Relation;
use super::launch::Extent;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tc_arith::{Expr, Interval, Node, Var};
use tc_dialects::tir::Coordinate;

const THREADS: [Coordinate; 3] = [Coordinate::ThreadX, Coordinate::ThreadY, Coordinate::ThreadZ];
/// A block has at most this many threads.
const MAX_THREADS: i64 = 1024;
/// At most this many cells are counted out.
const MAX_CELLS: i64 = 1 << 14;

impl NestFacts<'_> {
    /// The variables of the thread coordinates and how far they run; `None` where that is not constant.
    fn threads(&self) -> Option<Vec<(Option<Var>, i64)>> {
        let mut count = 1i64;
        let mut list = Vec::new();
        for coordinate in THREADS {
            let extent = match self.nest.extents[coordinate.index()] {
                Extent::One => 1,
                Extent::Const(extent) => extent.max(1),
                Extent::Symbolic => return None,
            };
            count = count.checked_mul(extent).filter(|&count| count <= MAX_THREADS)?;
            list.push((self.coordinate_vars[coordinate.index()], extent));
        }
        Some(list)
    }

    /// The value of `expr` in each thread, in the order of their numbers; `None` where it depends on more than the thread.
    fn at_threads(&mut self, expr: Expr) -> Option<Rc<[i64]>> {
        if let Some(known) = self.at_threads.get(&expr) {
            return known.clone();
        }
        let values = self.threads().and_then(|threads| {
            let pool = &self.algebra.analyzer.pool;
            let known = |var: &Var| threads.iter().any(|&(other, _)| other == Some(*var));
            if !pool.vars(expr).iter().all(known) {
                return None;
            }
            let count: i64 = threads.iter().map(|&(_, extent)| extent).product();
            let mut evaluation = pool.evaluation(&[expr]);
            let value = |number: i64| {
                let of = |var: Var| {
                    let mut number = number;
                    for &(other, extent) in &threads {
                        if other == Some(var) {
                            return number % extent;
                        }
                        number /= extent;
                    }
                    0
                };
                evaluation.at(of).next().flatten()
            };
            (0..count).map(value).collect::<Option<Rc<[i64]>>>()
        });
        self.at_threads.insert(expr, values.clone());
        values
    }

    /// The interval of `expr`: exactly, where it depends on nothing but the thread and is no plain coordinate.
    pub(super) fn bounds_at_threads(&mut self, expr: Expr) -> Option<Interval> {
        if matches!(self.algebra.analyzer.pool.node(expr), Node::Var(_) | Node::Const(_)) {
            return None;
        }
        let values = self.at_threads(expr)?;
        Some(Interval::from_ends(values.iter().min().copied(), values.iter().max().copied()))
    }

    /// The first cell that each thread touches by `form`, but for `gone`, terms that the other side has as well.
    fn cells(&mut self, form: &Form, gone: &[(Expr, i64)]) -> Option<Vec<i64>> {
        let count: i64 = self.threads()?.iter().map(|&(_, extent)| extent).product();
        let mut cells = vec![form.constant; usize::try_from(count).ok()?];
        for &(atom, coef) in form.terms.iter().filter(|term| !gone.contains(term)) {
            let values = self.at_threads(atom)?;
            for (cell, &value) in cells.iter_mut().zip(values.iter()) {
                *cell = cell.checked_add(value.checked_mul(coef)?)?;
            }
        }
        Some(cells)
    }
}

/// Is it certain, by trying all threads, that no two of them touch one cell by `first` and `second`?
pub(super) fn are_apart(
    facts: &mut NestFacts<'_>,
    first: &Access,
    second: &Access,
    relation: &Relation<'_>,
) -> Option<bool> {
    let ([lhs], [rhs]) = (first.index.as_deref()?, second.index.as_deref()?) else { return None };
    if lhs.row.is_some() || rhs.row.is_some() {
        return None;
    }
    let mut gone = Vec::new();
    for term in &lhs.terms {
        let same = facts.algebra.analyzer.pool.vars(term.0).iter().all(|&var| (relation.same)(facts, var));
        if same && rhs.terms.contains(term) {
            gone.push(*term);
        }
    }
    let (left, right) = (facts.cells(lhs, &gone)?, facts.cells(rhs, &gone)?);
    let n_cells = |form: &Form| form.reach.0.iter().try_fold(left.len() as i64, |n, &(count, _)| n.checked_mul(count));
    if [lhs, rhs].into_iter().any(|form| n_cells(form).is_none_or(|n| n > MAX_CELLS)) {
        return None;
    }
    // Who touches a cell first, and whether others do too.
    let mut touched: FxHashMap<i64, (usize, bool)> = FxHashMap::default();
    for (thread, &start) in left.iter().enumerate() {
        for cell in reached(start, lhs)? {
            touched.entry(cell).and_modify(|who| who.1 |= who.0 != thread).or_insert((thread, false));
        }
    }
    let by_warp = first.by_warp || second.by_warp;
    for (thread, &start) in right.iter().enumerate() {
        for cell in reached(start, rhs)? {
            if touched.get(&cell).is_some_and(|&(other, many)| by_warp || many || other != thread) {
                return Some(false);
            }
        }
    }
    Some(true)
}

/// The cells of one thread that starts at `start`.
fn reached(start: i64, form: &Form) -> Option<Vec<i64>> {
    let [(n, step), (m, inner)] = form.reach.0;
    let mut cells = Vec::new();
    for i in 0..n {
        for j in 0..m {
            cells.push(start.checked_add(i.checked_mul(step)?)?.checked_add(j.checked_mul(inner)?)?);
        }
    }
    Some(cells)
}
