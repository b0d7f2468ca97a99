//! Loops and conditions: what they hold takes their place.

use super::{edit_at, func_of, sites, stands};
use crate::reduce::{Reduction, State};
use std::ops::Range;
use tc_ir::opdef::Role;
use tc_ir::{Op, Rewriter, Value};

/// A loop becomes its body, run once for the first value of its variable; a condition one of its branches.
pub(crate) struct Blocks;

fn blocks(state: &State) -> Vec<(usize, (Op, usize))> {
    let mut found = Vec::new();
    for site in sites(state) {
        let Some(func) = func_of(state, site) else { continue };
        if matches!(func.role(site.1), Role::For | Role::If) {
            found.extend((0..func.op_regions(site.1).len()).map(|nth| (site.0, (site.1, nth))));
        }
    }
    found
}

impl Reduction for Blocks {
    fn n_sites(&self, state: &State) -> usize {
        blocks(state).len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        edit_at(state, blocks(state).get(sites)?, inline)
    }
}

/// Puts region `nth` of `op` in its place.
fn inline(rw: &mut Rewriter<'_>, (op, nth): (Op, usize)) {
    let func = rw.func();
    if !stands(func, op) {
        return;
    }
    let Some(&region) = func.op_regions(op).get(nth) else { return };
    rw.refresh(op);
    let func = rw.func();
    // Of a loop: its lower end for the variable, what it is started with for the values that it carries.
    let given: Vec<Value> = match (func.role(op), func.operands(op)) {
        (Role::For, [low, _, inits @ ..]) => std::iter::once(low).chain(inits).copied().collect(),
        _ => Vec::new(),
    };
    let args = func.region_args(region).to_vec();
    if args.len() != given.len() {
        return;
    }
    let end = func.terminator(region);
    if let Some(end) = end {
        rw.refresh(end);
    }
    let func = rw.func();
    let handed_on = func.yielded(region).to_vec();
    let results: Vec<Value> = func.results(op).collect();
    if handed_on.len() != results.len() {
        return;
    }
    for (&arg, &value) in args.iter().zip(&given) {
        rw.replace_value(arg, value);
    }
    for (&result, &value) in results.iter().zip(&handed_on) {
        rw.replace_value(result, value);
    }
    if let Some(end) = end {
        rw.refresh(end);
        rw.erase(end);
    }
    rw.splice_before(region, op);
    rw.refresh(op);
    rw.erase(op);
}
