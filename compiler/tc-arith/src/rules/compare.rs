//! Rules for comparisons, on `form <= bound`, `form == bound` and `form != bound` with a linear form on the left.

use super::add::DIGITS;
use super::{Apply, Outcome, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node, floor_div};
use crate::facts::{Comparison, Relation};
use crate::interval::Interval;
use crate::linear::{Linear, Term};

/// The canonical form of a comparison; see [`Comparison::build`].
pub(crate) static FORMS: &[Rule] = &[Rule {
    name: "compare-form",
    laws: &[
        "x <= y -> x - y <= 0",
        "x < y -> x - y <= -1",
        "x == y -> x - y == 0",
        "x != y -> x - y != 0",
        "x + k ~ y -> x - y ~ -k",
        "x - y ~ k -> x ~ y + k",
        "x - y <= k -> x < y + (k + 1)",
        "x <= k -> x < k + 1",
        "-x <= k -> -k <= x",
        "-x == k -> x == -k",
        "-x != k -> x != -k",
        "x + z ~ y + z -> x ~ y if defined(z)",
    ],
    apply: Apply::Form,
}];

pub(crate) static ROWS: &[Rule] = &[
    Rule {
        name: "compare-range",
        laws: &[
            "x ~ k -> true if x ~ k, defined(x)",
            "x ~ k -> false if !(x ~ k), defined(x)",
            "x == k -> false if c > 0, x % c == r, k % c != r, defined(x)",
            "x != k -> true if c > 0, x % c == r, k % c != r, defined(x)",
        ],
        apply: Apply::Comparison(compare_range),
    },
    Rule {
        name: "compare-digits",
        laws: &[
            "x/c*(c*k) -> x*k - x%c*k if c > 0",
            "x%c*k -> x*k - x/c*(c*k) if c > 0",
            "(x/c + y)%m*(c*k) -> (x + y*c)%(c*m)*k - x%c*k if c > 0, m > 0",
            "x + k ~ k' -> x ~ k' - k",
        ],
        apply: Apply::Comparison(compare_digits),
    },
    Rule {
        name: "compare-common-factor",
        laws: &[
            "x*g <= k -> x <= k/g if g > 0",
            "x*g == k -> x == k/g if g > 0, k % g == 0",
            "x*g != k -> x != k/g if g > 0, k % g == 0",
            "x*g == k -> false if g > 0, k % g != 0, defined(x)",
            "x*g != k -> true if g > 0, k % g != 0, defined(x)",
        ],
        apply: Apply::Comparison(compare_common_factor),
    },
    Rule {
        name: "compare-divide",
        laws: &["x*d + y <= k -> x <= r if d > 0, (k - y)/d == r, defined(y)"],
        apply: Apply::Comparison(compare_divide),
    },
    Rule {
        name: "compare-quotient",
        laws: &["x/c + y <= k -> x + y*c < c*k + c if c > 0", "y - x/c <= k -> y*c - x <= c*k if c > 0"],
        apply: Apply::Comparison(compare_quotient),
    },
    Rule {
        name: "equal-quotient",
        laws: &[
            "x/c == k -> x < c*k + c if c > 0, c*k <= x",
            "x/c == k -> c*k <= x if c > 0, x < c*k + c",
            "x/c != k -> c*k + c <= x if c > 0, c*k <= x",
            "x/c != k -> x < c*k if c > 0, x < c*k + c",
        ],
        apply: Apply::Comparison(equal_quotient),
    },
    Rule {
        name: "compare-minmax",
        laws: &[
            "min(x, y)*a + z <= k -> x*a + z <= k if a > 0, k < y*a + z, defined(y)",
            "min(x, y)*a + z <= k -> true if a > 0, x*a + z <= k, defined(x + y + z)",
            "min(x, y)*a + z <= k -> x*a + z <= k if a < 0, y*a + z <= k, defined(y)",
            "min(x, y)*a + z <= k -> false if a < 0, k < x*a + z, defined(x + y + z)",
            "max(x, y)*a + z <= k -> x*a + z <= k if a > 0, y*a + z <= k, defined(y)",
            "max(x, y)*a + z <= k -> false if a > 0, k < x*a + z, defined(x + y + z)",
            "max(x, y)*a + z <= k -> x*a + z <= k if a < 0, k < y*a + z, defined(y)",
            "max(x, y)*a + z <= k -> true if a < 0, x*a + z <= k, defined(x + y + z)",
        ],
        apply: Apply::Comparison(compare_minmax),
    },
    Rule {
        name: "compare-select",
        laws: &[
            "select(p, x, y)*a + z ~ k -> p if x*a + z ~ k, !(y*a + z ~ k), defined(x + y + z)",
            "select(p, x, y)*a + z ~ k -> !p if !(x*a + z ~ k), y*a + z ~ k, defined(x + y + z)",
            "select(p, x, y)*a + z ~ k -> true if x*a + z ~ k, y*a + z ~ k, defined(x + y + z), defined(p)",
            "select(p, x, y)*a + z ~ k -> false if !(x*a + z ~ k), !(y*a + z ~ k), defined(x + y + z), defined(p)",
        ],
        apply: Apply::Comparison(compare_select),
    },
    Rule {
        name: "compare-definition",
        laws: &["p -> true if p, defined(p)", "p -> false if !p, defined(p)"],
        apply: Apply::Comparison(compare_definition),
    },
];

impl Comparison {
    /// The comparison as an expression. Terms stay on the side on which they were written and constants go right. A
    /// side without a positive term is moved over. With all terms on one side the first of them is positive, and the
    /// constant is where it reads best: `x < c`, `c <= x`, `x == c`.
    pub(crate) fn build(&self, az: &mut Analyzer) -> Expr {
        let (right, left) = self.form.partition(|term| term.right);
        let right = right.scaled(-1).unwrap_or_default();
        let positive = |side: &Linear| side.terms.iter().any(|term| term.coef > 0);
        if right.terms.is_empty() != (left.terms.len() == self.form.terms.len()) {
            // A coefficient had no opposite.
            return self.one_sided(az);
        }
        if positive(&left) && positive(&right) {
            return self.two_sided(az, left, right);
        }
        match (left.scaled(-1), right.scaled(-1)) {
            (Some(left), Some(right)) if positive(&left) && positive(&right) => self.two_sided(az, right, left),
            _ => self.one_sided(az),
        }
    }

    fn two_sided(&self, az: &mut Analyzer, left: Linear, mut right: Linear) -> Expr {
        let left = left.build(&mut az.pool);
        let op = match self.relation {
            Relation::Eq => BinaryOp::Eq,
            Relation::Ne => BinaryOp::Ne,
            Relation::Le if self.bound == 0 || self.bound == i64::MAX => BinaryOp::Le,
            Relation::Le => BinaryOp::Lt,
        };
        right.constant = self.bound + i64::from(op == BinaryOp::Lt);
        let right = right.build(&mut az.pool);
        az.pool.binary(op, left, right)
    }

    fn one_sided(&self, az: &mut Analyzer) -> Expr {
        let backwards = self.form.terms.first().is_some_and(|term| term.coef < 0);
        let turned = if backwards { self.form.scaled(-1).zip(self.bound.checked_neg()) } else { None };
        let (form, bound) = turned.clone().unwrap_or_else(|| (self.form.clone(), self.bound));
        let form = form.build(&mut az.pool);
        let constant = az.pool.int(bound);
        match self.relation {
            Relation::Eq => az.pool.eq(form, constant),
            Relation::Ne => az.pool.ne(form, constant),
            Relation::Le if turned.is_some() => az.pool.le(constant, form),
            Relation::Le => match bound.checked_add(1) {
                Some(above) => {
                    let above = az.pool.int(above);
                    az.pool.lt(form, above)
                }
                None => az.pool.le(form, constant),
            },
        }
    }

    fn less_or_equal(form: Linear, bound: i64) -> Option<Outcome> {
        let mut form = form;
        let bound = bound.checked_sub(form.constant)?;
        form.constant = 0;
        Some(Outcome::Changed(Comparison { relation: Relation::Le, form, bound }))
    }

    /// What the relation says of a form whose values all lie in an interval.
    fn decide(&self, range: Interval) -> Option<bool> {
        let (equal, apart) = (range.as_point() == Some(self.bound), !range.contains(self.bound));
        match self.relation {
            Relation::Le if range.all_at_most(self.bound) => Some(true),
            Relation::Le => range.min().is_some_and(|min| min > self.bound).then_some(false),
            Relation::Eq => (equal || apart).then_some(equal),
            Relation::Ne => (equal || apart).then_some(apart),
        }
    }
}

fn compare_range(az: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    let range = az.form_bounds(&c.form);
    let range = az.on_grid(&c.form, range);
    if let Some(value) = c.decide(range) {
        return Some(Outcome::Decided(value));
    }
    let impossible =
        c.relation != Relation::Le && (!az.modular_of_form(&c.form).contains(c.bound) || az.excludes(&c.form, c.bound));
    impossible.then_some(Outcome::Decided(c.relation == Relation::Ne))
}

/// What is true of sums is true of the sum of both sides.
fn compare_digits(az: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    let mut form = DIGITS.into_iter().find_map(|join| join(az, &c.form))?;
    let bound = c.bound.checked_sub(form.constant)?;
    form.constant = 0;
    Some(Outcome::Changed(Comparison { form, bound, ..*c }))
}

fn compare_common_factor(_: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    let factor = i64::try_from(c.form.gcd()).ok().filter(|&factor| factor > 1)?;
    if c.relation != Relation::Le && c.bound % factor != 0 {
        return Some(Outcome::Decided(c.relation == Relation::Ne));
    }
    let form = divided(&c.form, factor);
    Some(Outcome::Changed(Comparison { form, bound: floor_div(c.bound, factor)?, ..*c }))
}

fn divided(form: &Linear, factor: i64) -> Linear {
    let terms = form.terms.iter().map(|term| Term { coef: term.coef / factor, ..*term }).collect();
    Linear { terms, constant: 0 }
}

/// Drops terms that cannot matter. `d*x <= c - y` is the same as `x <= (c - y)/d`; where that quotient has one value
/// for all `y`, the terms in `y` go. Bounding `y` by its magnitude alone would be wrong: `2*x + y < 8` with `y = -1`
/// allows `x = 4`.
fn compare_divide(az: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    if c.relation != Relation::Le || c.form.terms.len() < 2 {
        return None;
    }
    let mut factors: Vec<i64> = c.form.terms.iter().filter_map(|term| term.coef.checked_abs()).collect();
    factors.sort_unstable_by(|a, b| b.cmp(a));
    factors.dedup();
    factors.into_iter().filter(|&factor| factor > 1).find_map(|factor| {
        let (kept, dropped) = c.form.partition(|term| term.coef % factor == 0);
        if dropped.terms.is_empty() {
            return None;
        }
        let room = Interval::point(c.bound) + -az.form_bounds(&dropped);
        let bound = Interval::apply(BinaryOp::FloorDiv, room, Interval::point(factor)).as_point()?;
        Some(Outcome::Changed(Comparison { relation: Relation::Le, form: divided(&kept, factor), bound }))
    })
}

/// The term as `x / c` with a constant `c > 0` and coefficient 1 or -1: `x` as a sum, and `c`.
fn as_quotient(az: &mut Analyzer, term: &Term) -> Option<(Linear, i64)> {
    let Node::Binary(BinaryOp::FloorDiv, x, c) = az.pool.node(term.atom) else { return None };
    let c = az.pool.as_const(c).filter(|&c| c > 0 && matches!(term.coef, 1 | -1))?;
    let mut x = az.linear_of(x)?;
    for inner in &mut x.terms {
        inner.right = term.right;
    }
    Some((x, c))
}

/// A sum of a quotient and variables is itself a quotient, `x/c + y = (x + c*y)/c`, and the division can go.
fn compare_quotient(az: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    if c.relation != Relation::Le {
        return None;
    }
    let (others, compound) = c.form.partition(|term| matches!(az.pool.node(term.atom), Node::Var(_)));
    let term = compound.single()?;
    let (x, by) = as_quotient(az, &term)?;
    let whole = Linear::default().plus(&az.pool, &x, term.coef)?.plus(&az.pool, &others, by)?;
    let bound = c.bound.checked_mul(by)?;
    Comparison::less_or_equal(whole, if term.coef > 0 { bound.checked_add(by - 1)? } else { bound })
}

fn equal_quotient(az: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    if c.relation == Relation::Le {
        return None;
    }
    let term = c.form.single()?;
    let (x, by) = as_quotient(az, &term)?;
    let first = c.bound.checked_mul(term.coef)?.checked_mul(by)?;
    let last = first.checked_add(by - 1)?;
    let range = az.form_bounds(&x);
    let equal = c.relation == Relation::Eq;
    if range.all_at_least(first) {
        if equal { Comparison::less_or_equal(x, last) } else { at_least(x, last.checked_add(1)?) }
    } else if range.all_at_most(last) {
        if equal { at_least(x, first) } else { Comparison::less_or_equal(x, first.checked_sub(1)?) }
    } else {
        None
    }
}

/// `bound <= form`.
fn at_least(form: Linear, bound: i64) -> Option<Outcome> {
    Comparison::less_or_equal(form.scaled(-1)?, bound.checked_neg()?)
}

/// What the comparison says when `term` is replaced by `value`, as far as bounds tell; and the form with it.
pub(crate) fn replaced(
    az: &mut Analyzer,
    c: &Comparison,
    term: &Term,
    value: Expr,
) -> Option<(Option<bool>, Comparison)> {
    let mut form = c.form.clone();
    form.terms.retain(|other| other.key != term.key);
    let mut value = az.linear_of(value)?;
    for inner in &mut value.terms {
        inner.right = term.right;
    }
    form.add_scaled(&az.pool, &value, term.coef)?;
    let bound = c.bound.checked_sub(form.constant)?;
    form.constant = 0;
    let range = az.form_bounds(&form);
    let replaced = Comparison { form, bound, ..*c };
    Some((replaced.decide(range), replaced))
}

fn compare_minmax(az: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    if c.relation != Relation::Le {
        return None;
    }
    c.form.terms.iter().find_map(|term| {
        let Node::Binary(op @ (BinaryOp::Min | BinaryOp::Max), x, y) = az.pool.node(term.atom) else { return None };
        let (x, x_form) = replaced(az, c, term, x)?;
        let (y, y_form) = replaced(az, c, term, y)?;
        // The least of the two sums is within the bound when one is, the greatest when both are.
        let any = (op == BinaryOp::Min) == (term.coef > 0);
        match (x, y) {
            (Some(x), _) if x == any => Some(Outcome::Decided(any)),
            (_, Some(y)) if y == any => Some(Outcome::Decided(any)),
            (Some(_), _) => Some(Outcome::Changed(y_form)),
            (_, Some(_)) => Some(Outcome::Changed(x_form)),
            _ => None,
        }
    })
}

fn compare_select(az: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    c.form.terms.iter().find_map(|term| {
        let Node::Select(condition, x, y) = az.pool.node(term.atom) else { return None };
        let (x, y) = (replaced(az, c, term, x)?.0?, replaced(az, c, term, y)?.0?);
        Some(match (x, y) {
            (true, false) => Outcome::Into(condition),
            (false, true) => Outcome::Into(az.pool.not(condition)),
            _ => Outcome::Decided(x),
        })
    })
}

fn compare_definition(az: &mut Analyzer, c: &Comparison) -> Option<Outcome> {
    if az.definitions.is_empty() {
        return None;
    }
    let own = c.build(az);
    let expanded = az.expand(own);
    if expanded == own {
        return None;
    }
    let simplified = az.simp(expanded);
    az.pool.as_bool(simplified).map(Outcome::Decided)
}
