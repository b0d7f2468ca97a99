//! Source files, and positions in them.
//!
//! All files of a run share one range of byte positions: a file occupies `base ..= base + len`, so that a
//! position is one `u32` and knows its file. Position 0 belongs to no file and means "nowhere".

use std::borrow::Cow;
use std::sync::Arc;

/// A byte position in one of the files of a [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Pos(pub u32);

/// A half-open range of byte positions, `start .. end`, within one file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Span {
    /// The first byte.
    pub start: Pos,
    /// One past the last byte.
    pub end: Pos,
}

impl Span {
    /// The span from `start` to `end`.
    pub fn new(start: Pos, end: Pos) -> Span {
        Span { start, end }
    }

    /// The empty span at `pos`.
    pub fn at(pos: Pos) -> Span {
        Span { start: pos, end: pos }
    }

    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// What some editors begin a file with. It belongs to no column.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// The name of a file as messages show it: on one line, whatever characters it has.
pub fn shown_name(name: &str) -> Cow<'_, str> {
    if !name.contains(char::is_control) {
        return Cow::Borrowed(name);
    }
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    Cow::Owned(name.chars().map(shown).collect())
}

/// The number of a file in a [`Sources`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FileId(u32);

/// A line and a column, both counted from 1; the column counts characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LineCol {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub col: u32,
}

/// One source file: its name as the user gave it and its text.
#[derive(Debug)]
pub struct SourceFile {
    /// The name, as given on the command line or by the embedder.
    pub name: String,
    /// The whole text.
    pub text: String,
    base: u32,
    /// The number of the first line: 1, or more where the text is a part of a file.
    first_line: u32,
    line_starts: Vec<u32>,
}

impl SourceFile {
    /// The position of the first byte.
    pub fn start(&self) -> Pos {
        Pos(self.base)
    }

    /// The text of line `line` without its line end, or `""` before the first and past the last line.
    pub fn line(&self, line: u32) -> &str {
        let Some(idx) = line.checked_sub(self.first_line).map(|idx| idx as usize) else { return "" };
        let Some(&start) = self.line_starts.get(idx) else { return "" };
        let end = self.line_starts.get(idx + 1).map_or(self.text.len(), |&next| next as usize);
        self.text[start as usize..end].trim_end_matches(['\n', '\r'])
    }

    /// The byte range of the lines `first ..= last`, line ends included.
    pub fn line_range(&self, first: u32, last: u32) -> (usize, usize) {
        let at = |idx: u32| self.line_starts.get(idx as usize).map_or(self.text.len(), |&start| start as usize);
        (at(first.saturating_sub(self.first_line)), at((last + 1).saturating_sub(self.first_line)))
    }
}

/// The source files of a run. Cloning is cheap; a clone does not see files added later.
#[derive(Clone, Default, Debug)]
pub struct Sources {
    files: Vec<Arc<SourceFile>>,
}

/// Why a file was not taken in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge;

impl Sources {
    /// No files.
    pub fn new() -> Sources {
        Sources::default()
    }

    /// Takes in a file. All files together may hold 2 GiB, so that the top bit of a position stays free.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> Result<FileId, TooLarge> {
        self.add_part(name, text, 1)
    }

    /// Takes in a part of a file, whose first line is the file's line `first_line` (from 1): places are reported as they are
    /// in the whole.
    pub fn add_part(
        &mut self,
        name: impl Into<String>,
        text: impl Into<String>,
        first_line: u32,
    ) -> Result<FileId, TooLarge> {
        let text = text.into();
        let base = self.files.last().map_or(1, |file| file.base + file.text.len() as u32 + 1);
        if text.len() as u64 + u64::from(base) >= 1 << 31 {
            return Err(TooLarge);
        }
        let mut line_starts = vec![0];
        line_starts.extend(text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(idx, _)| idx as u32 + 1));
        let id = FileId(self.files.len() as u32);
        self.files.push(Arc::new(SourceFile { name: name.into(), text, base, first_line, line_starts }));
        Ok(id)
    }

    /// The file with number `id`.
    pub fn file(&self, id: FileId) -> &Arc<SourceFile> {
        &self.files[id.0 as usize]
    }

    /// All files, in the order in which they were taken in.
    pub fn files(&self) -> impl Iterator<Item = &Arc<SourceFile>> {
        self.files.iter()
    }

    /// The file that `pos` lies in.
    pub fn file_of(&self, pos: Pos) -> Option<&Arc<SourceFile>> {
        let idx = self.files.partition_point(|file| file.base <= pos.0).checked_sub(1)?;
        let file = &self.files[idx];
        (pos.0 <= file.base + file.text.len() as u32).then_some(file)
    }

    /// The file, line and column of `pos`.
    pub fn line_col(&self, pos: Pos) -> Option<(&Arc<SourceFile>, LineCol)> {
        let file = self.file_of(pos)?;
        let offset = pos.0 - file.base;
        let line_idx = file.line_starts.partition_point(|&start| start <= offset) - 1;
        let start = file.line_starts[line_idx] as usize;
        // A span that a caller made up may point into the middle of a character.
        let mut end = offset as usize;
        while !file.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = file.text[start..end].strip_prefix(BYTE_ORDER_MARK).filter(|_| start == 0);
        let col = before.unwrap_or(&file.text[start..end]).chars().count() as u32 + 1;
        Some((file, LineCol { line: line_idx as u32 + file.first_line, col }))
    }

    /// The text under `span`, if it lies within one file.
    pub fn text(&self, span: Span) -> Option<&str> {
        let file = self.file_of(span.start)?;
        file.text.get((span.start.0 - file.base) as usize..(span.end.0.checked_sub(file.base)?) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_know_their_file_line_and_column() {
        let mut sources = Sources::new();
        let a = sources.add("a.tir", "one\ntwo\n").expect("small");
        let b = sources.add("b.tir", "é x").expect("small");
        let pos = Pos(sources.file(a).start().0 + 5);
        let (file, at) = sources.line_col(pos).expect("in a");
        assert_eq!((file.name.as_str(), at.line, at.col), ("a.tir", 2, 2));
        let pos = Pos(sources.file(b).start().0 + 3);
        let (file, at) = sources.line_col(pos).expect("in b");
        assert_eq!((file.name.as_str(), at.line, at.col), ("b.tir", 1, 3));
        assert!(sources.file_of(Pos(0)).is_none());
    }

    #[test]
    fn a_part_of_a_file_keeps_the_lines_of_the_whole() {
        let mut sources = Sources::new();
        let part = sources.add_part("a.tir", "six\nseven\n", 6).expect("small");
        let file = sources.file(part);
        let (_, at) = sources.line_col(Pos(file.start().0 + 5)).expect("in the part");
        assert_eq!((at.line, at.col), (7, 2));
        assert_eq!([file.line(5), file.line(6), file.line(7), file.line(8)], ["", "six", "seven", ""]);
        assert_eq!((file.line_range(6, 6), file.line_range(7, 7), file.line_range(6, 9)), ((0, 4), (4, 10), (0, 10)));
    }

    #[test]
    fn a_byte_order_mark_is_no_column() {
        let mut sources = Sources::new();
        let file = sources.add("a.tir", "\u{feff}tir 1\n\u{feff}x").expect("small");
        let start = sources.file(file).start().0;
        let col = |offset: u32| sources.line_col(Pos(start + offset)).map(|(_, at)| (at.line, at.col));
        assert_eq!([col(0), col(3), col(7)], [Some((1, 1)), Some((1, 1)), Some((1, 5))]);
        // Only the first of a file is one.
        assert_eq!(col(9 + 3), Some((2, 2)));
    }

    #[test]
    fn the_end_of_a_file_belongs_to_it() {
        let mut sources = Sources::new();
        let a = sources.add("a", "x").expect("small");
        sources.add("b", "y").expect("small");
        let end = Pos(sources.file(a).start().0 + 1);
        assert_eq!(sources.file_of(end).expect("in a").name, "a");
    }
}
