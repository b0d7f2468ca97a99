//! Positions of the protocol, which count UTF-16 code units in a line, and byte offsets.
//!
//! A client may send any position. One past the end of its line is the end of the line, one past the last line the end of
//! the text, and one inside of a character its start, as the protocol asks.

use lsp_types::{Position, Range};
use tc::syntax::tree::TextRange;

/// Where the lines of a text begin.
#[derive(Clone, Debug)]
pub(crate) struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    /// The lines of `text`.
    pub(crate) fn new(text: &str) -> LineIndex {
        let mut starts = vec![0];
        starts.extend(text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at as u32 + 1));
        LineIndex { starts }
    }

    /// The number of the line that `offset` lies in.
    pub(crate) fn line(&self, offset: u32) -> u32 {
        self.starts.partition_point(|&start| start <= offset).saturating_sub(1) as u32
    }

    /// The range of line `line`, its end not included; empty at the end of the text past the last.
    pub(crate) fn line_range(&self, text: &str, line: u32) -> TextRange {
        let Some(&start) = self.starts.get(line as usize) else {
            return TextRange::new(text.len() as u32, text.len() as u32);
        };
        let end = self.starts.get(line as usize + 1).map_or(text.len(), |&next| next as usize);
        let shown = text[start as usize..end].trim_end_matches(['\n', '\r']);
        TextRange::new(start, start + shown.len() as u32)
    }

    /// How many lines there are.
    pub(crate) fn n_lines(&self) -> u32 {
        self.starts.len() as u32
    }

    /// The byte offset of a position of a client.
    pub(crate) fn offset(&self, text: &str, position: Position) -> u32 {
        let line = self.line_range(text, position.line);
        let mut units = 0;
        for (at, c) in line.of(text).char_indices() {
            let next = units + c.len_utf16() as u32;
            if next > position.character {
                return line.start + at as u32;
            }
            units = next;
        }
        line.end
    }

    /// The position of a byte offset.
    pub(crate) fn position(&self, text: &str, offset: u32) -> Position {
        let mut end = (offset as usize).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let line = self.line(end as u32);
        let start = self.starts[line as usize] as usize;
        let before = &text[start..end];
        let character = if before.is_ascii() { before.len() } else { before.encode_utf16().count() };
        Position { line, character: character as u32 }
    }

    /// The range of the protocol.
    pub(crate) fn range(&self, text: &str, range: TextRange) -> Range {
        Range { start: self.position(text, range.start), end: self.position(text, range.end.max(range.start)) }
    }

    /// The byte range of a range of a client, whose ends may come in any order.
    pub(crate) fn text_range(&self, text: &str, range: Range) -> TextRange {
        let (a, b) = (self.offset(text, range.start), self.offset(text, range.end));
        TextRange::new(a.min(b), a.max(b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn positions_count_utf16() {
        let text = "aé😀b\r\nsecond\n";
        let lines = LineIndex::new(text);
        for (offset, position) in
            [(0, at(0, 0)), (1, at(0, 1)), (3, at(0, 2)), (7, at(0, 4)), (10, at(1, 0)), (17, at(2, 0))]
        {
            assert_eq!(lines.position(text, offset), position, "{offset}");
            assert_eq!(lines.offset(text, position), offset, "{position:?}");
        }
    }

    #[test]
    fn positions_outside_are_moved_inside() {
        let text = "a😀\nb";
        let lines = LineIndex::new(text);
        // Inside of the surrogate pair, past the line, past the text.
        assert_eq!(lines.offset(text, at(0, 2)), 1);
        assert_eq!(lines.offset(text, at(0, 99)), 5);
        assert_eq!(lines.offset(text, at(9, 9)), 7);
        assert_eq!(lines.offset(text, at(u32::MAX, u32::MAX)), 7);
        assert_eq!(lines.position(text, 99), at(1, 1));
        assert_eq!(lines.position(text, 3), at(0, 1));
        let range = Range { start: at(1, 1), end: at(0, 0) };
        assert_eq!(lines.text_range(text, range), TextRange::new(0, 7));
    }
}
