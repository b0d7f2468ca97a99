//! Which part of a buffer the reads in a loop need.

use super::nest::{body, var};
use super::stage::indices;
use crate::analysis::access::{Footprint, NestFacts};
use rustc_hash::FxHashSet;
use tc_arith::{BinaryOp, Expr, Interval, Node, Pool};
use tc_dialects::algebra::Algebra;
use tc_ir::walk::ops_under;
use tc_ir::{Func, Op, Value};

/// The part of a dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    /// All of it.
    Whole,
    /// So many elements from a start on.
    Range(Expr, i64),
}

/// What is fixed and what varies, seen from the start of a loop's body.
pub(super) struct View {
    varying: FxHashSet<Value>,
}

impl View {
    /// Seen from inside the loop `at`; the loops `relaxed` around it vary too.
    pub(super) fn from(func: &Func, at: Op, relaxed: &[Op]) -> View {
        let mut varying: FxHashSet<Value> = FxHashSet::default();
        for op in ops_under(func, body(func, at)) {
            varying.extend(func.results(op));
            varying.extend(func.op_regions(op).iter().flat_map(|&region| func.region_args(region)));
        }
        for &outer in relaxed {
            varying.insert(var(func, outer));
            varying.extend(ops_under(func, body(func, outer)).flat_map(|op| func.results(op)));
        }
        View { varying }
    }

    /// The part of each dimension that `loads` need, all of one buffer with these extents.
    pub(super) fn needed(&self, facts: &mut NestFacts<'_>, loads: &[Op], extents: &[Option<i64>]) -> Vec<Part> {
        (0..extents.len()).map(|dim| self.of_dimension(facts, loads, dim, extents[dim])).collect()
    }

    fn of_dimension(&self, facts: &mut NestFacts<'_>, loads: &[Op], dim: usize, extent: Option<i64>) -> Part {
        let mut hull: Option<(Vec<(Expr, i64)>, Interval)> = None;
        for &load in loads {
            let index = indices(facts.func, load)[dim];
            let Some((fixed, range)) = self.split(facts, index) else { return Part::Whole };
            hull = match hull {
                None => Some((fixed, range)),
                Some((known, so_far)) if known == fixed => Some((known, so_far.union(range))),
                Some(_) => return Part::Whole,
            };
        }
        let Some((fixed, range)) = hull else { return Part::Whole };
        let (Some(lo), Some(hi)) = (range.min(), range.max()) else { return Part::Whole };
        let len = hi.checked_sub(lo).and_then(|width| width.checked_add(1));
        let Some(len) = len.filter(|&len| extent.is_none_or(|extent| len < extent)) else { return Part::Whole };
        let pool = &mut facts.algebra.analyzer.pool;
        let mut start = pool.int(lo);
        for (atom, coef) in fixed {
            let coef = pool.int(coef);
            let term = pool.mul(atom, coef);
            start = pool.add(term, start);
        }
        Part::Range(facts.algebra.analyzer.simplify(start), len)
    }

    /// The terms of an index that are fixed, in order, and what the rest runs over.
    fn split(&self, facts: &mut NestFacts<'_>, index: Value) -> Option<(Vec<(Expr, i64)>, Interval)> {
        let form = facts.form(index)?;
        if form.row.is_some() || form.footprint != Footprint::NONE {
            return None;
        }
        let is_varying = |facts: &NestFacts<'_>, atom: Expr| {
            facts.algebra.analyzer.pool.vars(atom).iter().any(|&var| self.varying.contains(&Algebra::value(var)))
        };
        let (varying, mut fixed): (Vec<_>, Vec<_>) =
            form.terms.iter().copied().partition(|&(atom, _)| is_varying(facts, atom));
        // The start is computed where the reads may not run.
        if !fixed.iter().all(|&(atom, _)| runs_anywhere(&facts.algebra.analyzer.pool, atom)) {
            return None;
        }
        fixed.sort_unstable();
        let range = facts.sum_bounds(&varying) + Interval::point(form.constant);
        Some((fixed, range))
    }
}

/// Has the expression a value for all values of its variables?
fn runs_anywhere(pool: &Pool, expr: Expr) -> bool {
    match pool.node(expr) {
        Node::Var(_) | Node::Const(_) => true,
        Node::Binary(op, lhs, rhs) => {
            let divides = matches!(op, BinaryOp::FloorDiv | BinaryOp::FloorMod);
            let is_total =
                divides || matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max);
            is_total
                && (!divides || pool.as_const(rhs).is_some_and(|by| by > 0))
                && runs_anywhere(pool, lhs)
                && runs_anywhere(pool, rhs)
        }
        _ => false,
    }
}
