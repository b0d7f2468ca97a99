//! Reads the head of a reproducer. All that is wrong is reported at its line.

use super::head::{is_near_miss, lines, unescape};
use super::{MARK, Reproducer, Verify};
use crate::signature::Signature;
use tc_support::{Diagnostic, Location, Pos, Sources, Span, suggest};

/// The keys that a line may have.
const KEYS: &[&str] =
    &["version", "pipeline", "target", "verify-each", "emit", "via", "allow-unknown-ops", "step-limit", "fails"];
/// What may be emitted.
const EMITS: &[&str] = &["tir", "cuda", "mlir", "ptx", "llvm"];
/// Through what.
const VIAS: &[&str] = &["cuda", "mlir"];

impl Reproducer {
    /// Reads `text`, which messages call `name`. What is wrong with its head is reported at its place; the program is not
    /// looked at.
    pub fn parse(name: &str, text: &str) -> Result<Reproducer, (Box<Diagnostic>, Sources)> {
        let mut sources = Sources::new();
        let start = sources.add(name, text).ok().map(|file| sources.file(file).start());
        let place = |at: usize, len: usize| match start {
            Some(Pos(start)) => Location::Span(Span::new(Pos(start + at as u32), Pos(start + (at + len) as u32))),
            None => Location::None,
        };
        let mut found = Reproducer { name: name.to_string(), ..Reproducer::default() };
        // Where each key stands.
        let mut seen: Vec<(&str, Location)> = Vec::new();
        let mut end = 0;
        for (at, line) in lines(text) {
            let here = || place(at, line.trim_end().len());
            let refuse = |Wrong { message, help }: Wrong| Diagnostic::error("reproducer", here(), message).help(help);
            if is_near_miss(line) {
                let message = "this looks like a line of a reproducer's head, and none is read that begins so";
                return Err((Box::new(refuse(Wrong::new(message, format!("write `{MARK} KEY = VALUE`")))), sources));
            }
            let Some(entry) = line.strip_prefix(MARK) else { continue };
            end = at + line.len();
            let key = match found.read(entry.trim()) {
                Ok(key) => key,
                Err(wrong) => return Err((Box::new(refuse(wrong)), sources)),
            };
            if let Some((_, first)) = seen.iter().find(|(other, _)| *other == key) {
                let message = format!("`{key}` stands twice in the head of the reproducer");
                let wrong = refuse(Wrong::new(&message, "drop one of the lines".to_string()));
                return Err((Box::new(wrong.label(first.clone(), "it stands here already")), sources));
            }
            seen.push((key, here()));
        }
        let lacks = if seen.is_empty() {
            Some(format!("the text is no reproducer: no line at its head begins with `{MARK}`"))
        } else if !seen.iter().any(|(key, _)| *key == "pipeline") {
            Some("the head of the reproducer names no `pipeline`".to_string())
        } else {
            None
        };
        if let Some(message) = lacks {
            let help = format!("a line such as `{MARK} pipeline = module()` at its head says what is run");
            return Err((Box::new(Diagnostic::error("reproducer", place(0, 0), message).help(help)), sources));
        }
        // The line end after the head belongs to it.
        let rest = &text[end..];
        found.program = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(rest).to_string();
        Ok(found)
    }

    /// Takes in one line; returns its key.
    fn read<'l>(&mut self, entry: &'l str) -> Result<&'l str, Wrong> {
        let known = || format!("a key is one of `{}`", KEYS.join("`, `"));
        let (key, value) = entry.split_once('=').ok_or_else(|| Wrong::line("expected `key = value`", known()))?;
        let (key, value) = (key.trim(), unescape(value.trim()));
        match key {
            "version" => self.version = value,
            "pipeline" => self.pipeline = value,
            "target" => self.target = value,
            "emit" => self.emit = Some(Wrong::check("output", value, EMITS)?),
            "via" => self.via = Some(Wrong::check("way", value, VIAS)?),
            "allow-unknown-ops" => {
                let wrong = || {
                    Wrong::line(&format!("`{}` is neither", suggest::shorten(&value)), "`true` or `false`".to_string())
                };
                self.allow_unknown_ops = value.parse().map_err(|_| wrong())?;
            }
            "step-limit" => {
                let message = || format!("`{}` is no number of steps", suggest::shorten(&value));
                let wrong = |_| Wrong::line(&message(), "it is a count such as `1000000`".to_string());
                self.step_limit = Some(value.parse().map_err(wrong)?);
            }
            "verify-each" => {
                let known = Verify::NAMES.iter().find(|(_, name)| *name == value);
                let names: Vec<&str> = Verify::NAMES.iter().map(|(_, name)| *name).collect();
                self.verify = known.ok_or_else(|| Wrong::unknown("check", &value, &names))?.0;
            }
            "fails" => {
                let help = "it is written `bug CODE in PASS: MESSAGE`, or `input` or `call` for `bug`";
                let wrong = || Wrong::line("`fails` says how a run failed", help.to_string());
                self.fails = Some(Signature::parse(&value).ok_or_else(wrong)?);
            }
            _ => return Err(Wrong::unknown("key", key, KEYS)),
        }
        Ok(key)
    }
}

/// What is wrong with a line, and the help.
struct Wrong {
    message: String,
    help: String,
}

impl Wrong {
    fn new(message: &str, help: String) -> Wrong {
        Wrong { message: message.to_string(), help }
    }

    fn line(message: &str, help: String) -> Wrong {
        Wrong { message: format!("wrong line of a reproducer: {message}"), help }
    }

    fn unknown(what: &str, name: &str, known: &[&str]) -> Wrong {
        let help = suggest::did_you_mean(name, known.iter().copied()).unwrap_or_default();
        Wrong::line(&format!("unknown {what} `{}`", suggest::shorten(name)), help)
    }

    /// `value`, if it is one of `known`.
    fn check(what: &str, value: String, known: &[&str]) -> Result<String, Wrong> {
        if known.contains(&value.as_str()) { Ok(value) } else { Err(Wrong::unknown(what, &value, known)) }
    }
}
