//! The pipeline of a reproducer, and locations.

use crate::reduce::{Reduction, State};
use std::ops::Range;
use tc_ir::print::PrintOptions;

/// Passes of the reproducer's pipeline.
pub(crate) struct Passes;

impl Reduction for Passes {
    fn n_sites(&self, state: &State) -> usize {
        state.passes.len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        let mut other = state.clone();
        other.passes.drain(sites);
        Some(other)
    }
}

/// The places that ops come from.
pub(crate) struct Locations;

impl Reduction for Locations {
    fn n_sites(&self, state: &State) -> usize {
        usize::from(state.print.locations)
    }

    fn without(&self, state: &State, _: Range<usize>) -> Option<State> {
        state.printed(PrintOptions { locations: false, ..state.print })
    }
}

/// The passes of a pipeline string, each as a string of its own: `module(a(b,c),d)` has the passes `a(b)`, `a(c)` and
/// `d`. What is no pipeline is one pass.
pub(crate) fn split_passes(text: &str) -> Vec<String> {
    let text = text.trim();
    let inner = ["module", "builtin.module"].iter().find_map(|anchor| inside(text, anchor)).unwrap_or(text);
    let Some(elements) = elements(inner) else { return vec![text.to_string()] };
    let mut passes = Vec::new();
    for element in elements {
        let nested = element.find(['(', '{']).filter(|&at| element[at..].starts_with('('));
        let within = nested.and_then(|at| Some((&element[..at], inside(element, &element[..at])?)));
        match within.and_then(|(anchor, within)| Some((anchor, self::elements(within)?))) {
            Some((anchor, within)) => passes.extend(within.iter().map(|pass| format!("{anchor}({pass})"))),
            None => passes.push(element.to_string()),
        }
    }
    passes
}

/// What stands in the brackets of `anchor(…)`, if that is all of `text`.
fn inside<'t>(text: &'t str, anchor: &str) -> Option<&'t str> {
    text.strip_prefix(anchor)?.trim_start().strip_prefix('(')?.strip_suffix(')')
}

/// The elements between the commas that stand in no brackets and no string; none if brackets do not match.
fn elements(text: &str) -> Option<Vec<&str>> {
    let (mut depth, mut quote, mut escaped, mut start) = (0_i64, None, false, 0);
    let mut found = Vec::new();
    for (at, c) in text.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), c) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '{' | '[') => depth += 1,
            (None, ')' | '}' | ']') => depth -= 1,
            (None, ',') if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        if depth < 0 {
            return None;
        }
    }
    found.push(text[start..].trim());
    found.retain(|element| !element.is_empty());
    (depth == 0 && quote.is_none()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipelines_are_taken_apart() {
        let text = "module(schedule{param=\"a=1,(b\" x},tir.func(simplify{a b=2},cse),inline{calls},cuda)";
        let want =
            ["schedule{param=\"a=1,(b\" x}", "tir.func(simplify{a b=2})", "tir.func(cse)", "inline{calls}", "cuda"];
        assert_eq!(split_passes(text), want);
        assert_eq!(split_passes("cse"), ["cse"]);
        assert_eq!(split_passes("module()"), [""; 0]);
        assert_eq!(split_passes("module(cse"), ["module(cse"]);
    }
}
