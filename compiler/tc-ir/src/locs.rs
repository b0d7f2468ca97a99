//! Locations of ops.
//!
//! An op carries two: where the operator says what is computed, and which directive of a schedule put it there.
//! One location is a `u32`: 0 for none, a byte position of a loaded file, or, with the top bit set, the number
//! of a place that a text named (`#"f.tir":12:5`), whose file need not be loaded.

use crate::entity::Loc;
use std::sync::Arc;
use tc_support::{LineCol, Location, Pos, Sources, Span};

const NAMED: u32 = 1 << 31;

/// What a location is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LocKind {
    /// Unknown.
    None,
    /// A byte position of a loaded file.
    Pos(Pos),
    /// The number of a place that a text named.
    Named(u32),
}

impl Loc {
    /// No location.
    pub const NONE: Loc = Loc(0);

    /// The location of a byte position.
    pub fn pos(pos: Pos) -> Loc {
        debug_assert!(pos.0 < NAMED, "`Sources` keeps positions below 2^31");
        Loc(pos.0)
    }

    /// Takes it apart.
    pub fn kind(self) -> LocKind {
        match self.0 {
            0 => LocKind::None,
            n if n & NAMED != 0 => LocKind::Named(n & !NAMED),
            n => LocKind::Pos(Pos(n)),
        }
    }

    /// Is there none?
    pub fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// A place that a text named.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedLoc {
    /// The file; `None` is the file that the text itself stands for.
    pub file: Option<Arc<str>>,
    /// Line and column.
    pub at: LineCol,
}

/// The named places of one function.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocTable {
    named: Vec<NamedLoc>,
}

impl LocTable {
    pub(crate) fn add(&mut self, place: NamedLoc) -> Loc {
        // Neighbours often come from one line.
        if self.named.last() != Some(&place) {
            self.named.push(place);
        }
        Loc((self.named.len() as u32 - 1) | NAMED)
    }

    pub(crate) fn named(&self, number: u32) -> &NamedLoc {
        &self.named[number as usize]
    }

    pub(crate) fn to_location(&self, loc: Loc) -> Location {
        match loc.kind() {
            LocKind::None => Location::None,
            LocKind::Pos(pos) => Location::Span(Span::at(pos)),
            LocKind::Named(number) => {
                let place = self.named(number);
                let file = place.file.clone().unwrap_or_else(|| Arc::from("this file"));
                Location::Point { file, at: place.at }
            }
        }
    }

    pub(crate) fn file_line_col(&self, loc: Loc, sources: &Sources) -> Option<(Option<Arc<str>>, LineCol)> {
        match loc.kind() {
            LocKind::None => None,
            LocKind::Pos(pos) => sources.line_col(pos).map(|(file, at)| (Some(Arc::from(file.name.as_str())), at)),
            LocKind::Named(number) => {
                let place = self.named(number);
                Some((place.file.clone(), place.at))
            }
        }
    }
}
