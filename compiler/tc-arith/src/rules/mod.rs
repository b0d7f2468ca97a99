//! The rewrite rules, as rows of tables, a table for a theme. A row has a name, its laws, and the function.
//!
//! A law is a statement, `left -> right if condition, …`, that the tests read, prove with the solver z3, and evaluate.
//! It holds for all integers that satisfy its conditions and, with it, for failure: both sides divide by zero at the
//! same points. A rule applies its laws any number of times, at any place of the expression, up to the order of
//! operands of `+`, `*`, `min`, `max`, `==` and `!=`; what it decides besides is only where that is worth while.
//!
//! # The language of laws
//!
//! Terms are those of the algebra, as [`Display`](crate::Display) writes them, with `-x`, and with `cast<t>(x)`, which
//! reduces `x` to the range of a machine type. What a name stands for is told by its first letter; primes make further
//! names.
//!
//! | letter | stands for |
//! |---|---|
//! | `x y z n` | an integer expression, which may fail |
//! | `p q` | a truth value, which may fail |
//! | `v w` | an integer variable, which has a value at every point |
//! | `a b c d g k m r` | an integer literal |
//! | `t s` | a machine integer type |
//! | `~` | one of `<=`, `==` and `!=`, the same throughout the law |
//!
//! | condition | says |
//! |---|---|
//! | `0 <= x < n`, `p`, `!p` | where this has a value, it is true: what bounds, remainders and assumptions tell |
//! | `defined(x)` | `x` does not fail |
//! | `x = x'` | `x` and `x'` have the same value, or both fail |
//! | `p => condition` | where `p` has a value and is true, the condition holds |
//! | `width t <= width s` | the type `t` has no more bits than `s` |
//! | `x in t`, `s in t` | the value, or every value of the type `s`, is in the range of the type `t` |
//!
//! A law is proved over all integers. One that the solver leaves undecided there is tried for all values of 4 bits and of
//! 8 bits, intermediate results being exact; no law mentions a width. Names of types stand for the signed and the
//! unsigned types of 4 and of 8 bits.

pub(crate) mod add;
pub(crate) mod boolean;
pub(crate) mod cast;
pub(crate) mod compare;
pub(crate) mod divide;
mod folds;
pub(crate) mod minmax;
pub(crate) mod select;
pub(crate) mod symbolic;
pub(crate) mod truncate;

use std::fmt;

pub use folds::FOLDS;

use crate::analyzer::Analyzer;
use crate::expr::Expr;
use crate::facts::Comparison;
use crate::linear::Linear;

/// A rewrite rule.
pub struct Rule {
    /// Its name, unique among all rules.
    pub name: &'static str,
    /// What it does, as statements `left -> right if condition, …`; see the [module](self).
    pub laws: &'static [&'static str],
    pub(crate) apply: Apply,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.laws.join("; "))
    }
}

/// A floor division or remainder by a constant other than zero.
pub(crate) struct Division {
    pub(crate) num: Expr,
    /// The linear form of `num`.
    pub(crate) form: Linear,
    pub(crate) by: i64,
}

/// What a rule made of a comparison.
pub(crate) enum Outcome {
    Decided(bool),
    Changed(Comparison),
    Into(Expr),
}

/// A rule's function, by what it is applied to. Operands have been simplified.
pub(crate) enum Apply {
    /// The canonical form of a kind of expression, which its engine computes.
    Form,
    Node(fn(&mut Analyzer, Expr) -> Option<Expr>),
    Sum(fn(&mut Analyzer, &Linear) -> Option<Linear>),
    Division(fn(&mut Analyzer, &Division) -> Option<Expr>),
    Comparison(fn(&mut Analyzer, &Comparison) -> Option<Outcome>),
    /// Clauses of a conjunction (`true`) or a disjunction.
    Clauses(fn(&mut Analyzer, bool, &[Expr]) -> Option<Vec<Expr>>),
}

/// Every rule, by theme.
pub fn all() -> impl Iterator<Item = &'static Rule> {
    let tables: [&'static [Rule]; 17] = [
        add::FORMS,
        add::VARIABLES,
        add::SUMS,
        add::KNOWN,
        divide::QUOTIENTS,
        divide::REMAINDERS,
        symbolic::DIVISIONS,
        truncate::DIVISIONS,
        minmax::ROWS,
        cast::ROWS,
        compare::FORMS,
        compare::ROWS,
        boolean::CLAUSES,
        boolean::NOTS,
        boolean::KNOWN,
        select::FORMS,
        select::ROWS,
    ];
    tables.into_iter().flatten()
}
