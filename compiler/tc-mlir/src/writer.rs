//! Lines of text, indented by region.

/// Writes lines.
pub(crate) struct Writer {
    text: String,
    depth: usize,
    /// What is added to each op: where it comes from.
    pub(crate) location: String,
}

impl Writer {
    /// Nothing yet, to be indented by `depth` regions.
    pub(crate) fn new(depth: usize) -> Writer {
        Writer { text: String::new(), depth, location: String::new() }
    }

    fn indented(&mut self, line: &str, end: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push_str(end);
        self.text.push('\n');
    }

    /// An op without regions.
    pub(crate) fn op(&mut self, line: &str) {
        let location = std::mem::take(&mut self.location);
        self.indented(line, &location);
        self.location = location;
    }

    /// A line that is no op of its own.
    pub(crate) fn line(&mut self, line: &str) {
        self.indented(line, "");
    }

    /// A line that opens a region.
    pub(crate) fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    /// The line between two regions.
    pub(crate) fn between(&mut self, line: &str) {
        self.depth -= 1;
        self.open(line);
    }

    /// A line that closes a region, and with it an op that comes from `location`.
    pub(crate) fn close(&mut self, line: &str, location: &str) {
        self.depth -= 1;
        self.indented(line, location);
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}
