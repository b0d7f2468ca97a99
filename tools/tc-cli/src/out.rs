//! Streams that may break.

use std::io::{ErrorKind, Write};

/// A stream to write to. The first failure is kept, and nothing more is written.
pub struct Out<'w> {
    stream: &'w mut (dyn Write + Send),
    error: Option<std::io::Error>,
}

impl<'w> Out<'w> {
    /// Writes to `stream`.
    pub fn new(stream: &'w mut (dyn Write + Send)) -> Out<'w> {
        Out { stream, error: None }
    }

    /// Writes `text`, at once.
    pub fn write(&mut self, text: &str) {
        if self.error.is_none() && !text.is_empty() {
            self.error = self.stream.write_all(text.as_bytes()).and_then(|()| self.stream.flush()).err();
        }
    }

    /// Was something not written, whatever the reason?
    pub fn is_broken(&self) -> bool {
        self.error.is_some()
    }

    /// Why writing failed. A reader that went away is no failure: it has read enough.
    pub fn failure(&self) -> Option<&std::io::Error> {
        self.error.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)
    }
}
