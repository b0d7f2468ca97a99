//! Operands: an expression becomes one of its parts, or a literal.

use super::{edit_at, func_of, literal, sites, stands};
use crate::reduce::{Reduction, State};
use std::ops::Range;
use tc_ir::opdef::Role;
use tc_ir::{Op, Rewriter};

/// An op with one result becomes one of its operands that has the same type.
pub(crate) struct Forward;

fn parts(state: &State) -> Vec<(usize, (Op, usize))> {
    let mut found = Vec::new();
    for site in sites(state) {
        let Some(func) = func_of(state, site) else { continue };
        let Some(result) = func.result(site.1).filter(|&result| func.n_uses(result) > 0) else { continue };
        let fits = |idx: &usize| func.value_type(func.operand(site.1, *idx)) == func.value_type(result);
        found.extend((0..func.operands(site.1).len()).filter(fits).map(|idx| (site.0, (site.1, idx))));
    }
    found
}

impl Reduction for Forward {
    fn n_sites(&self, state: &State) -> usize {
        parts(state).len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        edit_at(state, parts(state).get(sites)?, |rw, (op, idx)| {
            if !stands(rw.func(), op) {
                return;
            }
            rw.refresh(op);
            let part = rw.func().operand(op, idx);
            rw.replace_op(op, &[part]);
        })
    }
}

/// A number among the operands of an op becomes a literal.
pub(crate) struct Constants {
    /// 1, or 0.
    pub(crate) one: bool,
}

fn numbers(state: &State) -> Vec<(usize, (Op, usize))> {
    let mut found = Vec::new();
    for site in sites(state) {
        let Some(func) = func_of(state, site) else { continue };
        let is_computed = |idx: &usize| {
            let value = func.operand(site.1, *idx);
            let literal = func.def_op(value).is_some_and(|op| func.role(op) == Role::Constant);
            !literal && func.value_scalar(value).is_some_and(|scalar| scalar.lanes == 1)
        };
        found.extend((0..func.operands(site.1).len()).filter(is_computed).map(|idx| (site.0, (site.1, idx))));
    }
    found
}

impl Reduction for Constants {
    fn n_sites(&self, state: &State) -> usize {
        numbers(state).len()
    }

    fn without(&self, state: &State, sites: Range<usize>) -> Option<State> {
        edit_at(state, numbers(state).get(sites)?, |rw, (op, idx)| set(rw, op, idx, self.one))
    }
}

fn set(rw: &mut Rewriter<'_>, op: Op, idx: usize, one: bool) {
    if !stands(rw.func(), op) {
        return;
    }
    rw.refresh(op);
    let ty = rw.func().value_type(rw.func().operand(op, idx));
    if let Some(value) = literal(rw, op, ty, one) {
        rw.set_operand(op, idx, value);
    }
}
