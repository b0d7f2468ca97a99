//! `--verify-diagnostics`: diagnostics are compared with what comments in the file expect.
//!
//! `// expected-error@+1 {{text}}` expects an error on the next line whose message holds `text`; `@-2` counts
//! backwards, `@7` names a line, `@above` and `@below` the nearest line that holds no expectation, no `@` the comment's
//! own line, and `@none` (or `@unknown`) a diagnostic without a place in this file. Besides `error` there are `warning`,
//! `remark`, and `note` for what a diagnostic adds: labels, notes and help. A number before the text, `expected-error 2
//! {{text}}`, expects that many.
//!
//! Every expectation must be met, and every error, warning and remark be expected; notes need not be. `--update` writes
//! expectations into the file so that this holds.

mod directive;
mod seen;
mod update;

pub(crate) use seen::{Seen, seen};
pub(crate) use update::{Updated, update};

use seen::Matched;
use tc::support::suggest::shorten;
use tc::support::{Diagnostic, Diagnostics, FileId, Pos, Severity, Sources, Span};

/// What is wrong with `found`, which was found in the file `file`: expectations that nothing met and diagnostics that
/// no comment expected. Nothing is wrong if that is empty.
pub(crate) fn compare(found: &Diagnostics, sources: &Sources, file: FileId) -> Diagnostics {
    let start = sources.file(file).start();
    let first_line = sources.line_col(start).map_or(1, |(_, at)| at.line);
    let span =
        |range: &std::ops::Range<usize>| Span::new(Pos(start.0 + range.start as u32), Pos(start.0 + range.end as u32));
    let (directives, malformed) = directive::read(&sources.file(file).text, first_line);
    let mut wrong: Diagnostics =
        malformed.iter().map(|bad| Diagnostic::error("bad-directive", span(&bad.range), bad.why.clone())).collect();
    let seen = seen(found, sources, file);
    let matched = Matched::of(&directives, &seen);
    let all: Vec<&Diagnostic> = found.iter().collect();
    for &idx in &matched.unexpected {
        let mut unexpected = all[seen[idx].nth].clone();
        unexpected.message = format!("not expected: {}", unexpected.message);
        unexpected.severity = Severity::Error;
        wrong.push(unexpected);
    }
    for (one, by) in directives.iter().zip(&matched.by) {
        if by.len() as u32 == one.count {
            continue;
        }
        let place = one.line.map_or("anywhere".to_string(), |line| format!("on line {line}"));
        let were = match by.len() {
            0 => "there was none".to_string(),
            n => format!("there were {n} of {}", one.count),
        };
        let message = format!("expected {} `{}` {place}, and {were}", one.kind.name(), shorten(&one.text));
        wrong.push(Diagnostic::error("expected", span(&one.range), message));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc::support::Location;

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
    fn what_is_not_expected_is_wrong() {
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
            "expected-error 0 {{x}}",
            "expected-error-re {{x}}",
            "expected-error@-1 {{x}}",
        ] {
            assert_eq!(check(&format!("// {bad}"), |_| vec![]).len(), 1, "{bad}");
        }
        assert!(check("expected-eror outside of a comment", |_| vec![]).is_empty());
    }

    #[test]
    fn neighbours_are_named_above_and_below() {
        let text =
            "x\n// expected-error@above {{one}}\n// expected-error@below {{two}}\n// expected-note@above {{n}}\ny\n";
        let y = text.find("y\n").expect("there") as u32;
        let found = move |start| {
            vec![Diagnostic::error("e", at(start, 0), "one").note("n"), Diagnostic::error("e", at(start, y), "two")]
        };
        assert!(check(text, found).is_empty(), "{:?}", check(text, found));
        assert_eq!(check("// expected-error@above {{x}}\n", |_| vec![]).len(), 1);
    }

    #[test]
    fn a_number_expects_that_many() {
        let twice = |start| vec![Diagnostic::error("e", at(start, 0), "bad"); 2];
        assert!(check("x // expected-error 2 {{bad}}", twice).is_empty());
        assert_eq!(check("x // expected-error {{bad}}", twice), ["not expected: bad"]);
        let wrong = check("x // expected-error 3 {{bad}}", twice);
        assert_eq!(wrong, ["expected error `bad` on line 1, and there were 2 of 3"]);
    }
}
