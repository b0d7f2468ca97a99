//! What of a nest decides on barriers, with numbers for its integers.

use super::threads::Threads;
use crate::analysis::launch::{Extent, Nest, coordinate, loop_var};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;
use tc_arith::{Evaluation, Var};
use tc_dialects::algebra::Algebra;
use tc_dialects::threads::{begins_bulk_copy, is_barrier, is_by_mbarrier, is_reduction};
use tc_dialects::tir::{self, Coordinate};
use tc_dialects::{tma, wgmma};
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op, Value};

/// The most threads of a block.
pub(super) const MAX_THREADS: i64 = 1024;

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
    /// The blocks of a cluster, which are run together.
    pub(super) cluster: i64,
    /// Something was asked that depends on the block.
    by_block: bool,
    formulas: FxHashMap<Value, Formula>,
    /// Numbers that no loop changes, of the threads that asked for them in this block.
    by_thread: FxHashMap<(Value, Threads, u64), Numbers>,
    /// The steps taken in this block.
    pub(super) steps: u64,
}

/// Where threads are: the numbers that loops give, and the number of the block.
pub(super) struct Point<'p> {
    pub(super) numbers: &'p [(Var, i64)],
    pub(super) block: u64,
}

/// A number, and the threads that have it.
pub(super) type Number = (i64, Threads);

/// The numbers of a value in some threads; `None` where they are not known.
type Numbers = Option<Rc<[Number]>>;

/// The operations of a formula that are evaluated in one step.
const OPERATIONS_PER_STEP: u64 = 8;

/// An integer of the program, ready to be evaluated.
struct Formula {
    vars: Vec<Var>,
    evaluation: Evaluation,
    /// What an evaluation counts as.
    steps: u64,
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
        let mut skeleton = Skeleton {
            func,
            root: nest.op,
            relevant,
            algebra,
            coordinates,
            sizes,
            extents: [1; 6],
            cluster: 1,
            by_block: false,
            formulas: FxHashMap::default(),
            by_thread: FxHashMap::default(),
            steps: 0,
        };
        for of in Coordinate::ALL {
            let extent = match nest.extents[of.index()] {
                Extent::One => Some(1),
                Extent::Const(n) => Some(n),
                Extent::Symbolic => skeleton.symbolic_extent(nest, of),
            };
            skeleton.extents[of.index()] = extent.filter(|&n| n > 0).ok_or("its extent is not known".to_string())?;
        }
        skeleton.cluster = nest.cluster(func).map_or(1, |(_, size)| size);
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

    /// The clusters, of one block or more.
    pub(super) fn n_clusters(&self) -> u64 {
        let extents = self.extents.iter().zip(Coordinate::ALL).filter(|(_, of)| !of.is_thread());
        extents.fold(1u64, |product, (&n, _)| product.saturating_mul(n as u64)) / self.cluster as u64
    }

    /// Did a run ask something that depends on the block?
    pub(super) fn asked_block(&self) -> bool {
        self.by_block
    }

    /// Does `op` decide on barriers, or hold what does?
    pub(super) fn is_relevant(&self, op: Op) -> bool {
        self.relevant.contains(&op)
    }

    /// Forgets what depends on the block, and what it took.
    pub(super) fn begin_block(&mut self) {
        self.by_thread.clear();
        self.steps = 0;
    }

    /// The numbers that `value` is in `threads`, in ascending order, each with the threads that have it. `None` where it is
    /// not known.
    pub(super) fn numbers(&mut self, value: Value, threads: &Threads, at: &Point<'_>) -> Numbers {
        self.formula(value);
        let formula = self.formulas.get_mut(&value)?;
        let (mut by_thread, mut by_loop) = (false, false);
        for var in &formula.vars {
            match self.coordinates.get(var) {
                Some(of) if of.is_thread() => by_thread = true,
                Some(_) => self.by_block = true,
                None if at.numbers.iter().any(|(known, _)| known == var) => by_loop = true,
                None if self.sizes.contains_key(var) => {}
                None => return None,
            }
        }
        let lanes = Lanes { coordinates: &self.coordinates, sizes: &self.sizes, extents: self.extents };
        let mut number = |thread: u32| {
            self.steps += formula.steps;
            let of = |var: Var| lanes.value(var, thread, at);
            formula.evaluation.at(of).next().flatten()
        };
        if !by_thread {
            let (first, _) = threads.ends()?;
            return Some(Rc::from([(number(first)?, *threads)]));
        }
        // What neither loops nor data change is worked out once for the threads that ask.
        if !by_loop && let Some(known) = self.by_thread.get(&(value, *threads, at.block)) {
            return known.clone();
        }
        let mut found: BTreeMap<i64, Threads> = BTreeMap::new();
        let all = threads.iter().try_for_each(|thread| {
            let with = found.entry(number(thread)?).or_default();
            *with = with.or(&Threads::only(thread));
            Some(())
        });
        let found: Numbers = all.map(|()| found.into_iter().collect());
        if !by_loop {
            self.by_thread.insert((value, *threads, at.block), found.clone());
        }
        found
    }

    /// Makes `value` ready to be evaluated.
    fn formula(&mut self, value: Value) {
        if self.formulas.contains_key(&value) {
            return;
        }
        let expr = self.algebra.expr(self.func, value);
        let pool = &self.algebra.analyzer.pool;
        let steps = 1 + pool.n_operations(expr) as u64 / OPERATIONS_PER_STEP;
        self.formulas.insert(value, Formula { vars: pool.vars(expr), evaluation: pool.evaluation(&[expr]), steps });
    }
}

/// What the variables of a formula are, apart from loops.
struct Lanes<'s> {
    coordinates: &'s FxHashMap<Var, Coordinate>,
    sizes: &'s FxHashMap<Var, i64>,
    extents: [i64; 6],
}

impl Lanes<'_> {
    fn value(&self, var: Var, thread: u32, at: &Point<'_>) -> i64 {
        match self.coordinates.get(&var) {
            Some(&of) => self.coordinate(of, thread, at.block),
            None => at
                .numbers
                .iter()
                .rev()
                .find(|(known, _)| *known == var)
                .map(|&(_, value)| value)
                .or_else(|| self.sizes.get(&var).copied())
                .unwrap_or(0),
        }
    }

    fn coordinate(&self, of: Coordinate, thread: u32, block: u64) -> i64 {
        let linear = if of.is_thread() { i64::from(thread) } else { block as i64 };
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
