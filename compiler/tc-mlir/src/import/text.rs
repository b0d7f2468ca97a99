//! Where ops and values are in the text, and what the text calls them: MLIR forgets names when it has read them.

use melior::ir::Location as Place;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, Value, ValueLike};
use tc_ir::{Func, Loc};
use tc_support::{LineCol, Location, Pos, Span};

/// How deep a place may be within others.
const MAX_DEPTH: usize = 8;

/// A place.
#[derive(Clone, Debug)]
pub(crate) enum At {
    /// MLIR does not say.
    Nowhere,
    /// A byte of the text.
    Here(usize),
    /// A place that the text names: `loc("f.tir":12:5)`.
    Named(Location),
}

/// A text that was read.
pub(crate) struct Text<'t> {
    text: &'t str,
    base: Pos,
    /// Where lines start; none if the text is elsewhere.
    lines: Vec<usize>,
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')
}

impl<'t> Text<'t> {
    /// The text of a file that starts at `base`.
    pub(crate) fn new(text: &'t str, base: Pos) -> Text<'t> {
        let ends = text.bytes().enumerate().filter(|&(_, byte)| byte == b'\n').map(|(at, _)| at + 1);
        Text { text, base, lines: std::iter::once(0).chain(ends).collect() }
    }

    /// A text that was read before: places in it are told as MLIR tells them.
    pub(crate) fn elsewhere() -> Text<'t> {
        Text { text: "", base: Pos(0), lines: Vec::new() }
    }

    /// The byte at a line and a column, both from 1.
    pub(crate) fn byte(&self, line: usize, col: usize) -> usize {
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(self.text.len());
        let at = start.saturating_add(col.saturating_sub(1)).min(self.text.len());
        (0..=at).rev().find(|&at| self.text.is_char_boundary(at)).unwrap_or(0)
    }

    /// Where `place` is.
    pub(crate) fn at(&self, place: Place<'_>) -> At {
        self.find(place, MAX_DEPTH).unwrap_or(At::Nowhere)
    }

    fn find(&self, place: Place<'_>, depth: usize) -> Option<At> {
        let depth = depth.checked_sub(1)?;
        if place.is_file_line_col_range() {
            let (line, col) = (place.file_line_col_range_start_line(), place.file_line_col_range_start_column());
            let file = place.file_line_col_range_filename();
            // What is read from memory has this name.
            return Some(match file.as_string_ref().as_str() {
                Ok(file) if file != "-" || self.lines.is_empty() => {
                    let at = LineCol { line: u32::try_from(line).ok()?, col: u32::try_from(col).ok()? };
                    At::Named(Location::Point { file: file.into(), at })
                }
                _ => At::Here(self.byte(line, col)),
            });
        }
        if place.is_name() {
            self.find(place.name_child_location(), depth)
        } else if place.is_call_site() {
            self.find(place.call_site_callee(), depth)
        } else if place.is_fused() {
            (0..place.fused_num_locations()).find_map(|nth| self.find(place.fused_location(nth), depth))
        } else {
            None
        }
    }

    /// The place of an op.
    pub(crate) fn at_op(&self, op: OperationRef<'_, '_>) -> At {
        self.at(op.location())
    }

    /// The word at `at`, for a message.
    pub(crate) fn location(&self, at: &At) -> Location {
        match at {
            At::Nowhere => Location::None,
            At::Named(location) => location.clone(),
            At::Here(start) => {
                let rest = self.text.get(*start..).unwrap_or("");
                let sigil = rest.len() - rest.trim_start_matches(['%', '@', '#', '!', '"']).len();
                let word = rest[sigil..].find(|c| !is_word(c)).unwrap_or(rest.len() - sigil);
                Location::Span(self.span(*start, start + sigil + word))
            }
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        let pos = |at: usize| Pos(self.base.0.saturating_add(u32::try_from(at).unwrap_or(u32::MAX)));
        Span::new(pos(start), pos(end))
    }

    /// The place that ops of `func` carry.
    pub(crate) fn loc(&self, at: &At, func: &mut Func) -> Loc {
        match at {
            At::Here(start) => Loc::pos(self.span(*start, *start).start),
            At::Named(Location::Point { file, at }) => func.named_loc(Some(file), *at),
            _ => Loc::default(),
        }
    }

    /// The name of the first result of `op`: `x` of `%x = arith.addf …`, of `%x:2 = …`, and of `%x, %y = …`.
    pub(crate) fn name_of(&self, op: OperationRef<'_, '_>) -> Option<&'t str> {
        let At::Here(at) = self.at_op(op) else { return None };
        let start = self.lines.partition_point(|&line| line <= at).checked_sub(1).map(|nth| self.lines[nth])?;
        let before = self.text.get(start..at)?.trim_end().strip_suffix('=')?;
        let statement = before.rsplit(['{', '}']).next()?.trim();
        let first = statement.strip_prefix('%')?;
        readable(&first[..first.find(|c| !is_word(c)).unwrap_or(first.len())])
    }

    /// The name of an argument of a block.
    pub(crate) fn name_of_argument(&self, value: Value<'_, '_>) -> Option<&'t str> {
        let At::Here(at) = self.at(value.location()) else { return None };
        let rest = self.text.get(at..)?.strip_prefix('%')?;
        readable(&rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())])
    }
}

/// `name`, if it says more than a number or a constant's value.
fn readable(name: &str) -> Option<&str> {
    let is_numbered = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let is_temporary = is_numbered(name) || name.strip_prefix('t').is_some_and(is_numbered);
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && name.chars().all(is_word);
    (is_name && !is_temporary && !crate::names::is_constant(name)).then_some(name)
}
