//! Flat indices over sizes that stay open, taken apart again: `i * m + j`, where `j` lies within a row of `m`, names row
//! `i` and column `j`.
//!
//! Two flat indices over one row length are equal where rows and columns are, so the proofs over differences, which know
//! constant coefficients only, can look at each on its own.

use super::access::{Form, NestFacts, Reach, linear};
use std::rc::Rc;
use tc_arith::{BinaryOp, Expr, Node, Pool};
use tc_dialects::tir;
use tc_ir::Op;
use tc_ir::walk::ancestors;

/// How often an index is taken apart: buffers have few dimensions.
const MAX_ROWS: usize = 8;
/// A product of more factors is left alone.
const MAX_FACTORS: usize = 16;

/// The index `forms` of an access of `op`, by rows where sizes make some.
pub(super) fn by_rows(facts: &mut NestFacts<'_>, op: Op, mut forms: Vec<Form>) -> Vec<Form> {
    if facts.func.header.symbols.is_empty() || forms.len() != 1 {
        return forms;
    }
    let Some(outer) = forms.pop() else { return forms };
    let mut outer = rejoined(&mut facts.algebra.analyzer.pool, outer);
    let mark = facts.algebra.analyzer.mark();
    assume_conditions(facts, op);
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

/// `form` with `x / n * n + x % n` as what it is: `x`.
fn rejoined(pool: &mut Pool, mut form: Form) -> Form {
    let mut nth = 0;
    while let Some(&(atom, coef)) = form.terms.get(nth) {
        nth += 1;
        let Node::Binary(BinaryOp::FloorMod, number, divisor) = pool.node(atom) else { continue };
        let quotient = pool.floor_div(number, divisor);
        let mut whole = |&(other, of): &(Expr, i64)| of == coef && without(pool, other, divisor) == Some(quotient);
        let Some(at) = form.terms.iter().position(&mut whole) else { continue };
        let mut joined = form.clone();
        joined.terms.retain(|&(other, _)| other != atom && other != form.terms[at].0);
        if linear(pool, number, coef, &mut joined).is_some() {
            form = joined;
            nth = 0;
        }
    }
    form
}

/// Takes the conditions around `op` to hold, over the variables that stand for coordinates.
fn assume_conditions(facts: &mut NestFacts<'_>, op: Op) {
    let func = facts.func;
    let mut inside = func.region_of(op);
    for outer in ancestors(func, op) {
        if func.opcode(outer) == tir::IF {
            let condition = facts.expr(func.operand(outer, 0));
            let holds = func.op_regions(outer).first().copied() == inside;
            let condition = if holds { condition } else { facts.algebra.analyzer.pool.not(condition) };
            facts.algebra.analyzer.constrain(condition);
        }
        inside = func.region_of(outer);
    }
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
    let mut row = Form { terms: Vec::new(), constant: 0, reach: Reach::NONE, row: form.row, caps: Rc::default() };
    let mut column = Form { terms: Vec::new(), ..form.clone() };
    for &(atom, coef) in &form.terms {
        match without(pool, atom, size) {
            Some(rest) => row.terms.push((rest, coef)),
            None => column.terms.push((atom, coef)),
        }
    }
    let step = row.terms.iter().fold(0i64, |g, &(_, coef)| gcd(g, coef));
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
    let (below, above) = column.reach.span()?;
    let (zero, below, above) = (pool.int(0), pool.int(below), pool.int(above));
    let (first, last) = (pool.add(start, below), pool.add(start, above));
    let starts = [pool.le(zero, first), pool.le(zero, last), pool.lt(first, length), pool.lt(last, length)];
    let within = starts.into_iter().all(|condition| facts.algebra.analyzer.can_prove(condition));
    within.then_some((row, column))
}

fn sum_of(pool: &mut Pool, form: &Form) -> Expr {
    let mut sum = pool.int(form.constant);
    for &(atom, coef) in &form.terms {
        let coef = pool.int(coef);
        let term = pool.mul(atom, coef);
        sum = pool.add(sum, term);
    }
    sum
}

/// The product `atom` without its factor `size`; `None` where that is no factor.
fn without(pool: &mut Pool, atom: Expr, size: Expr) -> Option<Expr> {
    let (mut pending, mut factors) = (vec![atom], Vec::new());
    while let Some(at) = pending.pop() {
        match pool.node(at) {
            Node::Binary(BinaryOp::Mul, a, b) => pending.extend([b, a]),
            _ => factors.push(at),
        }
        if factors.len() + pending.len() > MAX_FACTORS {
            return None;
        }
    }
    let at = factors.iter().position(|&factor| factor == size)?;
    factors.remove(at);
    let mut product = pool.int(1);
    for factor in factors {
        product = pool.mul(product, factor);
    }
    Some(product)
}

fn gcd(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).unwrap_or(0)
}
