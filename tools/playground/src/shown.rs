//! Diagnostics as the page shows them.

use serde_json::{Value, json};
use tc::Failure;
use tc::support::{Diagnostic, Diagnostics, Location, Sources, render};

/// Diagnostics that an answer has, at the most.
const MOST: usize = 100;

/// Each diagnostic as JSON, with its text as tools print it.
pub(crate) fn diagnostics(found: &Diagnostics, sources: &Sources) -> Vec<Value> {
    let one = |diagnostic: &Diagnostic| {
        let mut value = render::json(diagnostic, sources);
        value["text"] = render::one(diagnostic, sources, false).into();
        value
    };
    found.iter().take(MOST).map(one).collect()
}

/// The answer that a failure is.
pub(crate) fn failed(failure: &Failure) -> Value {
    json!({ "ok": false, "diagnostics": diagnostics(&failure.diagnostics, &failure.sources) })
}

/// The file and the line of a location.
pub(crate) fn line(location: &Location, sources: &Sources) -> (String, u32) {
    match location {
        Location::None => (String::new(), 0),
        Location::Point { file, at } => (file.to_string(), at.line),
        Location::Span(span) => {
            sources.line_col(span.start).map_or((String::new(), 0), |(file, at)| (file.name.clone(), at.line))
        }
    }
}
