//! Ops, with all that stands in them: statements, directives, buffers, expressions.

use super::{Site, edit_at, func_of, in_scope, literal, sites, stands};
use crate::reduce::{Reduction, State};
use std::ops::Range;
use tc_ir::opdef::Role;
use tc_ir::{Op, Rewriter, Value};

/// Ops. A number that one of them computes becomes 0, and anything else another value of its type, if there is one.
pub(crate) struct Ops;

/// Literals go with what uses them, and what ends a region stays as long as that.
fn removable(state: &State) -> Vec<Site> {
    let mut all = sites(state);
    all.retain(|&site| {
        func_of(state, site).is_some_and(|func| !func.row(site.1).terminator && func.role(site.1) != Role::Constant)
    });
    all
}

impl Reduction for Ops {
    fn n_sites(&self, state: &State) -> usize {
        removable(state).len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        edit_at(state, removable(state).get(sites)?, remove)
    }
}

/// Takes `op` out if something can stand for each of its results that is used.
fn remove(rw: &mut Rewriter<'_>, op: Op) {
    if !stands(rw.func(), op) {
        return;
    }
    rw.refresh(op);
    let used: Vec<Value> = rw.func().results(op).filter(|&value| rw.func().n_uses(value) > 0).collect();
    let mut with = Vec::with_capacity(used.len());
    for &value in &used {
        let ty = rw.func().value_type(value);
        let stand_in = literal(rw, op, ty, false).or_else(|| in_scope(rw.func(), op, ty));
        let Some(stand_in) = stand_in else { return };
        with.push(stand_in);
    }
    for (old, new) in used.into_iter().zip(with) {
        rw.replace_value(old, new);
    }
    rw.erase(op);
}
