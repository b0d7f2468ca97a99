//! From text to syntax trees, item by item.

use crate::actions::Parse;
use crate::balance::balance;
use crate::grammar::FileParser;
use crate::recover::{Shared, SyntaxError, diagnostics};
use crate::stream::Stream;
use crate::token::Token;
use crate::tree::{Item, Tree};
use tc_support::{Diagnostics, Pos};

/// Parses `source`, a file that starts at `base`, and hands each item that is free of syntax errors to `sink`, in the
/// order of the text. The tree is good during the call only: its storage is used again for the next item.
///
/// Returns all syntax errors. Items that have one are left out, those before and after it are not.
pub fn parse(source: &str, base: Pos, sink: &mut dyn FnMut(&Tree, &Item)) -> Diagnostics {
    let mut n_items = 0;
    let errors = run(source, base, sink, &mut n_items, Shared::new(true), &[]);
    if errors.is_empty() {
        return Diagnostics::new();
    }
    // Only a text that does not parse pays for finding out why.
    let mut repairs = balance(source);
    let errors = run(source, base, sink, &mut n_items, Shared::new(false), &repairs.missing);
    repairs.errors.extend(errors);
    diagnostics(repairs.errors, source, base)
}

/// Parses once. `n_items` is how many items were handed out before, and after.
fn run(
    source: &str,
    base: Pos,
    sink: &mut dyn FnMut(&Tree, &Item),
    n_items: &mut usize,
    shared: Shared,
    missing: &[(u32, Token)],
) -> Vec<SyntaxError> {
    let tree = Tree::new(base);
    let mut parse = Parse { tree, shared: &shared, source, sink, skipped: *n_items, n_items: 0, broken: false };
    let result = FileParser::new().parse(&mut parse, Stream::new(source, &shared, missing));
    *n_items = parse.n_items.max(*n_items);
    if let Err(error) = result {
        shared.parse_error(error);
    }
    shared.into_errors()
}
