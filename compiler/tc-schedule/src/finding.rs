//! A diagnostic that leaves the crate, with what may be proposed against it.

use crate::remedy::{OTHER_AXIS, Ways};
use tc_support::{Diagnostic, Diagnostics, Location};

/// A diagnostic, and who proposes fix-its for it.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) diagnostic: Box<Diagnostic>,
    /// Asked for changes to the schedule, the likely ones first.
    pub(crate) ways: Ways,
    /// The help says what there is, or what kind of thing is missing. It becomes a note where changes were tried; a help that
    /// proposes a change gives way to them.
    pub(crate) states_a_fact: bool,
}

impl From<Diagnostic> for Finding {
    fn from(diagnostic: Diagnostic) -> Finding {
        Finding { diagnostic: Box::new(diagnostic), ways: OTHER_AXIS, states_a_fact: false }
    }
}

impl Finding {
    pub(crate) fn error(code: &'static str, location: impl Into<Location>, text: impl Into<String>) -> Finding {
        Diagnostic::error(code, location, text).into()
    }

    pub(crate) fn label(mut self, location: Location, text: impl Into<String>) -> Finding {
        *self.diagnostic = self.diagnostic.label(location, text);
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Finding {
        self.diagnostic.notes.push(note.into());
        self
    }

    /// Proposes a change.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Finding {
        self.diagnostic.help = Some(help.into());
        self
    }

    /// Says what there is.
    pub(crate) fn fact(mut self, help: impl Into<String>) -> Finding {
        self.states_a_fact = true;
        self.help(help)
    }

    pub(crate) fn ways(mut self, ways: Ways) -> Finding {
        self.ways = ways;
        self
    }
}

/// All that was found.
#[derive(Clone, Default, Debug)]
pub(crate) struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    pub(crate) fn push(&mut self, finding: impl Into<Finding>) {
        self.list.push(finding.into());
    }

    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Finding> {
        self.list.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, Finding> {
        self.list.iter_mut()
    }

    /// `value`, unless an error was found.
    pub(crate) fn or<T>(self, value: T) -> Result<T, Findings> {
        let is_error = self.list.iter().any(|finding| finding.diagnostic.is_error());
        if is_error { Err(self) } else { Ok(value) }
    }
}

impl From<Finding> for Findings {
    fn from(finding: Finding) -> Findings {
        Findings { list: vec![finding] }
    }
}

impl From<Diagnostic> for Findings {
    fn from(diagnostic: Diagnostic) -> Findings {
        Finding::from(diagnostic).into()
    }
}

impl From<Diagnostics> for Findings {
    fn from(found: Diagnostics) -> Findings {
        Findings { list: found.into_iter().map(Finding::from).collect() }
    }
}

impl From<Findings> for Diagnostics {
    fn from(found: Findings) -> Diagnostics {
        found.list.into_iter().map(|finding| *finding.diagnostic).collect()
    }
}
