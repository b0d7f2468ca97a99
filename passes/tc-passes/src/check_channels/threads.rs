//! Sets of threads of one block, as bits.

use super::skeleton::MAX_THREADS;
use tc_dialects::wgmma;

/// The bits of a word.
const WORD: usize = u64::BITS as usize;

/// The words of a set.
const N_WORDS: usize = MAX_THREADS as usize / WORD;

/// The words of a warpgroup.
const GROUP_WORDS: usize = wgmma::WARPGROUP as usize / WORD;

/// Threads of a block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Threads([u64; N_WORDS]);

impl Threads {
    /// The first `n` threads.
    pub(super) fn first_of_all(n: usize) -> Threads {
        (0..n as u32).collect()
    }

    /// Only `thread`.
    pub(super) fn only(thread: u32) -> Threads {
        std::iter::once(thread).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let of_word = |(nth, &word): (usize, &u64)| {
            std::iter::successors(Some(word), |left| Some(left & left.wrapping_sub(1)))
                .take_while(|&left| left != 0)
                .map(move |left| (nth * WORD) as u32 + left.trailing_zeros())
        };
        self.0.iter().enumerate().flat_map(of_word)
    }

    /// The first thread, and the last.
    pub(super) fn ends(&self) -> Option<(u32, u32)> {
        let (first, _) = self.0.iter().enumerate().find(|&(_, &word)| word != 0)?;
        let (last, _) = self.0.iter().enumerate().rfind(|&(_, &word)| word != 0)?;
        let low = (first * WORD) as u32 + self.0[first].trailing_zeros();
        Some((low, ((last + 1) * WORD) as u32 - 1 - self.0[last].leading_zeros()))
    }

    pub(super) fn and(&self, other: &Threads) -> Threads {
        Threads(std::array::from_fn(|nth| self.0[nth] & other.0[nth]))
    }

    pub(super) fn or(&self, other: &Threads) -> Threads {
        Threads(std::array::from_fn(|nth| self.0[nth] | other.0[nth]))
    }

    pub(super) fn without(&self, other: &Threads) -> Threads {
        Threads(std::array::from_fn(|nth| self.0[nth] & !other.0[nth]))
    }

    /// Do the two have threads of one warpgroup?
    pub(super) fn share_a_warpgroup(&self, other: &Threads) -> bool {
        let has_some = |words: &[u64]| words.iter().any(|&word| word != 0);
        let groups = self.0.chunks(GROUP_WORDS).zip(other.0.chunks(GROUP_WORDS));
        groups.into_iter().any(|(ours, theirs)| has_some(ours) && has_some(theirs))
    }

    /// Are all warpgroups that have a thread in it there as a whole?
    pub(super) fn are_whole_warpgroups(&self) -> bool {
        let is_whole =
            |words: &[u64]| words.iter().all(|&word| word == 0) || words.iter().all(|&word| word == u64::MAX);
        self.0.chunks(GROUP_WORDS).all(is_whole)
    }
}

impl FromIterator<u32> for Threads {
    fn from_iter<I: IntoIterator<Item = u32>>(threads: I) -> Threads {
        let mut found = Threads::default();
        threads.into_iter().for_each(|thread| found.0[thread as usize / WORD] |= 1 << (thread as usize % WORD));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_threads_are_what_they_are_made_of() {
        let some: Vec<u32> = vec![0, 5, 63, 64, 127, 128, 1023];
        let set: Threads = some.iter().copied().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), some);
        assert_eq!((set.len(), set.ends()), (7, Some((0, 1023))));
        assert_eq!(set.without(&Threads::only(0)).ends(), Some((5, 1023)));
        assert!(Threads::default().is_empty() && Threads::default().ends().is_none());
    }

    #[test]
    fn warpgroups_are_128_threads() {
        let (first, all) = (Threads::first_of_all(128), Threads::first_of_all(384));
        assert!(first.are_whole_warpgroups() && all.are_whole_warpgroups());
        assert!(!Threads::first_of_all(127).are_whole_warpgroups());
        assert!(Threads::only(127).share_a_warpgroup(&first));
        assert!(!Threads::only(128).share_a_warpgroup(&first));
    }
}
