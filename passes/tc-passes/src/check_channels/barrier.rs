//! One barrier in shared memory, as it counts.

/// What a barrier has counted.
#[derive(Clone, Debug)]
pub(super) struct Barrier {
    /// The arrivals of a phase.
    pub(super) count: i64,
    /// Those that are still to come in this phase.
    pub(super) pending: i64,
    /// Bytes that were announced and have not come; below zero, that have come and were not announced.
    pub(super) bytes: i64,
    /// The current phase.
    pub(super) phase: u64,
    /// Bytes were announced at it.
    pub(super) is_filled: bool,
    /// The phases that somebody waited for, up to the last one.
    pub(super) waited: u64,
    /// Who made it ready, and how many barriers of the block and of the cluster were passed before.
    pub(super) made: (u32, [u64; 2]),
    /// The phase that a thread of another block arrived at last, and how many barriers of the cluster were passed before.
    pub(super) reached: Option<(u64, u64)>,
}

impl Barrier {
    pub(super) fn new(count: i64, made: (u32, [u64; 2])) -> Barrier {
        Barrier { count, pending: count, bytes: 0, phase: 0, is_filled: false, waited: 0, made, reached: None }
    }

    /// `n` arrivals, each of which announces `bytes` before, if there are such. `false` if the phase has all of its own.
    pub(super) fn arrive(&mut self, n: usize, bytes: Option<i64>) -> bool {
        self.is_filled |= bytes.is_some();
        let (mut left, bytes) = (n as i64, bytes.unwrap_or(0));
        while left > 0 {
            if self.pending == 0 {
                self.bytes += bytes;
                return false;
            }
            let now = left.min(self.pending);
            self.bytes += now * bytes;
            self.pending -= now;
            self.settle();
            left -= now;
        }
        true
    }

    pub(super) fn deliver(&mut self, bytes: i64) {
        self.bytes -= bytes;
        self.settle();
    }

    fn settle(&mut self) {
        if self.pending == 0 && self.bytes == 0 {
            self.phase += 1;
            self.pending = self.count;
        }
    }

    /// Is the phase before the current one of this parity? Before the first one there is one of parity 1.
    pub(super) fn is_passed(&self, parity: i64) -> bool {
        (self.phase + 1) % 2 == parity.rem_euclid(2) as u64
    }

    /// Notes that somebody went on.
    pub(super) fn note_wait(&mut self) {
        self.waited = self.waited.max(self.phase);
    }

    /// Has a phase begun that is not complete?
    pub(super) fn is_begun(&self) -> bool {
        self.pending != self.count || self.bytes != 0
    }

    /// What the current phase lacks, in words.
    pub(super) fn lacks(&self) -> String {
        let arrivals = format!("has {} of {} arrivals", self.count - self.pending, self.count);
        match self.bytes {
            0 => arrivals,
            left if left > 0 => format!("{arrivals}, and lacks {left} bytes that were announced"),
            over => format!("{arrivals}, and has {} bytes that were not announced", -over),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_complete_when_all_have_come() {
        let mut full = Barrier::new(1, (0, [0, 0]));
        assert!(full.is_passed(1) && !full.is_passed(0));
        assert!(full.arrive(1, Some(64)));
        assert!(!full.is_passed(0), "the bytes are still to come");
        full.deliver(32);
        assert!(!full.arrive(1, None), "it has its only arrival");
        full.deliver(32);
        assert!(full.is_passed(0) && !full.is_passed(1) && !full.is_begun());
    }

    #[test]
    fn arrivals_at_once_are_arrivals_one_by_one() {
        for (count, n, bytes) in [(3, 3, None), (3, 7, None), (3, 2, Some(8)), (3, 4, Some(8)), (1, 5, Some(0))] {
            let (mut at_once, mut one_by_one) = (Barrier::new(count, (0, [0, 0])), Barrier::new(count, (0, [0, 0])));
            let all = (0..n).all(|_| one_by_one.arrive(1, bytes));
            assert_eq!(at_once.arrive(n, bytes), all);
            let state = |barrier: &Barrier| (barrier.phase, barrier.pending, barrier.bytes);
            assert_eq!(state(&at_once), state(&one_by_one), "{n} of {count}, {bytes:?}");
        }
    }
}
