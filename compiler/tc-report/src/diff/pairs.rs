//! Which lines of a difference belong together: an old line and what became of it.

use super::words::{likeness, sorted, words};
use std::ops::Range;

/// Differences with more pairs of lines than this are not searched for the best ones.
const MAX_TABLE: usize = 10_000;
/// Differences with more lines than this have no pairs.
const MAX_LINES: usize = 2_000;
/// Lines that have less in common, of 1000, do not belong together.
const LEAST: usize = 400;

/// An old line and the new one that it became.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pair {
    /// The number of the old line, in its slice.
    pub old: usize,
    /// The number of the new line.
    pub new: usize,
    /// The bytes of the old line that went.
    pub old_words: Vec<Range<usize>>,
    /// The bytes of the new line that came.
    pub new_words: Vec<Range<usize>>,
}

/// The pairs of a difference: in both texts they stand in the same order.
pub fn pairs(old: &[&str], new: &[&str]) -> Vec<Pair> {
    let matched = if old.len() + new.len() > MAX_LINES {
        Vec::new()
    } else if old.len() * new.len() > MAX_TABLE {
        (0..if old.len() == new.len() { old.len() } else { 0 }).map(|nth| (nth, nth)).collect()
    } else {
        best(old, new)
    };
    let pair = |(i, j): (usize, usize)| {
        let (old_words, new_words) = words(old[i], new[j])?;
        Some(Pair { old: i, new: j, old_words, new_words })
    };
    matched.into_iter().filter_map(pair).collect()
}

/// The order-keeping choice of pairs whose likeness adds up to most.
fn best(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
    let old_words: Vec<_> = old.iter().map(|line| sorted(line)).collect();
    let new_words: Vec<_> = new.iter().map(|line| sorted(line)).collect();
    let width = new.len() + 1;
    let mut gain = vec![0usize; (old.len() + 1) * width];
    let mut like = vec![0usize; old.len() * new.len()];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            let found = likeness(&old_words[i], &new_words[j]);
            let found = if found < LEAST { 0 } else { found };
            like[i * new.len() + j] = found;
            let together = if found > 0 { found + gain[(i + 1) * width + j + 1] } else { 0 };
            gain[i * width + j] = together.max(gain[(i + 1) * width + j]).max(gain[i * width + j + 1]);
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut chosen = Vec::new();
    while i < old.len() && j < new.len() {
        let here = gain[i * width + j];
        let found = like[i * new.len() + j];
        if found > 0 && here == found + gain[(i + 1) * width + j + 1] {
            chosen.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if here == gain[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(old: &[&str], new: &[&str]) -> Vec<(usize, usize)> {
        pairs(old, new).iter().map(|pair| (pair.old, pair.new)).collect()
    }

    #[test]
    fn a_line_belongs_to_the_one_it_became() {
        let old = ["let x = A[i] + 0", "B[i] = x * y"];
        let new = ["alloc C: f32[8] in shared", "let x = A[i]", "B[i] = x * z"];
        assert_eq!(chosen(&old, &new), [(0, 1), (1, 2)]);
        assert_eq!(chosen(&new, &old), [(1, 0), (2, 1)]);
        assert_eq!(chosen(&["return"], &["for i in 0..8 {"]), []);
        assert_eq!(chosen(&[], &new), []);
    }

    #[test]
    fn large_differences_are_cut_short() {
        let old = vec!["a = b + c"; 300];
        let new = vec!["a = b + d"; 300];
        assert_eq!(pairs(&old, &new).len(), 300);
        assert_eq!(pairs(&old[1..], &new), []);
        assert_eq!(pairs(&["a"; 1500], &["a"; 1500]), []);
    }
}
