//! A reproducer as text.
//!
//! ```text
//! // tc-reproducer: version = 0.0.0
//! // tc-reproducer: pipeline = module(tir.func(simplify,cse))
//! // tc-reproducer: target = sm_80
//! // tc-reproducer: verify-each = structure
//! // tc-reproducer: fails = bug pass-panicked in simplify: the pass panicked: boom
//! tir 1
//!
//! tir.func @f(…) { … }
//! ```
//!
//! The lines are comments, so the file is a program like any other, and each of them is one that a person may edit.
//! They stand before the program, in any order, among other comments.

use crate::signature::Signature;
use std::fmt;
use tc_support::{Diagnostic, Location, Pos, Sources, Span, suggest};

/// What opens each line of the head.
pub const MARK: &str = "// tc-reproducer:";

/// What was checked around each pass.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Verify {
    /// Nothing.
    None,
    /// What the verifier checks.
    #[default]
    Structure,
    /// The verifier, and on the simulator that the program still means the same.
    Semantics,
}

impl Verify {
    const NAMES: &[(Verify, &str)] =
        &[(Verify::None, "none"), (Verify::Structure, "structure"), (Verify::Semantics, "semantics")];

    /// The word for it.
    pub fn name(self) -> &'static str {
        Verify::NAMES.iter().find(|(one, _)| *one == self).map_or("", |(_, name)| name)
    }
}

/// A failing run: a program, the passes that fail on it, and what they were told.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Reproducer {
    /// The version of the compiler that failed.
    pub version: String,
    /// The passes, from the one that failed on.
    pub pipeline: String,
    /// The GPU that was compiled for.
    pub target: String,
    /// What was checked around each pass.
    pub verify: Verify,
    /// What was emitted in the end, such as `cuda`, where it was no program.
    pub emit: Option<String>,
    /// Through what it was emitted, where that was said.
    pub via: Option<String>,
    /// Were ops that no dialect declares kept?
    pub allow_unknown_ops: bool,
    /// How it failed.
    pub fails: Option<Signature>,
    /// What places in the program call its file. It is no part of the text.
    pub name: String,
    /// The number of the first line of the program, where it is a part of a file; 0 is as good as 1. It is no part of
    /// the text either.
    pub first_line: u32,
    /// The program.
    pub program: String,
}

impl fmt::Display for Reproducer {
    /// The text: the head, then the program.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_head(f)?;
        f.write_str(&self.program)
    }
}

impl Reproducer {
    /// Is `text` led by the head of a reproducer?
    pub fn is_one(text: &str) -> bool {
        head(text).any(|(_, line)| line.starts_with(MARK))
    }

    /// The text with another program and pipeline.
    pub fn text_with(&self, pipeline: String, program: String) -> String {
        Reproducer { pipeline, program, ..self.clone() }.to_string()
    }

    fn write_head(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |key: &str, value: &str| writeln!(f, "{MARK} {key} = {}", escape(value));
        line("version", &self.version)?;
        line("pipeline", &self.pipeline)?;
        line("target", &self.target)?;
        line("verify-each", self.verify.name())?;
        if let Some(emit) = &self.emit {
            line("emit", emit)?;
        }
        if let Some(via) = &self.via {
            line("via", via)?;
        }
        if self.allow_unknown_ops {
            line("allow-unknown-ops", "true")?;
        }
        match &self.fails {
            Some(fails) => line("fails", &fails.to_string()),
            None => Ok(()),
        }
    }

    /// Reads `text`, which messages call `name`. What is wrong with its head is told at its place; the program is not
    /// looked at.
    pub fn parse(name: &str, text: &str) -> Result<Reproducer, (Box<Diagnostic>, Sources)> {
        let mut sources = Sources::new();
        let start = sources.add(name, text).ok().map(|file| sources.file(file).start());
        let place = |at: usize, len: usize| match start {
            Some(Pos(start)) => Location::Span(Span::new(Pos(start + at as u32), Pos(start + (at + len) as u32))),
            None => Location::None,
        };
        let mut found = Reproducer { name: name.to_string(), ..Reproducer::default() };
        let (mut n_lines, mut end, mut has_pipeline) = (0, 0, false);
        for (at, line) in head(text) {
            let Some(entry) = line.strip_prefix(MARK) else { continue };
            n_lines += 1;
            end = at + line.len();
            let entry = found.read(entry.trim());
            match entry {
                Ok(key) => has_pipeline |= key == "pipeline",
                Err(wrong) => {
                    let diagnostic = Diagnostic::error("reproducer", place(at, line.trim_end().len()), wrong.message);
                    let diagnostic = Diagnostic { help: wrong.help, ..diagnostic };
                    return Err((Box::new(diagnostic), sources));
                }
            }
        }
        let lacks = if n_lines == 0 {
            Some(format!("the text is no reproducer: no line at its head begins with `{MARK}`"))
        } else if !has_pipeline {
            Some("the head of the reproducer names no `pipeline`".to_string())
        } else {
            None
        };
        if let Some(message) = lacks {
            return Err((Box::new(Diagnostic::error("reproducer", place(0, 0), message)), sources));
        }
        // The line end after the head belongs to it.
        let rest = &text[end..];
        found.program = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest).to_string();
        Ok(found)
    }

    /// Takes in one line; returns its key.
    fn read<'l>(&mut self, entry: &'l str) -> Result<&'l str, Wrong> {
        let (key, value) = entry.split_once('=').ok_or_else(|| Wrong::new("expected `key = value`"))?;
        let (key, value) = (key.trim(), unescape(value.trim()));
        match key {
            "version" => self.version = value,
            "pipeline" => self.pipeline = value,
            "target" => self.target = value,
            "emit" => self.emit = Some(value),
            "via" => self.via = Some(value),
            "allow-unknown-ops" => {
                self.allow_unknown_ops = value.parse().map_err(|_| Wrong::new("expected `true` or `false`"))?;
            }
            "verify-each" => {
                let known = Verify::NAMES.iter().find(|(_, name)| *name == value);
                let names = Verify::NAMES.iter().map(|(_, name)| *name);
                self.verify = known.ok_or_else(|| Wrong::unknown("check", &value, names))?.0;
            }
            "fails" => {
                let wrong = || Wrong::new("expected `bug CODE in PASS: MESSAGE`, or `input` or `call` for `bug`");
                self.fails = Some(Signature::parse(&value).ok_or_else(wrong)?);
            }
            _ => return Err(Wrong::unknown("key", key, KEYS.iter().copied())),
        }
        Ok(key)
    }
}

const KEYS: &[&str] = &["version", "pipeline", "target", "verify-each", "emit", "via", "allow-unknown-ops", "fails"];

/// What is wrong with a line.
struct Wrong {
    message: String,
    help: Option<String>,
}

impl Wrong {
    fn new(message: &str) -> Wrong {
        Wrong { message: format!("wrong line of a reproducer: {message}"), help: None }
    }

    fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Wrong {
        let help = suggest::did_you_mean(name, known.clone())
            .or_else(|| Some(format!("known are `{}`", known.collect::<Vec<_>>().join("`, `"))));
        Wrong { help, ..Wrong::new(&format!("unknown {what} `{}`", suggest::shorten(name))) }
    }
}

/// The comments and empty lines at the head of `text`, each with its offset.
fn head(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let lines = text.split_inclusive('\n').map(move |line| {
        let start = at;
        at += line.len();
        (start, line.trim_end_matches(['\n', '\r']))
    });
    lines.take_while(|(_, line)| line.trim().is_empty() || line.trim_start().starts_with("//"))
}

/// `value` on one line.
fn escape(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r")
}

fn unescape(value: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn one() -> Reproducer {
        Reproducer {
            version: "0.0.0".into(),
            pipeline: "module(schedule{param=\"n=1\n\\ m=2\"},tir.func(cse))".into(),
            target: "sm_90".into(),
            verify: Verify::Semantics,
            emit: Some("cuda".into()),
            via: None,
            allow_unknown_ops: true,
            fails: Signature::parse("bug x in cse: it says\nno"),
            name: "r.tir".into(),
            first_line: 0,
            program: "tir 1\n\n// a comment\ntir.func @f() {\n}\n".into(),
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let text = one().to_string();
        assert!(Reproducer::is_one(&text));
        assert_eq!(Reproducer::parse("r.tir", &text).map_err(|(wrong, _)| wrong), Ok(one()));
        let led = format!("// RUN: something\n\n{text}");
        assert_eq!(Reproducer::parse("r.tir", &led).map_err(|(wrong, _)| wrong), Ok(one()));
    }

    #[test]
    fn what_is_wrong_is_told_at_its_line() {
        let refused = |text: &str| {
            let (wrong, sources) = Reproducer::parse("r.tir", text).expect_err("wrong");
            tc_support::render::one(&wrong, &sources, false)
        };
        let shown = refused("// tc-reproducer: pipeline = module()\n// tc-reproducer: taget = x\n");
        assert!(shown.contains("r.tir:2:1") && shown.contains("unknown key `taget`"), "{shown}");
        assert!(shown.contains("`target`"), "{shown}");
        assert!(refused("// tc-reproducer: pipeline\n").contains("expected `key = value`"));
        assert!(refused("// tc-reproducer: target = sm_80\n").contains("names no `pipeline`"));
        assert!(refused("tir 1\n// tc-reproducer: pipeline = x\n").contains("is no reproducer"));
    }
}
