//! Lines of text, indented by block, with the lines of the source on request.

use std::fmt::Write;

/// Writes lines.
#[derive(Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// A line.
    pub(crate) fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("  ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A directive of the preprocessor, which is not indented.
    pub(crate) fn directive(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A line that opens a block.
    pub(crate) fn open(&mut self, line: &str) {
        self.line(line);
        self.depth += 1;
    }

    /// The line between two blocks.
    pub(crate) fn between(&mut self, line: &str) {
        self.depth -= 1;
        self.open(line);
    }

    /// Closes a block.
    pub(crate) fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// `#line` for line number `line` of `file`.
pub(crate) fn line_directive(line: u32, file: Option<&str>) -> String {
    let mut out = format!("#line {line}");
    if let Some(file) = file {
        out.push_str(" \"");
        for c in file.chars() {
            match c {
                '"' | '\\' => {
                    out.push('\\');
                    out.push(c);
                }
                c if c.is_control() => {
                    let _ = write!(out, "?");
                }
                c => out.push(c),
            }
        }
        out.push('"');
    }
    out
}
