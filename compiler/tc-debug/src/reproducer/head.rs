//! The lines at the head of a reproducer, and how values stand in them.

use super::MARK;
use std::ops::Range;
use tc_support::suggest;

/// Where a value stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Value {
    /// Its bytes in the text.
    pub range: Range<usize>,
    /// Does it stand there as it is, so that a place in the value is one in the text?
    pub is_plain: bool,
}

/// Where the value of `key` stands in the head of `text`, if it has one.
pub fn value(text: &str, key: &str) -> Option<Value> {
    lines(text).find_map(|(at, line)| {
        let (found, value) = line.strip_prefix(MARK)?.split_once('=')?;
        (found.trim() == key).then(|| {
            let end = at + line.trim_end().len();
            let start = (at + line.len() - value.trim_start().len()).min(end);
            Value { range: start..end, is_plain: !value.contains('\\') }
        })
    })
}

/// The comments and empty lines at the head of `text`, each with its offset.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    });
    lines.take_while(|(_, line)| line.trim().is_empty() || line.trim_start().starts_with("//"))
}

/// Is `line`, a comment, probably meant as one of the head, though the tool does not read it as that?
pub(super) fn is_near_miss(line: &str) -> bool {
    const WORD: &str = "tc-reproducer";
    if line.starts_with(MARK) {
        return false;
    }
    let text = line.trim_start().trim_start_matches('/').trim_start();
    let end = text.find(|c: char| matches!(c, ':' | '=') || c.is_whitespace()).unwrap_or(text.len());
    let word = text[..end].to_ascii_lowercase();
    let is_near = suggest::nearest(&word, [WORD]).is_some();
    is_near && (text[end..].contains('=') || (word == WORD && text[end..].starts_with(':')))
}

/// `value` on one line.
pub(super) fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

/// What [`escape`] was given.
pub(super) fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('r') => out.push('\r'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}
