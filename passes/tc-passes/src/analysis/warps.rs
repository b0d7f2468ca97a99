//! Which threads are a warp: 32 whose numbers follow each other, where the number of a thread counts `threadIdx.x` first.

use super::launch::{Extent, Nest, loop_var};
use tc_arith::{Expr, Var};
use tc_dialects::algebra::Algebra;
use tc_dialects::arith;
use tc_dialects::tir::{Coordinate, Level};
use tc_ir::attrs::BinOp;
use tc_ir::opdef::Role;
use tc_ir::{Func, Op};

/// The threads of a warp.
const WIDTH: i64 = 32;
/// A block has at most this many threads; of more nothing is known.
const MAX_THREADS: i64 = 1024;

const THREADS: [Coordinate; 3] = Level::Thread.coordinates();

/// The coordinates in which just those threads differ that are of different warps: those that count slower than the
/// ones that number the threads of one. `None` where warps are not divided so.
pub(crate) fn told_apart_by(nest: &Nest) -> Option<&'static [Coordinate]> {
    let mut inner = 1i64;
    for (nth, coordinate) in THREADS.iter().enumerate() {
        inner = inner.checked_mul(match nest.extents[coordinate.index()] {
            Extent::One => 1,
            Extent::Const(n) => n,
            Extent::Symbolic => return None,
        })?;
        if inner == WIDTH {
            return Some(&THREADS[nth + 1..]);
        }
    }
    None
}

/// The warps of a launch nest.
pub(super) struct Warps {
    /// How many threads there are along x, y, z, where that is constant.
    extents: [Option<i64>; 3],
    algebra: Algebra,
    /// The variables of the loops that name a coordinate and count from zero.
    vars: Vec<(Var, usize)>,
}

impl Warps {
    /// Those of `nest`.
    pub(super) fn of(func: &Func, nest: &Nest) -> Warps {
        let extents = THREADS.map(|coordinate| nest.extent(coordinate));
        let zero_based = nest.loops.iter().filter(|(op, _)| func.const_int(func.operand(*op, 0)) == Some(0));
        let vars = zero_based.filter_map(|&(op, coordinate)| {
            let nth = THREADS.iter().position(|&thread| thread == coordinate)?;
            Some((Algebra::var(loop_var(func, op)), nth))
        });
        Warps { extents, algebra: Algebra::of_func(func), vars: vars.collect() }
    }

    /// May `coordinate` differ between the threads of one warp?
    pub(super) fn differs(&self, coordinate: Coordinate) -> bool {
        let Some(nth) = THREADS.iter().position(|&thread| thread == coordinate) else { return false };
        // The coordinates that count faster fill whole warps.
        let before = self.extents[..nth].iter().try_fold(1i64, |product, &extent| product.checked_mul(extent?));
        before.is_none_or(|before| before <= 0 || before % WIDTH != 0)
    }

    /// Does `op`, a quotient, have one value in each warp, whichever? That is so for `threadIdx.x / 32`, and decided by
    /// trying all threads.
    pub(super) fn is_one_value(&mut self, func: &Func, op: Op) -> bool {
        let Some(result) = func.result(op) else { return false };
        if func.opcode(op) != arith::TDIV && !matches!(func.role(op), Role::Binary(BinOp::Div | BinOp::Shr)) {
            return false;
        }
        let [Some(nx), Some(ny), Some(nz)] = self.extents else { return false };
        let count = nx.checked_mul(ny).and_then(|count| count.checked_mul(nz));
        if nx < 1 || ny < 1 || count.is_none_or(|count| count > MAX_THREADS) {
            return false;
        }
        let expr = self.algebra.expr(func, result);
        let known = |var: &Var| self.vars.iter().any(|(other, _)| other == var);
        if !self.algebra.analyzer.pool.vars(expr).iter().all(known) {
            return false;
        }
        let value = |thread: i64| self.value(expr, [thread % nx, thread / nx % ny, thread / nx / ny]);
        (0..count.unwrap_or(0)).all(|thread| {
            let first = value(thread / WIDTH * WIDTH);
            first.is_some() && value(thread) == first
        })
    }

    fn value(&self, expr: Expr, at: [i64; 3]) -> Option<i64> {
        let of = |var: Var| self.vars.iter().find(|(other, _)| *other == var).map_or(0, |&(_, nth)| at[nth]);
        self.algebra.analyzer.pool.eval(expr, &of)
    }
}
