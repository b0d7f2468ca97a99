//! Pieces of text that are cut out whatever they mean: lines, and tokens with what belongs to them.

use super::scan::{Kind, Token, scan};
use crate::reduce::{Reduction, State};
use std::ops::Range;

/// Lines.
pub(crate) struct Lines;

impl Reduction for Lines {
    fn n_sites(&self, state: &State) -> usize {
        state.text.split_inclusive('\n').count()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        let kept = state.text.split_inclusive('\n').enumerate().filter(|(nth, _)| !sites.contains(nth));
        state.with_text(kept.map(|(_, line)| line).collect())
    }

    fn wants(&self, state: &State) -> bool {
        // Of a program that reads, ops were taken out already: only what is left of it is worth the reading.
        state.module.is_none() || state.text.len() < 20_000
    }
}

/// Tokens: each alone, each bracket with all that it holds, each element of a list with its comma, each operator with
/// what stands behind it.
pub(crate) struct Tokens;

impl Reduction for Tokens {
    fn n_sites(&self, state: &State) -> usize {
        cuts(&state.text).len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        let cuts = cuts(&state.text);
        super::edited(state, cuts.get(sites)?.iter().map(|cut| (cut.clone(), String::new())).collect())
    }

    fn wants(&self, state: &State) -> bool {
        state.text.len() < if state.module.is_some() { 4_000 } else { 40_000 }
    }
}

/// What may be cut, in the order of the text, a longer piece before those in it.
fn cuts(text: &str) -> Vec<Range<usize>> {
    let tokens: Vec<Token<'_>> = scan(text).collect();
    let close = matching(&tokens);
    let mut cuts = Vec::new();
    let mut cut = |from: usize, to: usize| cuts.push(tokens[from].start..tokens[to].end());
    for (at, token) in tokens.iter().enumerate() {
        cut(at, at);
        if let Some(end) = close[at] {
            cut(at, end);
            // Such as `attributes {…}`, `for i in 0..n {…}`: the line up to here goes too.
            let line = tokens[..at].iter().rposition(|before| text[before.end()..token.start].contains('\n'));
            let first = line.map_or(0, |before| before + 1);
            if first < at {
                cut(first, end);
            }
            if at > 0 {
                cut(at - 1, end);
            }
            if let Some(end) = close.get(end + 1).copied().flatten() {
                cut(at, end);
            }
        }
        let is_operator = token.kind == Kind::Sign && !matches!(token.text, "(" | ")" | "[" | "]" | "{" | "}");
        if is_operator || matches!(token.text, "else" | "where" | "in") {
            let mut end = (at + 1).min(tokens.len() - 1);
            end = close[end].unwrap_or(end);
            while let Some(more) = close.get(end + 1).copied().flatten().filter(|_| !tokens[end + 1].is("{")) {
                end = more;
            }
            cut(at, end);
            // The element up to the next comma.
            if token.is(",") {
                let mut next = at + 1;
                while tokens.get(next).is_some_and(|token| !ends_element(token)) {
                    next = close[next].unwrap_or(next) + 1;
                }
                if next > at + 1 {
                    cut(at, next - 1);
                }
            }
            if at > 0 {
                cut(at - 1, at);
            }
        }
    }
    cuts.sort_by_key(|cut| (cut.start, usize::MAX - cut.end));
    cuts.dedup();
    cuts
}

fn ends_element(token: &Token<'_>) -> bool {
    [",", ")", "]", "}", ">"].iter().any(|sign| token.is(sign))
}

/// For each opening bracket the one that closes it.
fn matching(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let mut close = vec![None; tokens.len()];
    let mut open = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            _ if token.kind != Kind::Sign => {}
            "(" | "[" | "{" => open.push(at),
            ")" | "]" | "}" => {
                if let Some(start) = open.pop() {
                    close[start] = Some(at);
                }
            }
            _ => {}
        }
    }
    close
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_elements_and_operands_are_pieces() {
        let text = "f(a, b[1] + c)";
        let cuts: Vec<&str> = cuts(text).into_iter().map(|cut| &text[cut]).collect();
        for want in ["(a, b[1] + c)", "f(a, b[1] + c)", ", b[1] + c", "+ c", "[1]", "b[1]", "a,"] {
            assert!(cuts.contains(&want), "{want}: {cuts:?}");
        }
    }
}
