//! Races within a block, by happens-before: two accesses of different threads are ordered by a barrier between
//! them and by nothing else. Where barriers in shared memory order threads too, [`clock`](crate::clock) takes its place.
//!
//! Barriers cut a block's run into epochs. Of each cell, the accesses of the current epoch are kept: two writers and
//! two readers, each pair of different threads, which is enough to find somebody else for any thread that comes
//! (after Flanagan and Freund 2009, "FastTrack", with epochs for vector clocks because barriers are the only order).
//! Which order the warps were run in does not matter to what is found.

use crate::cell::Cell;
use tc_dialects::update::UpdateClass;

/// An access of the current epoch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) thread: u32,
    pub(crate) site: u32,
    /// Barriers that its warp alone had passed.
    warp_epoch: u32,
}

impl Seen {
    /// An access of somebody whose warp does not matter.
    pub(crate) fn of(thread: u32, site: u32) -> Seen {
        Seen { thread, site, warp_epoch: 0 }
    }
}

const NO_THREAD: Seen = Seen { thread: u32::MAX, site: 0, warp_epoch: 0 };

/// The class that all updates have: 0 where there are none, `MIXED` where there are several.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Classes(pub(crate) u16);

const MIXED: u16 = u16::MAX;

impl Classes {
    /// Is one of them not of `class`?
    pub(crate) fn differ_from(mut self, class: UpdateClass) -> bool {
        self.0 != 0 && self.are_mixed_by(class)
    }

    /// Were there others than of `class`? It is among them from now on.
    pub(crate) fn are_mixed_by(&mut self, (kind, elem): UpdateClass) -> bool {
        let class = 1 + ((kind as u16) << 8 | elem as u16);
        self.0 = if self.0 == 0 || self.0 == class { class } else { MIXED };
        self.0 == MIXED
    }
}

/// What is kept of one cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CellShadow {
    epoch: u32,
    writes: [Seen; 2],
    reads: [Seen; 2],
    /// Atomic updates, of which none conflicts with another of its class.
    updates: [Seen; 2],
    /// The classes of what these threads updated: since the last barrier of their warps, and in the epoch.
    classes: [[Classes; 2]; 2],
    /// The value before the first write of the epoch, if there was one.
    before: Option<Cell>,
    /// All writes of the epoch wrote the same.
    same: bool,
    /// The number of the set of threads that wrote in this epoch, from 1.
    set: u32,
}

impl Default for CellShadow {
    fn default() -> CellShadow {
        CellShadow {
            epoch: 0,
            writes: [NO_THREAD; 2],
            reads: [NO_THREAD; 2],
            updates: [NO_THREAD; 2],
            classes: [[Classes::default(); 2]; 2],
            before: None,
            same: true,
            set: 0,
        }
    }
}

/// Who accesses a cell, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Now {
    pub(crate) thread: u32,
    pub(crate) site: u32,
    pub(crate) epoch: u32,
    pub(crate) warp_epoch: u32,
}

/// An earlier access that nothing orders with this one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Conflict {
    pub(crate) other: Seen,
    pub(crate) other_wrote: bool,
    /// Every order of the two gives the same values.
    pub(crate) benign: bool,
}

/// The sets of threads that wrote a cell, for cells that several wrote.
#[derive(Clone, Default, Debug)]
pub(crate) struct WriterSets {
    words: usize,
    bits: Vec<u64>,
}

impl WriterSets {
    pub(crate) fn new(threads: usize) -> WriterSets {
        WriterSets { words: threads.div_ceil(64).max(1), bits: Vec::new() }
    }

    fn add(&mut self, set: u32, thread: u32) {
        let at = (set as usize - 1) * self.words + thread as usize / 64;
        self.bits[at] |= 1 << (thread % 64);
    }

    fn holds(&self, set: u32, thread: u32) -> bool {
        let at = (set as usize - 1) * self.words + thread as usize / 64;
        self.bits[at] >> (thread % 64) & 1 == 1
    }

    fn empty(&mut self, set: u32) {
        let at = (set as usize - 1) * self.words;
        self.bits[at..at + self.words].fill(0);
    }

    fn make(&mut self) -> u32 {
        self.bits.resize(self.bits.len() + self.words, 0);
        (self.bits.len() / self.words) as u32
    }

    pub(crate) fn reset(&mut self) {
        self.bits.clear();
    }
}

fn unordered(seen: Seen, now: Now) -> bool {
    let same_warp = seen.thread / 32 == now.thread / 32;
    seen.thread != u32::MAX && seen.thread != now.thread && !(same_warp && seen.warp_epoch != now.warp_epoch)
}

fn keep(pair: &mut [Seen; 2], now: Now) {
    let seen = Seen { thread: now.thread, site: now.site, warp_epoch: now.warp_epoch };
    if pair[0].thread == u32::MAX || pair[0].thread == now.thread {
        pair[0] = seen;
    } else if pair[1].thread == u32::MAX || pair[1].thread == now.thread || pair[1].thread / 32 == pair[0].thread / 32 {
        // A thread of another warp is the better witness: no barrier of a warp orders it.
        pair[1] = seen;
    }
}

impl CellShadow {
    fn enter(&mut self, epoch: u32) {
        if self.epoch != epoch {
            *self = CellShadow { epoch, set: self.set, ..CellShadow::default() };
        }
    }

    fn wrote(&self, thread: u32, sets: &WriterSets) -> bool {
        let known = self.writes.iter().any(|seen| seen.thread == thread);
        // Three writers or more are told apart by their set only.
        known || (self.writes[1].thread != u32::MAX && self.set != 0 && sets.holds(self.set, thread))
    }

    /// A read of `value`.
    pub(crate) fn read(&mut self, now: Now, value: Cell, sets: &WriterSets) -> Option<Conflict> {
        self.enter(now.epoch);
        let conflict = self.writes.iter().copied().find(|&seen| unordered(seen, now)).map(|other| Conflict {
            other,
            other_wrote: true,
            benign: self.same && (self.before == Some(value) || self.wrote(now.thread, sets)),
        });
        keep(&mut self.reads, now);
        self.updated(now).or(conflict)
    }

    /// An atomic update.
    pub(crate) fn update(&mut self, now: Now, class: UpdateClass) -> Option<Conflict> {
        self.enter(now.epoch);
        let find = |list: &[Seen; 2]| list.iter().copied().find(|&seen| unordered(seen, now));
        let found = find(&self.writes).map(|other| (other, true)).or_else(|| Some((find(&self.reads)?, false)));
        let mut mixed = None;
        for (&other, &of) in self.updates.iter().zip(&self.classes) {
            // A barrier of its warp orders the other thread's older updates with this one, if the warp is the same.
            let of = of[usize::from(other.thread / 32 != now.thread / 32)];
            if unordered(other, now) && of.differ_from(class) {
                mixed = mixed.or(Some(Conflict { other, other_wrote: true, benign: false }));
            }
        }
        let before = self.updates;
        keep(&mut self.updates, now);
        for (nth, seen) in self.updates.iter().enumerate().filter(|(nth, seen)| before[*nth] != **seen) {
            let [recent, all] = &mut self.classes[nth];
            let same_thread = before[nth].thread == seen.thread;
            if !same_thread {
                *all = Classes::default();
            }
            if !same_thread || before[nth].warp_epoch != seen.warp_epoch {
                *recent = Classes::default();
            }
            recent.are_mixed_by(class);
            all.are_mixed_by(class);
        }
        found.map(|(other, other_wrote)| Conflict { other, other_wrote, benign: false }).or(mixed)
    }

    /// The update that an access which is none conflicts with.
    fn updated(&self, now: Now) -> Option<Conflict> {
        let other = self.updates.iter().copied().find(|&seen| unordered(seen, now))?;
        Some(Conflict { other, other_wrote: true, benign: false })
    }

    /// A write of `new` over `old` (`None` where nothing was).
    pub(crate) fn write(&mut self, now: Now, old: Option<Cell>, new: Cell, sets: &mut WriterSets) -> Option<Conflict> {
        self.enter(now.epoch);
        let is_first = self.writes[0].thread == u32::MAX;
        if is_first {
            (self.before, self.same) = (old, true);
        } else {
            self.same &= old == Some(new);
        }
        let benign = self.same && old == Some(new);
        let find = |list: &[Seen; 2]| list.iter().copied().find(|&seen| unordered(seen, now));
        let conflict = match (find(&self.writes), find(&self.reads)) {
            // Writes of one value can still be told apart by somebody who read before the first of them.
            (_, Some(other)) if !benign => Some(Conflict { other, other_wrote: false, benign }),
            (Some(other), _) => Some(Conflict { other, other_wrote: true, benign }),
            (None, Some(other)) => Some(Conflict { other, other_wrote: false, benign }),
            (None, None) => None,
        };
        if !is_first && self.writes[0].thread != now.thread {
            self.note_writer(now.thread, sets);
        }
        keep(&mut self.writes, now);
        self.updated(now).or(conflict)
    }

    /// What a copy brought is there from now on. No thread could see what was there before; but copies of one value, in
    /// whichever order they come, are as harmless as writes of it.
    pub(crate) fn land(&mut self, now: Now, value: Cell, sets: &mut WriterSets) {
        self.enter(now.epoch);
        let is_first = self.writes[0].thread == u32::MAX;
        // Accesses until now were found to be to what an outstanding copy writes.
        let _ = self.write(now, (!is_first).then_some(value), value, sets);
        self.before = None;
    }

    fn note_writer(&mut self, thread: u32, sets: &mut WriterSets) {
        if self.set == 0 {
            self.set = sets.make();
        } else if self.writes[1].thread == u32::MAX {
            sets.empty(self.set);
        }
        sets.add(self.set, self.writes[0].thread);
        sets.add(self.set, thread);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_dialects::update::UpdateKind;
    use tc_ir::Elem;

    fn now(thread: u32, epoch: u32) -> Now {
        Now { thread, site: thread, epoch, warp_epoch: 0 }
    }

    #[test]
    fn a_barrier_orders_and_nothing_else_does() {
        let mut sets = WriterSets::new(64);
        let mut cell = CellShadow::default();
        assert_eq!(cell.write(now(0, 1), None, 7, &mut sets), None);
        let conflict = cell.read(now(1, 1), 7, &sets).expect("no barrier between");
        assert!(conflict.other_wrote && !conflict.benign && conflict.other.thread == 0);
        assert_eq!(cell.read(now(1, 2), 7, &sets), None);
        let conflict = cell.write(now(2, 2), Some(7), 8, &mut sets).expect("no barrier between");
        assert!(!conflict.other_wrote && !conflict.benign && conflict.other.thread == 1);
    }

    #[test]
    fn updates_conflict_with_all_but_updates() {
        let mut sets = WriterSets::new(64);
        let mut cell = CellShadow::default();
        let [add, max, of_floats] =
            [(UpdateKind::Add, Elem::I32), (UpdateKind::Max, Elem::I32), (UpdateKind::Add, Elem::F32)];
        assert_eq!(cell.update(now(0, 1), add), None);
        assert_eq!(cell.update(now(1, 1), add), None);
        assert!(cell.clone().update(now(2, 1), of_floats).is_some());
        assert!(cell.clone().update(now(2, 1), max).is_some_and(|found| found.other_wrote));
        assert_eq!(cell.clone().update(now(2, 2), max), None);
        assert!(cell.clone().read(now(2, 1), 5, &sets).is_some_and(|found| found.other_wrote && !found.benign));
        assert!(cell.clone().write(now(2, 1), Some(5), 5, &mut sets).is_some_and(|found| !found.benign));
        assert_eq!(cell.read(now(2, 2), 5, &sets), None, "a barrier stands between");
        assert!(cell.update(now(3, 2), add).is_some_and(|found| !found.other_wrote));
        assert_eq!(cell.write(now(4, 3), Some(5), 6, &mut sets), None);
        assert!(cell.update(now(5, 3), add).is_some_and(|found| found.other_wrote));
        assert_eq!(cell.update(now(4, 3), add).map(|found| found.other.thread), None, "its own write");
    }

    #[test]
    fn equal_writes_are_harmless_to_those_who_wrote_and_harmful_to_others() {
        let mut sets = WriterSets::new(128);
        let mut cell = CellShadow::default();
        for thread in 0..100 {
            let old = (thread > 0).then_some(5);
            let conflict = cell.write(now(thread, 1), old, 5, &mut sets);
            assert!(conflict.is_none_or(|conflict| conflict.benign));
        }
        for thread in 0..100 {
            assert!(cell.read(now(thread, 1), 5, &sets).expect("others wrote").benign);
        }
        assert!(!cell.read(now(120, 1), 5, &sets).expect("others wrote").benign, "it could see what was before");
        // The next round without a barrier writes something else while others may still read.
        assert!(!cell.write(now(3, 1), Some(5), 6, &mut sets).expect("others read").benign);
    }

    #[test]
    fn a_write_of_what_is_there_is_harmless() {
        let mut sets = WriterSets::new(32);
        let mut cell = CellShadow::default();
        assert_eq!(cell.read(now(0, 1), 5, &sets), None);
        assert!(cell.write(now(1, 1), Some(5), 5, &mut sets).expect("0 read").benign);
        assert!(cell.read(now(2, 1), 5, &sets).expect("1 wrote").benign);
    }

    #[test]
    fn copies_of_one_value_are_harmless_to_those_who_copied() {
        let mut sets = WriterSets::new(128);
        let mut cell = CellShadow::default();
        assert_eq!(cell.write(now(0, 1), Some(5), 5, &mut sets), None);
        cell.land(now(0, 1), 5, &mut sets);
        assert!(cell.write(now(32, 1), Some(5), 5, &mut sets).expect("0 copied").benign);
        cell.land(now(32, 1), 5, &mut sets);
        assert!(cell.read(now(0, 1), 5, &sets).expect("32 copied").benign);
        assert!(!cell.read(now(64, 1), 5, &sets).expect("others copied").benign, "it could see what was before");
        assert!(!cell.write(now(64, 1), Some(5), 6, &mut sets).expect("others copied").benign);
    }

    #[test]
    fn a_barrier_of_a_warp_orders_its_threads_only() {
        let mut sets = WriterSets::new(64);
        let mut cell = CellShadow::default();
        cell.write(now(0, 1), None, 1, &mut sets);
        let later = |thread| Now { thread, site: 0, epoch: 1, warp_epoch: 1 };
        assert_eq!(cell.read(later(1), 1, &sets), None);
        assert!(cell.read(later(33), 1, &sets).is_some());
    }
}
