//! From text to syntax trees, item by item.

use crate::actions::{Parse, Wanted};
use crate::balance::{Repairs, balance};
use crate::grammar::{PlainParser, RecoveringParser};
use crate::recover::{Shared, diagnostics};
use crate::stream::Stream;
use crate::tree::{Item, Tree};
use tc_support::{Diagnostics, Pos};

/// Parses `source`, a file that starts at `base`, and hands each item that is free of syntax errors to `sink`, in the
/// order of the text. The tree is good during the call only: its storage is used again for the next item.
///
/// Returns all syntax errors. Items that have one are left out, those before and after it are not.
pub fn parse(source: &str, base: Pos, sink: &mut dyn FnMut(&Tree, &Item)) -> Diagnostics {
    parse_items(source, base, sink, Wanted::Whole)
}

/// Parses `source` as [`parse`] does, and hands out items with syntax errors in their bodies as well: for editors, where an
/// item is wrong most of the time and the rest of it is still worth knowing.
///
/// In the place of a statement that does not parse there is a call of an empty name, whose range is empty.
pub fn parse_partial(source: &str, base: Pos, sink: &mut dyn FnMut(&Tree, &Item)) -> Diagnostics {
    parse_items(source, base, sink, Wanted::Partial)
}

fn parse_items(source: &str, base: Pos, sink: &mut dyn FnMut(&Tree, &Item), wanted: Wanted) -> Diagnostics {
    let shared = Shared::default();
    let mut parse = Parse::new(source, base, sink, &shared, (0, wanted));
    let result = PlainParser::new().parse(&mut parse, Stream::new(source, &shared, &[]));
    let done = parse.done;
    if result.is_ok() && !shared.has_errors() {
        return Diagnostics::new();
    }
    // Only a text that does not parse pays for finding out why.
    let Repairs { missing, mut errors } = balance(source);
    let shared = Shared::default();
    let mut parse = Parse::new(source, base, sink, &shared, (done, wanted));
    let result = RecoveringParser::new().parse(&mut parse, Stream::new(source, &shared, &missing));
    if let Err(error) = result {
        shared.parse_error(error);
    }
    errors.extend(shared.into_errors());
    diagnostics(errors, source, base, &missing)
}
