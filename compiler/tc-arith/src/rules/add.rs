//! Rules for variables, sums and products.

use super::{Apply, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};
use crate::linear::{Linear, Term};
use smallvec::smallvec;

/// The canonical forms of sums and of products.
pub(crate) static FORMS: &[Rule] = &[
    Rule {
        name: "sum-form",
        laws: &[
            "x + y -> y + x",
            "x + (y + z) -> x + y + z",
            "x - y -> x + y * -1",
            "x*a*b -> x*(a*b)",
            "(x + y)*a -> x*a + y*a",
            "x*a + x*b -> x*(a + b)",
            "x*a + x*b -> 0 if a + b == 0, defined(x)",
        ],
        apply: Apply::Form,
    },
    Rule {
        name: "product-form",
        laws: &["x*y -> y*x", "x*y*z -> x*(y*z)", "(x + y)*z -> x*z + y*z", "x*a*y -> x*y*a", "x*a*(y*b) -> x*y*(a*b)"],
        apply: Apply::Form,
    },
];

pub(crate) static VARIABLES: &[Rule] = &[
    Rule { name: "variable-definition", laws: &["v -> x if v = x"], apply: Apply::Node(variable_definition) },
    Rule { name: "variable-point", laws: &["v -> k if k <= v <= k"], apply: Apply::Node(variable_point) },
];

/// What facts add: applied to every integer where there are any.
pub(crate) static KNOWN: &[Rule] =
    &[Rule { name: "known-point", laws: &["x -> k if k <= x <= k, defined(x)"], apply: Apply::Node(known_point) }];

pub(crate) static SUMS: &[Rule] = &[
    Rule {
        name: "div-times-plus-mod",
        laws: &["x/c*(c*k) -> x*k - x%c*k if c > 0", "x/c*c + x%c -> x if c > 0"],
        apply: Apply::Sum(div_times_plus_mod),
    },
    Rule {
        name: "minus-mod",
        laws: &["x%c*k -> x*k - x/c*(c*k) if c > 0", "x - x%c -> x/c*c if c > 0"],
        apply: Apply::Sum(minus_mod),
    },
    Rule {
        name: "digits",
        laws: &[
            "(x/c + y)%m*(c*k) -> (x + y*c)%(c*m)*k - x%c*k if c > 0, m > 0",
            "x/c%m*c + x%c -> x%(c*m) if c > 0, m > 0",
        ],
        apply: Apply::Sum(digits),
    },
    Rule { name: "min-plus-max", laws: &["min(x, y)*k + max(x, y)*k -> x*k + y*k"], apply: Apply::Sum(min_plus_max) },
    Rule {
        name: "minmax-absorb",
        laws: &[
            "min(x, y)*k + z -> min(x*k + z, y*k + z) if k > 0",
            "min(x, y)*k + z -> max(x*k + z, y*k + z) if k < 0",
            "max(x, y)*k + z -> max(x*k + z, y*k + z) if k > 0",
            "max(x, y)*k + z -> min(x*k + z, y*k + z) if k < 0",
        ],
        apply: Apply::Sum(minmax_absorb),
    },
];

/// What joins the digits of one number in a sum, wherever the sum stands.
pub(super) const DIGITS: [fn(&mut Analyzer, &Linear) -> Option<Linear>; 3] = [div_times_plus_mod, minus_mod, digits];

fn variable_definition(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let value = az.definition(e)?;
    let is_alike = match az.pool.node(value) {
        Node::Const(_) | Node::Bool(_) => true,
        // A name for a value of another type is a conversion.
        Node::Var(_) => az.pool.int_type(value) == az.pool.int_type(e) && az.pool.is_bool(value) == az.pool.is_bool(e),
        _ => false,
    };
    is_alike.then_some(value)
}

fn variable_point(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let value = az.bound_of(e).as_point()?;
    Some(az.pool.int(value))
}

fn known_point(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let value = az.bound_of(e).as_point()?;
    (!az.may_divide_by_zero(e)).then(|| az.pool.int(value))
}

/// The parts of `op(x, c)` with a constant `c > 0`.
fn by_constant(az: &Analyzer, e: Expr, op: BinaryOp) -> Option<(Expr, i64)> {
    match az.pool.node(e) {
        Node::Binary(found, x, c) if found == op => Some((x, az.pool.as_const(c).filter(|&c| c > 0)?)),
        _ => None,
    }
}

/// Whether another term of the sum may have a part in common with this one.
fn has_partner(az: &Analyzer, form: &Linear, term: &Term) -> bool {
    let mask = az.pool.mask(term.atom);
    form.terms.iter().any(|other| other.key != term.key && az.pool.mask(other.atom) & mask != 0)
}

/// `form` with `term` taken out.
fn without(az: &Analyzer, form: &Linear, term: &Term) -> Option<Linear> {
    form.plus(&az.pool, &Linear { terms: smallvec![*term], constant: 0 }, -1)
}

/// A replacement that is worth while: it makes the sum lighter, so replacing comes to an end.
fn if_lighter(az: &Analyzer, form: &Linear, next: Option<Linear>) -> Option<Linear> {
    next.filter(|next| next.weight(&az.pool) < form.weight(&az.pool))
}

/// A replacement of one of the digits `x/c` and `x%c` by `x` and `digit`, the other one. Where that is a number or is taken
/// away by the sum, a lighter one; else one that leaves fewer terms, for `x` and a digit in the place of both say less:
/// digits are small, and no multiple of one is a multiple of the other.
fn if_simpler(az: &Analyzer, form: &Linear, digit: &Linear, next: Linear) -> Option<Linear> {
    if digit.terms.iter().all(|term| next.coef_of(term.key) == 0) {
        return if_lighter(az, form, Some(next));
    }
    (next.terms.len() < form.terms.len()).then_some(next)
}

fn div_times_plus_mod(az: &mut Analyzer, form: &Linear) -> Option<Linear> {
    form.terms.iter().find_map(|term| {
        let (x, c) = by_constant(az, term.atom, BinaryOp::FloorDiv)?;
        if term.coef % c != 0 || (!has_partner(az, form, term) && az.modular_of(x).residue(c).is_none()) {
            return None;
        }
        let times = term.coef / c;
        let rest = remainder_form(az, x, c)?;
        let x = az.linear_of(x)?;
        let next = without(az, form, term)?.plus(&az.pool, &rest, times.checked_neg()?)?.plus(&az.pool, &x, times)?;
        if_simpler(az, form, &rest, next)
    })
}

/// `x % c` as a sum.
fn remainder_form(az: &mut Analyzer, x: Expr, c: i64) -> Option<Linear> {
    let modulus = az.pool.int(c);
    let remainder = az.pool.floor_mod(x, modulus);
    let remainder = az.simp(remainder);
    az.linear_of(remainder)
}

fn minus_mod(az: &mut Analyzer, form: &Linear) -> Option<Linear> {
    form.terms.iter().find_map(|term| {
        let (x, c) = by_constant(az, term.atom, BinaryOp::FloorMod)?;
        if !has_partner(az, form, term) {
            return None;
        }
        let divisor = az.pool.int(c);
        let quotient = az.pool.floor_div(x, divisor);
        let quotient = az.simp(quotient);
        let quotient = az.linear_of(quotient)?;
        let x = az.linear_of(x)?;
        let factor = term.coef.checked_mul(c)?.checked_neg()?;
        let next = without(az, form, term)?.plus(&az.pool, &x, term.coef)?.plus(&az.pool, &quotient, factor)?;
        if_simpler(az, form, &quotient, next)
    })
}

fn digits(az: &mut Analyzer, form: &Linear) -> Option<Linear> {
    form.terms.iter().find_map(|term| {
        let (z, m) = by_constant(az, term.atom, BinaryOp::FloorMod)?;
        if !has_partner(az, form, term) {
            return None;
        }
        let z = az.linear_of(z)?;
        z.terms.iter().filter(|inner| inner.coef == 1).find_map(|inner| {
            let (x, c) = by_constant(az, inner.atom, BinaryOp::FloorDiv)?;
            if term.coef % c != 0 {
                return None;
            }
            // z = x/c + more = (x + c*more) / c, and x + c*more leaves the remainder of x by c.
            let times = term.coef / c;
            let low = remainder_form(az, x, c)?;
            let more = without(az, &z, inner)?;
            let whole = az.linear_of(x)?.plus(&az.pool, &more, c)?.build(&mut az.pool);
            let whole = remainder_form(az, whole, c.checked_mul(m)?)?;
            let next = without(az, form, term)?.plus(&az.pool, &low, times.checked_neg()?)?;
            let next = next.plus(&az.pool, &whole, times);
            if_lighter(az, form, next)
        })
    })
}

fn min_plus_max(az: &mut Analyzer, form: &Linear) -> Option<Linear> {
    form.terms.iter().find_map(|low| {
        let Node::Binary(BinaryOp::Min, a, b) = az.pool.node(low.atom) else { return None };
        let high = az.pool.max(a, b);
        let high = az.key(high);
        let high = form.terms.iter().find(|term| term.key == high && term.coef == low.coef)?;
        let (a, b) = (az.linear_of(a)?, az.linear_of(b)?);
        let rest = without(az, &without(az, form, low)?, high)?;
        rest.plus(&az.pool, &a, low.coef)?.plus(&az.pool, &b, low.coef)
    })
}

fn minmax_absorb(az: &mut Analyzer, form: &Linear) -> Option<Linear> {
    form.terms.iter().find_map(|term| {
        let Node::Binary(op @ (BinaryOp::Min | BinaryOp::Max), a, b) = az.pool.node(term.atom) else { return None };
        let rest = without(az, form, term)?;
        if rest.terms.is_empty() || rest.may_fail(&az.pool) {
            return None;
        }
        let (a, b) = (az.linear_of(a)?, az.linear_of(b)?);
        let (a, b) = (rest.plus(&az.pool, &a, term.coef)?, rest.plus(&az.pool, &b, term.coef)?);
        if !(a.terms.is_empty() || b.terms.is_empty()) || !(az.fits(&a) && az.fits(&b)) {
            return None;
        }
        let turned = if op == BinaryOp::Min { BinaryOp::Max } else { BinaryOp::Min };
        let op = if term.coef > 0 { op } else { turned };
        let (a, b) = (a.build(&mut az.pool), b.build(&mut az.pool));
        let joined = az.pool.binary(op, a, b);
        let joined = az.simp(joined);
        az.linear_of(joined)
    })
}
