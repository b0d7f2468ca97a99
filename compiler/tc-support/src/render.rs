//! Diagnostics as text for people and as JSON for programs.

use crate::diag::{Diagnostic, Diagnostics, Fault, FixEdit, Location, Severity};
use crate::source::{BYTE_ORDER_MARK, Pos, Sources, Span, shown_name};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

/// Lines longer than this are not shown: a minified or hostile file would fill the screen.
const MAX_SHOWN_LINE: usize = 400;

/// The start of a file, and what is to be marked in it.
type Annotated<'a> = (Pos, Vec<(AnnotationKind, Span, &'a str)>);

/// Renders all of `diagnostics` as text, each followed by an empty line; `colour` asks for ANSI colours.
pub fn text(diagnostics: &Diagnostics, sources: &Sources, colour: bool) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics.iter() {
        out.push_str(&one(diagnostic, sources, colour));
        out.push_str("\n\n");
    }
    out
}

/// Renders one diagnostic as text, without a final newline.
pub fn one(diagnostic: &Diagnostic, sources: &Sources, colour: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error if diagnostic.fault == Fault::Bug => Level::ERROR.with_name("internal error"),
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Remark => Level::NOTE.with_name("remark"),
    };
    let title = level.primary_title(&diagnostic.message).id(diagnostic.code);
    let mut group = Group::with_title(title);
    let mut loose = Vec::new();
    let places = std::iter::once((AnnotationKind::Primary, &diagnostic.location, ""))
        .chain(diagnostic.labels.iter().map(|label| (AnnotationKind::Context, &label.location, label.text.as_str())));
    // Annotations of one file go into one snippet.
    let mut snippets: Vec<Annotated<'_>> = Vec::new();
    for (kind, location, label) in places {
        match location {
            Location::None if label.is_empty() => {}
            Location::None => loose.push(label.to_string()),
            Location::Point { file, at } => {
                let what = if label.is_empty() { "here" } else { label };
                loose.push(format!("{}:{}:{}: {what}", shown_name(file), at.line, at.col));
            }
            Location::Span(span) => match sources.line_col(span.start) {
                None if label.is_empty() => {}
                None => loose.push(label.to_string()),
                Some((file, at)) if file.line(at.line).len() > MAX_SHOWN_LINE => {
                    let what = if label.is_empty() { "here" } else { label };
                    loose.push(format!("{}:{}:{}: {what}", shown_name(&file.name), at.line, at.col));
                }
                Some((file, _)) => match snippets.iter_mut().find(|(start, _)| *start == file.start()) {
                    Some((_, list)) => list.push((kind, *span, label)),
                    None => snippets.push((file.start(), vec![(kind, *span, label)])),
                },
            },
        }
    }
    for annotated in &snippets {
        if let Some(snippet) = drawn(annotated, sources) {
            group = group.element(snippet);
        }
    }
    for place in loose {
        group = group.element(Level::NOTE.message(place));
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(note));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help));
    }
    // An error says in a note which pass it stopped; a remark is looked for by the pass.
    if let (Severity::Remark, Some(pass)) = (diagnostic.severity, diagnostic.pass) {
        group = group.element(Level::NOTE.message(format!("`{pass}` says so")));
    }
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// The lines of one file that are pointed at, with what is said of them.
fn drawn<'a>((start, annotations): &Annotated<'a>, sources: &'a Sources) -> Option<Snippet<'a, Annotation<'a>>> {
    let file = sources.file_of(*start)?;
    // Only the lines that are pointed at: the renderer's time grows with the text it is given.
    let line_of = |pos: Pos| sources.line_col(pos).map_or(1, |(_, at)| at.line);
    let first = annotations.iter().map(|(_, span, _)| line_of(span.start)).min().unwrap_or(1);
    let last = annotations.iter().map(|(_, span, _)| line_of(span.start)).max().unwrap_or(1);
    let (mut from, to) = file.line_range(first, last);
    if from == 0 && file.text.starts_with(BYTE_ORDER_MARK) {
        from = BYTE_ORDER_MARK.len_utf8();
    }
    let window = &file.text[from..to];
    let base = start.0 as usize + from;
    let mut snippet = Snippet::source(window).line_start(first as usize).path(shown_name(&file.name));
    for (kind, span, label) in annotations {
        let lo = (span.start.0 as usize).saturating_sub(base).min(window.len());
        let hi = (span.end.0 as usize).saturating_sub(base).clamp(lo, window.len());
        let mut annotation = kind.span(lo..hi);
        if !label.is_empty() {
            annotation = annotation.label(*label);
        }
        snippet = snippet.annotation(annotation);
    }
    Some(snippet)
}

/// One diagnostic as a JSON object: `severity`, `fault`, `code`, `message`, `location`, `labels`, `notes`,
/// `help`, `fixes`, `pass`. An entry of `fixes` has a `title` and `edits`, whose `kind` is one of [`FixEdit::name`].
pub fn json(diagnostic: &Diagnostic, sources: &Sources) -> serde_json::Value {
    let place = |location: &Location| json_place(location, sources);
    serde_json::json!({
        "severity": match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "remark",
        },
        "fault": match diagnostic.fault {
            Fault::Input => "input",
            Fault::PassAssumption => "pass-assumption",
            Fault::Bug => "bug",
            Fault::ForeignPass => "foreign-pass",
        },
        "code": diagnostic.code,
        "message": diagnostic.message,
        "location": place(&diagnostic.location),
        "labels": diagnostic.labels.iter()
            .map(|label| serde_json::json!({"location": place(&label.location), "text": label.text}))
            .collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "help": diagnostic.help,
        "fixes": diagnostic.fixes.iter()
            .map(|fix| {
                let edits: Vec<_> = fix.edits.iter().map(|edit| json_edit(edit, sources)).collect();
                serde_json::json!({"title": fix.title, "edits": edits})
            })
            .collect::<Vec<_>>(),
        "pass": diagnostic.pass,
    })
}

fn json_place(location: &Location, sources: &Sources) -> serde_json::Value {
    match location {
        Location::None => serde_json::Value::Null,
        Location::Point { file, at } => serde_json::json!({"file": &**file, "line": at.line, "column": at.col}),
        Location::Span(span) => match sources.line_col(span.start) {
            None => serde_json::Value::Null,
            Some((file, at)) => {
                let end = sources.line_col(span.end).map_or(at, |(_, end)| end);
                serde_json::json!({
                    "file": file.name, "line": at.line, "column": at.col,
                    "end_line": end.line, "end_column": end.col,
                })
            }
        },
    }
}

fn json_edit(edit: &FixEdit, sources: &Sources) -> serde_json::Value {
    let place = |location: &Location| json_place(location, sources);
    let kind = edit.name();
    match edit {
        FixEdit::Replace { at, text } | FixEdit::InsertBefore { at, text } | FixEdit::InsertAtEnd { at, text } => {
            serde_json::json!({"kind": kind, "location": place(at), "text": text})
        }
        FixEdit::SetArgument { at, key, text } => {
            serde_json::json!({"kind": kind, "location": place(at), "key": key, "text": text})
        }
        FixEdit::Remove { at } => serde_json::json!({"kind": kind, "location": place(at)}),
        FixEdit::Move { at, before } => {
            serde_json::json!({"kind": kind, "location": place(at), "before": place(before)})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diagnostic_shows_its_line_and_its_way_out() {
        let mut sources = Sources::new();
        let file = sources.add("f.tir", "schedule @s for @f {\n  splt(x)\n}\n").expect("small");
        let start = Pos(sources.file(file).start().0 + 23);
        let span = Span::new(start, Pos(start.0 + 4));
        let diagnostic =
            Diagnostic::error("unknown-op", span, "unknown primitive `splt`").help("did you mean `split`?");
        let shown = one(&diagnostic, &sources, false);
        assert_eq!(
            shown,
            "error[unknown-op]: unknown primitive `splt`\n --> f.tir:2:3\n  |\n2 |   splt(x)\n  |   ^^^^\n  |\n  = help: did you mean `split`?"
        );
        assert_eq!(json(&diagnostic, &sources)["location"]["line"], 2);
    }

    #[test]
    fn a_byte_order_mark_moves_nothing_and_a_name_stays_on_its_line() {
        let mut sources = Sources::new();
        let file = sources.add("a\nb.tir", "\u{feff}tir x\n").expect("small");
        let start = Pos(sources.file(file).start().0 + 7);
        let span = Span::new(start, Pos(start.0 + 1));
        let long = Diagnostic::error("wrong", span, "no version")
            .label(Location::Point { file: "c\rd".into(), at: crate::source::LineCol { line: 1, col: 2 } }, "");
        let shown = one(&long, &sources, false);
        assert_eq!(
            shown,
            "error[wrong]: no version\n --> a\\nb.tir:1:5\n  |\n1 | tir x\n  |     ^\n  |\n  = note: c\\rd:1:2: here"
        );
        assert_eq!(json(&long, &sources)["location"]["column"], 5);
    }

    #[test]
    fn a_remark_names_its_pass() {
        let mut diagnostic = Diagnostic::remark("not-unrolled", Location::None, "the loop `i` is not unrolled");
        diagnostic.pass = Some("unroll-loop");
        let shown = one(&diagnostic, &Sources::new(), false);
        assert_eq!(shown, "remark[not-unrolled]: the loop `i` is not unrolled\n |\n = note: `unroll-loop` says so");
        assert_eq!(json(&diagnostic, &Sources::new())["pass"], "unroll-loop");
    }
}
