//! Flat indices over sizes that stay open, taken apart again: `i * m + j`, where `j` lies within a row of `m`, names row
//! `i` and column `j`.
//!
//! Two flat indices over one row length are equal where rows and columns are, so the proofs over differences, which know
//! constant coefficients only, can look at each on its own.

use super::access::NestFacts;
use super::form::{Footprint, Form, common_divisor, sum_of, without};
use super::guards::Guards;
use tc_arith::Expr;

/// How often an index is taken apart: buffers have few dimensions.
const MAX_ROWS: usize = 8;

/// The index `forms` of an access under `guards`, by rows where sizes make some.
pub(super) fn by_rows(facts: &mut NestFacts<'_>, guards: &Guards, mut forms: Vec<Form>) -> Vec<Form> {
    if facts.func.header.symbols.is_empty() || forms.len() != 1 {
        return forms;
    }
    let Some(mut outer) = forms.pop() else { return forms };
    let mark = facts.algebra.analyzer.mark();
    for &(condition, truth) in &guards.conditions {
        let holds = if truth { condition } else { facts.algebra.analyzer.pool.not(condition) };
        facts.algebra.analyzer.constrain(holds);
    }
    while forms.len() < MAX_ROWS
        && let Some((row, column)) = split(facts, &outer)
    {
        forms.push(column);
        outer = row;
    }
    facts.algebra.analyzer.rollback(mark);
    forms.push(outer);
    forms.reverse();
    forms
}

/// Row and column of an index, where a size of the function makes rows.
fn split(facts: &mut NestFacts<'_>, form: &Form) -> Option<(Form, Form)> {
    let n_sizes = facts.func.header.symbols.len();
    let sizes: Vec<_> = facts.func.region_args(facts.func.body())[..n_sizes].to_vec();
    sizes.into_iter().find_map(|size| {
        let size = facts.algebra.expr(facts.func, size);
        split_by(facts, form, size)
    })
}

fn split_by(facts: &mut NestFacts<'_>, form: &Form, size: Expr) -> Option<(Form, Form)> {
    let pool = &mut facts.algebra.analyzer.pool;
    let mut row = Form { terms: Vec::new(), constant: 0, footprint: Footprint::NONE, row: form.row };
    let mut column = Form { terms: Vec::new(), ..form.clone() };
    for &(atom, coef) in &form.terms {
        match without(pool, atom, size) {
            Some(rest) => row.terms.push((rest, coef)),
            None => column.terms.push((atom, coef)),
        }
    }
    let step = common_divisor(&row.terms);
    if step <= 0 {
        return None;
    }
    let step_expr = pool.int(step);
    let length = pool.mul(size, step_expr);
    column.row = Some(length);
    let terms = std::mem::take(&mut row.terms);
    for (atom, coef) in terms {
        match pool.as_const(atom) {
            Some(value) => row.constant = row.constant.checked_add(value.checked_mul(coef / step)?)?,
            None => row.terms.push((atom, coef / step)),
        }
    }
    // The column lies within the row, the lanes of a vector included.
    let start = sum_of(pool, &column);
    let (below, above) = column.footprint.span()?;
    let (zero, below, above) = (pool.int(0), pool.int(below), pool.int(above));
    let (first, last) = (pool.add(start, below), pool.add(start, above));
    let starts = [pool.le(zero, first), pool.le(zero, last), pool.lt(first, length), pool.lt(last, length)];
    let within = starts.into_iter().all(|condition| facts.algebra.analyzer.can_prove(condition));
    within.then_some((row, column))
}
