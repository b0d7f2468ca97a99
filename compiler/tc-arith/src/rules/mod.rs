//! The rewrite rules, as rows of tables, a table for a theme. A row has a name, its law, and the function.
//!
//! Every law holds for all integers that satisfy its condition and, with it, for failure: both sides divide by zero at
//! the same points. The tests apply each row many times and compare both sides by evaluation.

pub(crate) mod add;
pub(crate) mod boolean;
pub(crate) mod cast;
pub(crate) mod compare;
pub(crate) mod divide;
pub(crate) mod minmax;
pub(crate) mod select;
pub(crate) mod symbolic;
pub(crate) mod truncate;

use std::fmt;

use crate::analyzer::Analyzer;
use crate::expr::Expr;
use crate::facts::Comparison;
use crate::linear::Linear;

/// A rewrite rule.
pub struct Rule {
    /// Its name, unique among all rules.
    pub name: &'static str,
    /// What it does, as `left -> right if condition`.
    pub law: &'static str,
    pub(crate) apply: Apply,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.law)
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
    /// The normal form of a kind of expression, which its engine computes.
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
