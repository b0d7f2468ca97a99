//! Rules for floor division and remainder by a constant.

use super::{Apply, Division, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node, floor_div, floor_mod};
use crate::interval::Interval;
use crate::linear::{Linear, add_constant};

pub(crate) static QUOTIENTS: &[Rule] = &[
    Rule { name: "div-negative", laws: &["x / -c -> -x / c if c > 0"], apply: Apply::Division(div_negative) },
    Rule {
        name: "div-range",
        laws: &[
            "x / c -> k if c > 0, c*k <= x < c*k + c, defined(x)",
            "x / -c -> k if c > 0, c*k <= -x < c*k + c, defined(x)",
        ],
        apply: Apply::Division(div_range),
    },
    Rule {
        name: "div-split",
        laws: &["(x*c + y + k) / c -> x + k/c + (y + k%c) / c if c > 0"],
        apply: Apply::Division(div_split),
    },
    Rule {
        name: "div-residue",
        laws: &["(x + k) / (g*c) -> (x + (k - r)) / (g*c) if g > 0, c > 0, (x + k) % g == r"],
        apply: Apply::Division(div_residue),
    },
    Rule {
        name: "div-common-factor",
        laws: &["(x*d + y) / (d*c) -> (x + k) / c if c > 0, d > 0, d*k <= y < d*k + d, defined(y)"],
        apply: Apply::Division(div_common_factor),
    },
    Rule {
        name: "div-of-div",
        laws: &["(x/d + k) / c -> (x + k*d) / (d*c) if c > 0, d > 0"],
        apply: Apply::Division(div_of_div),
    },
    Rule {
        name: "div-of-mod",
        laws: &["x % (c*m) / c -> x/c % m if c > 0, m > 0"],
        apply: Apply::Division(div_of_mod),
    },
];

pub(crate) static REMAINDERS: &[Rule] = &[
    Rule { name: "mod-negative", laws: &["x % -c -> -(-x % c) if c > 0"], apply: Apply::Division(mod_negative) },
    Rule {
        name: "mod-range",
        laws: &["x % c -> x - c*k if c > 0, c*k <= x < c*k + c"],
        apply: Apply::Division(mod_range),
    },
    Rule {
        name: "mod-known",
        laws: &["x % c -> r % c if c > 0, x == c*v + r, defined(x)"],
        apply: Apply::Division(mod_known),
    },
    Rule {
        name: "mod-split",
        laws: &["(x*c + y + k) % c -> (y + k%c) % c if c > 0, defined(x)"],
        apply: Apply::Division(mod_split),
    },
    Rule {
        name: "mod-residue",
        laws: &["(x + k) % (g*c) -> (x + (k - r)) % (g*c) + r if g > 0, c > 0, (x + k) % g == r"],
        apply: Apply::Division(mod_residue),
    },
    Rule {
        name: "mod-of-mod",
        laws: &["(x%m*k + y) % c -> (x*k + y) % c if c > 0, m > 0, m*k % c == 0"],
        apply: Apply::Division(mod_of_mod),
    },
    Rule {
        name: "mod-common-factor",
        laws: &["(x*d + y) % (d*c) -> (x + k)%c*d + (y - d*k) if c > 0, d > 0, d*k <= y < d*k + d"],
        apply: Apply::Division(mod_common_factor),
    },
];

impl Division {
    fn positive(&self) -> Option<i64> {
        (self.by > 0).then_some(self.by)
    }
}

fn quotient(az: &mut Analyzer, form: &Linear, by: i64) -> Expr {
    let (x, by) = (form.build(&mut az.pool), az.pool.int(by));
    az.pool.floor_div(x, by)
}

fn remainder(az: &mut Analyzer, form: &Linear, by: i64) -> Expr {
    let (x, by) = (form.build(&mut az.pool), az.pool.int(by));
    az.pool.floor_mod(x, by)
}

/// `-x` and `c`, for a division by `-c`.
fn turned(az: &mut Analyzer, d: &Division) -> Option<(Linear, i64)> {
    let by = d.by.checked_neg().filter(|&by| by > 0)?;
    let form = d.form.scaled(-1)?;
    az.fits(&form).then_some((form, by))
}

fn div_negative(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let (form, by) = turned(az, d)?;
    Some(quotient(az, &form, by))
}

fn mod_negative(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let (form, by) = turned(az, d)?;
    let (inner, zero) = (remainder(az, &form, by), az.pool.int(0));
    Some(az.pool.sub(zero, inner))
}

fn div_range(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    if az.pool.may_fail(d.num) {
        return None;
    }
    let range = az.bound_of(d.num);
    let value = Interval::apply(BinaryOp::FloorDiv, range, Interval::point(d.by)).as_point()?;
    Some(az.pool.int(value))
}

fn mod_range(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let k = Interval::apply(BinaryOp::FloorDiv, az.bound_of(d.num), Interval::point(by)).as_point()?;
    let constant = d.form.constant.checked_sub(k.checked_mul(by)?)?;
    Some(Linear { constant, ..d.form.clone() }.build(&mut az.pool))
}

/// The part that `by` divides, divided; and the rest, with a constant in `0..by`.
fn split(d: &Division, by: i64) -> Option<(Linear, Linear)> {
    let (mut whole, mut rest) = d.form.partition(|term| term.coef % by == 0);
    for term in &mut whole.terms {
        term.coef /= by;
    }
    whole.constant = floor_div(d.form.constant, by)?;
    rest.constant = floor_mod(d.form.constant, by);
    (!whole.terms.is_empty() || whole.constant != 0).then_some((whole, rest))
}

fn div_split(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let (whole, rest) = split(d, by)?;
    if !az.fits(&rest) {
        return None;
    }
    let rest = quotient(az, &rest, by);
    let head = Linear { constant: 0, ..whole.clone() }.build(&mut az.pool);
    let sum = az.pool.add(head, rest);
    Some(add_constant(&mut az.pool, sum, whole.constant))
}

fn mod_split(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let (whole, rest) = split(d, by)?;
    if whole.may_fail(&az.pool) || !az.fits(&rest) {
        return None;
    }
    Some(remainder(az, &rest, by))
}

fn mod_known(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let residue = az.modular_of_form(&d.form).residue(d.positive()?)?;
    (!az.pool.may_fail(d.num)).then(|| az.pool.int(residue))
}

/// The remainder that is known of the numerator by a divisor of `by`, where the numerator's constant covers it.
fn residue(az: &mut Analyzer, d: &Division, by: i64) -> Option<(Linear, i64)> {
    let set = az.modular_of_form(&d.form).floor_mod(by);
    let r = set.base();
    if d.form.terms.is_empty() || set.coeff() == 1 || r <= 0 || r > d.form.constant {
        return None;
    }
    Some((Linear { constant: d.form.constant - r, ..d.form.clone() }, r))
}

fn div_residue(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let (form, _) = residue(az, d, by)?;
    Some(quotient(az, &form, by))
}

fn mod_residue(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let (form, r) = residue(az, d, by)?;
    let (x, r) = (remainder(az, &form, by), az.pool.int(r));
    Some(az.pool.add(x, r))
}

/// A factor taken out of a division: `d*x + y` over `d*c` with `d*k <= y < d*k + d`.
struct Common {
    factor: i64,
    /// `x + k`.
    high: Linear,
    /// `y - d*k`.
    low: Linear,
}

fn common_factor(az: &mut Analyzer, d: &Division, by: i64) -> Option<Common> {
    let divisor_of = |coef: i64| tc_support::gcd(coef.unsigned_abs(), by.unsigned_abs()) as i64;
    let mut factors: Vec<i64> = d.form.terms.iter().map(|term| divisor_of(term.coef)).filter(|&g| g > 1).collect();
    factors.sort_unstable_by(|a, b| b.cmp(a));
    factors.dedup();
    factors.into_iter().find_map(|factor| {
        let (mut high, mut low) = d.form.partition(|term| term.coef % factor == 0);
        low.constant = d.form.constant;
        let range = Interval::apply(BinaryOp::FloorDiv, az.form_bounds(&low), Interval::point(factor));
        let k = range.as_point()?;
        low.constant = low.constant.checked_sub(k.checked_mul(factor)?)?;
        for term in &mut high.terms {
            term.coef /= factor;
        }
        high.constant = k;
        Some(Common { factor, high, low })
    })
}

fn div_common_factor(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let common = common_factor(az, d, by)?;
    if common.low.may_fail(&az.pool) {
        return None;
    }
    Some(quotient(az, &common.high, by / common.factor))
}

fn mod_common_factor(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let common = common_factor(az, d, by)?;
    let high = remainder(az, &common.high, by / common.factor);
    let factor = az.pool.int(common.factor);
    let scaled = az.pool.mul(high, factor);
    let low = common.low.build(&mut az.pool);
    Some(az.pool.add(scaled, low))
}

fn div_of_div(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let term = d.form.single().filter(|term| term.coef == 1)?;
    let Node::Binary(BinaryOp::FloorDiv, x, inner) = az.pool.node(term.atom) else { return None };
    let inner = az.pool.as_const(inner).filter(|&inner| inner > 0)?;
    let product = inner.checked_mul(by)?;
    let mut form = az.linear_of(x)?;
    form.constant = form.constant.checked_add(d.form.constant.checked_mul(inner)?)?;
    az.fits(&form).then(|| quotient(az, &form, product))
}

fn div_of_mod(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let Node::Binary(BinaryOp::FloorMod, x, modulus) = az.pool.node(d.form.as_atom()?) else { return None };
    let modulus = az.pool.as_const(modulus).filter(|&m| m > 0 && m % by == 0)?;
    let divisor = az.pool.int(by);
    let high = az.pool.floor_div(x, divisor);
    let modulus = az.pool.int(modulus / by);
    Some(az.pool.floor_mod(high, modulus))
}

fn mod_of_mod(az: &mut Analyzer, d: &Division) -> Option<Expr> {
    let by = d.positive()?;
    let (at, x) = d.form.terms.iter().enumerate().find_map(|(at, term)| {
        let Node::Binary(BinaryOp::FloorMod, x, modulus) = az.pool.node(term.atom) else { return None };
        let modulus = az.pool.as_const(modulus)?;
        // In 128 bits, where the product cannot overflow.
        let period = i128::from(modulus) * i128::from(term.coef);
        (modulus > 0 && period % i128::from(by) == 0).then_some((at, x))
    })?;
    let mut form = d.form.clone();
    let term = form.terms.remove(at);
    let x = az.linear_of(x)?;
    form.add_scaled(&az.pool, &x, term.coef)?;
    az.fits(&form).then(|| remainder(az, &form, by))
}
