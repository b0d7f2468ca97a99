//! Long names become short ones.

use super::scan::{Kind, scan};
use crate::reduce::{Reduction, State};
use indexmap::{IndexMap, IndexSet};
use std::ops::Range;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Module};

/// Names that the author gave.
pub(crate) struct Names;

impl Reduction for Names {
    fn n_sites(&self, state: &State) -> usize {
        state.module.as_ref().map_or(0, |module| long_names(module).len())
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        let module = state.module.as_ref()?;
        let used: IndexSet<&str> = words(&state.text).collect();
        let fresh = ('a'..='z').map(|c| c.to_string()).chain((0..).map(|n| format!("v{n}")));
        let fresh = fresh.filter(|name| !used.contains(name.as_str()));
        let long: Vec<String> = long_names(module).into_iter().collect();
        let map: IndexMap<&str, String> = long[sites].iter().map(String::as_str).zip(fresh).collect();
        let edits = scan(&state.text).filter_map(|token| {
            let (sigil, name) = match token.kind {
                Kind::Word => ("", token.text),
                Kind::Symbol => ("@", token.text.strip_prefix('@')?),
                _ => return None,
            };
            let part = |part: &str| map.get(part).map_or(part.to_string(), String::clone);
            let renamed = name.split('.').map(part).collect::<Vec<_>>().join(".");
            (renamed != name).then(|| (token.start..token.end(), format!("{sigil}{renamed}")))
        });
        super::edited(state, edits.collect())
    }

    fn wants(&self, state: &State) -> bool {
        state.text.len() < 20_000
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let names = scan(text).filter(|token| matches!(token.kind, Kind::Word | Kind::Symbol));
    names.flat_map(|token| token.text.trim_start_matches('@').split('.'))
}

/// The names of more than one letter, in the order of the text.
fn long_names(module: &Module) -> IndexSet<String> {
    let mut names = IndexSet::new();
    for func in &module.items {
        names.insert(func.symbol().to_string());
        names.extend(func.header.symbols.iter().map(|symbol| func.text(symbol.name).to_string()));
        let mut value = |func: &Func, value| {
            names.insert(func.value_text(value).to_string());
        };
        func.region_args(func.body()).iter().for_each(|&arg| value(func, arg));
        for op in all_ops(func) {
            func.results(op).for_each(|result| value(func, result));
            for &region in func.op_regions(op) {
                func.region_args(region).iter().for_each(|&arg| value(func, arg));
            }
        }
    }
    names.retain(|name| name.chars().count() > 1 && !name.starts_with('$'));
    names
}
