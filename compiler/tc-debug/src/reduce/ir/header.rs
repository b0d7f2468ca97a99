//! What stands before the body of an item, and attributes.

use super::{clean, edit_at, func_of, sites};
use crate::reduce::{Reduction, State};
use std::ops::Range;
use tc_ir::{Func, Name, Op, Rewriter};

/// Parameters and symbols that nothing uses, results, conditions, attributes, the operators of a schedule.
pub(crate) struct Header;

#[derive(Clone, Copy)]
enum HeaderPart {
    Symbol(usize),
    Param(usize),
    Result(usize),
    Fact(usize),
    Attribute(Name),
    Target(usize),
}

fn parts(state: &State) -> Vec<(usize, HeaderPart)> {
    let mut found = Vec::new();
    for (nth, func) in state.module.iter().flat_map(|module| module.items.iter().enumerate()) {
        let header = &func.header;
        let args = func.region_args(func.body());
        let n_symbols = header.symbols.len();
        let unused = |idx: &usize| args.get(*idx).is_some_and(|&arg| func.n_uses(arg) == 0);
        let mut add = |part: HeaderPart| found.push((nth, part));
        (0..n_symbols).filter(unused).for_each(|idx| add(HeaderPart::Symbol(idx)));
        (0..header.params.len()).filter(|idx| unused(&(n_symbols + idx))).for_each(|idx| add(HeaderPart::Param(idx)));
        (0..header.results.len()).for_each(|idx| add(HeaderPart::Result(idx)));
        (0..header.facts.len()).for_each(|idx| add(HeaderPart::Fact(idx)));
        func.entries(header.attrs).iter().for_each(|&(name, _)| add(HeaderPart::Attribute(name)));
        let n_targets = if header.targets.len() > 1 { header.targets.len() } else { 0 };
        (0..n_targets).for_each(|idx| add(HeaderPart::Target(idx)));
    }
    found
}

impl Reduction for Header {
    fn n_sites(&self, state: &State) -> usize {
        parts(state).len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        let parts = parts(state);
        let chosen = parts.get(sites)?;
        state.edited(|items| {
            // The last first: the numbers of those before it stay.
            for &(nth, part) in chosen.iter().rev() {
                remove(&mut items[nth], part);
            }
            items.iter_mut().for_each(clean);
            true
        })
    }
}

fn remove(func: &mut Func, part: HeaderPart) {
    let body = func.body();
    let n_symbols = func.header.symbols.len();
    match part {
        HeaderPart::Symbol(idx) => {
            func.header.symbols.remove(idx);
            Rewriter::new(func).remove_arg(body, idx);
        }
        HeaderPart::Param(idx) => {
            func.header.params.remove(idx);
            Rewriter::new(func).remove_arg(body, n_symbols + idx);
        }
        HeaderPart::Result(idx) => {
            func.header.results.remove(idx);
            if let Some(end) = func.terminator(body) {
                let mut operands = func.operands(end).to_vec();
                if idx < operands.len() {
                    operands.remove(idx);
                    Rewriter::new(func).set_operands(end, &operands);
                }
            }
        }
        HeaderPart::Fact(idx) => {
            func.header.facts.remove(idx);
        }
        HeaderPart::Attribute(name) => func.header.attrs = func.without_entry(func.header.attrs, name),
        HeaderPart::Target(idx) => {
            func.header.targets.remove(idx);
        }
    }
}

/// Attributes of ops that their rows do without.
pub(crate) struct Attributes;

fn optional(state: &State) -> Vec<(usize, (Op, Name))> {
    let mut found = Vec::new();
    for site in sites(state) {
        let Some(func) = func_of(state, site) else { continue };
        let row = func.row(site.1);
        let is_free = |name: Name| {
            row.params.iter().find(|param| param.name == func.text(name)).is_none_or(|param| param.optional)
        };
        let names = func.entries(func.op_attrs(site.1)).iter().map(|&(name, _)| name);
        found.extend(names.filter(|&name| is_free(name)).map(|name| (site.0, (site.1, name))));
    }
    found
}

impl Reduction for Attributes {
    fn n_sites(&self, state: &State) -> usize {
        optional(state).len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        edit_at(state, optional(state).get(sites)?, |rw, (op, name)| {
            let attrs = rw.func().op_attrs(op);
            let attrs = rw.func_mut().without_entry(attrs, name);
            rw.set_attrs(op, attrs);
        })
    }
}
