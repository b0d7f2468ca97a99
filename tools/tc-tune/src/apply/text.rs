//! Edits of the file's text: what is not tuned stays as its author wrote it.

use crate::task::Values;
use tc::ir::{Func, Module};
use tc::support::Location;

/// A part of the text, and what stands there instead.
pub(super) type Edit = (usize, usize, String);

/// Where the text of `schedule` begins.
pub(super) fn header(module: &Module, schedule: &Func, text: &str) -> Option<usize> {
    let Location::Span(span) = schedule.location(schedule.header.loc) else { return None };
    let file = module.sources.file_of(span.start)?;
    let at = usize::try_from(span.start.0.checked_sub(file.start().0)?).ok()?;
    text.get(at..)?.starts_with("schedule").then_some(at)
}

/// The edits that leave each parameter the one choice of `point`.
pub(super) fn bound(text: &str, start: usize, point: &Values) -> Vec<Edit> {
    let mut edits = Vec::new();
    let Some(open) = text[start..].find('(').map(|at| at + start + 1) else { return edits };
    for (from, to) in parts(text, open) {
        let part = &text[from..to];
        let Some((name, domain)) = part.split_once(':') else { continue };
        let name = name.rsplit('\n').next().unwrap_or(name).trim();
        let Some(&value) = point.get(name) else { continue };
        let shown = if domain.trim_start().starts_with("bool") { (value != 0).to_string() } else { value.to_string() };
        match part.find(" in ") {
            Some(at) => edits.push((from + at, from + part.trim_end().len(), format!(" in [{shown}]"))),
            None => edits.push((from + part.trim_end().len(), from + part.trim_end().len(), format!(" in [{shown}]"))),
        }
    }
    edits
}

/// The parts of a list in brackets that commas part, from `open` to the bracket that closes it. Comments do not count.
fn parts(text: &str, open: usize) -> Vec<(usize, usize)> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, open);
    let bytes = text.as_bytes();
    let mut at = open;
    while at < bytes.len() {
        match bytes[at] {
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at += text[at..].find('\n').unwrap_or(text.len() - at);
                continue;
            }
            b'(' | b'[' => depth += 1,
            b')' | b']' if depth == 0 => {
                parts.push((from, at));
                break;
            }
            b')' | b']' => depth -= 1,
            b',' if depth == 0 => {
                parts.push((from, at));
                from = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts
}

/// `text` with all `edits`.
pub(super) fn edited(text: &str, mut edits: Vec<Edit>) -> String {
    let mut out = text.to_string();
    edits.sort_by_key(|edit| std::cmp::Reverse((edit.0, edit.1)));
    for (from, to, new) in edits {
        out.replace_range(from..to, &new);
    }
    out
}
