//! Words that the tree does not use, each with the field's word for it (docs/glossary.md).

use std::path::Path;

/// The page that names both.
const GLOSSARY: &str = "docs/glossary.md";

/// This file.
const TABLE: &str = "tools/xtask/src/words.rs";

/// A word that is struck, in small letters, and what to write.
const STRUCK: &[(&str, &str)] = &[
    ("accesses meet", "accesses overlap, or touch one cell"),
    ("flights", "outstanding copies"),
    ("holds against", "compares with"),
    ("lives do not meet", "live ranges do not overlap"),
    ("lives meet", "live ranges overlap"),
    ("looped", "the op of the loop, or in loops"),
    ("nobody", "the subject: no pass, no thread, nothing"),
    ("normal form", "canonical form"),
    ("normal forms", "canonical forms"),
    ("parting", "divergence, or the divergent branch"),
    ("steady loop", "steady state"),
    ("under way", "outstanding"),
    ("way out", "help, or fix-it"),
    ("ways out", "help, or fix-its"),
    ("what no loop changes", "what is loop-invariant"),
];

/// Where the file `shown`, whose text is `text`, uses a word that is struck.
pub(crate) fn struck(shown: &Path, text: &str) -> Vec<String> {
    if shown == Path::new(GLOSSARY) || shown == Path::new(TABLE) {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    for (idx, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        for (word, instead) in STRUCK.iter().filter(|(word, _)| has_word(&line, word)) {
            wrong.push(format!("{}:{}: write \"{instead}\" for \"{word}\"", shown.display(), idx + 1));
        }
    }
    wrong
}

/// Does `line` have `word` with no letter beside it?
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        let ends = |next: Option<char>| next.is_none_or(|letter| !letter.is_alphabetic());
        ends(before.chars().next_back()) && ends(after.chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_whole_and_in_any_case() {
        let found = |line: &str| struck(Path::new("a.rs"), line);
        assert_eq!(found("x\n/// A Normal form."), ["a.rs:2: write \"canonical form\" for \"normal form\""]);
        assert!(found("two iterations in flight; imparting; a steady state").is_empty());
        assert!(struck(Path::new(GLOSSARY), "parting").is_empty());
    }
}
