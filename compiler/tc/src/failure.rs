//! What is returned where something failed.

use std::fmt;
use tc_support::{Diagnostics, Fault, Sources, render};

/// The diagnostics of a step that failed, with the sources that they point into.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The diagnostics; at least one is an error.
    pub diagnostics: Diagnostics,
    /// The files.
    pub sources: Sources,
}

impl Failure {
    /// The diagnostics as text, with the lines that they point at.
    pub fn text(&self) -> String {
        render::text(&self.diagnostics, &self.sources, false)
    }

    /// The diagnostics as a JSON array.
    pub fn json(&self) -> String {
        crate::diagnostics_json(&self.diagnostics, &self.sources)
    }

    /// Was the run ended from outside, by a limit of steps or a request to cancel? Then the module is as it was before.
    pub fn is_ended(&self) -> bool {
        tc_pass::limits::is_ended(&self.diagnostics)
    }

    /// Is one of the errors a defect of the compiler?
    pub fn is_bug(&self) -> bool {
        self.diagnostics.iter().any(|found| found.is_error() && found.fault == Fault::Bug)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text().trim_end())
    }
}

impl std::error::Error for Failure {}
