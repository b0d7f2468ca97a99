//! Expectations as they stand in comments.

use std::ops::Range;
use tc::support::Severity;
use tc::support::suggest::shorten;

/// What is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// A diagnostic of this severity.
    Diagnostic(Severity),
    /// What a diagnostic adds: a label, a note, help.
    Note,
}

impl Kind {
    const ALL: [(&'static str, Kind); 4] = [
        ("error", Kind::Diagnostic(Severity::Error)),
        ("warning", Kind::Diagnostic(Severity::Warning)),
        ("remark", Kind::Diagnostic(Severity::Remark)),
        ("note", Kind::Note),
    ];

    /// The word behind `expected-`.
    pub(crate) fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// Where a diagnostic is expected, as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// On the line of the comment.
    Own,
    /// `@+1`: so many lines further on.
    By(i64),
    /// `@7`: on this line.
    At(u32),
    /// `@above`: on the nearest line before that holds no expectation.
    Above,
    /// `@below`: on the nearest line after that holds no expectation.
    Below,
    /// `@none`, `@unknown`: in no place of this file.
    Nowhere,
}

/// One expectation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Directive {
    pub(crate) kind: Kind,
    pub(crate) place: Place,
    /// How many such diagnostics are expected.
    pub(crate) count: u32,
    /// What the message holds.
    pub(crate) text: String,
    /// The line that it stands on.
    pub(crate) own: u32,
    /// The line that it speaks of.
    pub(crate) line: Option<u32>,
    /// Its bytes in the text.
    pub(crate) range: Range<usize>,
    /// The bytes of `@…`, empty where there is none.
    pub(crate) place_range: Range<usize>,
}

/// What looks like an expectation and cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Malformed {
    pub(crate) range: Range<usize>,
    pub(crate) why: String,
}

const WORD: &str = "expected-";

/// The expectations in the comments of `text`, whose first line has the number `first_line`.
pub(crate) fn read(text: &str, first_line: u32) -> (Vec<Directive>, Vec<Malformed>) {
    let (mut list, mut malformed): (Vec<Directive>, Vec<Malformed>) = (Vec::new(), Vec::new());
    let mut start = 0;
    let mut n_lines = 0;
    for (line, own) in text.split_inclusive('\n').zip(first_line..) {
        // Only comments hold expectations; several may stand on a line.
        let mut rest = line.find("//").map_or("", |at| &line[at..]);
        while let Some(at) = rest.find(WORD) {
            rest = &rest[at..];
            let offset = start + (line.len() - rest.len());
            let after = &rest[WORD.len()..];
            match directive(after, offset + WORD.len(), own) {
                Ok(one) => {
                    rest = &rest[one.range.len()..];
                    list.push(one);
                }
                Err(why) => {
                    malformed.push(Malformed { range: offset..offset + WORD.len(), why });
                    rest = after;
                }
            }
        }
        start += line.len();
        n_lines += 1;
    }
    let last = first_line + n_lines;
    // The lines that hold expectations, in order; `@above` and `@below` pass over them.
    let held: Vec<u32> = list.iter().map(|one| one.own).collect();
    for one in &mut list {
        one.line = one.place.line(one.own, |line| held.binary_search(&line).is_ok(), last);
        if one.line.is_none() && one.place != Place::Nowhere {
            let why = "the place is no line of this file".to_string();
            malformed.push(Malformed { range: one.range.clone(), why });
        }
    }
    list.retain(|one| one.line.is_some() || one.place == Place::Nowhere);
    (list, malformed)
}

impl Place {
    /// The line that is meant by an expectation on the line `own`; `is_held` says which lines hold expectations.
    pub(crate) fn line(self, own: u32, is_held: impl Fn(u32) -> bool, last: u32) -> Option<u32> {
        match self {
            Place::Nowhere => None,
            Place::Own => Some(own),
            Place::At(line) => Some(line),
            Place::By(by) => u32::try_from(i64::from(own).saturating_add(by)).ok().filter(|&line| line > 0),
            Place::Above => (1..own).rev().find(|&line| !is_held(line)),
            Place::Below => (own + 1..=last.max(own + 1)).find(|&line| !is_held(line)),
        }
    }
}

/// Reads what follows `expected-`, which stands at the byte `at`.
fn directive(after: &str, at: usize, own: u32) -> Result<Directive, String> {
    let word = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(after.len());
    let name = &after[..word];
    let Some(&(_, kind)) = Kind::ALL.iter().find(|(known, _)| *known == name) else {
        return Err(if Kind::ALL.iter().any(|(known, _)| name.strip_suffix("-re") == Some(known)) {
            "there are no regular expressions: write a part of the message that is always the same".to_string()
        } else {
            let name = shorten(name);
            format!("unknown directive `expected-{name}`: there is error, warning, remark and note")
        });
    };
    let mut rest = &after[word..];
    let mut place = Place::Own;
    let begin = at + word;
    let mut place_range = begin..begin;
    if let Some(offset) = rest.strip_prefix('@') {
        let len = offset.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(offset.len());
        place = read_place(&offset[..len])?;
        place_range = begin..begin + 1 + len;
        rest = &offset[len..];
    }
    rest = rest.trim_start_matches([' ', '\t']);
    let mut count = 1;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if digits > 0 {
        let shown = shorten(&rest[..digits]);
        count = rest[..digits].parse().ok().filter(|&n| n > 0).ok_or_else(|| format!("bad count `{shown}`"))?;
        rest = rest[digits..].trim_start_matches([' ', '\t']);
    }
    let Some(body) = rest.strip_prefix("{{") else { return Err("expected `{{text}}`".to_string()) };
    let Some(end) = body.find("}}") else { return Err("`{{` is never closed by `}}`".to_string()) };
    // An empty text would be met by everything.
    if body[..end].trim().is_empty() {
        return Err("the expected text is empty".to_string());
    }
    let len = after.len() - body.len() + end + 2;
    let text = body[..end].to_string();
    Ok(Directive { kind, place, count, text, own, line: None, range: at - WORD.len()..at + len, place_range })
}

fn read_place(text: &str) -> Result<Place, String> {
    let shown = shorten(text);
    match text {
        "none" | "unknown" => return Ok(Place::Nowhere),
        "above" => return Ok(Place::Above),
        "below" => return Ok(Place::Below),
        _ => {}
    }
    let bad = || format!("bad place `@{shown}`: write `@+1`, `@-1`, `@above`, `@below`, `@none` or a line");
    let by: i64 = text.parse().map_err(|_| bad())?;
    if text.starts_with(['+', '-']) {
        return Ok(Place::By(by));
    }
    let line = u32::try_from(by).ok().filter(|&line| line > 0);
    line.map(Place::At).ok_or_else(|| format!("`@{shown}` is no line of this file"))
}
