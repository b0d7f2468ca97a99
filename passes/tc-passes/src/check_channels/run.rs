//! The run of one block: strands of threads, from wait to wait.

use super::barrier::Barrier;
use super::report;
use super::skeleton::{Point, Skeleton, is_launch};
use crate::analysis::launch::loop_var;
use rustc_hash::FxHashMap;
use tc_arith::Var;
use tc_dialects::algebra::Algebra;
use tc_dialects::threads::is_warpgroup_barrier;
use tc_dialects::{gpu, mbarrier, tir, tma, wgmma};
use tc_ir::effects::root_buffer;
use tc_ir::{Op, Region, Value, keys};
use tc_support::Diagnostic;

/// The most ops that are followed, each counted once for a strand.
const MAX_STEPS: u64 = 1 << 24;

/// The threads of a warpgroup.
const WARPGROUP: u32 = wgmma::WARPGROUP as u32;

/// The most elements of an array of barriers that is followed.
const MAX_INDEX: i64 = 1 << 20;

/// Why a run ended early.
pub(super) enum Stop {
    /// A fault.
    Fault(Box<Diagnostic>),
    /// It could not be followed.
    Unknown(String),
}

/// A barrier: its array, and its number there.
pub(super) type Key = (Value, i64);

/// What a strand waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// It goes on.
    Nothing,
    /// The phase of this parity.
    Phase(Key, i64),
    /// All threads of the block.
    Block,
    /// All threads of the warpgroup, at this op.
    Warpgroup(Op),
}

/// A region on the way, and where in it.
#[derive(Clone, PartialEq, Debug)]
struct Frame {
    /// The next op.
    next: Option<Op>,
    /// A loop, its region, and the value after the last.
    around: Option<(Var, Region, i64)>,
}

/// Threads that go the same way.
#[derive(Clone, Debug)]
pub(super) struct Strand {
    pub(super) threads: Vec<u32>,
    loops: Vec<(Var, i64)>,
    frames: Vec<Frame>,
    /// The op that it came to last.
    pub(super) at: Op,
    pub(super) waits: Wait,
}

impl Strand {
    pub(super) fn is_done(&self) -> bool {
        self.frames.is_empty()
    }
}

/// A block on its way.
pub(super) struct Block<'s, 'f> {
    pub(super) skeleton: &'s mut Skeleton<'f>,
    number: u64,
    pub(super) barriers: FxHashMap<Key, (Barrier, Op)>,
    pub(super) strands: Vec<Strand>,
    /// How many barriers of the block were passed.
    epoch: u64,
    steps: u64,
}

/// Runs block `number`.
pub(super) fn run(skeleton: &mut Skeleton<'_>, number: u64) -> Result<(), Stop> {
    let root = skeleton.root;
    let threads = (0..skeleton.threads() as u32).collect();
    let frame = Frame { next: Some(root), around: None };
    // Nothing stands behind the root: it is left by its own end.
    let first = Strand { threads, loops: Vec::new(), frames: vec![frame], at: root, waits: Wait::Nothing };
    let mut block =
        Block { skeleton, number, barriers: FxHashMap::default(), strands: vec![first], epoch: 0, steps: 0 };
    loop {
        let mut moved = false;
        let mut nth = 0;
        while nth < block.strands.len() {
            if !block.strands[nth].is_done() && block.may_go_on(nth) {
                block.go(nth)?;
                moved = true;
                if block.joined(nth) {
                    continue;
                }
            }
            nth += 1;
        }
        if block.strands.iter().all(Strand::is_done) {
            return report::at_end(&block).map_or(Ok(()), |found| Err(Stop::Fault(Box::new(found))));
        }
        if !moved && !block.meet() {
            return Err(Stop::Fault(Box::new(report::deadlock(&block))));
        }
    }
}

impl Block<'_, '_> {
    fn may_go_on(&mut self, nth: usize) -> bool {
        match self.strands[nth].waits {
            Wait::Nothing => true,
            Wait::Block => false,
            Wait::Warpgroup(op) => self.leave_together(nth, op),
            Wait::Phase(key, parity) => self.barriers.get(&key).is_some_and(|(barrier, _)| barrier.is_passed(parity)),
        }
    }

    /// Lets strand number `nth` and those that it waits with go on, if all threads of their warpgroups have come to `op`.
    fn leave_together(&mut self, nth: usize, op: Op) -> bool {
        let groups_of = |strand: &Strand| strand.threads.iter().map(|thread| thread / WARPGROUP).collect::<Vec<_>>();
        let at: Vec<usize> = (0..self.strands.len())
            .filter(|&other| self.strands[other].waits == Wait::Warpgroup(op) && !self.strands[other].is_done())
            .collect();
        // Strands that have threads of one warpgroup leave at one time: those that share one with `nth`, and so on.
        let mut groups: FxHashMap<u32, usize> = groups_of(&self.strands[nth]).iter().map(|&group| (group, 0)).collect();
        let mut together = Vec::new();
        while let Some(&next) = at.iter().find(|&&other| {
            !together.contains(&other) && groups_of(&self.strands[other]).iter().any(|group| groups.contains_key(group))
        }) {
            together.push(next);
            for group in groups_of(&self.strands[next]) {
                *groups.entry(group).or_default() += 1;
            }
        }
        let complete = groups.values().all(|&n| n == WARPGROUP as usize);
        if complete {
            together.iter().for_each(|&other| self.strands[other].waits = Wait::Nothing);
        }
        complete
    }

    /// Joins strand number `nth` with one that stands at the same place, and goes on alike from there.
    fn joined(&mut self, nth: usize) -> bool {
        let strand = &self.strands[nth];
        let is_same = |other: &Strand| {
            (&other.frames, &other.loops, other.waits) == (&strand.frames, &strand.loops, strand.waits)
        };
        let Some(other) = (0..nth).find(|&other| is_same(&self.strands[other])) else { return false };
        let threads = self.strands.remove(nth).threads;
        let all = &mut self.strands[other].threads;
        all.extend(threads);
        all.sort_unstable();
        true
    }

    /// Lets all threads pass a barrier of the block, if all have come to it.
    fn meet(&mut self) -> bool {
        let all = self.strands.iter().all(|strand| strand.waits == Wait::Block && !strand.is_done());
        if all {
            self.epoch += 1;
            self.strands.iter_mut().for_each(|strand| strand.waits = Wait::Nothing);
        }
        all
    }

    /// Runs strand number `nth` until it waits or ends.
    fn go(&mut self, nth: usize) -> Result<(), Stop> {
        if let Wait::Phase(key, _) = self.strands[nth].waits
            && let Some((barrier, _)) = self.barriers.get_mut(&key)
        {
            barrier.note_wait();
        }
        self.strands[nth].waits = Wait::Nothing;
        while self.strands[nth].waits == Wait::Nothing {
            let func = self.skeleton.func;
            let strand = &mut self.strands[nth];
            let Some(frame) = strand.frames.last_mut() else { return Ok(()) };
            let Some(op) = frame.next else {
                match frame.around {
                    Some((var, region, end)) => {
                        let value = strand.loops.last_mut().expect("a loop has a variable");
                        debug_assert!(value.0 == var);
                        value.1 += 1;
                        if value.1 < end {
                            frame.next = func.first_op(region);
                        } else {
                            strand.loops.pop();
                            strand.frames.pop();
                        }
                    }
                    None => drop(strand.frames.pop()),
                }
                self.count()?;
                continue;
            };
            frame.next = if op == self.skeleton.root { None } else { func.next_op(op) };
            if self.skeleton.is_relevant(op) {
                strand.at = op;
                self.step(nth, op)?;
            }
            self.count()?;
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Stop> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(Stop::Unknown("it takes too many steps to follow".to_string()));
        }
        Ok(())
    }

    fn step(&mut self, nth: usize, op: Op) -> Result<(), Stop> {
        let func = self.skeleton.func;
        match func.opcode(op) {
            tir::FOR if is_launch(func, op) => {
                let region = func.op_regions(op)[0];
                self.enter(nth, region, None);
            }
            tir::FOR => {
                let bounds = [func.operand(op, 0), func.operand(op, 1)];
                let [lo, hi] = [self.one(nth, bounds[0])?, self.one(nth, bounds[1])?];
                let region = func.op_regions(op)[0];
                if lo < hi {
                    let var = Algebra::var(loop_var(func, op));
                    self.strands[nth].loops.push((var, lo));
                    self.enter(nth, region, Some((var, region, hi)));
                }
            }
            tir::IF => self.branch(nth, op)?,
            gpu::BARRIER if is_warpgroup_barrier(func, op) => self.strands[nth].waits = Wait::Warpgroup(op),
            gpu::BARRIER => self.strands[nth].waits = Wait::Block,
            wgmma::FENCE | wgmma::MMA => self.strands[nth].waits = Wait::Warpgroup(op),
            mbarrier::FENCE_INIT => {}
            mbarrier::INIT => {
                for (key, thread) in self.keys(nth, func.operand(op, 0))? {
                    let count = func.int_of(op, keys::COUNT).unwrap_or(1);
                    let made = Barrier::new(count, (thread, self.epoch));
                    if let Some((_, first)) = self.barriers.insert(key, (made, op)) {
                        return Err(fault(report::made_twice(func, key, op, first)));
                    }
                }
            }
            mbarrier::ARRIVE | mbarrier::ARRIVE_EXPECT_TX => {
                for (key, thread) in self.keys(nth, func.operand(op, 0))? {
                    let bytes = func.int_of(op, keys::BYTES);
                    let barrier = self.ready(key, thread, op)?;
                    if let Some(bytes) = bytes {
                        barrier.expect(bytes);
                    }
                    if !barrier.arrive() {
                        let lacks = barrier.lacks();
                        return Err(fault(report::too_many(func, key, op, &lacks)));
                    }
                }
            }
            mbarrier::WAIT => {
                let parities = self.numbers(nth, func.operand(op, 1))?;
                let keys = self.keys(nth, func.operand(op, 0))?;
                let (first, thread) = keys[0];
                let parity = parities[0];
                if parities.iter().any(|&other| other != parity) || keys.iter().any(|&(key, _)| key != first) {
                    return Err(Stop::Unknown("threads that go the same way wait for different barriers".to_string()));
                }
                let barrier = self.ready(first, thread, op)?;
                if barrier.is_passed(parity) {
                    barrier.note_wait();
                } else {
                    self.strands[nth].waits = Wait::Phase(first, parity);
                }
            }
            tma::LOAD => {
                let (Some(place), Some(bytes)) = (tma::load_barrier(func, op), tma::load_bytes(func, op)) else {
                    return Ok(());
                };
                for (key, thread) in self.keys(nth, place)? {
                    self.ready(key, thread, op)?.deliver(bytes);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn enter(&mut self, nth: usize, region: Region, around: Option<(Var, Region, i64)>) {
        let next = self.skeleton.func.first_op(region);
        self.strands[nth].frames.push(Frame { next, around });
    }

    /// Takes the branch that a condition says; where threads differ in it, some become a strand of their own.
    fn branch(&mut self, nth: usize, op: Op) -> Result<(), Stop> {
        let func = self.skeleton.func;
        let truths = self.numbers(nth, func.operand(op, 0))?;
        let regions = func.op_regions(op).to_vec();
        let holds = |position: usize| truths.get(position).or(truths.first()).is_some_and(|&truth| truth != 0);
        let threads = self.strands[nth].threads.clone();
        let (mut then, mut otherwise) = (Vec::new(), Vec::new());
        for (position, &thread) in threads.iter().enumerate() {
            if holds(position) { then.push(thread) } else { otherwise.push(thread) }
        }
        if !then.is_empty() && !otherwise.is_empty() {
            let mut other = self.strands[nth].clone();
            other.threads = otherwise;
            if let Some(&region) = regions.get(1) {
                other.frames.push(Frame { next: func.first_op(region), around: None });
            }
            self.strands.push(other);
            self.strands[nth].threads = then;
            self.enter(nth, regions[0], None);
        } else if otherwise.is_empty() {
            self.enter(nth, regions[0], None);
        } else if let Some(&region) = regions.get(1) {
            self.enter(nth, region, None);
        }
        Ok(())
    }

    /// The numbers of `value` in the threads of the strand, or one for all.
    fn numbers(&mut self, nth: usize, value: Value) -> Result<Vec<i64>, Stop> {
        let strand = &self.strands[nth];
        let at = Point { loops: &strand.loops, thread: strand.threads[0], block: self.number };
        self.skeleton
            .numbers(value, &strand.threads, &at)
            .ok_or_else(|| Stop::Unknown("what it waits for depends on data".to_string()))
    }

    fn one(&mut self, nth: usize, value: Value) -> Result<i64, Stop> {
        let numbers = self.numbers(nth, value)?;
        if numbers.iter().any(|&other| other != numbers[0]) {
            return Err(Stop::Unknown("a loop with barriers runs differently often in different threads".to_string()));
        }
        Ok(numbers[0])
    }

    /// The barrier that `place` is in each thread.
    fn keys(&mut self, nth: usize, place: Value) -> Result<Vec<(Key, u32)>, Stop> {
        let func = self.skeleton.func;
        let buffer = root_buffer(func, place);
        let index = func.def_op(place).filter(|&op| matches!(func.opcode(op), tir::REF | tir::REGION));
        let index = index.and_then(|op| func.operands(op).get(1).copied());
        let indices = match index {
            Some(index) => self.numbers(nth, index)?,
            None => vec![0],
        };
        if indices.iter().any(|index| !(0..MAX_INDEX).contains(index)) {
            return Err(Stop::Unknown("a barrier is out of the bounds of its array".to_string()));
        }
        let threads = &self.strands[nth].threads;
        let at = |position: usize| indices.get(position).copied().unwrap_or(indices[0]);
        Ok(threads.iter().enumerate().map(|(position, &thread)| ((buffer, at(position)), thread)).collect())
    }

    /// A barrier that is ready for `thread`.
    fn ready(&mut self, key: Key, thread: u32, op: Op) -> Result<&mut Barrier, Stop> {
        let (func, epoch) = (self.skeleton.func, self.epoch);
        match self.barriers.get_mut(&key) {
            None => Err(fault(report::not_made(func, key, op, None))),
            Some((barrier, made)) if barrier.made.0 != thread && barrier.made.1 == epoch => {
                Err(fault(report::not_made(func, key, op, Some(*made))))
            }
            Some((barrier, _)) => Ok(barrier),
        }
    }
}

fn fault(found: Diagnostic) -> Stop {
    Stop::Fault(Box::new(found))
}
