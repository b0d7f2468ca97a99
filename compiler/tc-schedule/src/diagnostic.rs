//! A diagnostic that leaves the crate, with what may be proposed against it.

use crate::remedy::{FixIts, OTHER_AXIS};
use tc_support::{Diagnostic, Diagnostics, Location};

/// A diagnostic, and who proposes fix-its for it.
#[derive(Clone, Debug)]
pub(crate) struct ScheduleDiagnostic {
    pub(crate) diagnostic: Box<Diagnostic>,
    /// Asked for changes to the schedule, the likely ones first.
    pub(crate) fix_its: FixIts,
    /// The help says what there is, or what kind of thing is missing. It becomes a note where changes were tried; a help that
    /// proposes a change gives way to them.
    pub(crate) states_a_fact: bool,
}

impl From<Diagnostic> for ScheduleDiagnostic {
    fn from(diagnostic: Diagnostic) -> ScheduleDiagnostic {
        ScheduleDiagnostic { diagnostic: Box::new(diagnostic), fix_its: OTHER_AXIS, states_a_fact: false }
    }
}

impl ScheduleDiagnostic {
    pub(crate) fn error(
        code: &'static str,
        location: impl Into<Location>,
        text: impl Into<String>,
    ) -> ScheduleDiagnostic {
        Diagnostic::error(code, location, text).into()
    }

    pub(crate) fn label(mut self, location: Location, text: impl Into<String>) -> ScheduleDiagnostic {
        *self.diagnostic = self.diagnostic.label(location, text);
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> ScheduleDiagnostic {
        self.diagnostic.notes.push(note.into());
        self
    }

    /// Proposes a change.
    pub(crate) fn help(mut self, help: impl Into<String>) -> ScheduleDiagnostic {
        self.diagnostic.help = Some(help.into());
        self
    }

    /// Says what there is.
    pub(crate) fn fact(mut self, help: impl Into<String>) -> ScheduleDiagnostic {
        self.states_a_fact = true;
        self.help(help)
    }

    pub(crate) fn fix_its(mut self, fix_its: FixIts) -> ScheduleDiagnostic {
        self.fix_its = fix_its;
        self
    }
}

/// All that was found.
#[derive(Clone, Default, Debug)]
pub(crate) struct ScheduleDiagnostics {
    list: Vec<ScheduleDiagnostic>,
}

impl ScheduleDiagnostics {
    pub(crate) fn push(&mut self, error: impl Into<ScheduleDiagnostic>) {
        self.list.push(error.into());
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, ScheduleDiagnostic> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, ScheduleDiagnostic> {
        self.list.iter_mut()
    }

    /// `value`, unless an error was found.
    pub(crate) fn or<T>(self, value: T) -> Result<T, ScheduleDiagnostics> {
        let is_error = self.list.iter().any(|error| error.diagnostic.is_error());
        if is_error { Err(self) } else { Ok(value) }
    }
}

impl From<ScheduleDiagnostic> for ScheduleDiagnostics {
    fn from(error: ScheduleDiagnostic) -> ScheduleDiagnostics {
        ScheduleDiagnostics { list: vec![error] }
    }
}

impl From<Diagnostic> for ScheduleDiagnostics {
    fn from(diagnostic: Diagnostic) -> ScheduleDiagnostics {
        ScheduleDiagnostic::from(diagnostic).into()
    }
}

impl From<Diagnostics> for ScheduleDiagnostics {
    fn from(found: Diagnostics) -> ScheduleDiagnostics {
        ScheduleDiagnostics { list: found.into_iter().map(ScheduleDiagnostic::from).collect() }
    }
}

impl From<ScheduleDiagnostics> for Diagnostics {
    fn from(found: ScheduleDiagnostics) -> Diagnostics {
        found.list.into_iter().map(|error| *error.diagnostic).collect()
    }
}
