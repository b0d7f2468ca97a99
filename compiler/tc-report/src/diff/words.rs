//! What differs between two lines: ranges of words.

use similar::Algorithm;
use std::ops::Range;

/// Lines with more words than this are not compared by words.
const MAX_WORDS: usize = 400;

/// Ranges of bytes of a line.
pub type Ranges = Vec<Range<usize>>;

/// The ranges of bytes in which two lines differ, in the old one and in the new one; `None` where they have so little in
/// common that a reader is better off with the whole lines.
pub fn words(old: &str, new: &str) -> Option<(Ranges, Ranges)> {
    let (old, new) = (split(old)?, split(new)?);
    let mut same = 0;
    let mut ranges = (Vec::new(), Vec::new());
    for op in similar::capture_diff_slices(Algorithm::Myers, &old, &new) {
        let (of_old, of_new) = (&old[op.old_range()], &new[op.new_range()]);
        if matches!(op, similar::DiffOp::Equal { .. }) {
            same += of_old.iter().map(|word| weight(word)).sum::<usize>();
            continue;
        }
        add(&mut ranges.0, of_old);
        add(&mut ranges.1, of_new);
    }
    let all = old.iter().chain(&new).map(weight).sum::<usize>();
    // At least a third of both must stay.
    (6 * same >= all).then_some(ranges)
}

/// How much two lines have in common: the weight of their words that are the same, wherever they stand, of 1000.
pub(super) fn likeness(old: &[&str], new: &[&str]) -> usize {
    let total: usize = old.iter().chain(new).map(|word| word.len()).sum();
    let (mut i, mut j, mut common) = (0, 0, 0);
    while i < old.len() && j < new.len() {
        match old[i].cmp(new[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                common += 2 * old[i].len();
                (i, j) = (i + 1, j + 1);
            }
        }
    }
    (1000 * common).checked_div(total).unwrap_or(0)
}

/// The words of a line that are more than signs, sorted.
pub(super) fn sorted(line: &str) -> Vec<&str> {
    let mut words: Vec<&str> = line.split(|c| !is_word(c)).filter(|word| !word.is_empty()).take(MAX_WORDS).collect();
    words.sort_unstable();
    words
}

/// A word and where it begins.
#[derive(Clone, Copy)]
struct Word<'t> {
    text: &'t str,
    at: usize,
}

impl PartialEq for Word<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Word<'_> {}

impl std::hash::Hash for Word<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl PartialOrd for Word<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Word<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(other.text)
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// What a word counts when likeness is judged: blanks count nothing.
fn weight(word: &Word<'_>) -> usize {
    word.text.trim().len()
}

fn split(line: &str) -> Option<Vec<Word<'_>>> {
    let kind = |c: char| {
        if is_word(c) {
            0
        } else if c.is_whitespace() {
            1
        } else {
            2
        }
    };
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut last = None;
    for (at, c) in line.char_indices() {
        let kind = kind(c);
        match words.last_mut() {
            Some(word) if last == Some(kind) && kind < 2 => word.text = &line[word.at..at + c.len_utf8()],
            _ => words.push(Word { text: &line[at..at + c.len_utf8()], at }),
        }
        last = Some(kind);
    }
    (words.len() <= MAX_WORDS).then_some(words)
}

fn add(ranges: &mut Vec<Range<usize>>, words: &[Word<'_>]) {
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return };
    let end = last.at + last.text.len();
    match ranges.last_mut() {
        Some(range) if range.end == first.at => range.end = end,
        _ => ranges.push(first.at..end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked<'t>(old: &'t str, new: &'t str) -> Option<(Vec<&'t str>, Vec<&'t str>)> {
        let (of_old, of_new) = words(old, new)?;
        let cut = |text: &'t str, ranges: Vec<Range<usize>>| ranges.into_iter().map(|range| &text[range]).collect();
        Some((cut(old, of_old), cut(new, of_new)))
    }

    #[test]
    fn words_that_differ_are_marked() {
        assert_eq!(marked("  A[i] = B[i + 0]", "  A[i] = B[i]"), Some((vec![" + 0"], vec![])));
        assert_eq!(marked("for i in 0..8 {", "for ii in 0..16 {"), Some((vec!["i", "8"], vec!["ii", "16"])));
        assert_eq!(marked("x é y", "x è y"), Some((vec!["é"], vec!["è"])));
        assert_eq!(marked("return x", "for i in 0..8 {"), None);
        let long = "a + ".repeat(1000);
        assert_eq!(words(&long, &long), None);
    }
}
