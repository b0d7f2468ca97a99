//! Diagnostics, as expectations speak of them.

use super::directive::{Directive, Kind};
use tc::support::diag::Label;
use tc::support::{Diagnostics, FileId, Location, Sources};

/// A diagnostic, or what one adds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Seen {
    pub(crate) kind: Kind,
    /// The line of the file, if it lies there.
    pub(crate) line: Option<u32>,
    pub(crate) message: String,
    /// The number of the diagnostic.
    pub(crate) nth: usize,
}

/// All that `found` tells about the file `file`.
pub(crate) fn seen(found: &Diagnostics, sources: &Sources, file: FileId) -> Vec<Seen> {
    let mut list = Vec::new();
    for (nth, diagnostic) in found.iter().enumerate() {
        let line = line_of(&diagnostic.location, sources, file);
        let kind = Kind::Diagnostic(diagnostic.severity);
        list.push(Seen { kind, line, message: diagnostic.message.clone(), nth });
        for Label { location, text } in &diagnostic.labels {
            list.push(Seen { kind: Kind::Note, line: line_of(location, sources, file), message: text.clone(), nth });
        }
        for note in diagnostic.notes.iter().chain(&diagnostic.help) {
            list.push(Seen { kind: Kind::Note, line, message: note.clone(), nth });
        }
    }
    list
}

/// The line of `location`, if it lies in `file`.
fn line_of(location: &Location, sources: &Sources, file: FileId) -> Option<u32> {
    let file = sources.file(file);
    match location {
        Location::None => None,
        Location::Point { file: name, at } => (**name == *file.name).then_some(at.line),
        Location::Span(span) => {
            let (other, at) = sources.line_col(span.start)?;
            (other.start() == file.start()).then_some(at.line)
        }
    }
}

/// Which diagnostics meet which expectations.
pub(crate) struct Matched {
    /// For each expectation, the indices of what met it.
    pub(crate) by: Vec<Vec<usize>>,
    /// The indices of the errors, warnings and remarks that no comment expected.
    pub(crate) unexpected: Vec<usize>,
}

impl Matched {
    /// Each diagnostic meets the first open expectation that fits.
    pub(crate) fn of(directives: &[Directive], seen: &[Seen]) -> Matched {
        let mut by: Vec<Vec<usize>> = vec![Vec::new(); directives.len()];
        let mut unexpected = Vec::new();
        for (idx, one) in seen.iter().enumerate() {
            let fits = |at: &usize| {
                let directive = &directives[*at];
                (by[*at].len() as u32) < directive.count
                    && (directive.kind, directive.line) == (one.kind, one.line)
                    && one.message.contains(&directive.text)
            };
            match (0..directives.len()).find(fits) {
                Some(at) => by[at].push(idx),
                None if one.kind != Kind::Note => unexpected.push(idx),
                None => {}
            }
        }
        Matched { by, unexpected }
    }
}
