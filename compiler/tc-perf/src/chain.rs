//! How long one warp takes where nothing else holds it up: the chain of values that wait for values.
//!
//! An op begins when its operands are there; the compiler of CUDA brings independent ops forward, within a stretch
//! without loops, branches and barriers. At the end of an iteration a warp waits for the last op to *begin*, at a
//! barrier for all to end. A short loop is taken for unrolled, as that compiler does. Two rounds of a loop tell what
//! each further one adds.

use crate::counts::Counts;
use crate::touch::Direction;
use rustc_hash::FxHashMap;
use tc_dialects::scope::Memory;
use tc_dialects::threads::{CopyStep, Meeting, copy_step, meeting};
use tc_dialects::tir::{self, LoopKind, loop_kind};
use tc_dialects::{arith, mma, wmma};
use tc_ir::effects::{accesses, root_buffer};
use tc_ir::opdef::Role;
use tc_ir::walk::ops_under;
use tc_ir::{Func, Op, Region, Value};
use tc_target::machine::Latency;

/// Cycles of arithmetic, of functions of floats, of products on tensor cores, of an exchange between lanes, of a barrier.
const ARITHMETIC: f64 = 4.5;
const FUNCTION: f64 = 20.0;
const PRODUCT: f64 = 33.0;
const EXCHANGE: f64 = 24.0;
const BARRIER: f64 = 30.0;
/// Ops that are looked at, at most; beyond, a loop is done once.
const MOST_OPS: usize = 1 << 17;

/// Cycles that are added at a time, at most: sums of them stay numbers.
const LONGEST: f64 = 1e24;

/// A cell of memory that something waits for: of a buffer, by its number or by the value that is its number.
type Cell = (Value, Option<CellIndex>);

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum CellIndex {
    Number(i64),
    Value(Value),
}

/// A loop around the ops that are followed, and which of its iterations they are in.
#[derive(Clone, Copy)]
struct Around {
    op: Op,
    is_first_round: bool,
    /// The iteration of so many that are without a stop in between.
    copy: u64,
    copies: u64,
}

impl Around {
    /// How much of a load misses L1 in this iteration, where the share `of_all` of the iterations comes to new sectors. Those of
    /// a round that ask together wait for the same sectors; one after another, those that are due at even distances do.
    fn missed(&self, of_all: f64, together: bool) -> f64 {
        if self.is_first_round && (self.copy == 0 || together) {
            return 1.0;
        }
        if together {
            return (of_all * self.copies as f64).min(1.0);
        }
        let due = |n: u64| of_all * n as f64;
        let so_far = due(self.copy).floor();
        // What is left of a miss at the end of a round is there in some rounds.
        let now = if self.copy + 1 == self.copies { due(self.copies) } else { due(self.copy + 1).floor() };
        (now - so_far).min(1.0)
    }
}

struct Chain<'c> {
    func: &'c Func,
    counts: &'c Counts,
    latency: Latency,
    /// The cycles that a load from global memory takes whose values L1 does not hold.
    below: f64,
    /// When each access was done last, before `shifted`.
    asked: Vec<f64>,
    /// The loops around.
    around: Vec<Around>,
    first: Vec<u32>,
    /// The ops in the body of each loop, once known.
    bodies: Vec<u32>,
    /// When values are there, and what is stored in cells, before `shifted`.
    ready: Vec<f64>,
    cells: FxHashMap<Cell, f64>,
    /// So much later is all that was noted: by the rounds of loops that were not gone through. What was earlier than such a
    /// loop comes later, too, but no later than `floor`, so that nothing waits for it.
    shifted: f64,
    /// No op begins before. It never falls.
    floor: f64,
    /// The latest beginning, and the latest end.
    begun: f64,
    ended: f64,
    /// When asynchronous copies that were begun are complete, before `shifted`.
    copies: Vec<f64>,
    issued: f64,
    left: usize,
}

/// The cycles that one warp of `func` takes.
pub(crate) fn cycles(func: &Func, counts: &Counts, latency: Latency, below: f64) -> f64 {
    let mut first = vec![u32::MAX; func.n_op_ids()];
    for (nth, touch) in counts.touches.iter().enumerate().rev() {
        first[touch.op.as_u32() as usize] = nth as u32;
    }
    let mut chain = Chain {
        func,
        counts,
        latency,
        below,
        asked: vec![f64::NEG_INFINITY; counts.touches.len()],
        around: Vec::new(),
        first,
        bodies: vec![0; func.n_op_ids()],
        ready: vec![0.0; func.n_value_ids()],
        cells: FxHashMap::default(),
        shifted: 0.0,
        floor: 0.0,
        begun: 0.0,
        ended: 0.0,
        copies: Vec::new(),
        issued: 0.0,
        left: MOST_OPS,
    };
    chain.region(func.body());
    chain.ended.max(chain.begun)
}

impl Chain<'_> {
    fn region(&mut self, region: Region) {
        for op in self.func.ops(region) {
            self.left = self.left.saturating_sub(1);
            match self.func.opcode(op) {
                tir::FOR => self.for_loop(op),
                tir::IF => self.branch(op),
                _ => self.op(op),
            }
        }
    }

    fn when(&self, value: Value) -> f64 {
        self.ready[value.as_u32() as usize] + self.shifted
    }

    fn set(&mut self, value: Value, at: f64) {
        self.ready[value.as_u32() as usize] = at - self.shifted;
    }

    fn op(&mut self, op: Op) {
        let func = self.func;
        if func.role(op) == Role::Constant {
            return;
        }
        self.issued += crate::units::work(func, op).instructions;
        let mut at = self.floor.max(self.issued);
        for &operand in func.operands(op) {
            at = at.max(self.when(operand));
        }
        match (meeting(func, op), copy_step(func, op)) {
            (Some(Meeting::Barrier(_) | Meeting::Reduction), _) => return self.barrier(op),
            (_, Some(CopyStep::Wait { .. })) => {
                // What is pending was begun an iteration ago; only its rest is waited for.
                let all = std::mem::take(&mut self.copies);
                let ends = all.into_iter().map(|end| end + self.shifted);
                self.floor = ends.fold(self.floor.max(self.begun), f64::max);
                return;
            }
            _ => {}
        }
        let mut end = at + self.own_latency(op);
        for (place, access) in accesses(func, op) {
            let cell = self.cell(op, place);
            if access.reads() {
                at = at.max(self.written(cell));
                end = end.max(at + self.own_latency(op));
            }
        }
        let mut nth = self.first[op.as_u32() as usize] as usize;
        while let Some(touch) = self.counts.touches.get(nth).filter(|touch| touch.op == op) {
            let cost = &self.counts.costs[nth];
            let degree = if cost.requests > 0.0 { (cost.wavefronts / cost.requests).max(1.0) } else { 1.0 };
            self.issued += degree - 1.0;
            // What this thread stored there stays in a register.
            let is_kept = touch.memory == Memory::Global && self.cells.contains_key(&self.cell(op, touch.place));
            if touch.direction == Direction::Load && !is_kept {
                let there = match touch.memory {
                    Memory::Shared => at + self.latency.shared,
                    Memory::Registers => at + self.latency.l1,
                    Memory::Global => self.global(nth, at),
                };
                end = end.max(there + degree - 1.0);
            }
            nth += 1;
        }
        if copy_step(func, op) == Some(CopyStep::Begin) {
            self.copies.push(end - self.shifted);
            end = at;
        }
        for (place, access) in accesses(func, op) {
            if access.writes() {
                let cell = self.cell(op, place);
                self.cells.insert(cell, end - self.shifted);
            }
        }
        for result in func.results(op) {
            self.set(result, end);
        }
        self.begun = self.begun.max(at);
        self.ended = self.ended.max(end);
    }

    /// When the values of the load number `nth` are there, from global memory: what the warp has loaded in an earlier iteration is
    /// in L1, or on its way.
    fn global(&mut self, nth: usize, at: f64) -> f64 {
        let fresh = self.counts.fresh[nth].as_deref().unwrap_or(&[]);
        let together = at < self.asked[nth] + self.shifted + self.below;
        let mean = self.counts.costs[nth].reach();
        let share =
            |op: Op| fresh.iter().find(|(around, _)| *around == op).map_or(1.0, |&(_, share)| share.unwrap_or(mean));
        let of = |at: &Around| at.missed(share(at.op), together);
        let missed = self.around.iter().map(of).fold(1.0, f64::min);
        self.asked[nth] = at - self.shifted;
        at + self.latency.l1 + missed * (self.below - self.latency.l1)
    }

    fn barrier(&mut self, op: Op) {
        self.floor = self.begun.max(self.ended).max(self.floor) + BARRIER;
        self.begun = self.floor;
        let results: Vec<Value> = self.func.results(op).collect();
        results.into_iter().for_each(|result| self.set(result, self.floor));
    }

    /// The cell that `op` accesses of `place`: of registers by number, where that is a literal; else all of the buffer.
    fn cell(&self, op: Op, place: Value) -> Cell {
        let func = self.func;
        let root = root_buffer(func, place);
        let at = match func.opcode(op) {
            tir::LOAD | tir::STORE => func.operands(op).get(1).copied(),
            _ => func.def_op(place).filter(|&op| func.operands(op).len() > 1).map(|op| func.operand(op, 1)),
        };
        (root, at.map(|index| func.const_int(index).map_or(CellIndex::Value(index), CellIndex::Number)))
    }

    fn written(&self, (root, index): Cell) -> f64 {
        let of = |index| self.cells.get(&(root, index)).map_or(0.0, |at| at + self.shifted);
        match index {
            Some(_) => of(index).max(of(None)),
            None => of(None),
        }
    }

    /// The cycles from the beginning of `op` until its results are there, apart from memory.
    fn own_latency(&self, op: Op) -> f64 {
        let func = self.func;
        match func.opcode(op) {
            mma::SYNC | wmma::MMA => PRODUCT,
            _ if meeting(func, op) == Some(Meeting::Exchange) => EXCHANGE,
            opcode if opcode.dialect() == arith::ADD.dialect() => match crate::units::work(func, op).unit {
                Some((tc_target::Unit::Special, _)) => FUNCTION,
                Some((_, n)) if n > 1.0 => ARITHMETIC * n.min(8.0),
                Some(_) => ARITHMETIC,
                None => 0.0,
            },
            _ => 0.0,
        }
    }

    fn branch(&mut self, op: Op) {
        let func = self.func;
        let condition = func.operand(op, 0);
        let has_results = func.n_results(op) > 0;
        if !has_results {
            self.floor = self.floor.max(self.when(condition));
        }
        for &region in func.op_regions(op) {
            self.region(region);
            if let Some(end) = func.terminator(region) {
                let handed: Vec<(Value, f64)> = func
                    .results(op)
                    .zip(func.operands(end))
                    .map(|(result, &value)| (result, self.when(value)))
                    .collect();
                for (result, when) in handed {
                    let when = when.max(self.when(condition) + ARITHMETIC).max(self.when(result));
                    self.set(result, when);
                }
            }
        }
        // Nothing is brought forward over a branch; one that gives values is a choice among them.
        if !has_results {
            self.floor = self.floor.max(self.begun);
        }
    }

    fn for_loop(&mut self, op: Op) {
        let func = self.func;
        let body = func.op_regions(op)[0];
        if let Some(LoopKind::Launch(_)) = loop_kind(func, op) {
            return self.region(body);
        }
        let trips = self.counts.trips[op.as_u32() as usize];
        if trips < 0.5 {
            return;
        }
        let args = func.region_args(body).to_vec();
        for (&arg, &init) in args[1..].iter().zip(&func.operands(op)[2..]) {
            let when = self.when(init);
            self.set(arg, when);
        }
        let n_ops = self.body_ops(op, body).max(1);
        let most = (self.left / n_ops).max(1) as u64;
        let copies = self.counts.unrolled.copies(op).min(trips.round().max(1.0) as u64).min(most);
        let rounds = (trips / copies as f64).max(1.0);
        let start = self.begun.max(self.floor);
        self.around.push(Around { op, is_first_round: true, copy: 0, copies });
        let first = self.round(body, copies, &args);
        if rounds <= 1.0 {
            // Nothing of the loop is left.
        } else if self.left > n_ops * copies as usize {
            self.floor = self.floor.max(first);
            self.around.last_mut().expect("this loop").is_first_round = false;
            let second = self.round(body, copies, &args);
            let added = (second - first).max(0.0) * (rounds - 2.0).max(0.0);
            self.later(added);
            self.floor = self.floor.max(self.begun);
        } else {
            self.later((first - start) * (rounds - 1.0));
            self.floor = self.floor.max(self.begun);
        }
        self.around.pop();
        let handed: Vec<(Value, f64)> =
            func.results(op).zip(&args[1..]).map(|(result, &arg)| (result, self.when(arg))).collect();
        handed.into_iter().for_each(|(result, when)| self.set(result, when));
    }

    /// The body of a loop, so often without a stop in between; gives when the last op began.
    fn round(&mut self, body: Region, copies: u64, args: &[Value]) -> f64 {
        let func = self.func;
        for copy in 0..copies {
            if let Some(this) = self.around.last_mut() {
                this.copy = copy;
            }
            self.region(body);
            if let Some(end) = func.terminator(body).filter(|&end| func.role(end) == Role::Yield) {
                let handed: Vec<f64> = func.operands(end).iter().map(|&value| self.when(value)).collect();
                for (&arg, when) in args[1..].iter().zip(handed) {
                    self.set(arg, when);
                }
            }
        }
        self.begun
    }

    /// All that was noted comes later.
    fn later(&mut self, by: f64) {
        let by = if by > 0.0 { by.min(LONGEST) } else { 0.0 };
        self.shifted += by;
        self.floor += by;
        self.begun += by;
        self.ended += by;
        self.issued += by;
    }

    fn body_ops(&mut self, op: Op, body: Region) -> usize {
        let known = &mut self.bodies[op.as_u32() as usize];
        if *known == 0 {
            *known = ops_under(self.func, body).count() as u32;
        }
        *known as usize
    }
}
