//! A difference as text: unified, as `patch` reads it, or coloured, for a terminal.

use super::{DiffBlock, Hunk, hunks, pairs};
use std::fmt::Write as _;
use std::ops::Range;

/// Lines that stay around each difference.
const CONTEXT: usize = 3;

/// How a difference is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// Unified, without colours.
    Plain,
    /// With colours; a line and what became of it stand together, and the words that differ are marked.
    Colour,
}

/// The differences in `parts` of two texts, each under a line `@@ … @@` that names the item it lies in.
pub fn unified(old: &[&str], new: &[&str], parts: &[DiffBlock], style: Style) -> String {
    let mut out = String::new();
    for hunk in hunks(parts, CONTEXT) {
        let title = format!("@@ -{} +{} @@", place(&hunk.old_lines()), place(&hunk.new_lines()));
        let item = section(new, first_change(&hunk)).map(|item| format!(" {item}")).unwrap_or_default();
        let _ = match style {
            Style::Plain => writeln!(out, "{title}{item}"),
            Style::Colour => writeln!(out, "\x1b[36m{title}\x1b[0m{item}"),
        };
        for part in &hunk.parts {
            match style {
                _ if part.same => new[part.new.clone()].iter().for_each(|line| {
                    let _ = writeln!(out, " {line}");
                }),
                Style::Plain => plain(&mut out, &old[part.old.clone()], &new[part.new.clone()]),
                Style::Colour => coloured(&mut out, &old[part.old.clone()], &new[part.new.clone()]),
            }
        }
    }
    out
}

/// The names of the items that differences lie in, in the order of the text: `@blur`.
pub fn sections<'t>(old: &[&'t str], new: &[&'t str], parts: &[DiffBlock]) -> Vec<&'t str> {
    let mut names = Vec::new();
    let mut add = |line: &'t str| {
        if let Some(name) = symbol(line).filter(|name| !names.contains(name)) {
            names.push(name);
        }
    };
    for part in parts.iter().filter(|part| !part.same) {
        // An item that begins within the difference is told by its own line.
        let starts = |lines: &[&'t str]| lines.iter().copied().filter(|line| is_item(line)).collect::<Vec<_>>();
        let (text, range) = if part.new.is_empty() { (old, &part.old) } else { (new, &part.new) };
        if !text[range.start..].first().is_some_and(|line| is_item(line) || line.is_empty()) {
            section(text, range.start).into_iter().for_each(&mut add);
        }
        starts(&new[part.new.clone()]).into_iter().for_each(&mut add);
        starts(&old[part.old.clone()]).into_iter().for_each(&mut add);
    }
    names
}

fn plain(out: &mut String, old: &[&str], new: &[&str]) {
    for (sign, lines) in [('-', old), ('+', new)] {
        for line in lines {
            let _ = writeln!(out, "{sign}{line}");
        }
    }
}

fn coloured(out: &mut String, old: &[&str], new: &[&str]) {
    let (mut i, mut j) = (0, 0);
    for pair in pairs(old, new) {
        old[i..pair.old].iter().for_each(|line| marked(out, '-', line, &[]));
        new[j..pair.new].iter().for_each(|line| marked(out, '+', line, &[]));
        marked(out, '-', old[pair.old], &pair.old_words);
        marked(out, '+', new[pair.new], &pair.new_words);
        (i, j) = (pair.old + 1, pair.new + 1);
    }
    old[i..].iter().for_each(|line| marked(out, '-', line, &[]));
    new[j..].iter().for_each(|line| marked(out, '+', line, &[]));
}

fn marked(out: &mut String, sign: char, line: &str, words: &[Range<usize>]) {
    let colour = if sign == '-' { 31 } else { 32 };
    let _ = write!(out, "\x1b[{colour}m{sign}");
    let mut at = 0;
    for word in words {
        let _ = write!(out, "{}\x1b[7m{}\x1b[27m", &line[at..word.start], &line[word.clone()]);
        at = word.end;
    }
    let _ = writeln!(out, "{}\x1b[0m", &line[at..]);
}

/// Where a hunk begins, from 1, and how many lines it has, as `patch` wants it.
fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        n => format!("{},{n}", range.start + 1),
    }
}

fn first_change(hunk: &Hunk) -> usize {
    hunk.parts.iter().find(|part| !part.same).map_or(0, |part| part.new.start)
}

/// The line that opens the item in which line `at` lies.
fn section<'t>(lines: &[&'t str], at: usize) -> Option<&'t str> {
    lines[..at.saturating_add(1).min(lines.len())].iter().rev().find(|line| is_item(line)).copied()
}

fn is_item(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphabetic()) && line.contains('@')
}

fn symbol(line: &str) -> Option<&str> {
    let rest = &line[line.find('@')?..];
    let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '(' | '<' | '{')).unwrap_or(rest.len());
    Some(&rest[..end])
}

#[cfg(test)]
mod tests {
    use super::super::{lines, parts};
    use super::*;

    const OLD: &str = "tir 1\n\ntir.func @f(A: f32[8]) {\n  for i in 0..8 {\n    A[i] = A[i] + 0.0\n  }\n}\n";
    const NEW: &str = "tir 1\n\ntir.func @f(A: f32[8]) {\n  for i in 0..8 {\n    A[i] = A[i]\n  }\n}\n";

    fn shown(old: &str, new: &str, style: Style) -> String {
        let (old, new) = (lines(old), lines(new));
        unified(&old, &new, &parts(&old, &new), style)
    }

    #[test]
    fn a_pipe_gets_what_patch_reads() {
        let text = shown(OLD, NEW, Style::Plain);
        let want = "@@ -2,6 +2,6 @@ tir.func @f(A: f32[8]) {\n \n tir.func @f(A: f32[8]) {\n   for i in 0..8 {\n\
                    -    A[i] = A[i] + 0.0\n+    A[i] = A[i]\n   }\n }\n";
        assert_eq!(text, want);
        assert_eq!(shown(OLD, OLD, Style::Plain), "");
        assert_eq!(shown("", "a\n", Style::Plain), "@@ -0,0 +1 @@\n+a\n");
    }

    #[test]
    fn a_terminal_gets_words() {
        let text = shown(OLD, NEW, Style::Colour);
        assert!(
            text.contains("\x1b[31m-    A[i] = A[i]\x1b[7m + 0.0\x1b[27m\x1b[0m\n\x1b[32m+    A[i] = A[i]\x1b[0m\n")
        );
    }

    #[test]
    fn items_that_differ_are_named() {
        let names = |old: &str, new: &str| {
            let (old, new) = (lines(old), lines(new));
            let found = parts(&old, &new);
            sections(&old, &new, &found).join(" ")
        };
        assert_eq!(names(OLD, NEW), "@f");
        assert_eq!(names(OLD, &format!("{NEW}\ntir.func @g() {{\n}}\n")), "@f @g");
        assert_eq!(names(OLD, "tir 1\n"), "@f");
        assert_eq!(names(OLD, OLD), "");
    }
}
