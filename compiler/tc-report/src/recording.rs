//! The program after each pass, kept as differences: each line once, each pass as what it changed.
//!
//! A text that is too large is not kept; of its passes only what they changed is, and that up to a limit, and it is said
//! that and how much is left out.

use crate::diff::{self, Changes, DiffBlock, pairs};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use serde_json::{Value, json};

/// Lines of one text that are kept.
const MAX_LINES: usize = 30_000;
/// Bytes of all lines that are kept.
const MAX_BYTES: usize = 8 << 20;
/// Lines that are kept of what a pass changed in a text that is too large.
const MAX_CHANGED_LINES: usize = 1_000;
/// Lines that stay, around what a pass changed in a text that is too large.
const CONTEXT: usize = 3;
/// Lines of a text that is too large that are shown at first.
const MAX_HEAD: usize = 200;

/// The texts of a run, in order.
#[derive(Default, Debug)]
pub struct Recording {
    lines: IndexSet<Box<str>, FxBuildHasher>,
    n_bytes: usize,
    steps: Vec<RecordedText>,
    last: String,
    /// Is the last text kept as a whole?
    last_is_kept: bool,
}

/// What is kept of one text.
#[derive(Clone, Debug)]
pub struct RecordedText {
    /// The pass, from 1; 0 for the text before the first.
    pub number: usize,
    /// What it is called.
    pub name: String,
    /// The file that it was written to, beside the page.
    pub file: Option<String>,
    /// Did the pass fail?
    pub failed: bool,
    /// Lines that came and went.
    pub changes: Changes,
    /// Lines of the text.
    pub n_lines: usize,
    /// The difference to the text before, as the page reads it.
    body: Value,
}

impl Recording {
    /// What is kept, text by text.
    pub fn steps(&self) -> &[RecordedText] {
        &self.steps
    }

    /// The last text.
    pub fn last(&self) -> &str {
        &self.last
    }

    /// The same text again, after the pass `number`.
    pub fn same(&mut self, number: usize, name: &str) {
        let n_lines = self.steps.last().map_or(0, |step| step.n_lines);
        let body = json!({ "same": true });
        self.steps.push(RecordedText {
            number,
            name: name.to_string(),
            file: None,
            failed: false,
            changes: Changes::default(),
            n_lines,
            body,
        });
    }

    /// The text after the pass `number`.
    pub fn add(&mut self, number: usize, name: &str, text: String) {
        let before = std::mem::replace(&mut self.last, text);
        let after = std::mem::take(&mut self.last);
        let (old, new) = (diff::lines(&before), diff::lines(&after));
        let first = self.steps.is_empty();
        let parts = if first { Vec::new() } else { diff::parts(&old, &new) };
        let kept = self.keep(&new);
        let body = match (kept, first) {
            (true, true) => json!({ "whole": self.numbers(&new) }),
            (true, false) if self.last_is_kept => json!({ "parts": self.delta(&old, &new, &parts) }),
            (true, false) => json!({ "whole": self.numbers(&new), "hunks": self.hunks(&old, &new, &parts) }),
            (false, true) => json!({ "hunks": self.head(&new), "cut": after.len() }),
            (false, false) => json!({ "hunks": self.hunks(&old, &new, &parts), "cut": after.len() }),
        };
        let (changes, n_lines) = (Changes::of(&parts), new.len());
        self.last_is_kept = kept;
        self.last = after;
        self.steps.push(RecordedText {
            number,
            name: name.to_string(),
            file: None,
            failed: false,
            changes,
            n_lines,
            body,
        });
    }

    /// Says of the last text which file it was written to.
    pub fn name_file(&mut self, name: String) {
        if let Some(step) = self.steps.last_mut() {
            step.file = Some(name);
        }
    }

    /// Says that the pass of the last text failed.
    pub fn fail(&mut self) {
        if let Some(step) = self.steps.last_mut() {
            step.failed = true;
        }
    }

    /// What the page's script reads: the lines, and the texts as differences.
    pub fn data(&self) -> Value {
        let steps: Vec<Value> = self.steps.iter().map(|step| step.body.clone()).collect();
        let lines: Vec<&str> = self.lines.iter().map(|line| &**line).collect();
        json!({ "lines": lines, "steps": steps })
    }

    /// Takes in the lines of a text, if they are not too many.
    fn keep(&mut self, lines: &[&str]) -> bool {
        let before = (self.lines.len(), self.n_bytes);
        let good = lines.len() <= MAX_LINES && lines.iter().all(|line| self.take_in(line));
        if !good {
            self.lines.truncate(before.0);
            self.n_bytes = before.1;
        }
        good
    }

    fn take_in(&mut self, line: &str) -> bool {
        if !self.lines.contains(line) {
            self.n_bytes += line.len();
            self.lines.insert(line.into());
        }
        self.n_bytes <= MAX_BYTES
    }

    fn numbers(&self, lines: &[&str]) -> Vec<usize> {
        lines.iter().map(|line| self.lines.get_index_of(*line).unwrap_or(0)).collect()
    }

    /// Turns of `n` lines that stay and `[n lines that go, [lines that come], [pairs]]`.
    fn delta(&self, old: &[&str], new: &[&str], parts: &[DiffBlock]) -> Vec<Value> {
        let mut out = Vec::new();
        for part in parts {
            let (gone, come) = (&old[part.old.clone()], &new[part.new.clone()]);
            out.push(match part.same {
                true => json!(gone.len()),
                false => json!([gone.len(), self.numbers(come), marks(gone, come)]),
            });
        }
        out
    }

    /// What differs, with its own copies of all lines that are shown.
    fn hunks(&mut self, old: &[&str], new: &[&str], parts: &[DiffBlock]) -> Value {
        let (mut hunks, mut n_left) = (Vec::new(), 0);
        let mut room = MAX_CHANGED_LINES;
        for hunk in diff::hunks(parts, CONTEXT) {
            let n = hunk.old_lines().len() + hunk.new_lines().len();
            let texts = || old[hunk.old_lines()].iter().chain(&new[hunk.new_lines()]);
            if n > room || self.n_bytes + texts().map(|line| line.len()).sum::<usize>() > MAX_BYTES {
                n_left += 1;
                continue;
            }
            room -= n;
            texts().for_each(|line| {
                self.take_in(line);
            });
            let part = |part: &DiffBlock| {
                let (gone, come) = (&old[part.old.clone()], &new[part.new.clone()]);
                match part.same {
                    true => json!(self.numbers(gone)),
                    false => json!([self.numbers(gone), self.numbers(come), marks(gone, come)]),
                }
            };
            let parts: Vec<Value> = hunk.parts.iter().map(|one| json!({ "same": one.same, "p": part(one) })).collect();
            hunks.push(json!({ "old": hunk.old_lines().start, "new": hunk.new_lines().start, "parts": parts }));
        }
        json!({ "list": hunks, "left": n_left })
    }

    /// The beginning of a text that is too large.
    fn head(&mut self, lines: &[&str]) -> Value {
        let mut n = 0;
        for line in lines.iter().take(MAX_HEAD) {
            if self.n_bytes + line.len() > MAX_BYTES / 2 {
                break;
            }
            self.take_in(line);
            n += 1;
        }
        let part = json!({ "same": true, "p": self.numbers(&lines[..n]) });
        json!({ "list": [{ "old": 0, "new": 0, "parts": [part] }], "left": 0 })
    }
}

/// Lines that belong together: `[old, new, [ranges of the old], [ranges of the new]]`, in units of UTF-16, as scripts
/// count.
fn marks(old: &[&str], new: &[&str]) -> Vec<Value> {
    let units = |line: &str, ranges: &[std::ops::Range<usize>]| -> Vec<usize> {
        let count = |at: usize| line[..at].encode_utf16().count();
        ranges.iter().flat_map(|range| [count(range.start), count(range.end)]).collect()
    };
    let found = pairs(old, new);
    let mark = |pair: &diff::Pair| {
        json!([pair.old, pair.new, units(old[pair.old], &pair.old_words), units(new[pair.new], &pair.new_words)])
    };
    found.iter().map(mark).collect()
}
