//! Diagnostics as data: what is wrong, whose fault it is, where, and what helps.

use crate::source::{LineCol, Span};
use std::sync::Arc;

/// How bad it is. An error always fails the step that raised it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Something worth knowing, such as what a pass could not do.
    Remark,
    /// Probably not what was meant.
    Warning,
    /// The step failed.
    Error,
}

/// Who has to act.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Fault {
    /// The text that came in.
    Input,
    /// The pipeline: a pass ran on a module that lacks a form which the pass needs.
    PassAssumption,
    /// This compiler.
    Bug,
    /// A pass that somebody added to this compiler.
    ForeignPass,
}

/// Where something is.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub enum Location {
    /// Nowhere in particular.
    #[default]
    None,
    /// A range of a file that is loaded.
    Span(Span),
    /// A place that a text names (`#"f.tir":12:5`), in a file that need not be loaded.
    Point {
        /// The file's name.
        file: Arc<str>,
        /// Line and column.
        at: LineCol,
    },
}

impl From<Span> for Location {
    fn from(span: Span) -> Location {
        Location::Span(span)
    }
}

/// A second place that belongs to a diagnostic, with what is to be seen there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub location: Location,
    /// What is to be seen there.
    pub text: String,
}

/// A change of the text against an error, as data: what the help says in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// What is done, as the help says it.
    pub title: String,
    /// The edits, all of which belong to it.
    pub edits: Vec<FixEdit>,
}

/// An edit of a statement. Locations of ops say where something begins, and no text is at hand where errors are made; so an
/// edit says what becomes of a statement, and whoever has the text finds its ends (`tc::fixes`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FixEdit {
    /// What stands there becomes `text`: the range, or where that is empty, the call or the name that begins there.
    Replace {
        /// Where.
        at: Location,
        /// What it becomes.
        text: String,
    },
    /// The argument with a key, of the call that begins there, becomes `text`.
    SetArgument {
        /// Where the call begins.
        at: Location,
        /// The key.
        key: &'static str,
        /// What it becomes.
        text: String,
    },
    /// The statement there goes.
    Remove {
        /// Where.
        at: Location,
    },
    /// `text` becomes a statement before the one there.
    InsertBefore {
        /// Where.
        at: Location,
        /// The statement.
        text: String,
    },
    /// `text` becomes the last statement of the item that is around there.
    InsertAtEnd {
        /// Where.
        at: Location,
        /// The statement.
        text: String,
    },
    /// The statement there moves before another one.
    Move {
        /// Where.
        at: Location,
        /// The other one.
        before: Location,
    },
}

impl Fix {
    /// A change of one edit.
    pub fn new(title: impl Into<String>, edit: FixEdit) -> Fix {
        Fix { title: title.into(), edits: vec![edit] }
    }
}

impl FixEdit {
    /// What kind of edit it is, as JSON names it.
    pub fn name(&self) -> &'static str {
        match self {
            FixEdit::Replace { .. } => "replace",
            FixEdit::SetArgument { .. } => "set-argument",
            FixEdit::Remove { .. } => "remove",
            FixEdit::InsertBefore { .. } => "insert-before",
            FixEdit::InsertAtEnd { .. } => "insert-at-end",
            FixEdit::Move { .. } => "move",
        }
    }
}

/// One diagnostic: lower case, no final stop, code in backticks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Who has to act.
    pub fault: Fault,
    /// A stable kebab-case name of this kind of diagnostic, for scripts.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// Where.
    pub location: Location,
    /// Other places that belong to it.
    pub labels: Vec<Label>,
    /// Further facts.
    pub notes: Vec<String>,
    /// The help: what to do about it.
    pub help: Option<String>,
    /// Changes that the help names. Those against errors of schedules were tried, and make it go away.
    pub fixes: Vec<Fix>,
    /// The pass that found it; who runs passes fills it in.
    pub pass: Option<&'static str>,
}

impl Diagnostic {
    fn new(severity: Severity, fault: Fault, code: &'static str, location: Location, message: String) -> Diagnostic {
        let (labels, notes, fixes) = (Vec::new(), Vec::new(), Vec::new());
        Diagnostic { severity, fault, code, message, location, labels, notes, help: None, fixes, pass: None }
    }

    /// An error in the text that came in.
    pub fn error(code: &'static str, location: impl Into<Location>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, Fault::Input, code, location.into(), message.into())
    }

    /// A warning about the text that came in.
    pub fn warning(code: &'static str, location: impl Into<Location>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, Fault::Input, code, location.into(), message.into())
    }

    /// A remark.
    pub fn remark(code: &'static str, location: impl Into<Location>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Remark, Fault::Input, code, location.into(), message.into())
    }

    /// A pass ran on a module that is not in the form it needs.
    pub fn assumption(code: &'static str, location: impl Into<Location>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, Fault::PassAssumption, code, location.into(), message.into())
    }

    /// A defect of this compiler.
    pub fn bug(code: &'static str, location: impl Into<Location>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, Fault::Bug, code, location.into(), message.into())
    }

    /// Adds a second place.
    pub fn label(mut self, location: impl Into<Location>, text: impl Into<String>) -> Diagnostic {
        self.labels.push(Label { location: location.into(), text: text.into() });
        self
    }

    /// Adds a fact.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Sets the help.
    pub fn help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// Adds a change against it.
    pub fn fix(mut self, fix: Fix) -> Diagnostic {
        self.fixes.push(fix);
        self
    }

    /// Is this an error?
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The diagnostics of a step, in the order in which they were made.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// No diagnostics.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Adds all diagnostics of `other`.
    pub fn append(&mut self, other: Diagnostics) {
        self.list.extend(other.list);
    }

    /// Is one of them an error?
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(Diagnostic::is_error)
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The diagnostics.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Keeps the diagnostics for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&Diagnostic) -> bool) {
        self.list.retain(keep);
    }

    /// The diagnostics, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Diagnostic> {
        self.list.iter_mut()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(diagnostic: Diagnostic) -> Diagnostics {
        Diagnostics { list: vec![diagnostic] }
    }
}

impl From<Box<Diagnostic>> for Diagnostics {
    fn from(diagnostic: Box<Diagnostic>) -> Diagnostics {
        Diagnostics::from(*diagnostic)
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(iter: I) -> Diagnostics {
        Diagnostics { list: iter.into_iter().collect() }
    }
}
