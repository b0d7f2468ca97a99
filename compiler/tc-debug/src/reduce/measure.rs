//! How small a text is.

use super::text::scan::{Kind, scan};

/// The measure of a text; the lesser is the smaller one. No sequence of texts gets smaller for ever.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Measure {
    tokens: usize,
    /// The sum of all integers.
    numbers: u128,
    length: usize,
}

impl Measure {
    /// The measure of `text`, with the pipeline of its reproducer.
    pub fn of(text: &str, pipeline: &str) -> Measure {
        let mut measure = Measure { tokens: 0, numbers: 0, length: text.len() + pipeline.len() };
        for token in scan(text).chain(scan(pipeline)) {
            if token.kind != Kind::Comment {
                measure.tokens += 1;
            }
            if token.kind == Kind::Int {
                measure.numbers = measure.numbers.saturating_add(token.int().unwrap_or(0));
            }
        }
        measure
    }
}
