//! What differs between two texts: by lines, and by words in lines that belong together.
//!
//! The work is bounded by the length of the texts, and what is found does not depend on time: the same two texts always
//! differ in the same way. Lines are numbers while they are compared; the algorithm of Myers, with its heuristics for
//! texts that have little in common, finds what stays.

mod pairs;
mod unified;
mod words;

pub use pairs::{Pair, pairs};
pub use unified::{Style, sections, unified};
pub use words::{Ranges, words};

use rustc_hash::FxHashMap;
use similar::{Algorithm, DiffOp};
use std::ops::Range;

/// A stretch of lines in two texts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DiffBlock {
    /// Is it the same in both?
    pub same: bool,
    /// The lines of the old text, from 0.
    pub old: Range<usize>,
    /// The lines of the new text.
    pub new: Range<usize>,
}

/// The lines of a text without their line ends. A text without any character has none.
pub fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// The stretches of two texts, in order. Stretches that stay and stretches that differ take turns.
pub fn parts(old: &[&str], new: &[&str]) -> Vec<DiffBlock> {
    let mut numbers = FxHashMap::default();
    let mut number = |line| {
        let next = numbers.len() as u32;
        *numbers.entry(line).or_insert(next)
    };
    let old: Vec<u32> = old.iter().map(|&line| number(line)).collect();
    let new: Vec<u32> = new.iter().map(|&line| number(line)).collect();
    let mut parts: Vec<DiffBlock> = Vec::new();
    for op in similar::capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (same, old, new) = match op {
            DiffOp::Equal { .. } => (true, op.old_range(), op.new_range()),
            _ => (false, op.old_range(), op.new_range()),
        };
        match parts.last_mut() {
            Some(last) if last.same == same => {
                last.old.end = old.end;
                last.new.end = new.end;
            }
            _ => parts.push(DiffBlock { same, old, new }),
        }
    }
    parts
}

/// How many lines came and how many went.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Changes {
    /// Lines of the new text that the old one has not.
    pub added: usize,
    /// Lines of the old text that the new one has not.
    pub removed: usize,
}

impl Changes {
    /// Those of `parts`.
    pub fn of(parts: &[DiffBlock]) -> Changes {
        let mut changes = Changes::default();
        for part in parts.iter().filter(|part| !part.same) {
            changes.added += part.new.len();
            changes.removed += part.old.len();
        }
        changes
    }
}

/// Differences that stand close together, with lines around them that stay.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hunk {
    /// Its stretches, in order.
    pub parts: Vec<DiffBlock>,
}

impl Hunk {
    /// Its lines in the old text.
    pub fn old_lines(&self) -> Range<usize> {
        range(self.parts.first().map(|part| part.old.start), self.parts.last().map(|part| part.old.end))
    }

    /// Its lines in the new text.
    pub fn new_lines(&self) -> Range<usize> {
        range(self.parts.first().map(|part| part.new.start), self.parts.last().map(|part| part.new.end))
    }
}

fn range(start: Option<usize>, end: Option<usize>) -> Range<usize> {
    start.unwrap_or(0)..end.unwrap_or(0)
}

/// The differences in `parts` with `context` lines before and after each.
pub fn hunks(parts: &[DiffBlock], context: usize) -> Vec<Hunk> {
    let to_op = |part: &DiffBlock| match part.same {
        true => DiffOp::Equal { old_index: part.old.start, new_index: part.new.start, len: part.old.len() },
        false => DiffOp::Replace {
            old_index: part.old.start,
            old_len: part.old.len(),
            new_index: part.new.start,
            new_len: part.new.len(),
        },
    };
    let of_op =
        |op: &DiffOp| DiffBlock { same: matches!(op, DiffOp::Equal { .. }), old: op.old_range(), new: op.new_range() };
    let is_any = |part: &DiffBlock| !(part.old.is_empty() && part.new.is_empty());
    similar::group_diff_ops(parts.iter().map(to_op).collect(), context)
        .iter()
        .map(|group| Hunk { parts: group.iter().map(of_op).filter(is_any).collect() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rebuilt(old: &[&str], new: &[&str]) -> Vec<String> {
        let found = parts(old, new);
        assert!(found.windows(2).all(|pair| pair[0].same != pair[1].same), "{found:?}");
        let mut text = Vec::new();
        let (mut i, mut j) = (0, 0);
        for part in &found {
            assert_eq!((part.old.start, part.new.start), (i, j));
            (i, j) = (part.old.end, part.new.end);
            let from = if part.same { &old[part.old.clone()] } else { &new[part.new.clone()] };
            text.extend(from.iter().map(|line| line.to_string()));
        }
        assert_eq!((i, j), (old.len(), new.len()));
        text
    }

    #[test]
    fn parts_make_the_new_text_of_the_old_one() {
        let texts: [&[&str]; 5] = [&[], &["a"], &["a", "b", "c"], &["c", "b", "a", "d"], &["x", "b", "b", "d", "e"]];
        for old in texts {
            for new in texts {
                assert_eq!(rebuilt(old, new), new);
            }
        }
    }

    #[test]
    fn hunks_hold_lines_around_what_differs() {
        let old: Vec<String> = (0..40).map(|n| n.to_string()).collect();
        let mut new = old.clone();
        new[10] = "ten".to_string();
        new.remove(15);
        new.push("end".to_string());
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
        let found = hunks(&parts(&old, &new), 3);
        let ranges: Vec<_> = found.iter().map(|hunk| (hunk.old_lines(), hunk.new_lines())).collect();
        assert_eq!(ranges, [(7..19, 7..18), (37..40, 36..40)]);
        assert!(hunks(&parts(&old, &old), 3).is_empty());
    }

    #[test]
    fn texts_that_have_little_in_common_end_soon() {
        // Without the heuristics this takes minutes.
        let old: Vec<String> = (0..60_000u64).map(|n| (n * n % 7919).to_string()).collect();
        let new: Vec<String> = (0..60_000u64).map(|n| (n * n * n % 7907).to_string()).collect();
        let (old, new): (Vec<&str>, Vec<&str>) =
            (old.iter().map(String::as_str).collect(), new.iter().map(String::as_str).collect());
        let start = std::time::Instant::now();
        assert_eq!(rebuilt(&old, &new).len(), new.len());
        assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
    }
}
