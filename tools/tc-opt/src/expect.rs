//! `--verify-diagnostics`: findings are compared with what comments in the file expect.
//!
//! `// expected-error@+1 {{text}}` expects an error on the next line whose message holds `text`; `@-2` counts
//! backwards, no `@` means the comment's own line, and `@none` a finding without a place in this file. Besides
//! `error` there are `warning`, `remark`, and `note` for what a finding adds: labels, notes and help.
//!
//! Every expectation must be met, and every error, warning and remark be expected; notes need not be.

use tc::support::diag::Label;
use tc::support::suggest::shorten;
use tc::support::{Diagnostic, Diagnostics, FileId, Location, Pos, Severity, Sources, Span};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Finding(Severity),
    Note,
}

impl Kind {
    const ALL: [(&'static str, Kind); 4] = [
        ("error", Kind::Finding(Severity::Error)),
        ("warning", Kind::Finding(Severity::Warning)),
        ("remark", Kind::Finding(Severity::Remark)),
        ("note", Kind::Note),
    ];

    fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

struct Expectation {
    kind: Kind,
    /// The line, from 1, or none.
    line: Option<u32>,
    text: String,
    span: Span,
    met: bool,
}

/// What is wrong with `found`, which was found in the file `file`: expectations that nothing met and findings that
/// nobody expected. Nothing is wrong if that is empty.
pub(crate) fn compare(found: &Diagnostics, sources: &Sources, file: FileId) -> Diagnostics {
    let mut wrong = Diagnostics::new();
    let mut expected = expectations(sources, file, &mut wrong);
    for diagnostic in found.iter() {
        let line = line_of(&diagnostic.location, sources, file);
        if !meet(&mut expected, Kind::Finding(diagnostic.severity), line, &diagnostic.message) {
            let mut unexpected = diagnostic.clone();
            unexpected.message = format!("not expected: {}", unexpected.message);
            unexpected.severity = Severity::Error;
            wrong.push(unexpected);
        }
        for Label { location, text } in &diagnostic.labels {
            meet(&mut expected, Kind::Note, line_of(location, sources, file), text);
        }
        for note in diagnostic.notes.iter().chain(&diagnostic.help) {
            meet(&mut expected, Kind::Note, line, note);
        }
    }
    for missing in expected.iter().filter(|expectation| !expectation.met) {
        let place = missing.line.map_or("anywhere".to_string(), |line| format!("on line {line}"));
        let message =
            format!("expected {} `{}` {place}, and there was none", missing.kind.name(), shorten(&missing.text));
        wrong.push(Diagnostic::error("expected", missing.span, message));
    }
    wrong
}

/// Marks the first open expectation that a finding meets.
fn meet(expected: &mut [Expectation], kind: Kind, line: Option<u32>, message: &str) -> bool {
    let fits = |one: &&mut Expectation| !one.met && one.kind == kind && one.line == line && message.contains(&one.text);
    let open = expected.iter_mut().find(fits);
    if let Some(one) = open {
        one.met = true;
        return true;
    }
    false
}

/// The line of `location`, if it lies in `file`.
fn line_of(location: &Location, sources: &Sources, file: FileId) -> Option<u32> {
    let file = sources.file(file);
    match location {
        Location::None => None,
        Location::Point { file: name, at } => (**name == *file.name).then_some(at.line),
        Location::Span(span) => {
            let (other, at) = sources.line_col(span.start)?;
            (other.start() == file.start()).then_some(at.line)
        }
    }
}

fn expectations(sources: &Sources, file: FileId, wrong: &mut Diagnostics) -> Vec<Expectation> {
    let file = sources.file(file);
    let mut list = Vec::new();
    let mut start = file.start().0;
    for (idx, line) in file.text.split_inclusive('\n').enumerate() {
        let mut rest = line;
        // Only comments hold directives; several may stand on a line.
        rest = rest.find("//").map_or("", |at| &rest[at..]);
        while let Some(at) = rest.find("expected-") {
            rest = &rest[at..];
            let offset = start + (line.len() - rest.len()) as u32;
            let after = &rest["expected-".len()..];
            match directive(after, idx as u32 + 1) {
                Ok((kind, line_no, text, len)) => {
                    let span = Span::new(Pos(offset), Pos(offset + ("expected-".len() + len) as u32));
                    list.push(Expectation { kind, line: line_no, text, span, met: false });
                    rest = &after[len..];
                }
                Err(why) => {
                    let span = Span::new(Pos(offset), Pos(offset + "expected-".len() as u32));
                    wrong.push(Diagnostic::error("bad-directive", span, why));
                    rest = after;
                }
            }
        }
        start += line.len() as u32;
    }
    list
}

/// Reads what follows `expected-`: kind, line, text, and the number of bytes it took.
fn directive(after: &str, own_line: u32) -> Result<(Kind, Option<u32>, String, usize), String> {
    let word = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(after.len());
    let Some((_, kind)) = Kind::ALL.iter().find(|(name, _)| *name == &after[..word]) else {
        let name = shorten(&after[..word]);
        return Err(format!("unknown directive `expected-{name}`: there is error, warning, remark and note"));
    };
    let mut rest = &after[word..];
    let mut line = Some(own_line);
    if let Some(offset) = rest.strip_prefix('@') {
        let len = offset.find(|c: char| c.is_whitespace() || c == '{').unwrap_or(offset.len());
        let text = &offset[..len];
        line = match text {
            "none" => None,
            _ => {
                let by: i64 = text.parse().map_err(|_| format!("bad offset `@{}`: write `@+1`", shorten(text)))?;
                let signed = text.starts_with(['+', '-']);
                let at = if signed { i64::from(own_line).saturating_add(by) } else { by };
                Some(u32::try_from(at).map_err(|_| format!("`@{}` is no line of this file", shorten(text)))?)
            }
        };
        rest = &offset[len..];
    }
    let Some(body) = rest.trim_start().strip_prefix("{{") else { return Err("expected `{{text}}`".to_string()) };
    let Some(end) = body.find("}}") else { return Err("`{{` is never closed by `}}`".to_string()) };
    // An empty text would be met by everything.
    if body[..end].trim().is_empty() {
        return Err("the expected text is empty".to_string());
    }
    let len = after.len() - body.len() + end + 2;
    Ok((*kind, line, body[..end].to_string(), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, found: impl Fn(Pos) -> Vec<Diagnostic>) -> Vec<String> {
        let mut sources = Sources::new();
        let file = sources.add("f.tir", text).expect("small");
        let found = found(sources.file(file).start()).into_iter().collect();
        compare(&found, &sources, file).into_iter().map(|wrong| wrong.message).collect()
    }

    fn at(start: Pos, offset: u32) -> Span {
        Span::at(Pos(start.0 + offset))
    }

    #[test]
    fn expectations_are_met_by_kind_line_and_text() {
        let text = "// expected-error@+1 {{no good}}\nx\n";
        let good = |start| vec![Diagnostic::error("e", at(start, 33), "this is no good at all")];
        assert!(check(text, good).is_empty());
        let wrong_line = |start| vec![Diagnostic::error("e", at(start, 0), "this is no good at all")];
        assert_eq!(check(text, wrong_line).len(), 2);
        let wrong_kind = |start| vec![Diagnostic::warning("e", at(start, 33), "this is no good at all")];
        assert_eq!(check(text, wrong_kind).len(), 2);
        assert_eq!(check(text, |_| vec![]), ["expected error `no good` on line 2, and there was none"]);
    }

    #[test]
    fn what_nobody_expects_is_wrong() {
        let found = |_| vec![Diagnostic::remark("r", Location::None, "by the way")];
        assert_eq!(check("x", found), ["not expected: by the way"]);
        assert!(check("// expected-remark@none {{by the way}}", found).is_empty());
    }

    #[test]
    fn notes_may_be_expected_but_need_not() {
        let found = |start| vec![Diagnostic::error("e", at(start, 0), "bad").note("because")];
        assert!(check("x // expected-error {{bad}} expected-note {{because}}", found).is_empty());
        assert!(check("x // expected-error {{bad}}", found).is_empty());
        assert_eq!(check("x // expected-error {{bad}} expected-note {{why}}", found).len(), 1);
    }

    #[test]
    fn a_directive_that_cannot_be_read_is_wrong() {
        for bad in [
            "expected-eror {{x}}",
            "expected-error x",
            "expected-error {{x",
            "expected-error@x {{x}}",
            "expected-error {{}}",
        ] {
            assert_eq!(check(&format!("// {bad}"), |_| vec![]).len(), 1, "{bad}");
        }
        assert!(check("expected-eror outside of a comment", |_| vec![]).is_empty());
    }
}
