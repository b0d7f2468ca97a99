//! Rules for conjunctions, disjunctions and negations.

use super::{Apply, Rule};
use crate::analyzer::Analyzer;
use crate::expr::{BinaryOp, Expr, Node};

pub(crate) static CLAUSES: &[Rule] = &[
    Rule {
        name: "clause-under-earlier",
        laws: &[
            "p && q -> p && q' if p => q = q'",
            "p || q -> p || q' if !p => q = q'",
            "p && (q && q') -> p && q && q'",
            "p || (q || q') -> p || q || q'",
            "p && true -> p",
            "true && p -> p",
            "p && false && q -> p && false",
            "false && q -> false",
            "p || false -> p",
            "false || p -> p",
            "p || true || q -> p || true",
            "true || q -> true",
            "p && q && p -> p && q",
            "p || q || p -> p || q",
        ],
        apply: Apply::Clauses(under_earlier),
    },
    Rule {
        name: "clause-implied",
        laws: &[
            "p && q -> q if q => p, defined(p), defined(q)",
            "p && q -> false if q => !p, defined(p), defined(q)",
            "p || q -> q if !q => !p, defined(p), defined(q)",
            "p || q -> true if !q => p, defined(p), defined(q)",
            "p && q -> q && p if defined(p), defined(q)",
            "p || q -> q || p if defined(p), defined(q)",
        ],
        apply: Apply::Clauses(implied),
    },
];

pub(crate) static NOTS: &[Rule] = &[Rule {
    name: "not-clauses",
    laws: &["!(p && q) -> !p || !q", "!(p || q) -> !p && !q"],
    apply: Apply::Node(not_clauses),
}];

pub(crate) static KNOWN: &[Rule] = &[Rule {
    name: "condition-known",
    laws: &["p -> true if p, defined(p)", "p -> false if !p, defined(p)"],
    apply: Apply::Node(condition_known),
}];

/// How many clauses are weighed against each other.
const MAX_WEIGHED: usize = 8;

/// Whether the expression is `a && b` (`and`) or `a || b`, and its operands.
fn clause_parts(az: &Analyzer, and: bool, e: Expr) -> Option<(Expr, Expr)> {
    match az.pool.node(e) {
        Node::Binary(BinaryOp::And, a, b) if and => Some((a, b)),
        Node::Binary(BinaryOp::Or, a, b) if !and => Some((a, b)),
        _ => None,
    }
}

impl Analyzer {
    /// The clauses of a conjunction (`and`) or disjunction, from left to right.
    pub(crate) fn clauses(&self, and: bool, e: Expr) -> Vec<Expr> {
        let mut stack = vec![e];
        let mut clauses = Vec::new();
        while let Some(e) = stack.pop() {
            match clause_parts(self, and, e) {
                Some((a, b)) => stack.extend([b, a]),
                None => clauses.push(e),
            }
        }
        clauses
    }

    /// The conjunction or disjunction of clauses.
    pub(crate) fn join_clauses(&mut self, and: bool, clauses: &[Expr]) -> Expr {
        let op = if and { BinaryOp::And } else { BinaryOp::Or };
        let mut joined = self.pool.bool(and);
        for &clause in clauses {
            joined = self.pool.binary(op, joined, clause);
        }
        joined
    }
}

/// Simplifies each clause where those before it do not decide the outcome.
fn under_earlier(az: &mut Analyzer, and: bool, clauses: &[Expr]) -> Option<Vec<Expr>> {
    let mark = az.mark();
    let mut out: Vec<Expr> = Vec::with_capacity(clauses.len());
    for (i, &clause) in clauses.iter().enumerate() {
        let clause = az.simp(clause);
        if let Some(value) = az.pool.as_bool(clause) {
            if value == and {
                continue;
            }
            // The rest is never evaluated.
            out.push(clause);
            break;
        }
        let later = clauses[i + 1..].iter().fold(0, |mask, &later| mask | az.pool.mask(later));
        for part in az.clauses(and, clause) {
            if !out.contains(&part) {
                out.push(part);
            }
            if az.may_share(az.pool.mask(part), later) {
                az.assume(part, and);
            }
        }
    }
    az.rollback(mark);
    (out != clauses).then_some(out)
}

/// Drops a clause that follows from the others.
fn implied(az: &mut Analyzer, and: bool, clauses: &[Expr]) -> Option<Vec<Expr>> {
    if clauses.len() > MAX_WEIGHED || clauses.iter().any(|&clause| az.pool.may_fail(clause)) {
        return None;
    }
    (0..clauses.len()).find_map(|at| {
        let clause = clauses[at];
        let mask = az.pool.mask(clause);
        let others: Vec<Expr> = clauses.iter().copied().filter(|&other| other != clause).collect();
        if !others.iter().any(|&other| az.may_share(az.pool.mask(other), mask)) {
            return None;
        }
        let mark = az.mark();
        for &other in &others {
            az.assume(other, and);
        }
        let simplified = az.simp(clause);
        az.rollback(mark);
        match az.pool.as_bool(simplified) {
            Some(value) if value == and => Some(others),
            Some(value) => Some(vec![az.pool.bool(value)]),
            None => None,
        }
    })
}

fn not_clauses(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    let Node::Not(inner) = az.pool.node(e) else { return None };
    let and = clause_parts(az, true, inner).is_some();
    let (a, b) = clause_parts(az, and, inner)?;
    let (a, b) = (az.pool.not(a), az.pool.not(b));
    Some(if and { az.pool.or(a, b) } else { az.pool.and(a, b) })
}

fn condition_known(az: &mut Analyzer, e: Expr) -> Option<Expr> {
    if az.literals.is_empty() || az.pool.may_fail(e) {
        return None;
    }
    let (inner, truth) = if let Node::Not(inner) = az.pool.node(e) { (inner, false) } else { (e, true) };
    let key = az.key(inner);
    let known = az.literals.iter().find(|(of, _)| *of == key)?.1;
    Some(az.pool.bool(known == truth))
}
