//! A barrier in shared memory: its phases, arrivals and bytes.

use crate::clock::{CellHistory, Clocks, Knowledge};
use crate::code::Site;
use std::mem;

/// Who did something, and where.
pub(crate) type Doing = (Site, u32);

/// A barrier, made ready or not.
#[derive(Clone, Debug)]
pub(crate) struct Mbarrier {
    /// The arrivals that a phase needs; 0 until it is made ready.
    pub(crate) count: u32,
    /// Who made it ready.
    pub(crate) made: Option<Doing>,
    /// Bulk copies see that it is ready.
    pub(crate) fenced: bool,
    /// Somebody has used it since.
    pub(crate) used: bool,
    /// The number of the current phase.
    pub(crate) phase: u32,
    pub(crate) arrived: u32,
    /// Bytes that were announced for the current phase, and that came.
    pub(crate) announced: u64,
    pub(crate) delivered: u64,
    /// The accesses to the barrier itself: it is written where it is made ready, and read where it is used.
    pub(crate) history: CellHistory,
    /// What those know who have arrived in the current phase, and in the one before.
    arriving: Knowledge,
    released: Knowledge,
    /// A copy that reported in the current phase.
    pub(crate) copy: Option<Doing>,
    /// The same of the phase before, while no thread has waited for that.
    pub(crate) unseen: Option<Doing>,
    /// No thread has waited for the phase before.
    pub(crate) is_unseen: bool,
}

/// What an arrival, or bytes, did to the current phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    Waits,
    Complete {
        /// The phase before was complete, and no thread had waited for it.
        unseen: bool,
        /// Bytes that came and were not announced.
        surplus: u64,
    },
}

impl Mbarrier {
    pub(crate) fn new(clocks: &Clocks) -> Mbarrier {
        Mbarrier {
            count: 0,
            made: None,
            fenced: false,
            used: false,
            phase: 0,
            arrived: 0,
            announced: 0,
            delivered: 0,
            history: CellHistory::default(),
            arriving: clocks.nothing(),
            released: clocks.nothing(),
            copy: None,
            unseen: None,
            is_unseen: false,
        }
    }

    /// It is ready, at phase 0; what is noted of its accesses stays.
    pub(crate) fn init(&mut self, count: u32, by: Doing, clocks: &Clocks) {
        let history = mem::take(&mut self.history);
        *self = Mbarrier { count, made: Some(by), history, ..Mbarrier::new(clocks) };
    }

    /// Is a phase of this parity the one before the current one?
    pub(crate) fn is_past(&self, parity: u32) -> bool {
        (self.phase + 1) & 1 == parity
    }

    /// An arrival of a thread, of another block if it is `remote`; `None` where the phase has all of its arrivals already.
    pub(crate) fn arrive(&mut self, thread: u32, remote: bool, clocks: &mut Clocks) -> Option<Progress> {
        if self.arrived >= self.count {
            return None;
        }
        self.arrived += 1;
        match remote {
            true => clocks.release_background(thread, &mut self.arriving),
            false => clocks.release(thread, &mut self.arriving),
        }
        Some(self.advance())
    }

    /// Begins the next phase if the current one has all it needs.
    pub(crate) fn advance(&mut self) -> Progress {
        if self.count == 0 || self.arrived < self.count || self.delivered < self.announced {
            return Progress::Waits;
        }
        let surplus = self.delivered - self.announced;
        let progress = Progress::Complete { unseen: self.is_unseen, surplus };
        self.phase += 1;
        (self.arrived, self.announced, self.delivered) = (0, 0, 0);
        mem::swap(&mut self.released, &mut self.arriving);
        self.arriving.iter_mut().for_each(|level| level.fill(0));
        (self.unseen, self.is_unseen) = (self.copy.take(), true);
        progress
    }

    /// The same after bytes came. A phase that has its arrivals is complete by the last byte, not before any came.
    pub(crate) fn advance_by_copies(&mut self) -> Progress {
        if self.delivered == 0 { Progress::Waits } else { self.advance() }
    }

    /// A thread goes on after its wait for the phase before the current one.
    pub(crate) fn pass(&mut self, number: usize, thread: u32, clocks: &mut Clocks) {
        if self.phase == 0 {
            return;
        }
        (self.unseen, self.is_unseen) = (None, false);
        clocks.acquire(thread, &self.released);
        clocks.learn(thread, clocks.copies(number), self.phase);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_needs_its_arrivals_and_its_bytes() {
        let mut clocks = Clocks::new(2, 1, false);
        let mut barrier = Mbarrier::new(&clocks);
        barrier.init(2, (0, 0), &clocks);
        assert!(barrier.is_past(1) && !barrier.is_past(0));
        assert_eq!(barrier.arrive(0, false, &mut clocks), Some(Progress::Waits));
        barrier.announced += 16;
        assert_eq!(barrier.arrive(1, false, &mut clocks), Some(Progress::Waits));
        assert_eq!(barrier.arrive(1, false, &mut clocks), None);
        barrier.delivered += 16;
        assert_eq!(barrier.advance(), Progress::Complete { unseen: false, surplus: 0 });
        assert!(barrier.is_past(0));
    }

    #[test]
    fn a_phase_that_runs_ahead_of_those_who_wait_shows() {
        let mut clocks = Clocks::new(2, 1, false);
        let mut barrier = Mbarrier::new(&clocks);
        barrier.init(1, (0, 0), &clocks);
        let unseen = |progress: Option<Progress>| matches!(progress, Some(Progress::Complete { unseen: true, .. }));
        assert!(!unseen(barrier.arrive(0, false, &mut clocks)));
        barrier.pass(0, 1, &mut clocks);
        assert!(!unseen(barrier.arrive(0, false, &mut clocks)));
        assert!(unseen(barrier.arrive(0, false, &mut clocks)));
    }
}
