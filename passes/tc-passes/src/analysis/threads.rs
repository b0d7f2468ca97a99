//! Bounds of what depends on nothing but the thread, by computing it for each thread of a block.
//!
//! Fragments of a warp lie at indices such as `tx / 4 * 64 + tx % 4 * 2`, of which intervals tell little.

use super::access::NestFacts;
use super::launch::Extent;
use std::rc::Rc;
use tc_arith::{Expr, Interval, Node, Var};
use tc_dialects::tir::{Coordinate, Level};

const THREADS: [Coordinate; 3] = Level::Thread.coordinates();
/// A block has at most this many threads.
const MAX_THREADS: i64 = 1024;

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
}
