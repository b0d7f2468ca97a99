//! Formatting: indentation by blocks, one space between words, none inside of brackets. Lines stay lines and comments stay
//! where they are, so that what an author arranged survives; the printer, which loses comments, is not for this.
//!
//! A text with syntax errors is left alone: what its brackets mean is not known.

use crate::analysis::lexemes_of;
use crate::capability::{Cx, Handler, Refusal};
use crate::documents::Snapshot;
use lsp_types::request::{Formatting, RangeFormatting};
use lsp_types::{
    DocumentFormattingParams, DocumentRangeFormattingParams, OneOf, Position, Range, ServerCapabilities, TextEdit,
};
use tc::syntax::lexemes::{Lexeme, LexemeKind};
use tc::syntax::tree::TextRange;

/// Spaces of a level.
const INDENT: usize = 2;

/// `textDocument/formatting`.
pub(crate) struct Formats;

impl Handler for Formats {
    type Request = Formatting;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.document_formatting_provider = Some(OneOf::Left(true));
    }

    fn handle(cx: &Cx<'_>, params: DocumentFormattingParams) -> Result<Option<Vec<TextEdit>>, Refusal> {
        let snapshot = cx.document(&params.text_document.uri)?;
        Ok(edits(cx, snapshot))
    }
}

/// `textDocument/rangeFormatting`.
pub(crate) struct RangeFormats;

impl Handler for RangeFormats {
    type Request = RangeFormatting;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.document_range_formatting_provider = Some(OneOf::Left(true));
    }

    fn handle(cx: &Cx<'_>, params: DocumentRangeFormattingParams) -> Result<Option<Vec<TextEdit>>, Refusal> {
        let snapshot = cx.document(&params.text_document.uri)?;
        let (first, last) = (params.range.start.line, params.range.end.line);
        let is_inside = |edit: &TextEdit| first <= edit.range.start.line && edit.range.end.line <= last;
        Ok(edits(cx, snapshot).map(|edits| edits.into_iter().filter(is_inside).collect()))
    }
}

/// The edits of lines that make the text a formatted one.
fn edits(cx: &Cx<'_>, snapshot: &Snapshot) -> Option<Vec<TextEdit>> {
    let analysis = snapshot.analysis(cx.compiler());
    if analysis.found.iter().any(|one| one.code == "syntax" || one.code == "too-large") {
        return None;
    }
    let lines = formatted(&snapshot.text);
    if !is_same(&snapshot.text, &lines.join("\n")) {
        return None;
    }
    let mut edits = Vec::new();
    let mut blank = 0;
    for (nth, line) in lines.iter().enumerate() {
        let nth = nth as u32;
        let old = snapshot.lines.line_range(&snapshot.text, nth);
        blank = if line.is_empty() { blank + 1 } else { 0 };
        if blank > 1 && nth + 1 < snapshot.lines.n_lines() {
            // The second of two empty lines goes.
            let range = Range { start: Position::new(nth, 0), end: Position::new(nth + 1, 0) };
            edits.push(TextEdit { range, new_text: String::new() });
        } else if old.of(&snapshot.text) != line {
            edits.push(TextEdit { range: snapshot.range(old), new_text: line.clone() });
        }
    }
    if !snapshot.text.is_empty() && !snapshot.text.ends_with('\n') {
        let end = snapshot.lines.position(&snapshot.text, snapshot.text.len() as u32);
        edits.push(TextEdit { range: Range { start: end, end }, new_text: "\n".to_string() });
    }
    Some(edits)
}

/// Do two texts say the same: have they the same words in the same order?
fn is_same(old: &str, new: &str) -> bool {
    let words = |text| lexemes_of(text).into_iter().map(move |lexeme: Lexeme| lexeme.range.of(text).trim_end());
    words(old).eq(words(new))
}

/// The lines of `text` as they should be, as many as there are.
fn formatted(text: &str) -> Vec<String> {
    let lexemes = lexemes_of(text);
    let mut layout = Layout { text, brackets: Vec::new(), shift: 0, last: None };
    let mut rest = &lexemes[..];
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let end = start + line.len() as u32;
        let n = rest.iter().take_while(|lexeme| lexeme.range.start < end).count();
        let (here, after) = rest.split_at(n);
        rest = after;
        lines.push(layout.line(TextRange::new(start, end), here));
        start = end + 1;
    }
    lines
}

/// What is known at the start of a line.
struct Layout<'t> {
    text: &'t str,
    /// The open brackets.
    brackets: Vec<char>,
    /// By how much the line that began the statement moved; those that continue it move along.
    shift: isize,
    /// The last lexeme that is no comment.
    last: Option<Lexeme>,
}

impl Layout<'_> {
    fn line(&mut self, range: TextRange, lexemes: &[Lexeme]) -> String {
        if lexemes.is_empty() {
            return String::new();
        }
        let old = range.of(self.text);
        let old_indent =
            old.chars().take_while(|c| matches!(c, ' ' | '\t')).map(|c| if c == '\t' { INDENT } else { 1 });
        let old_indent: usize = old_indent.sum();
        let indent = if self.continues(lexemes) {
            old_indent.saturating_add_signed(self.shift)
        } else {
            let closes = lexemes.iter().take_while(|one| one.kind == LexemeKind::Close).count();
            let depth = self.brackets.len().saturating_sub(closes);
            self.shift = (depth * INDENT) as isize - old_indent as isize;
            depth * INDENT
        };
        let mut line = " ".repeat(indent);
        let mut before: Option<Lexeme> = None;
        for &lexeme in lexemes {
            if let Some(before) = before {
                let written = self.text[before.range.end as usize..lexeme.range.start as usize].len();
                let spaces = Layout::spaces(self.text, (before, lexeme), written);
                line.extend(std::iter::repeat_n(' ', spaces));
            }
            line.push_str(lexeme.range.of(self.text));
            self.take(lexeme);
            before = Some(lexeme);
        }
        line
    }

    /// Does a line of `lexemes` continue a statement, or the head of an item?
    fn continues(&self, lexemes: &[Lexeme]) -> bool {
        if self.brackets.iter().any(|&bracket| bracket != '{') {
            return true;
        }
        let (Some(last), Some(first)) = (self.last, lexemes.first()) else { return false };
        let text = |lexeme: &Lexeme| lexeme.range.of(self.text);
        if self.brackets.is_empty() && first.kind != LexemeKind::Comment {
            // Outside of blocks a line begins an item, or goes on with its head.
            let begins = lexemes.get(1).is_some_and(|next| next.kind == LexemeKind::Symbol);
            return !begins && text(&last) != "}" && text(first) != "tir";
        }
        let goes_on = match first.kind {
            LexemeKind::Operator => true,
            LexemeKind::Keyword => text(first) == "where",
            _ => false,
        };
        goes_on || (last.kind == LexemeKind::Operator && first.kind != LexemeKind::Close)
    }

    /// Notes what `lexeme` opens or closes.
    fn take(&mut self, lexeme: Lexeme) {
        match lexeme.kind {
            LexemeKind::Comment => return,
            LexemeKind::Open => self.brackets.extend(lexeme.range.of(self.text).chars()),
            LexemeKind::Close => drop(self.brackets.pop()),
            _ => {}
        }
        self.last = Some(lexeme);
    }

    /// How many spaces there are between two lexemes of a line; `written` is how many there were.
    fn spaces(text: &str, (before, after): (Lexeme, Lexeme), written: usize) -> usize {
        let (left, right) = (before.range.of(text), after.range.of(text));
        if after.kind == LexemeKind::Comment {
            // Comments of several lines may be lined up.
            return written.max(1);
        }
        match (left, right) {
            ("(" | "[", _) | (_, ")" | "]" | "," | "..") | ("..", _) => 0,
            (",", _) | ("=" | "->" | "+" | "*" | "/" | "%" | "==" | "!=" | "<=" | "&&" | "||", _) => 1,
            (_, "=" | "->" | "+" | "*" | "/" | "%" | "==" | "!=" | "<=" | "&&" | "||") => 1,
            // A sign or a difference, angles or a comparison: the author knows.
            _ => written.min(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_laid_out() {
        let text = "te.func @f( A:f32[8] )->f32[8]  {\ncompute B[i: 8]=A[ i ]*2.0   // twice\n      return B\n  }\n";
        let expected =
            ["te.func @f(A:f32[8]) -> f32[8] {", "  compute B[i: 8] = A[i] * 2.0   // twice", "  return B", "}", ""];
        assert_eq!(formatted(text), expected);
    }

    #[test]
    fn lines_that_continue_a_statement_move_along() {
        let text = "schedule @s for @f (\n    a: i32 in [1,\n               2],\n) where a >= 4,\n    a < 8 {\n      bind(B.i,\n           blockIdx.x)\n}\n";
        let expected = [
            "schedule @s for @f (",
            "    a: i32 in [1,",
            "               2],",
            ") where a >= 4,",
            "    a < 8 {",
            "  bind(B.i,",
            "       blockIdx.x)",
            "}",
            "",
        ];
        assert_eq!(formatted(text), expected);
    }
}
