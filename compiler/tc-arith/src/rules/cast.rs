//! Rules for casts: the number of a type that is congruent to an expression modulo two to the power of its width.

use super::{Apply, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::linear::{Linear, Term};
use crate::ty::IntType;

pub(crate) static ROWS: &[Rule] = &[
    Rule { name: "cast-fits", laws: &["cast<t>(x) -> x if x in t"], apply: Apply::Node(cast_fits) },
    Rule {
        name: "cast-ring",
        laws: &[
            "cast<t>(cast<s>(x)*a + y) -> cast<t>(x*a + y) if width t <= width s",
            "cast<t>(v*cast<s>(x)*a + y) -> cast<t>(v*x*a + y) if width t <= width s",
        ],
        apply: Apply::Node(cast_ring),
    },
];

fn parts(az: &Analyzer, e: Expr) -> Option<(IntType, Expr)> {
    if let Node::Cast(ty, x) = az.pool.node(e) { Some((ty, x)) } else { None }
}

fn cast_fits(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (ty, x) = parts(az, e)?;
    let (range, bounds) = (ty.range(), az.bound_of(x));
    // Of the open end of a type of 64 bits nothing can be told.
    (range.is_finite() && bounds.min()? >= range.min()? && bounds.max()? <= range.max()?).then_some(x)
}

fn cast_ring(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let (ty, x) = parts(az, e)?;
    let form = az.linear_of(x)?;
    let mut changed = false;
    let mut next = Linear::constant(form.constant);
    for &term in &form.terms {
        match az.pool.node(term.atom) {
            Node::Cast(from, inner) if from.bits() >= ty.bits() => {
                changed = true;
                let inner = az.linear_of(inner)?;
                next.add_scaled(&az.pool, &inner, term.coef)?;
            }
            Node::Binary(BinaryOp::Mul, ..) => {
                let (atom, dropped) = factors_without_casts(az, ty, term.atom);
                changed |= dropped;
                let key = az.key(atom);
                next.add_term(&az.pool, Term { atom, key, ..term })?;
            }
            _ => next.add_term(&az.pool, term)?,
        }
    }
    if !changed || !az.fits(&next) {
        return None;
    }
    let sum = next.build(&mut az.pool);
    Some(az.pool.cast(ty, sum))
}

/// The product without the casts around its factors that drop nothing that `ty` keeps, and whether there were any.
fn factors_without_casts(az: &mut Analyzer, ty: IntType, product: Expr) -> (Expr, bool) {
    let mut factors = az.pool.factors(product);
    let mut dropped = false;
    for factor in &mut factors {
        if let Node::Cast(from, inner) = az.pool.node(*factor)
            && from.bits() >= ty.bits()
        {
            (*factor, dropped) = (inner, true);
        }
    }
    if !dropped || !az.product_fits(&factors) {
        return (product, false);
    }
    (az.pool.product(&factors), true)
}
