//! What of a nest decides on barriers, with numbers for its integers.

use crate::analysis::launch::{Extent, Nest, coordinate, loop_var};
use rustc_hash::{FxHashMap, FxHashSet};
use tc_arith::{Expr, Var};
use tc_dialects::algebra::Algebra;
use tc_dialects::threads::{begins_bulk_copy, is_barrier, is_by_mbarrier, is_reduction};
use tc_dialects::tir::{self, Coordinate};
use tc_dialects::{tma, wgmma};
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op, Value};

/// The most threads of a block.
const MAX_THREADS: i64 = 1024;

/// A nest, as far as barriers depend on it.
pub(super) struct Skeleton<'f> {
    pub(super) func: &'f Func,
    /// The outermost loop.
    pub(super) root: Op,
    /// The ops that count, and those around them.
    relevant: FxHashSet<Op>,
    algebra: Algebra,
    coordinates: FxHashMap<Var, Coordinate>,
    sizes: FxHashMap<Var, i64>,
    extents: [i64; 6],
    /// Something was asked that depends on the block.
    by_block: bool,
}

/// Where a thread is: the values of loop variables, the number of the thread and that of the block.
pub(super) struct Point<'p> {
    pub(super) loops: &'p [(Var, i64)],
    pub(super) thread: u32,
    pub(super) block: u64,
}

impl<'f> Skeleton<'f> {
    pub(super) fn new(func: &'f Func, nest: &Nest) -> Result<Skeleton<'f>, String> {
        let mut relevant = FxHashSet::default();
        for op in nest.ops(func).filter(|&op| counts(func, op)) {
            if is_reduction(func, op) {
                return Err("it reduces across threads".to_string());
            }
            relevant.insert(op);
            relevant.extend(ancestors(func, op));
        }
        let algebra = Algebra::of_func(func);
        let mut coordinates = FxHashMap::default();
        for &(op, _) in &nest.loops {
            if let Some(of) = coordinate(func, op) {
                coordinates.insert(Algebra::var(loop_var(func, op)), of);
            }
        }
        let mut sizes = FxHashMap::default();
        for (nth, symbol) in func.header.symbols.iter().enumerate() {
            let value = func.region_args(func.body())[nth];
            let number = symbol.default.or(symbol.range.map(|(low, _)| low)).and_then(|attr| func.as_int(attr));
            sizes.insert(Algebra::var(value), number.unwrap_or(1));
        }
        let mut skeleton =
            Skeleton { func, root: nest.op, relevant, algebra, coordinates, sizes, extents: [1; 6], by_block: false };
        for of in Coordinate::ALL {
            let extent = match nest.extents[of.index()] {
                Extent::One => Some(1),
                Extent::Const(n) => Some(n),
                Extent::Symbolic => skeleton.symbolic_extent(nest, of),
            };
            skeleton.extents[of.index()] = extent.filter(|&n| n > 0).ok_or("its extent is not known".to_string())?;
        }
        if skeleton.threads() > MAX_THREADS {
            return Err(format!("it has {} threads", skeleton.threads()));
        }
        Ok(skeleton)
    }

    fn symbolic_extent(&mut self, nest: &Nest, of: Coordinate) -> Option<i64> {
        let &(op, _) = nest.loops.iter().find(|&&(_, known)| known == of)?;
        let hi = self.algebra.expr(self.func, self.func.operand(op, 1));
        let known = |var: &Var| self.sizes.contains_key(var);
        if !self.algebra.analyzer.pool.vars(hi).iter().all(known) {
            return None;
        }
        self.algebra.analyzer.pool.eval(hi, &|var| self.sizes.get(&var).copied().unwrap_or(1))
    }

    pub(super) fn threads(&self) -> i64 {
        self.extents.iter().zip(Coordinate::ALL).filter(|(_, of)| of.is_thread()).map(|(&n, _)| n).product()
    }

    pub(super) fn n_blocks(&self) -> u64 {
        let extents = self.extents.iter().zip(Coordinate::ALL).filter(|(_, of)| !of.is_thread());
        extents.fold(1u64, |product, (&n, _)| product.saturating_mul(n as u64))
    }

    /// Did a run ask something that depends on the block?
    pub(super) fn asked_block(&self) -> bool {
        self.by_block
    }

    /// Does `op` decide on barriers, or hold what does?
    pub(super) fn is_relevant(&self, op: Op) -> bool {
        self.relevant.contains(&op)
    }

    /// The number that `value` is in each of `threads`: one, where all have the same. `None` where it is not known.
    pub(super) fn numbers(&mut self, value: Value, threads: &[u32], at: &Point<'_>) -> Option<Vec<i64>> {
        let expr = self.algebra.expr(self.func, value);
        let vars = self.algebra.analyzer.pool.vars(expr);
        let mut by_thread = false;
        for var in &vars {
            match self.coordinates.get(var) {
                Some(of) if of.is_thread() => by_thread = true,
                Some(_) => self.by_block = true,
                None if self.sizes.contains_key(var) || at.loops.iter().any(|(known, _)| known == var) => {}
                None => return None,
            }
        }
        let of_thread = |thread: u32| self.number(expr, &Point { thread, ..*at });
        if by_thread {
            threads.iter().map(|&thread| of_thread(thread)).collect()
        } else {
            Some(vec![of_thread(at.thread)?])
        }
    }

    fn number(&self, expr: Expr, at: &Point<'_>) -> Option<i64> {
        let of = |var: Var| match self.coordinates.get(&var) {
            Some(&of) => self.coordinate(of, at),
            None => at
                .loops
                .iter()
                .rev()
                .find(|(known, _)| *known == var)
                .map(|&(_, value)| value)
                .or_else(|| self.sizes.get(&var).copied())
                .unwrap_or(0),
        };
        self.algebra.analyzer.pool.eval(expr, &of)
    }

    fn coordinate(&self, of: Coordinate, at: &Point<'_>) -> i64 {
        let linear = if of.is_thread() { i64::from(at.thread) } else { at.block as i64 };
        let same = Coordinate::ALL.into_iter().filter(|other| other.is_thread() == of.is_thread());
        let below: i64 = same.filter(|other| other.dim() < of.dim()).map(|other| self.extents[other.index()]).product();
        linear / below % self.extents[of.index()]
    }
}

/// Does `op` itself count arrivals, bytes or threads?
fn counts(func: &Func, op: Op) -> bool {
    is_by_mbarrier(func, op)
        || (is_barrier(func, op) && func.word_of(op, tc_ir::keys::SCOPE) != Some("warp"))
        || is_reduction(func, op)
        // The threads of a warpgroup come to these together, so none is far behind the others.
        || matches!(func.opcode(op), wgmma::FENCE | wgmma::MMA)
        || (begins_bulk_copy(func, op) && tma::load_barrier(func, op).is_some())
}

/// Is `op` a loop that names a coordinate?
pub(super) fn is_launch(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::FOR && coordinate(func, op).is_some()
}
