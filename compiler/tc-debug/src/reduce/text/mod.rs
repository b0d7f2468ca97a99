//! Reductions of text: lines, tokens, numbers, names; and of what stands around the program.

mod cuts;
mod names;
mod numbers;
mod passes;
pub(crate) mod scan;
mod symbols;

pub(super) use cuts::{Lines, Tokens};
pub(super) use names::Names;
pub(super) use numbers::{Numbers, To};
pub(super) use passes::{Locations, Passes, split_passes};
pub(super) use symbols::Symbols;

use super::state::State;
use std::ops::Range;

/// `state` with its text edited: each of `edits` puts a text in the place of a range. They do not overlap, or the one
/// that begins first is done.
fn edited(state: &State, mut edits: Vec<(Range<usize>, String)>) -> Option<State> {
    edits.sort_by_key(|(range, _)| (range.start, usize::MAX - range.end));
    let text = &state.text;
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, with) in edits {
        if range.start < at {
            continue;
        }
        out.push_str(&text[at..range.start]);
        out.push_str(&with);
        at = range.end;
    }
    out.push_str(&text[at..]);
    if out == *text { None } else { state.with_text(out) }
}
