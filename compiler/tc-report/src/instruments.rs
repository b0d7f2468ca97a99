//! Prints the program between passes.

use crate::diff::{self, Changes, Style};
use crate::text::{Print, text_of};
use std::fmt::Write as _;
use tc_ir::Module;
use tc_pass::{Instrument, PassAt, PassRecord};
use tc_support::{Diagnostics, counted};

/// The passes around which something is printed.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum Select {
    /// None.
    #[default]
    None,
    /// Those with these names.
    Named(Vec<String>),
    /// All of them.
    All,
}

impl Select {
    fn has(&self, name: &str) -> bool {
        match self {
            Select::None => false,
            Select::Named(names) => names.iter().any(|other| other == name),
            Select::All => true,
        }
    }
}

/// What is printed of a pass that changed something.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum PrintChanged {
    /// Nothing.
    #[default]
    No,
    /// The program after it.
    Ir,
    /// What differs between the program before and after it.
    Diff(Style),
}

/// Around which passes [`PrintIr`] prints, and what.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct PrintPoints {
    /// The program before these.
    pub before: Select,
    /// The program after these.
    pub after: Select,
    /// Of all that changed something.
    pub changed: PrintChanged,
    /// The program as a pass that failed left it.
    pub failure: bool,
}

/// Prints the program around passes, each time under a comment that names the pass.
///
/// With [`PrintPoints::changed`] a pass that changed nothing is reported in one line, so that the output shows how far a run
/// has come.
pub struct PrintIr<'p> {
    points: PrintPoints,
    print: Print<'p>,
    sink: Box<dyn FnMut(&str) + 'p>,
    /// The program after the last change, where changes are reported.
    last: Option<String>,
}

impl<'p> PrintIr<'p> {
    /// Prints at `points` into `sink`.
    pub fn new(points: PrintPoints, print: Print<'p>, sink: impl FnMut(&str) + 'p) -> PrintIr<'p> {
        PrintIr { points, print, sink: Box::new(sink), last: None }
    }

    fn show(&mut self, title: &str, module: &Module) {
        let text = text_of(&self.print, module);
        (self.sink)(&format!("// {title}\n{text}"));
    }

    fn show_change(&mut self, at: &PassAt<'_>, module: &Module, record: &PassRecord) {
        let title = place("after", at);
        if !record.changed {
            return (self.sink)(&format!("// {title}: no change\n"));
        }
        let text = text_of(&self.print, module);
        let before = self.last.replace(text).unwrap_or_default();
        let after = self.last.as_deref().unwrap_or_default();
        let (old, new) = (diff::lines(&before), diff::lines(after));
        let parts = diff::parts(&old, &new);
        let mut out = format!("// {title}: {}\n", what_changed(&old, &new, &parts, record));
        match self.points.changed {
            PrintChanged::Diff(style) => out += &diff::unified(&old, &new, &parts, style),
            _ => out += after,
        }
        (self.sink)(&out);
    }
}

/// Which pass of how many.
fn place(when: &str, at: &PassAt<'_>) -> String {
    format!("{when} `{}` ({} of {})", at.name, at.number, at.total)
}

/// The items that changed, the lines that came and went, and the number of ops.
fn what_changed(old: &[&str], new: &[&str], parts: &[diff::DiffBlock], record: &PassRecord) -> String {
    const SHOWN: usize = 4;
    let names = diff::sections(old, new, parts);
    let mut out = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        let _ = write!(out, " and {} more", names.len() - SHOWN);
    }
    let Changes { added, removed } = Changes::of(parts);
    if (added, removed) == (0, 0) {
        return "changed what its text does not show".to_string();
    }
    let comma = if out.is_empty() { "" } else { ", " };
    let _ = write!(out, "{comma}+{added} -{removed} lines");
    let _ = match record.ops {
        Some(ops) if ops.before == ops.after => write!(out, ", {}", counted(ops.after, "op")),
        Some(ops) => write!(out, ", {} -> {}", ops.before, counted(ops.after, "op")),
        None => Ok(()),
    };
    out
}

impl Instrument for PrintIr<'_> {
    fn before_pass(&mut self, at: &PassAt<'_>, module: &Module) -> Diagnostics {
        if self.points.changed != PrintChanged::No && self.last.is_none() {
            self.last = Some(text_of(&self.print, module));
        }
        if self.points.before.has(at.name) {
            self.show(&place("before", at), module);
        }
        Diagnostics::new()
    }

    fn after_pass(&mut self, at: &PassAt<'_>, module: &Module, record: &PassRecord) -> Diagnostics {
        let whole = self.points.after.has(at.name);
        if whole {
            self.show(&place("after", at), module);
        }
        // The program is not printed twice.
        if self.points.changed != PrintChanged::No && !(whole && self.points.changed == PrintChanged::Ir) {
            self.show_change(at, module, record);
        }
        Diagnostics::new()
    }

    fn pass_failed(&mut self, at: &PassAt<'_>, module: &Module, _: &Diagnostics) {
        if self.points.failure {
            self.show(&format!("{}, which failed", place("after", at)), module);
        }
    }
}
