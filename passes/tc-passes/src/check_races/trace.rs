//! A launch nest followed thread by thread: which cells are touched between two barriers.
//!
//! All threads of a block go through the program together, each with its own integers; other values are not computed.
//! Where a condition is not known both arms are taken, and what is done there is done maybe; a barrier that maybe stands
//! there, or that not all threads come to, orders nothing.

use super::cells::{Cells, Touch};
use super::lanes::{Base, Lanes, Offsets};
use super::relevant::{Relevant, Tracked};
use crate::analysis::launch::{Extent, Nest, coordinate, loop_var};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tc_dialects::arith::{self, Predicate};
use tc_dialects::scope::Scope;
use tc_dialects::threads::{self, CopyStep, Meeting};
use tc_dialects::tir;
use tc_dialects::update::{self, is_update};
use tc_ir::opdef::{Access, Role};
use tc_ir::walk::is_inside;
use tc_ir::{AttrData, Elem, Func, Op, Opcode, Region, Value, effects, keys};

/// A block has at most this many threads.
const MAX_THREADS: i64 = 1024;
/// So many copies may be outstanding.
const MAX_COPIES: usize = 1 << 16;
/// What it costs, in steps of which one is arithmetic of one thread, to come to an op, and to note a cell.
const OP_STEPS: u64 = 8;
/// What it costs to begin with a block.
const BLOCK_STEPS: u64 = 64;
const CELL_STEPS: u64 = 4;

/// Symbols from this number on stand for results; below are coordinates and values from outside of the nest.
const FIRST_NAMED: u32 = 1 << 31;

/// Why nothing more can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The budget of steps is spent.
    Budget,
    /// The op is not followed.
    Op(Op),
}

/// The block that is followed: a number for each coordinate, or none, and then all blocks are.
pub(super) type Block = [Option<i64>; 3];

/// A launch nest on its way.
pub(super) struct Trace<'f> {
    pub(super) func: &'f Func,
    nest: &'f Nest,
    pub(super) relevant: &'f Relevant,
    /// The steps that are left.
    pub(super) steps: u64,
    pub(super) n_threads: usize,
    coordinates: [Lanes; 6],
    pub(super) values: FxHashMap<Value, Lanes>,
    /// The symbols that stand for results of arithmetic on symbols.
    named: FxHashMap<(Opcode, Vec<Lanes>), u32>,
    /// The outstanding copies: the cells that each begun copy writes; a group ends where the next begins.
    copies: Vec<Vec<(Value, Cell, Touch)>>,
    n_copies: usize,
    execution: u64,
    /// Was there a barrier since the last one that only maybe stands there, for shared and for global memory?
    may_be_ordered: [bool; 2],
    pub(super) shared: Cells,
    pub(super) global: Cells,
    /// A barrier that some threads come to, and others do not.
    pub(super) divergent: Option<Op>,
}

type Cell = (Option<Base>, i64, i64);

/// Which threads run, and whether they do for certain.
#[derive(Clone)]
pub(super) struct Active {
    pub(super) threads: Rc<[bool]>,
    is_all: bool,
    maybe: bool,
}

impl<'f> Trace<'f> {
    /// At the start of `nest`; `None` where the number of threads is not known.
    pub(super) fn new(
        func: &'f Func,
        nest: &'f Nest,
        relevant: &'f Relevant,
        block: Block,
        steps: u64,
    ) -> Option<Self> {
        let mut extents = [1i64; 3];
        for (nth, extent) in extents.iter_mut().enumerate() {
            *extent = match nest.extents[3 + nth] {
                Extent::One => 1,
                Extent::Const(n) => n.max(1),
                Extent::Symbolic => return None,
            };
        }
        let count = extents.iter().try_fold(1i64, |product, &n| product.checked_mul(n))?;
        let n_threads = usize::try_from(count).ok().filter(|_| count <= MAX_THREADS)?;
        let thread = |divisor: i64, extent: i64| Lanes::each((0..count).map(|n| n / divisor % extent).collect());
        let [x, y, z] = extents;
        let of_block = |nth: usize| match nest.extents[nth] {
            Extent::One => Lanes::constant(0),
            _ => block[nth].map_or_else(|| Lanes::symbol(nth as u32), Lanes::constant),
        };
        Some(Trace {
            func,
            nest,
            relevant,
            steps,
            n_threads,
            coordinates: [of_block(0), of_block(1), of_block(2), thread(1, x), thread(x, y), thread(x * y, z)],
            values: FxHashMap::default(),
            named: FxHashMap::default(),
            copies: vec![Vec::new()],
            n_copies: 0,
            execution: 0,
            may_be_ordered: [false; 2],
            shared: Cells::default(),
            global: Cells::default(),
            divergent: None,
        })
    }

    /// Follows the whole nest.
    pub(super) fn run(&mut self) -> Result<(), Stop> {
        self.spend(BLOCK_STEPS + self.n_threads as u64)?;
        let all = Active { threads: vec![true; self.n_threads].into(), is_all: true, maybe: false };
        self.loop_op(self.nest.op, &all)
    }

    fn region(&mut self, region: Region, active: &Active) -> Result<(), Stop> {
        for op in self.func.ops(region) {
            if self.relevant.ops.contains(op) && !self.func.row(op).terminator {
                self.op(op, active)?;
            }
        }
        Ok(())
    }

    fn spend(&mut self, steps: u64) -> Result<(), Stop> {
        self.steps = self.steps.checked_sub(steps).ok_or(Stop::Budget)?;
        Ok(())
    }

    fn op(&mut self, op: Op, active: &Active) -> Result<(), Stop> {
        let func = self.func;
        self.spend(OP_STEPS)?;
        func.check_cancelled();
        match func.opcode(op) {
            tir::FOR => return self.loop_op(op, active),
            tir::IF => return self.conditional(op, active),
            _ if func.row(op).effect.unknown => return Err(Stop::Op(op)),
            _ => {}
        }
        match threads::meeting(func, op) {
            Some(Meeting::Barrier(Some(scope @ (Scope::Shared | Scope::Global)))) => {
                self.barrier(op, scope == Scope::Global, active)?;
            }
            // Some threads are ordered by it, and which is not followed.
            Some(Meeting::Barrier(_)) => self.may_be_ordered = [true, true],
            Some(Meeting::Reduction) => self.barrier(op, true, active)?,
            Some(Meeting::Exchange | Meeting::Tiles(_)) | None => {}
        }
        match threads::copy_step(func, op) {
            Some(CopyStep::Commit) => self.copies.push(Vec::new()),
            Some(CopyStep::Wait { pending }) => self.wait(pending)?,
            Some(CopyStep::Begin) | None => {}
        }
        self.accesses(op, active)?;
        let mut given = self.computed(op, active);
        if given == Lanes::Unknown {
            given = self.named(op);
        }
        if matches!(given, Lanes::Known(_, Offsets::Each(_))) {
            self.spend(self.n_threads as u64)?;
        }
        for (nth, result) in func.results(op).enumerate() {
            let value = if nth == 0 { given.clone() } else { Lanes::Unknown };
            self.values.insert(result, value);
        }
        Ok(())
    }

    pub(super) fn value(&self, value: Value) -> Lanes {
        if let Some(known) = self.values.get(&value) {
            return known.clone();
        }
        let func = self.func;
        // What stands before the nest: literals, and sizes, which are symbols.
        match func.def_op(value) {
            Some(op) if func.role(op) == Role::Constant => self.literal(op),
            // What is computed before it is one number, and what the nest computes is known by now, or never.
            def if is_integer(func, value) && def.is_none_or(|op| !is_inside(func, op, self.nest.op)) => {
                Lanes::symbol(3 + value.as_u32())
            }
            _ => Lanes::Unknown,
        }
    }

    fn literal(&self, op: Op) -> Lanes {
        match self.func.attr_of(op, keys::VALUE).map(|attr| self.func.attr_data(attr)) {
            Some(AttrData::Int(value, _)) => i64::try_from(*value).map_or(Lanes::Unknown, Lanes::constant),
            Some(AttrData::Bool(value)) => Lanes::constant(i64::from(*value)),
            _ => Lanes::Unknown,
        }
    }

    /// What `op`, of one result, computes.
    fn computed(&self, op: Op, active: &Active) -> Lanes {
        let func = self.func;
        let Some(result) = func.result(op) else { return Lanes::Unknown };
        let operand = |nth: usize| self.value(func.operand(op, nth));
        let elem_of = |value: Value| func.value_scalar(value).filter(|scalar| scalar.lanes == 1).map(|s| s.elem);
        if func.opcode(op) == arith::RAMP {
            let lanes = func.value_scalar(result).map_or(1, |scalar| i64::from(scalar.lanes));
            return match (operand(0), func.const_int(func.operand(op, 1))) {
                (Lanes::Known(base, offsets), Some(step)) => Lanes::Ramp(base, offsets, lanes, step),
                _ => Lanes::Unknown,
            };
        }
        let Some(elem) = elem_of(result) else { return Lanes::Unknown };
        let threads = &active.threads[..];
        match func.role(op) {
            Role::Constant => self.literal(op),
            Role::Binary(binary) => Lanes::binary(binary, &operand(0), &operand(1), elem, threads),
            Role::Unary(unary) => Lanes::unary(unary, &operand(0), threads),
            Role::Cast if is_integer(func, func.operand(op, 0)) => operand(0).cast(elem, threads),
            Role::Compare if is_integer(func, func.operand(op, 0)) => match Predicate::of(func, op) {
                Some(predicate) => Lanes::compare(predicate, &operand(0), &operand(1), threads),
                None => Lanes::Unknown,
            },
            _ => match func.opcode(op) {
                arith::LIKELY => operand(0),
                arith::SELECT => Lanes::select(&operand(0), &operand(1), &operand(2), self.n_threads),
                opcode @ (arith::MIN | arith::MAX | arith::TDIV | arith::TMOD) if elem != Elem::Bool => {
                    Lanes::named(opcode, &operand(0), &operand(1), elem, threads)
                }
                _ => Lanes::Unknown,
            },
        }
    }

    /// What `op` gives as a symbol, if it is arithmetic of what is the same for all threads: equal operands, one symbol.
    fn named(&mut self, op: Op) -> Lanes {
        let func = self.func;
        let is_arithmetic = matches!(func.role(op), Role::Binary(_))
            || matches!(func.opcode(op), arith::MIN | arith::MAX | arith::TDIV | arith::TMOD);
        if !is_arithmetic || !func.operands(op).iter().all(|&operand| is_integer(func, operand)) {
            return Lanes::Unknown;
        }
        let operands: Vec<Lanes> = func.operands(op).iter().map(|&operand| self.value(operand)).collect();
        if !operands.iter().all(|operand| matches!(operand, Lanes::Known(_, Offsets::Same(_)))) {
            return Lanes::Unknown;
        }
        let next = FIRST_NAMED + self.named.len() as u32;
        Lanes::symbol(*self.named.entry((func.opcode(op), operands)).or_insert(next))
    }

    fn conditional(&mut self, op: Op, active: &Active) -> Result<(), Stop> {
        let func = self.func;
        let condition = self.value(func.operand(op, 0));
        let truth = condition.numbers().cloned();
        let mut given: Vec<Vec<Lanes>> = Vec::new();
        for (nth, &region) in func.op_regions(op).iter().enumerate() {
            let inner = match &truth {
                Some(Offsets::Same(truth)) => ((*truth != 0) == (nth == 0)).then(|| active.clone()),
                Some(truth) => active.narrowed(|thread| (truth.at(thread) != 0) == (nth == 0)),
                None => Some(Active { maybe: true, ..active.clone() }),
            };
            if let Some(inner) = inner {
                self.region(region, &inner)?;
            }
            given.push(func.yielded(region).iter().map(|&value| self.value(value)).collect());
        }
        for (nth, result) in func.results(op).enumerate() {
            let of = |arm: usize| given.get(arm).and_then(|arm| arm.get(nth)).cloned().unwrap_or(Lanes::Unknown);
            let value = Lanes::select(&condition, &of(0), &of(1), self.n_threads);
            self.values.insert(result, value);
        }
        Ok(())
    }

    fn loop_op(&mut self, op: Op, active: &Active) -> Result<(), Stop> {
        let func = self.func;
        let body = func.op_regions(op)[0];
        let (start, end) = (self.value(func.operand(op, 0)), self.value(func.operand(op, 1)));
        let var = loop_var(func, op);
        let extent = end.plus(&start, -1, &active.threads);
        if let Some(coordinate) = coordinate(func, op) {
            let at = &self.coordinates[coordinate.index()];
            let inside = extent
                .numbers()
                .zip(at.numbers())
                .map(|(extent, at)| active.narrowed(|thread| at.at(thread) < extent.at(thread)));
            self.values.insert(var, start.plus(at, 1, &active.threads));
            return match inside {
                Some(Some(inner)) => self.region(body, &inner),
                Some(None) => Ok(()),
                // All blocks at once: those that are there.
                None => self.region(body, active),
            };
        }
        let Some(extent) = extent.numbers().cloned() else { return Err(Stop::Op(op)) };
        let threads = || active.threads.iter().enumerate().filter(|(_, active)| **active).map(|(thread, _)| thread);
        let last = match extent {
            Offsets::Same(n) => n,
            Offsets::Each(_) => threads().map(|thread| extent.at(thread)).max().unwrap_or(0),
        };
        let mut carried: Vec<Lanes> = func.operands(op)[2..].iter().map(|&init| self.value(init)).collect();
        for nth in 0..last.max(0) {
            self.spend(1)?;
            let inner = match extent {
                Offsets::Same(_) => Some(active.clone()),
                Offsets::Each(_) => active.narrowed(|thread| nth < extent.at(thread)),
            };
            let Some(inner) = inner else { break };
            self.values.insert(var, start.plus(&Lanes::constant(nth), 1, &active.threads));
            for (&arg, value) in func.region_args(body)[1..].iter().zip(&carried) {
                self.values.insert(arg, value.clone());
            }
            self.region(body, &inner)?;
            let is_whole = matches!(extent, Offsets::Same(_)) || threads().all(|thread| inner.threads[thread]);
            let next = |&value: &Value| if is_whole { self.value(value) } else { Lanes::Unknown };
            carried = func.yielded(body).iter().map(next).collect();
        }
        for (result, value) in func.results(op).zip(carried) {
            self.values.insert(result, value);
        }
        Ok(())
    }

    fn barrier(&mut self, op: Op, global: bool, active: &Active) -> Result<(), Stop> {
        if !active.is_all || active.maybe {
            let is_certain = !active.maybe && active.threads.contains(&true);
            self.divergent = self.divergent.or(is_certain.then_some(op));
            self.may_be_ordered = [true, global || self.may_be_ordered[1]];
            return Ok(());
        }
        self.may_be_ordered[0] = false;
        self.shared.clear();
        if global {
            self.may_be_ordered[1] = false;
            self.global.clear();
        }
        // What is still being copied is written behind the barrier too.
        let pending: Vec<_> = self.copies.iter().flatten().cloned().collect();
        self.copied(&pending)
    }

    /// What all groups but the youngest `pending` copy is there now: written by the thread that began it.
    fn wait(&mut self, pending: i64) -> Result<(), Stop> {
        // The group that is open is not among those that are waited for.
        let keep = usize::try_from(pending).unwrap_or(0).saturating_add(1);
        let done: Vec<_> = self.copies.drain(..self.copies.len().saturating_sub(keep)).flatten().collect();
        self.n_copies -= done.len();
        self.copied(&done)
    }

    fn copied(&mut self, copies: &[(Value, Cell, Touch)]) -> Result<(), Stop> {
        self.execution += 1;
        for (root, (base, first, n), begun) in copies {
            self.spend(n.unsigned_abs().saturating_mul(CELL_STEPS))?;
            let touch = Touch { execution: self.execution, maybe: begun.maybe || self.may_be_ordered[0], ..*begun };
            self.note(*root, base.as_ref(), (*first, *n), touch, false);
        }
        Ok(())
    }

    fn note(&mut self, root: Value, base: Option<&Base>, (first, n): (i64, i64), touch: Touch, global: bool) {
        let cells = if global { &mut self.global } else { &mut self.shared };
        let nth = cells.enter(root, base, touch);
        if base.is_some() {
            for cell in first..first.saturating_add(n) {
                cells.touch(root, nth, cell, touch);
            }
        }
    }

    fn accesses(&mut self, op: Op, active: &Active) -> Result<(), Stop> {
        let func = self.func;
        for (place, access) in effects::accesses(func, op) {
            let Some(&tracked) = self.relevant.tracked.get(&effects::root_buffer(func, place)) else { continue };
            let kinds = match access {
                _ if is_update(func, op) && access.writes() => &[true][..],
                Access::ReadWrite => &[false, true],
                access if access.writes() => &[true],
                _ => &[false],
            };
            self.execution += 1;
            let cells = if tracked.is_exact { self.cells(op, place, tracked.unit, active) } else { None };
            for &writes in kinds {
                self.access(op, (tracked, writes), cells.as_ref(), active)?;
            }
        }
        Ok(())
    }

    /// Notes what each thread touches, from the first of its cells on.
    fn access(
        &mut self,
        op: Op,
        (tracked, writes): (Tracked, bool),
        cells: Option<&(Base, Vec<i64>, i64)>,
        active: &Active,
    ) -> Result<(), Stop> {
        let is_copy = threads::begins_copy(self.func, op) && writes;
        let n = cells.map_or(1, |cells| cells.2);
        self.spend((self.n_threads as u64).saturating_mul(n.unsigned_abs()).saturating_mul(CELL_STEPS))?;
        if self.shared.is_full() || self.global.is_full() {
            return Err(Stop::Budget);
        }
        let one_cell = cells.is_some_and(|(_, first, _)| first.iter().all(|cell| *cell == first[0]));
        let by_all = writes && one_cell && active.is_all && self.stores_one_value(op);
        let update = update::class(self.func, op).filter(|_| writes);
        for (thread, _) in active.threads.iter().enumerate().filter(|(_, active)| **active) {
            let touch = Touch {
                update,
                op,
                thread: thread as u32,
                writes,
                execution: self.execution,
                maybe: active.maybe || self.may_be_ordered[usize::from(tracked.is_global)],
                by_all,
            };
            let range = cells.map_or((0, 0), |(_, first, n)| (first[thread], *n));
            let base = cells.map(|(base, ..)| base);
            self.note(tracked.root, base, range, touch, tracked.is_global);
            if is_copy {
                if self.n_copies >= MAX_COPIES {
                    return Err(Stop::Budget);
                }
                self.n_copies += 1;
                let cell = (base.cloned(), range.0, range.1);
                if let Some(group) = self.copies.last_mut() {
                    group.push((tracked.root, cell, touch));
                }
            }
        }
        Ok(())
    }
}

impl Active {
    /// Those of them for which `holds`; `None` for no thread.
    fn narrowed(&self, holds: impl Fn(usize) -> bool) -> Option<Active> {
        let keep = |(thread, &active): (usize, &bool)| active && holds(thread);
        if self.threads.iter().enumerate().all(|at| keep(at) == *at.1) {
            return self.threads.contains(&true).then(|| self.clone());
        }
        let threads: Rc<[bool]> = self.threads.iter().enumerate().map(keep).collect();
        threads.contains(&true).then_some(Active { threads, is_all: false, maybe: self.maybe })
    }
}

fn is_integer(func: &Func, value: Value) -> bool {
    func.value_scalar(value)
        .is_some_and(|scalar| scalar.lanes == 1 && (scalar.elem == Elem::Bool || scalar.elem.int_range().is_some()))
}
