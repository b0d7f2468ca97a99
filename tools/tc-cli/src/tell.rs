//! How diagnostics are reported.

use tc::support::source::shown_name;
use tc::support::{Diagnostic, Diagnostics, Location, Sources, render};

/// How diagnostics are reported: as text with or without colours, or as JSON, one object a line.
#[derive(Clone, Copy, Debug)]
pub struct Tell {
    /// As JSON?
    pub json: bool,
    /// With colours, where it is text?
    pub colour: bool,
}

impl Tell {
    /// What is written of `found`.
    pub fn text(self, found: &Diagnostics, sources: &Sources) -> String {
        if self.json {
            found.iter().map(|one| render::json(one, sources).to_string() + "\n").collect()
        } else {
            render::text(found, sources, self.colour)
        }
    }

    /// What is written of a call that is at fault.
    pub fn refusal(self, message: &str) -> String {
        // What the call names may have any characters.
        self.text(&Diagnostic::error("call", Location::None, shown_name(message)).into(), &Sources::new())
    }
}
