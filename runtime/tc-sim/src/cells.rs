//! Sets of cells of one buffer, and what a run that only looks for them notes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// A set of cells, with the position of each among them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CellSet {
    words: Vec<u64>,
    /// Cells in the words before each word.
    before: Vec<usize>,
    len: usize,
}

impl CellSet {
    /// The set of these words: bit `b` of word `w` is cell `64 * w + b`.
    pub(crate) fn of_words(words: Vec<u64>) -> CellSet {
        let mut len = 0;
        let before = words
            .iter()
            .map(|word| {
                let before = len;
                len += word.count_ones() as usize;
                before
            })
            .collect();
        CellSet { words, before, len }
    }

    /// The set of `cells`, which are below `n`.
    pub(crate) fn of_cells(n: usize, cells: impl IntoIterator<Item = usize>) -> CellSet {
        let mut words = vec![0u64; n.div_ceil(64)];
        for cell in cells.into_iter().filter(|&cell| cell < n) {
            words[cell / 64] |= 1 << (cell % 64);
        }
        CellSet::of_words(words)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn contains(&self, cell: usize) -> bool {
        self.words.get(cell / 64).is_some_and(|word| word >> (cell % 64) & 1 == 1)
    }

    /// The number of cells below `cell`, if it is in the set.
    pub(crate) fn position(&self, cell: usize) -> Option<usize> {
        let below = self.words.get(cell / 64)? & ((1 << (cell % 64)) - 1);
        self.contains(cell).then(|| self.before[cell / 64] + below.count_ones() as usize)
    }

    /// The cells, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(nth, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(nth * 64 + bit)
            })
        })
    }

    /// Adds the cells of `other`.
    pub(crate) fn add(&mut self, other: &CellSet) {
        let mut words = std::mem::take(&mut self.words);
        words.resize(words.len().max(other.words.len()), 0);
        words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
        *self = CellSet::of_words(words);
    }
}

/// What is noted of a buffer by a run that computes addresses and no values: the buffer has no cells then.
#[derive(Debug)]
pub(crate) enum Trace {
    /// The cells that are accessed, as a set.
    Accessed(Vec<AtomicU64>),
    /// The block that writes each cell, plus one; 0 for a cell that none writes.
    Writers(Vec<AtomicU32>),
}

impl Trace {
    pub(crate) fn accessed(n: usize) -> Trace {
        Trace::Accessed((0..n.div_ceil(64)).map(|_| AtomicU64::new(0)).collect())
    }

    pub(crate) fn writers(n: usize) -> Trace {
        Trace::Writers((0..n).map(|_| AtomicU32::new(0)).collect())
    }

    /// The block accesses the cell.
    pub(crate) fn note(&self, cell: usize, block: u64) {
        match self {
            Trace::Accessed(words) => {
                if let Some(word) = words.get(cell / 64) {
                    word.fetch_or(1 << (cell % 64), Relaxed);
                }
            }
            Trace::Writers(blocks) => {
                if let (Some(place), Ok(block)) = (blocks.get(cell), u32::try_from(block + 1)) {
                    place.store(block, Relaxed);
                }
            }
        }
    }

    /// The cells that were accessed.
    pub(crate) fn cells(&self) -> CellSet {
        match self {
            Trace::Accessed(words) => CellSet::of_words(words.iter().map(|word| word.load(Relaxed)).collect()),
            Trace::Writers(blocks) => {
                let written = blocks.iter().enumerate().filter(|(_, block)| block.load(Relaxed) != 0);
                CellSet::of_cells(blocks.len(), written.map(|(cell, _)| cell))
            }
        }
    }

    /// The block that writes `cell`.
    pub(crate) fn writer(&self, cell: usize) -> Option<u64> {
        match self {
            Trace::Accessed(_) => None,
            Trace::Writers(blocks) => blocks.get(cell)?.load(Relaxed).checked_sub(1).map(u64::from),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_the_cells_before() {
        let cells = [0, 5, 63, 64, 130, 199];
        let set = CellSet::of_cells(200, cells);
        assert_eq!(set.iter().collect::<Vec<_>>(), cells);
        assert_eq!(set.len(), cells.len());
        for cell in 0..260 {
            assert_eq!(set.position(cell), cells.iter().position(|&other| other == cell), "{cell}");
        }
    }

    #[test]
    fn sets_are_joined() {
        let mut set = CellSet::of_cells(10, [1, 3]);
        set.add(&CellSet::of_cells(100, [3, 99]));
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 3, 99]);
    }

    #[test]
    fn a_trace_tells_cells_and_writers() {
        let accessed = Trace::accessed(70);
        accessed.note(69, 3);
        assert_eq!(accessed.cells().iter().collect::<Vec<_>>(), [69]);
        let writers = Trace::writers(4);
        writers.note(2, 7);
        assert_eq!((writers.writer(2), writers.writer(1)), (Some(7), None));
        assert_eq!(writers.cells().iter().collect::<Vec<_>>(), [2]);
    }
}
