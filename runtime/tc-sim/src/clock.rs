//! Races in blocks whose threads order themselves by barriers in shared memory, by happens-before with vector clocks.
//!
//! Each thread counts what it has released, and knows up to which count of each other thread, of each warpgroup's products
//! and of each barrier's bulk copies it has seen all. An arrival hands what its thread knows to the phase, a completed
//! wait takes it from there, a barrier of the block or of a warp makes all its threads know the same. What a product reads
//! is seen by who has waited for the product, what a bulk copy brings by who has waited for the phase at which it reported.
//!
//! Of each cell those accesses are kept that are not ordered before a later one of theirs: whatever is unordered with one
//! that was dropped is unordered with the one that took its place (after Flanagan and Freund 2009, "FastTrack").

use crate::cell::Cell;
use crate::race::{Conflict, Seen};
use tc_dialects::update::UpdateClass;

/// Somebody who accesses a cell: a thread, the products of a warpgroup, the bulk copies of a barrier, the bulk copies to
/// tensors of a thread.
pub(crate) type Actor = u32;

/// What is known of shared memory; what the copy engine sees of it, as of the last `tma.fence`; and what is known of all
/// memory. All but barriers of the block over shared memory order all of them.
pub(crate) const LEVELS: usize = 3;

/// The levels that a barrier over shared memory orders.
pub(crate) const OF_SHARED: usize = 2;

pub(crate) const SHARED: usize = 0;
pub(crate) const ENGINE: usize = 1;
pub(crate) const ALL: usize = 2;

/// What is known of each actor, at each level.
pub(crate) type Knowledge = [Vec<u32>; LEVELS];

/// An access in time: whose, the count of that actor, and what is known to have been done before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment<'a> {
    pub(crate) actor: Actor,
    pub(crate) clock: u32,
    pub(crate) site: u32,
    pub(crate) known: &'a [u32],
}

/// The clocks of the threads of a block.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    threads: usize,
    warpgroups: usize,
    barriers: usize,
    /// Actors.
    n: usize,
    /// What each thread knows of each actor; of itself, its own count.
    levels: Knowledge,
}

/// The bytes of the clocks of so many threads and barriers.
pub(crate) fn clock_bytes(threads: u64, barriers: u64, stores: bool) -> u64 {
    let actors = threads.saturating_add(threads.div_ceil(128)).saturating_add(barriers);
    let actors = actors.saturating_add(if stores { threads } else { 0 });
    actors.saturating_mul(threads.saturating_add(2 * barriers)).saturating_mul(4 * LEVELS as u64)
}

impl Clocks {
    /// Of so many threads and barriers, whose threads may copy to tensors if `stores`.
    pub(crate) fn new(threads: usize, barriers: usize, stores: bool) -> Clocks {
        let warpgroups = threads.div_ceil(128);
        let n = threads + warpgroups + barriers + if stores { threads } else { 0 };
        let mut clocks =
            Clocks { threads, warpgroups, barriers, n, levels: [(); LEVELS].map(|()| vec![0; threads * n]) };
        clocks.reset();
        clocks
    }

    pub(crate) fn reset(&mut self) {
        for (number, level) in self.levels.iter_mut().enumerate() {
            level.fill(0);
            // From 1: no thread has seen what others do from now on, and the copy engine nothing of any.
            let count = u32::from(number != ENGINE);
            (0..self.threads).for_each(|thread| level[thread * self.n + thread] = count);
        }
    }

    pub(crate) fn n_threads(&self) -> usize {
        self.threads
    }

    /// Nothing is known of any actor.
    pub(crate) fn nothing(&self) -> Knowledge {
        [(); LEVELS].map(|()| vec![0; self.n])
    }

    /// The products of a warpgroup.
    pub(crate) fn products(&self, warpgroup: usize) -> Actor {
        (self.threads + warpgroup) as Actor
    }

    /// The bulk copies that report at a barrier.
    pub(crate) fn copies(&self, barrier: usize) -> Actor {
        (self.threads + self.warpgroups + barrier) as Actor
    }

    /// The bulk copies to tensors of a thread.
    pub(crate) fn stores(&self, thread: u32) -> Actor {
        (self.threads + self.warpgroups + self.barriers) as Actor + thread
    }

    /// The thread whose bulk copies to tensors the actor is.
    pub(crate) fn stores_of(&self, actor: Actor) -> Option<u32> {
        actor.checked_sub(self.stores(0))
    }

    pub(crate) fn is_thread(&self, actor: Actor) -> bool {
        (actor as usize) < self.threads
    }

    /// The warpgroup whose products the actor is.
    pub(crate) fn warpgroup_of(&self, actor: Actor) -> Option<usize> {
        (actor as usize).checked_sub(self.threads).filter(|&warpgroup| warpgroup < self.warpgroups)
    }

    fn row(&self, thread: u32) -> std::ops::Range<usize> {
        thread as usize * self.n..(thread as usize + 1) * self.n
    }

    /// An access of a thread, now.
    pub(crate) fn moment(&self, level: usize, thread: u32, site: u32) -> Moment<'_> {
        let known = &self.levels[level][self.row(thread)];
        Moment { actor: thread, clock: known[thread as usize], site, known }
    }

    /// Hands on what a thread has done and knows.
    pub(crate) fn release(&mut self, thread: u32, to: &mut Knowledge) {
        for (level, to) in to.iter_mut().enumerate() {
            let row = self.row(thread);
            join(to, &self.levels[level][row]);
            self.count(thread, level);
        }
    }

    /// Hands on what a thread knows of copies and products, and nothing of what threads do.
    pub(crate) fn release_background(&mut self, thread: u32, to: &mut Knowledge) {
        for (level, to) in to.iter_mut().enumerate() {
            let row = self.row(thread);
            join(&mut to[self.threads..], &self.levels[level][row][self.threads..]);
            self.count(thread, level);
        }
    }

    /// Up to which count a thread knows what another has done to shared memory.
    pub(crate) fn knows(&self, thread: u32, other: u32) -> u32 {
        self.levels[SHARED][self.row(thread).start + other as usize]
    }

    /// What a thread does from now on is new. Of that the copy engine sees nothing before the next fence.
    fn count(&mut self, thread: u32, level: usize) {
        let at = self.row(thread).start + thread as usize;
        self.levels[level][at] += u32::from(level != ENGINE);
    }

    /// The copy engine sees what a thread knows of shared memory.
    pub(crate) fn fence(&mut self, thread: u32) {
        let row = self.row(thread);
        let known = self.levels[SHARED][row.clone()].to_vec();
        join(&mut self.levels[ENGINE][row], &known);
        (0..LEVELS).for_each(|level| self.count(thread, level));
    }

    /// What the copy engine sees, asked by a thread.
    pub(crate) fn seen_by_engine(&self, thread: u32) -> &[u32] {
        &self.levels[ENGINE][self.row(thread)]
    }

    pub(crate) fn acquire(&mut self, thread: u32, from: &Knowledge) {
        for (level, from) in from.iter().enumerate() {
            let row = self.row(thread);
            join(&mut self.levels[level][row], from);
        }
    }

    /// A thread has seen all that an actor did up to `clock`.
    pub(crate) fn learn(&mut self, thread: u32, actor: Actor, clock: u32) {
        self.learn_of(LEVELS, thread, actor, clock);
    }

    /// The same, at `levels` from 0.
    pub(crate) fn learn_of(&mut self, levels: usize, thread: u32, actor: Actor, clock: u32) {
        let at = self.row(thread).start + actor as usize;
        for level in &mut self.levels[..levels] {
            level[at] = level[at].max(clock);
        }
    }

    /// What all of these threads know of shared memory.
    pub(crate) fn common(&self, threads: impl Iterator<Item = u32>) -> Vec<u32> {
        self.common_of(SHARED, threads)
    }

    /// What the engine of copies and products sees, whichever of these threads asks.
    pub(crate) fn common_of_engine(&self, threads: impl Iterator<Item = u32>) -> Vec<u32> {
        self.common_of(ENGINE, threads)
    }

    fn common_of(&self, level: usize, threads: impl Iterator<Item = u32>) -> Vec<u32> {
        let mut common = vec![u32::MAX; self.n];
        for thread in threads {
            let known = &self.levels[level][self.row(thread)];
            common.iter_mut().zip(known).for_each(|(common, &known)| *common = known.min(*common));
        }
        common
    }

    /// These threads meet: each knows what all knew, and what they do from now on is new. At `levels` from 0.
    pub(crate) fn meet(&mut self, threads: impl Iterator<Item = u32> + Clone, levels: usize) {
        for level in 0..levels.min(LEVELS) {
            let mut all = vec![0; self.n];
            threads.clone().for_each(|thread| join(&mut all, &self.levels[level][self.row(thread)]));
            for thread in threads.clone() {
                let row = self.row(thread);
                self.levels[level][row].copy_from_slice(&all);
                self.count(thread, level);
            }
        }
    }
}

fn join(to: &mut [u32], from: &[u32]) {
    to.iter_mut().zip(from).for_each(|(to, &from)| *to = from.max(*to));
}

/// An access that was made.
#[derive(Clone, Copy, Debug)]
struct Past {
    actor: Actor,
    clock: u32,
    site: u32,
}

/// What is kept of one cell.
#[derive(Clone, Default, Debug)]
pub(crate) struct CellHistory {
    writes: Vec<Past>,
    reads: Vec<Past>,
    /// Atomic updates, of which none conflicts with another of its class.
    updates: Vec<(Past, UpdateClass)>,
    /// The value before the first of `writes`, if there was one.
    before: Option<Cell>,
    /// All of `writes` wrote the same.
    same: bool,
}

fn unordered(past: &Past, now: Moment<'_>) -> bool {
    now.known[past.actor as usize] < past.clock
}

fn keep(list: &mut Vec<Past>, now: Moment<'_>) {
    list.retain(|past| unordered(past, now));
    list.push(Past { actor: now.actor, clock: now.clock, site: now.site });
}

fn conflict(past: &Past, other_wrote: bool, benign: bool) -> Conflict {
    Conflict { other: Seen::of(past.actor, past.site), other_wrote, benign }
}

impl CellHistory {
    pub(crate) fn clear(&mut self) {
        self.writes.clear();
        self.reads.clear();
        self.updates.clear();
    }

    /// A read of `value`.
    pub(crate) fn read(&mut self, now: Moment<'_>, value: Cell) -> Option<Conflict> {
        let found = self.writes.iter().find(|past| unordered(past, now));
        let knows = || self.before == Some(value) || self.writes.iter().any(|past| past.actor == now.actor);
        let found = found.map(|past| conflict(past, true, self.same && knows()));
        keep(&mut self.reads, now);
        self.updated(now).or(found)
    }

    /// An atomic update.
    pub(crate) fn update(&mut self, now: Moment<'_>, class: UpdateClass) -> Option<Conflict> {
        let find = |list: &[Past]| list.iter().copied().find(|past| unordered(past, now));
        let found = match find(&self.writes) {
            Some(write) => Some(conflict(&write, true, false)),
            None => find(&self.reads).map(|read| conflict(&read, false, false)),
        };
        let others = self.updates.iter().filter(|(past, of)| *of != class && unordered(past, now));
        let mixed = others.map(|(past, _)| conflict(past, true, false)).next();
        // One of another class is unordered with what this one may be ordered with.
        self.updates.retain(|(past, of)| *of != class || unordered(past, now));
        self.updates.push((Past { actor: now.actor, clock: now.clock, site: now.site }, class));
        found.or(mixed)
    }

    /// The update that an access which is none conflicts with.
    fn updated(&self, now: Moment<'_>) -> Option<Conflict> {
        self.updates.iter().find(|(past, _)| unordered(past, now)).map(|(past, _)| conflict(past, true, false))
    }

    /// A write of `new` over `old` (`None` where nothing was).
    pub(crate) fn write(&mut self, now: Moment<'_>, old: Option<Cell>, new: Cell) -> Option<Conflict> {
        let is_first = !self.writes.iter().any(|past| unordered(past, now));
        if is_first {
            (self.before, self.same) = (old, true);
        } else {
            self.same &= old == Some(new);
        }
        let benign = self.same && old == Some(new);
        let find = |list: &[Past]| list.iter().copied().find(|past| unordered(past, now));
        let found = match (find(&self.writes), find(&self.reads)) {
            // Writes of one value can still be told apart by somebody who read before the first of them.
            (_, Some(read)) if !benign => Some(conflict(&read, false, false)),
            (Some(write), _) => Some(conflict(&write, true, benign)),
            (None, Some(read)) => Some(conflict(&read, false, benign)),
            (None, None) => None,
        };
        let found = self.updated(now).or(found);
        self.reads.retain(|past| unordered(past, now));
        self.updates.retain(|(past, _)| unordered(past, now));
        keep(&mut self.writes, now);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_dialects::update::UpdateKind;
    use tc_ir::Elem;

    #[test]
    fn an_arrival_and_a_wait_order_and_nothing_else_does() {
        let mut clocks = Clocks::new(3, 1, false);
        let mut cell = CellHistory::default();
        assert_eq!(cell.write(clocks.moment(0, 0, 7), None, 1), None);
        assert!(cell.clone().read(clocks.moment(0, 1, 8), 1).is_some_and(|found| found.other.thread == 0));
        let mut phase = clocks.nothing();
        clocks.release(0, &mut phase);
        clocks.acquire(1, &phase);
        assert_eq!(cell.read(clocks.moment(0, 1, 8), 1), None);
        assert!(cell.read(clocks.moment(0, 2, 8), 1).is_some(), "it did not wait");
        // What a thread does after its arrival was not released by it.
        assert!(cell.write(clocks.moment(0, 0, 9), Some(1), 2).is_some_and(|found| !found.other_wrote));
        assert!(cell.read(clocks.moment(0, 1, 8), 2).is_some());
    }

    #[test]
    fn updates_conflict_with_all_but_updates() {
        let mut clocks = Clocks::new(3, 1, false);
        let mut cell = CellHistory::default();
        let [add, max] = [UpdateKind::Add, UpdateKind::Max].map(|kind| (kind, Elem::I32));
        assert_eq!(cell.update(clocks.moment(0, 0, 7), add), None);
        assert_eq!(cell.update(clocks.moment(0, 1, 7), add), None);
        assert!(cell.clone().update(clocks.moment(0, 2, 7), max).is_some_and(|found| found.other_wrote));
        assert!(cell.clone().read(clocks.moment(0, 2, 8), 1).is_some_and(|found| found.other_wrote));
        let mut phase = clocks.nothing();
        clocks.release(0, &mut phase);
        clocks.acquire(2, &phase);
        assert!(cell.clone().write(clocks.moment(0, 2, 9), Some(1), 1).is_some_and(|found| found.other.thread == 1));
        clocks.release(1, &mut phase);
        clocks.acquire(2, &phase);
        assert_eq!(cell.read(clocks.moment(0, 2, 8), 1), None);
        assert!(cell.update(clocks.moment(0, 0, 7), add).is_some_and(|found| !found.other_wrote));
    }

    #[test]
    fn who_waits_for_one_of_three_readers_may_not_write() {
        let mut clocks = Clocks::new(4, 1, false);
        let mut cell = CellHistory::default();
        (0..3).for_each(|thread| assert_eq!(cell.read(clocks.moment(0, thread, thread), 1), None));
        let mut phase = clocks.nothing();
        for thread in [0, 1] {
            clocks.release(thread, &mut phase);
        }
        clocks.acquire(3, &phase);
        assert!(cell.write(clocks.moment(0, 3, 9), Some(1), 2).is_some_and(|found| found.other.thread == 2));
    }

    #[test]
    fn what_is_read_by_a_product_is_seen_by_who_has_waited_for_it() {
        let mut clocks = Clocks::new(2, 1, false);
        let mut cell = CellHistory::default();
        let known = clocks.common(0..2);
        let product = Moment { actor: clocks.products(0), clock: 1, site: 3, known: &known };
        assert_eq!(cell.read(product, 1), None);
        assert!(cell.clone().write(clocks.moment(0, 0, 4), Some(1), 2).is_some(), "its own thread has not waited");
        clocks.learn(0, clocks.products(0), 1);
        assert_eq!(cell.write(clocks.moment(0, 0, 4), Some(1), 2), None);
    }

    #[test]
    fn a_barrier_over_shared_memory_orders_no_other() {
        let mut clocks = Clocks::new(2, 0, false);
        let (mut shared, mut global) = (CellHistory::default(), CellHistory::default());
        shared.write(clocks.moment(0, 0, 1), None, 1);
        global.write(clocks.moment(ALL, 0, 1), None, 1);
        clocks.meet(0..2, OF_SHARED);
        assert_eq!(shared.read(clocks.moment(0, 1, 2), 1), None);
        assert!(global.read(clocks.moment(ALL, 1, 2), 1).is_some());
    }

    #[test]
    fn the_copy_engine_sees_what_was_written_before_a_fence() {
        let mut clocks = Clocks::new(2, 0, true);
        let (mut cell, mut late) = (CellHistory::default(), CellHistory::default());
        let by_engine = |clocks: &Clocks, cell: &mut CellHistory| {
            let known = clocks.seen_by_engine(1).to_vec();
            cell.read(Moment { actor: clocks.stores(1), clock: 1, site: 5, known: &known }, 1)
        };
        cell.write(clocks.moment(SHARED, 0, 1), None, 1);
        clocks.meet(0..2, OF_SHARED);
        assert!(by_engine(&clocks, &mut cell.clone()).is_some(), "no fence");
        clocks.fence(0);
        late.write(clocks.moment(SHARED, 0, 1), None, 1);
        assert!(by_engine(&clocks, &mut cell.clone()).is_some(), "thread 1 knows nothing of the fence");
        clocks.meet(0..2, OF_SHARED);
        assert_eq!(by_engine(&clocks, &mut cell), None);
        assert!(by_engine(&clocks, &mut late).is_some(), "it was written after the fence");
        assert!(cell.clone().write(clocks.moment(SHARED, 1, 3), Some(1), 2).is_some(), "the copy may still read");
        clocks.learn(1, clocks.stores(1), 1);
        assert_eq!(cell.write(clocks.moment(SHARED, 1, 3), Some(1), 2), None);
    }
}
