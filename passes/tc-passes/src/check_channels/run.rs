//! The run of one block: strands of threads, from wait to wait.

use super::barrier::Barrier;
use super::report;
use super::skeleton::{Number, Point, Skeleton, is_launch};
use super::threads::Threads;
use crate::analysis::launch::loop_var;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tc_arith::Var;
use tc_dialects::algebra::Algebra;
use tc_dialects::threads::{is_cluster_barrier, is_warpgroup_barrier};
use tc_dialects::{gpu, mbarrier, tir, tma, wgmma};
use tc_ir::effects::root_buffer;
use tc_ir::{Op, Region, Value, keys};
use tc_support::Diagnostic;

/// The most steps of a block that are followed: an op for a strand, a number for a thread, a look at a strand.
pub(super) const MAX_STEPS: u64 = 1 << 24;

/// Why a run ended early.
pub(super) enum Stop {
    /// A fault.
    Fault(Box<Diagnostic>),
    /// It could not be followed.
    Unknown(String),
}

/// A barrier: its array, its number there, and the number of its block in the cluster.
pub(super) type Key = (Value, i64, i64);

/// What a strand waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wait {
    /// It goes on.
    Nothing,
    /// The phase of this parity.
    Phase(Key, i64),
    /// All threads of the block.
    Block,
    /// All threads of the cluster.
    Cluster,
    /// All threads of the warpgroup, at this op.
    Warpgroup(Op),
}

/// A region on the way, and where in it.
#[derive(Clone, PartialEq, Debug)]
struct Frame {
    /// The next op.
    next: Option<Op>,
    /// The loop whose body it is.
    around: Option<Around>,
}

/// A loop on the way.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Around {
    op: Op,
    region: Region,
    /// The value after the last.
    end: i64,
    /// How many numbers were known outside of it; the first after them is that of its variable.
    known: usize,
}

/// Threads that go the same way.
#[derive(Clone, Debug)]
pub(super) struct Strand {
    pub(super) threads: Threads,
    /// The number of their block in the cluster.
    pub(super) rank: i64,
    /// Those of loops: their variables, what they carry, and what they have ended with.
    pub(super) numbers: Vec<(Var, i64)>,
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

/// A block on its way, or those of a cluster.
pub(super) struct Block<'s, 'f> {
    pub(super) skeleton: &'s mut Skeleton<'f>,
    /// The number of the first.
    pub(super) number: u64,
    pub(super) barriers: FxHashMap<Key, (Barrier, Op)>,
    pub(super) strands: Vec<Strand>,
    /// How many barriers of each block were passed, those of the cluster included.
    epochs: Vec<u64>,
    /// How many of the cluster were passed.
    pub(super) epoch: u64,
}

/// Runs the blocks of cluster `number`.
pub(super) fn run(skeleton: &mut Skeleton<'_>, number: u64) -> Result<(), Stop> {
    skeleton.begin_block();
    let root = skeleton.root;
    let threads = Threads::first_of_all(skeleton.threads() as usize);
    // Nothing stands behind the root: it is left by its own end.
    let first = |rank: i64| {
        let frames = vec![Frame { next: Some(root), around: None }];
        Strand { threads, rank, numbers: Vec::new(), frames, at: root, waits: Wait::Nothing }
    };
    let (barriers, strands) = (FxHashMap::default(), (0..skeleton.cluster).map(first).collect());
    let (number, epochs) = (number * skeleton.cluster as u64, vec![0; skeleton.cluster as usize]);
    let mut block = Block { skeleton, number, barriers, strands, epochs, epoch: 0 };
    loop {
        let mut moved = false;
        let mut nth = 0;
        while nth < block.strands.len() {
            block.count(1, nth)?;
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
            Wait::Block | Wait::Cluster => false,
            Wait::Warpgroup(op) => self.leave_together(nth, op),
            Wait::Phase(key, parity) => self.barriers.get(&key).is_some_and(|(barrier, _)| barrier.is_passed(parity)),
        }
    }

    /// Lets strand number `nth` and those that it waits with go on, if all threads of their warpgroups have come to `op`.
    fn leave_together(&mut self, nth: usize, op: Op) -> bool {
        let rank = self.strands[nth].rank;
        let waits = |strand: &Strand| strand.waits == Wait::Warpgroup(op) && !strand.is_done() && strand.rank == rank;
        self.skeleton.steps += self.strands.len() as u64;
        // Strands that have threads of one warpgroup leave at one time: those that share one with `nth`, and so on.
        let mut together = self.strands[nth].threads;
        loop {
            let shares = |strand: &&Strand| waits(strand) && strand.threads.share_a_warpgroup(&together);
            let found = self.strands.iter().filter(shares).fold(together, |all, strand| all.or(&strand.threads));
            if found == together {
                break;
            }
            together = found;
        }
        let complete = together.are_whole_warpgroups();
        if complete {
            let leaves = |strand: &&mut Strand| waits(strand) && !strand.threads.and(&together).is_empty();
            self.strands.iter_mut().filter(leaves).for_each(|strand| strand.waits = Wait::Nothing);
        }
        complete
    }

    /// Joins strand number `nth` with one that stands at the same place, and goes on alike from there.
    fn joined(&mut self, nth: usize) -> bool {
        let strand = &self.strands[nth];
        let is_same = |other: &Strand| {
            let place = |strand: &Strand| (strand.rank, strand.waits);
            (&other.frames, &other.numbers, place(other)) == (&strand.frames, &strand.numbers, place(strand))
        };
        self.skeleton.steps += nth as u64;
        let Some(other) = (0..nth).find(|&other| is_same(&self.strands[other])) else { return false };
        let threads = self.strands.remove(nth).threads;
        let all = &mut self.strands[other].threads;
        *all = all.or(&threads);
        true
    }

    /// Lets all threads pass a barrier of the block, or of the cluster, if all have come to it.
    fn meet(&mut self) -> bool {
        let comes = |strand: &Strand, wait: Wait| strand.waits == wait && !strand.is_done();
        if self.strands.iter().all(|strand| comes(strand, Wait::Cluster)) {
            self.epoch += 1;
            self.epochs.iter_mut().for_each(|epoch| *epoch += 1);
            self.strands.iter_mut().for_each(|strand| strand.waits = Wait::Nothing);
            return true;
        }
        let mut any = false;
        for (rank, epoch) in self.epochs.iter_mut().enumerate() {
            let is_here = |strand: &&mut Strand| strand.rank == rank as i64;
            let mut here: Vec<&mut Strand> = self.strands.iter_mut().filter(is_here).collect();
            if here.iter().all(|strand| comes(strand, Wait::Block)) {
                *epoch += 1;
                here.iter_mut().for_each(|strand| strand.waits = Wait::Nothing);
                any = true;
            }
        }
        any
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
                    Some(around) => self.end_iteration(nth, around)?,
                    None => drop(strand.frames.pop()),
                }
                self.count(1, nth)?;
                continue;
            };
            frame.next = if op == self.skeleton.root { None } else { func.next_op(op) };
            if self.skeleton.is_relevant(op) {
                strand.at = op;
                self.step(nth, op)?;
            }
            self.count(1, nth)?;
        }
        Ok(())
    }

    /// Counts steps of strand number `nth`.
    fn count(&mut self, n: usize, nth: usize) -> Result<(), Stop> {
        self.skeleton.steps += n as u64;
        if self.skeleton.steps > MAX_STEPS {
            return Err(fault(report::too_long(self, &self.strands[nth])));
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
                let inits = func.operands(op)[2..].to_vec();
                let carried = self.carried(nth, func.region_args(func.op_regions(op)[0])[1..].iter(), &inits)?;
                self.begin_loop(nth, op, (lo, hi), carried)?;
            }
            tir::IF => self.branch(nth, op)?,
            gpu::BARRIER if is_warpgroup_barrier(func, op) => self.strands[nth].waits = Wait::Warpgroup(op),
            gpu::BARRIER if is_cluster_barrier(func, op) => self.strands[nth].waits = Wait::Cluster,
            gpu::BARRIER => self.strands[nth].waits = Wait::Block,
            wgmma::FENCE | wgmma::MMA => self.strands[nth].waits = Wait::Warpgroup(op),
            mbarrier::FENCE_INIT => {}
            mbarrier::INIT => {
                for (key, threads) in self.keys(nth, op, func.operand(op, 0))? {
                    let count = func.int_of(op, keys::COUNT).unwrap_or(1);
                    let Some((first, last)) = threads.ends() else { continue };
                    let made = Barrier::new(count, (first, [self.epochs[key.2 as usize], self.epoch]));
                    let before = self.barriers.insert(key, (made, op)).map(|(_, before)| before);
                    if let Some(before) = before.or((first < last).then_some(op)) {
                        return Err(fault(report::made_twice(func, key, op, before)));
                    }
                }
            }
            mbarrier::ARRIVE | mbarrier::ARRIVE_EXPECT_TX => {
                let keys = self.keys(nth, op, func.operand(op, 0))?;
                for (key, threads) in self.of_blocks(nth, op, keys)? {
                    let bytes = func.int_of(op, keys::BYTES);
                    let (rank, epoch) = (self.strands[nth].rank, self.epoch);
                    let barrier = self.ready(key, &threads, (op, rank))?;
                    if key.2 != rank {
                        barrier.reached = Some((barrier.phase, epoch));
                    }
                    if !barrier.arrive(threads.len(), bytes) {
                        let lacks = barrier.lacks();
                        return Err(fault(report::too_many(func, key, op, &lacks)));
                    }
                }
            }
            mbarrier::WAIT => {
                let parities = self.numbers(nth, func.operand(op, 1))?;
                let keys = self.keys(nth, op, func.operand(op, 0))?;
                let (&[(parity, _)], &[(key, threads)]) = (&*parities, &keys[..]) else {
                    return Err(Stop::Unknown("threads that go the same way wait for different barriers".to_string()));
                };
                if !(0..=1).contains(&parity) {
                    return Err(fault(report::no_parity(func, key, op, parity)));
                }
                let rank = self.strands[nth].rank;
                let barrier = self.ready(key, &threads, (op, rank))?;
                if barrier.is_passed(parity) {
                    barrier.note_wait();
                } else {
                    self.strands[nth].waits = Wait::Phase(key, parity);
                }
            }
            tma::LOAD => {
                let (Some(place), Some(bytes)) = (tma::load_barrier(func, op), tma::load_bytes(func, op)) else {
                    return Ok(());
                };
                let rank = self.strands[nth].rank;
                let ranks = if tma::is_multicast(func, op) { 0..self.skeleton.cluster } else { rank..rank + 1 };
                for ((buffer, index, _), threads) in self.keys(nth, op, place)? {
                    for of in ranks.clone() {
                        let barrier = self.ready((buffer, index, of), &threads, (op, rank))?;
                        (0..threads.len()).for_each(|_| barrier.deliver(bytes));
                        self.count(threads.len(), nth)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Those of `args`, of a loop or behind it, that are integers and known to be alike in all threads of the strand, by the
    /// `values` that they get.
    fn carried<'v>(
        &mut self,
        nth: usize,
        args: impl Iterator<Item = &'v Value>,
        values: &[Value],
    ) -> Result<Vec<(Var, i64)>, Stop> {
        let func = self.skeleton.func;
        let mut known = Vec::new();
        for (&arg, &value) in args.zip(values) {
            if !func.value_scalar(value).is_some_and(|scalar| scalar.elem.is_int()) {
                continue;
            }
            let strand = &self.strands[nth];
            let at = Point { numbers: &strand.numbers, block: self.number + strand.rank as u64 };
            // What data decide is missed where it is asked for.
            if let Some(&[(number, _)]) = self.skeleton.numbers(value, &strand.threads, &at).as_deref() {
                known.push((Algebra::var(arg), number));
            }
            self.count(1, nth)?;
        }
        Ok(known)
    }

    /// Lets strand number `nth` go through the loop `op` from `lo` on, or go on behind it.
    fn begin_loop(&mut self, nth: usize, op: Op, (lo, hi): (i64, i64), carried: Vec<(Var, i64)>) -> Result<(), Stop> {
        let func = self.skeleton.func;
        let region = func.op_regions(op)[0];
        let strand = &mut self.strands[nth];
        let known = strand.numbers.len();
        if lo < hi {
            strand.numbers.push((Algebra::var(loop_var(func, op)), lo));
            strand.numbers.extend(carried);
            self.enter(nth, region, Some(Around { op, region, end: hi, known }));
        } else {
            let results: Vec<Value> = func.results(op).collect();
            let numbers = self.carried(nth, results.iter(), &func.operands(op)[2..])?;
            self.strands[nth].numbers.extend(numbers);
        }
        Ok(())
    }

    /// Lets strand number `nth` begin the next iteration of a loop, or leave it.
    fn end_iteration(&mut self, nth: usize, around: Around) -> Result<(), Stop> {
        let func = self.skeleton.func;
        let next = self.strands[nth].numbers[around.known].1 + 1;
        let yielded = func.yielded(around.region).to_vec();
        let results: Vec<Value> = func.results(around.op).collect();
        let args = func.region_args(around.region)[1..].to_vec();
        let carried = self.carried(nth, if next < around.end { args.iter() } else { results.iter() }, &yielded)?;
        let strand = &mut self.strands[nth];
        strand.numbers.truncate(around.known);
        if next < around.end {
            strand.numbers.push((Algebra::var(loop_var(func, around.op)), next));
            if let Some(frame) = strand.frames.last_mut() {
                frame.next = func.first_op(around.region);
            }
        } else {
            strand.frames.pop();
        }
        strand.numbers.extend(carried);
        Ok(())
    }

    fn enter(&mut self, nth: usize, region: Region, around: Option<Around>) {
        let next = self.skeleton.func.first_op(region);
        self.strands[nth].frames.push(Frame { next, around });
    }

    /// Takes the branch that a condition says; where threads differ in it, some become a strand of their own.
    fn branch(&mut self, nth: usize, op: Op) -> Result<(), Stop> {
        let func = self.skeleton.func;
        let truths = self.numbers(nth, func.operand(op, 0))?;
        let regions = func.op_regions(op).to_vec();
        let holds = truths.iter().filter(|&&(truth, _)| truth != 0);
        let then = holds.fold(Threads::default(), |all, (_, threads)| all.or(threads));
        let otherwise = self.strands[nth].threads.without(&then);
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

    /// The numbers of `value` in the threads of the strand.
    fn numbers(&mut self, nth: usize, value: Value) -> Result<Rc<[Number]>, Stop> {
        let strand = &self.strands[nth];
        let at = Point { numbers: &strand.numbers, block: self.number + strand.rank as u64 };
        let numbers = self.skeleton.numbers(value, &strand.threads, &at);
        self.count(0, nth)?;
        numbers.ok_or_else(|| Stop::Unknown("what it waits for depends on data".to_string()))
    }

    fn one(&mut self, nth: usize, value: Value) -> Result<i64, Stop> {
        match *self.numbers(nth, value)? {
            [(number, _)] => Ok(number),
            _ => Err(Stop::Unknown("a loop with barriers runs differently often in different threads".to_string())),
        }
    }

    /// The barriers that `place` of `op` is, each with the threads that mean it.
    fn keys(&mut self, nth: usize, op: Op, place: Value) -> Result<Vec<(Key, Threads)>, Stop> {
        let func = self.skeleton.func;
        let buffer = root_buffer(func, place);
        let reference = func.def_op(place).filter(|&op| matches!(func.opcode(op), tir::REF | tir::REGION));
        let (base, indices) = match reference.map(|op| func.operands(op)) {
            Some([base, indices @ ..]) => (*base, indices),
            _ => (place, &[][..]),
        };
        let extents = tir::place_type(func, base).map_or(&[][..], |(_, extents, _)| extents);
        if base != buffer || !indices.is_empty() && indices.len() != extents.len() {
            return Err(Stop::Unknown("a barrier is named by a part of its array".to_string()));
        }
        let mut keys = vec![(0i64, self.strands[nth].threads)];
        for (&index, &extent) in indices.iter().zip(extents) {
            let extent = func.as_int(extent).unwrap_or(i64::MAX);
            let numbers = self.numbers(nth, index)?;
            if let Some(&(number, threads)) = numbers.iter().find(|(number, _)| !(0..extent).contains(number)) {
                return Err(fault(report::out_of_bounds(func, (buffer, number), extent, op, &threads)));
            }
            let too_many = || Stop::Unknown("an array of barriers is too large to follow".to_string());
            let mut parts = Vec::new();
            for &(outer, of_outer) in &keys {
                for &(number, threads) in &*numbers {
                    let inner = outer.checked_mul(extent).and_then(|outer| outer.checked_add(number));
                    parts.push((inner.ok_or_else(too_many)?, of_outer.and(&threads)));
                }
            }
            self.count(parts.len(), nth)?;
            parts.retain(|(_, threads)| !threads.is_empty());
            keys = parts;
        }
        let rank = self.strands[nth].rank;
        Ok(keys.into_iter().map(|(index, threads)| ((buffer, index, rank), threads)).collect())
    }

    /// The barriers in the place of `keys` of the blocks that `op`, an arrival, names.
    fn of_blocks(&mut self, nth: usize, op: Op, keys: Vec<(Key, Threads)>) -> Result<Vec<(Key, Threads)>, Stop> {
        let Some(block) = mbarrier::block_of(self.skeleton.func, op) else { return Ok(keys) };
        let (ranks, n) = (self.numbers(nth, block)?, self.skeleton.cluster);
        if let Some(&(rank, threads)) = ranks.iter().find(|(rank, _)| !(0..n).contains(rank)) {
            return Err(fault(report::no_such_block(self.skeleton.func, (rank, n), op, &threads)));
        }
        let of = |&((buffer, index, _), threads): &(Key, Threads)| {
            let those = ranks.iter().map(move |&(rank, of)| ((buffer, index, rank), threads.and(&of)));
            those.filter(|(_, threads)| !threads.is_empty()).collect::<Vec<_>>()
        };
        Ok(keys.iter().flat_map(of).collect())
    }

    /// A barrier that is ready for `threads` of block `rank`.
    fn ready(&mut self, key: Key, threads: &Threads, (op, rank): (Op, i64)) -> Result<&mut Barrier, Stop> {
        let (func, epochs) = (self.skeleton.func, [self.epochs[key.2 as usize], self.epoch]);
        let is_known = |barrier: &Barrier| match key.2 == rank {
            true => barrier.made.1[0] != epochs[0] || *threads == Threads::only(barrier.made.0),
            false => barrier.made.1[1] != epochs[1],
        };
        match self.barriers.get_mut(&key) {
            None => Err(fault(report::not_made(func, key, op, None))),
            Some((barrier, made)) if !is_known(barrier) => {
                Err(fault(report::not_made(func, key, op, Some((*made, key.2 == rank)))))
            }
            Some((barrier, _)) => Ok(barrier),
        }
    }
}

fn fault(found: Diagnostic) -> Stop {
    Stop::Fault(Box::new(found))
}
