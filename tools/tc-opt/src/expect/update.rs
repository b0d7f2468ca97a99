//! `--update`: expectations are written into the file, those that nothing meets go, and all else stays as it is.
//!
//! A new expectation stands above the line that it speaks of, with its indentation. Lines that move take the offsets of
//! the expectations that stay with them.

use super::directive::{self, Directive, Kind, Malformed, Place};
use super::seen::{Matched, Seen};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A file with expectations that hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Updated {
    pub(crate) text: String,
    pub(crate) added: usize,
    pub(crate) dropped: usize,
}

/// An expectation that is added.
struct New {
    kind: Kind,
    line: Option<u32>,
    text: String,
}

/// Writes what was seen in the parts of `text` into it. A part is its first line and its bytes. The error is what
/// looks like an expectation and cannot be read, or a diagnostic that no text can name.
pub(crate) fn update(text: &str, parts: &[(u32, Range<usize>, Vec<Seen>)]) -> Result<Updated, String> {
    let mut sheet = Sheet::new(text);
    let (mut added, mut dropped) = (0, 0);
    for (first_line, range, seen) in parts {
        let (mut directives, malformed) = directive::read(&text[range.clone()], *first_line);
        if let Some(Malformed { range: at, why }) = malformed.first() {
            let line = first_line + text[range.clone()][..at.start].matches('\n').count() as u32;
            return Err(format!("line {line}: {why}"));
        }
        for one in &mut directives {
            one.range = one.range.start + range.start..one.range.end + range.start;
            one.place_range = one.place_range.start + range.start..one.place_range.end + range.start;
        }
        let matched = Matched::of(&directives, seen);
        let mut missing = matched.unexpected;
        for (one, by) in directives.into_iter().zip(matched.by) {
            if by.len() as u32 == one.count {
                sheet.kept.push(one);
            } else {
                missing.extend(by.into_iter().filter(|&idx| seen[idx].kind != Kind::Note));
                dropped += 1;
                sheet.dropped.push(one);
            }
        }
        missing.sort_unstable();
        added += missing.len();
        let header = first_line + text[range.clone()].lines().take_while(|line| is_comment(line)).count() as u32;
        for idx in missing {
            let Seen { kind, line, message, .. } = &seen[idx];
            let text = expectable(message).ok_or_else(|| format!("no expectation can hold the message `{message}`"))?;
            sheet.new.entry(line.unwrap_or(header)).or_default().push(New { kind: *kind, line: *line, text });
        }
    }
    Ok(Updated { text: sheet.write(), added, dropped })
}

fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The longest part of a message that `{{…}}` can hold, from the first on.
fn expectable(message: &str) -> Option<String> {
    let pieces = message.split(|c: char| c.is_control()).flat_map(|line| line.split("}}")).map(str::trim);
    let mut best = "";
    for piece in pieces {
        // The first one says most, if it says anything.
        if piece.len() > best.len() && best.len() < 8 {
            best = piece;
        }
    }
    (!best.is_empty()).then(|| best.to_string())
}

/// A text under change. Lines are numbered from 1.
struct Sheet<'t> {
    text: &'t str,
    /// The bytes of each line.
    lines: Vec<Range<usize>>,
    kept: Vec<Directive>,
    dropped: Vec<Directive>,
    /// What is added, by the line before which it belongs.
    new: BTreeMap<u32, Vec<New>>,
}

/// A line of the result: an old one, or the nth one that is added before an old one.
enum Row {
    Old(u32),
    New(u32, usize),
}

impl<'t> Sheet<'t> {
    fn new(text: &'t str) -> Sheet<'t> {
        let mut lines = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            lines.push(start..start + line.len());
            start += line.len();
        }
        Sheet { text, lines, kept: Vec::new(), dropped: Vec::new(), new: BTreeMap::new() }
    }

    fn line(&self, number: u32) -> &'t str {
        let range = number.checked_sub(1).and_then(|idx| self.lines.get(idx as usize));
        range.map_or("", |range| &self.text[range.clone()])
    }

    /// A line without the expectations that go; nothing if nothing is left of it.
    fn without_dropped(&self, number: u32, dropped: &[&Directive], edits: &[(Range<usize>, String)]) -> Option<String> {
        let range = self.lines[number as usize - 1].clone();
        let mut out = String::new();
        let mut at = range.start;
        let mut cuts: Vec<(Range<usize>, &str)> = dropped.iter().map(|one| (one.range.clone(), "")).collect();
        cuts.extend(edits.iter().map(|(range, text)| (range.clone(), text.as_str())));
        cuts.sort_by_key(|(range, _)| range.start);
        for (cut, text) in cuts {
            out.push_str(&self.text[at..cut.start]);
            if text.is_empty() {
                // Of the blanks on both sides, one side's are enough.
                out.truncate(out.trim_end_matches([' ', '\t']).len());
            }
            out.push_str(text);
            at = cut.end;
        }
        out.push_str(&self.text[at..range.end]);
        if dropped.is_empty() {
            return Some(out);
        }
        let end = out.len() - out.trim_end_matches(['\r', '\n']).len();
        let end = out.split_off(out.len() - end);
        let body = out.trim_end();
        if body.trim_start() == "//" {
            return None;
        }
        let body = body.strip_suffix("//").map_or(body, str::trim_end);
        Some(body.to_string() + &end)
    }

    fn write(&self) -> String {
        let n_lines = self.lines.len() as u32;
        let mut kept_on: BTreeMap<u32, Vec<&Directive>> = BTreeMap::new();
        let mut dropped_on: BTreeMap<u32, Vec<&Directive>> = BTreeMap::new();
        self.kept.iter().for_each(|one| kept_on.entry(one.own).or_default().push(one));
        self.dropped.iter().for_each(|one| dropped_on.entry(one.own).or_default().push(one));
        let gone: BTreeSet<u32> = dropped_on
            .iter()
            .filter(|(line, dropped)| self.without_dropped(**line, dropped, &[]).is_none())
            .map(|(line, _)| *line)
            .collect();
        // New lines stand above the expectations that speak of the same line already.
        let mut before: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &line in self.new.keys() {
            let mut at = line.clamp(1, n_lines + 1);
            while at > 1
                && is_comment(self.line(at - 1))
                && (kept_on.contains_key(&(at - 1)) || gone.contains(&(at - 1)))
            {
                at -= 1;
            }
            before.entry(at).or_default().push(line);
        }
        let mut rows = Vec::new();
        let mut moved: Vec<u32> = vec![0; n_lines as usize + 2];
        for line in 1..=n_lines + 1 {
            for target in before.get(&line).into_iter().flatten() {
                rows.extend((0..self.new[target].len()).map(|nth| Row::New(*target, nth)));
            }
            moved[line as usize] = rows.len() as u32 + 1;
            if line <= n_lines && !gone.contains(&line) {
                rows.push(Row::Old(line));
            }
        }
        let held: BTreeSet<u32> = (1..)
            .zip(&rows)
            .filter(|(_, row)| match row {
                Row::New(..) => true,
                Row::Old(line) => kept_on.contains_key(line),
            })
            .map(|(number, _)| number)
            .collect();
        let to = |line: u32| moved.get(line as usize).copied().unwrap_or(line);
        let mut out = String::with_capacity(self.text.len() + 100 * self.new.len());
        for (row, own) in rows.iter().zip(1u32..) {
            match row {
                Row::New(target, nth) => {
                    // The last line of a text may lack its end.
                    if own > 1 && !out.ends_with('\n') {
                        out.push('\n');
                    }
                    out.push_str(&self.added(*target, *nth, own, &to));
                }
                Row::Old(line) => {
                    let kept = kept_on.get(line).map_or(&[][..], Vec::as_slice);
                    let dropped = dropped_on.get(line).map_or(&[][..], Vec::as_slice);
                    if kept.is_empty() && dropped.is_empty() {
                        out.push_str(self.line(*line));
                        continue;
                    }
                    let last = rows.len() as u32 + 1;
                    let is_held = |line: u32| held.contains(&line);
                    let edits: Vec<(Range<usize>, String)> =
                        kept.iter().filter_map(|one| replaced(one, own, &to, &is_held, last)).collect();
                    out.extend(self.without_dropped(*line, dropped, &edits));
                }
            }
        }
        out
    }

    /// The text of a line that is added.
    fn added(&self, target: u32, nth: usize, own: u32, to: &dyn Fn(u32) -> u32) -> String {
        let New { kind, line, text } = &self.new[&target][nth];
        let there = self.line(target);
        let indent = &there[..there.len() - there.trim_start_matches([' ', '\t']).len()];
        let first = self.lines.first().map_or("", |range| &self.text[range.clone()]);
        let end = if first.ends_with("\r\n") { "\r\n" } else { "\n" };
        let place = line.map_or("none".to_string(), |line| format!("{:+}", i64::from(to(line)) - i64::from(own)));
        format!("{indent}// expected-{}@{place} {{{{{text}}}}}{end}", kind.name())
    }
}

/// What stands in the place of `@…` once lines have moved; nothing if it may stay.
fn replaced(
    one: &Directive,
    own: u32,
    to: &dyn Fn(u32) -> u32,
    is_held: &dyn Fn(u32) -> bool,
    last: u32,
) -> Option<(Range<usize>, String)> {
    let line = to(one.line?);
    if one.place.line(own, is_held, last) == Some(line) {
        return None;
    }
    let place = match one.place {
        Place::At(_) => format!("@{line}"),
        _ => format!("@{:+}", i64::from(line) - i64::from(own)),
    };
    Some((one.place_range.clone(), place))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc::support::Severity;

    fn error(line: u32, message: &str) -> Seen {
        Seen {
            kind: Kind::Diagnostic(Severity::Error),
            line: (line > 0).then_some(line),
            message: message.into(),
            nth: 0,
        }
    }

    fn updated(text: &str, seen: Vec<Seen>) -> String {
        update(text, &[(1, 0..text.len(), seen)]).expect("it can be updated").text
    }

    #[test]
    fn what_is_missing_is_added_and_what_is_unmet_goes() {
        assert_eq!(updated("a\n  b\n", vec![error(2, "bad")]), "a\n  // expected-error@+1 {{bad}}\n  b\n");
        assert_eq!(updated("a\n// expected-error@+1 {{bad}}\nb\n", vec![]), "a\nb\n");
        assert_eq!(updated("a // expected-error {{bad}} really\n", vec![]), "a // really\n");
        assert_eq!(updated("a // expected-error {{bad}}\r\nb", vec![]), "a\r\nb");
        let two = updated("a\n", vec![error(1, "one"), error(1, "two"), error(0, "none")]);
        assert_eq!(
            two,
            "// expected-error@+3 {{one}}\n// expected-error@+2 {{two}}\n// expected-error@none {{none}}\na\n"
        );
    }

    #[test]
    fn what_holds_stays_byte_for_byte() {
        let text = "// why\n  //  expected-error@+1  {{bad}} // and more\nb\t\n\nc";
        assert_eq!(updated(text, vec![error(3, "so bad")]), text);
        let grown = updated(text, vec![error(3, "so bad"), error(3, "worse")]);
        assert_eq!(grown, text.replace("  //  exp", "// expected-error@+2 {{worse}}\n  //  exp"));
    }

    #[test]
    fn offsets_move_with_their_lines() {
        let text = "// expected-error@+2 {{one}}\na\nb // expected-error@3 {{one}} expected-error@above {{two}}\n";
        let seen = || vec![error(3, "one"), error(3, "one"), error(2, "two"), error(2, "new")];
        let grown = updated(text, seen());
        assert_eq!(
            grown,
            "// expected-error@+2 {{new}}\n// expected-error@+2 {{one}}\na\nb // expected-error@4 {{one}} expected-error@above {{two}}\n"
        );
    }

    #[test]
    fn the_end_of_a_text_can_be_spoken_of() {
        assert_eq!(updated("a {\n", vec![error(2, "open")]), "a {\n// expected-error@+1 {{open}}\n");
        assert_eq!(updated("", vec![error(1, "empty")]), "// expected-error@+1 {{empty}}\n");
    }

    #[test]
    fn messages_that_would_close_the_braces_are_cut() {
        assert_eq!(expectable("a }} b").as_deref(), Some("a"));
        assert_eq!(expectable("}} behind").as_deref(), Some("behind"));
        assert_eq!(expectable("first line\nsecond line").as_deref(), Some("first line"));
        assert_eq!(expectable(" \n}}"), None);
    }

    #[test]
    fn an_update_of_an_update_changes_nothing() {
        let text = "x\ny // expected-error {{a}} expected-error {{b}}\n// expected-warning@+7 {{c}}\nz\n";
        let once = update(text, &[(1, 0..text.len(), vec![error(2, "b"), error(4, "d")])]).expect("fine");
        assert_eq!((once.added, once.dropped), (1, 2));
        let moved = |line: u32| once.text.lines().position(|at| at.starts_with(if line == 2 { 'y' } else { 'z' }));
        let seen: Vec<Seen> = [(2, "b"), (4, "d")]
            .iter()
            .map(|(line, text)| error(moved(*line).map_or(0, |at| at as u32 + 1), text))
            .collect();
        assert_eq!(updated(&once.text, seen), once.text);
    }
}
