//! Sizes that an item leaves open become numbers.

use super::scan::{Kind, Token, scan};
use crate::reduce::{Reduction, State};
use std::ops::Range;

/// What stands for a size that has no default.
const SIZE: &str = "4";

/// Symbols such as `n` of `te.func @blur<n: 3..65536 = 4096>`.
pub(crate) struct Symbols;

impl Reduction for Symbols {
    fn n_sites(&self, state: &State) -> usize {
        let tokens: Vec<Token<'_>> = scan(&state.text).collect();
        declarations(&tokens).len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        let tokens: Vec<Token<'_>> = scan(&state.text).collect();
        let mut edits = Vec::new();
        for (within, list) in declarations(&tokens).get(sites)? {
            let range = |tokens: &Range<usize>| tokens.clone();
            let own = &tokens[range(within)];
            let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
            let name = first.text;
            let value = match own.iter().position(|token| token.is("=")) {
                Some(at) => state.text[own.get(at + 1)?.start..last.end()].to_string(),
                None => SIZE.to_string(),
            };
            // The only one takes the brackets with it, another one a comma.
            let (mut from, mut to) = (within.start, within.end);
            if *list == (within.start - 1..within.end + 1) {
                (from, to) = (list.start, list.end);
            } else if tokens.get(to).is_some_and(|token| token.is(",")) {
                to += 1;
            } else {
                from -= 1;
            }
            edits.push((tokens[from].start..tokens[to - 1].end(), String::new()));
            let uses = tokens
                .iter()
                .enumerate()
                .filter(|(nth, token)| !(from..to).contains(nth) && token.kind == Kind::Word && token.text == name);
            edits.extend(uses.map(|(_, token)| (token.start..token.end(), value.clone())));
        }
        super::edited(state, edits)
    }
}

/// The declarations in `@name<…>`, as ranges of tokens: each with the list that it stands in, brackets included.
fn declarations(tokens: &[Token<'_>]) -> Vec<(Range<usize>, Range<usize>)> {
    let mut found = Vec::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        if pair[0].kind != Kind::Symbol || !pair[1].is("<") {
            continue;
        }
        let open = at + 1;
        let Some(len) = tokens[open..].iter().position(|token| token.is(">")) else { continue };
        let close = open + len;
        let list = open..close + 1;
        let mut start = open + 1;
        let commas = (start..close).filter(|&nth| tokens[nth].is(","));
        for end in commas.chain([close]) {
            if tokens.get(start).is_some_and(|token| token.kind == Kind::Word) {
                found.push((start..end, list.clone()));
            }
            start = end + 1;
        }
    }
    found
}
