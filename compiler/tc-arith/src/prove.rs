//! Proofs: by simplification, by parts, and, where few points are in question, by trying them all.

use crate::analyzer::Analyzer;
use crate::eval::Program;
use crate::expr::{BinaryOp, Expr, Node, Var};
use crate::simplify::MAX_DEPTH;

/// How many points [`Analyzer::prove`] tries at most.
pub const ENUMERATION_BUDGET: u64 = 4096;
/// How many operations a proof by enumeration takes at most, all points together.
const MAX_OPERATIONS: u64 = 1 << 20;
/// How many conditions of the place are consulted to leave points out.
const MAX_CONDITIONS: usize = 16;

/// What can be told of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It holds at every point that satisfies what is known.
    True,
    /// It fails to hold at every such point.
    False,
    /// Neither was shown.
    Unknown,
}

impl From<bool> for Verdict {
    fn from(value: bool) -> Verdict {
        if value { Verdict::True } else { Verdict::False }
    }
}

impl Analyzer {
    /// Whether `condition` holds wherever all that is known holds.
    pub fn prove(&mut self, condition: Expr) -> Verdict {
        let condition = self.pool.truth_of(condition);
        let condition = self.expand(condition);
        let simplified = self.simplify(condition);
        self.prove_simplified(simplified)
    }

    /// Whether [`Analyzer::prove`] says that `condition` holds.
    pub fn can_prove(&mut self, condition: Expr) -> bool {
        self.prove(condition) == Verdict::True
    }

    /// Whether two integers are shown to be equal.
    pub fn can_prove_equal(&mut self, a: Expr, b: Expr) -> bool {
        let condition = self.pool.eq(a, b);
        a == b || self.can_prove(condition)
    }

    fn prove_simplified(&mut self, e: Expr) -> Verdict {
        if let Some(value) = self.pool.as_bool(e) {
            return value.into();
        }
        if self.pool.depth(e) > MAX_DEPTH {
            return Verdict::Unknown;
        }
        if let Node::Likely(inner) = self.pool.node(e) {
            return self.prove_simplified(inner);
        }
        if self.pool.may_fail(e) {
            // Whether a division by zero comes first cannot be told clause by clause.
            return Verdict::Unknown;
        }
        let and = match self.pool.node(e) {
            Node::Binary(BinaryOp::And, ..) => true,
            Node::Binary(BinaryOp::Or, ..) => false,
            _ if self.is_settled_by_bounds(e) => return Verdict::Unknown,
            _ => return self.prove_by_enumeration(e, ENUMERATION_BUDGET),
        };
        let clauses = self.clauses(and, e);
        let mut open = Vec::new();
        for clause in clauses {
            match self.prove_alone(clause) {
                Verdict::Unknown => open.push(clause),
                verdict if verdict == and.into() => {}
                verdict => return verdict,
            }
        }
        match open[..] {
            [] => and.into(),
            [_] => Verdict::Unknown,
            _ => self.prove_by_enumeration(e, ENUMERATION_BUDGET),
        }
    }

    /// A clause of a conjunction or disjunction that is not one itself.
    fn prove_alone(&mut self, clause: Expr) -> Verdict {
        if self.is_settled_by_bounds(clause) {
            return Verdict::Unknown;
        }
        self.prove_by_enumeration(clause, ENUMERATION_BUDGET)
    }

    /// Whether bounds are the last word on a comparison: it is linear in variables that nothing ties together, so
    /// that each end of its interval is taken at some point.
    fn is_settled_by_bounds(&mut self, e: Expr) -> bool {
        let Node::Binary(op @ (BinaryOp::Lt | BinaryOp::Le), a, b) = self.pool.node(e) else { return false };
        let Some(comparison) = self.comparison(op, a, b, false) else { return false };
        let mask = comparison.form.mask(&self.pool);
        !comparison.form.has_compound(&self.pool)
            && self.facts.iter().all(|fact| fact.mask & mask == 0)
            && self.residues.is_empty()
            && self.literals.is_empty()
    }

    /// Tries every point of the ranges of the variables in `condition`, if there are at most `budget`, leaving out
    /// those at which a known condition fails. A point at which the condition has no value settles nothing.
    pub fn prove_by_enumeration(&mut self, condition: Expr, budget: u64) -> Verdict {
        let condition = self.pool.truth_of(condition);
        let condition = self.expand(condition);
        let vars = self.pool.vars(condition);
        let Some(ranges) = self.finite_ranges(&vars, budget) else { return Verdict::Unknown };
        let mut roots = vec![condition];
        let mask = self.pool.mask(condition);
        for &known in self.assumed.iter().rev().take(MAX_CONDITIONS) {
            if self.pool.mask(known) & !mask == 0 && self.pool.vars(known).iter().all(|v| vars.contains(v)) {
                roots.push(known);
            }
        }
        let program = Program::new(&self.pool, &roots);
        let points: u64 = ranges.iter().map(|&(lo, hi)| hi.abs_diff(lo) + 1).product();
        if points.saturating_mul(program.len() as u64) > MAX_OPERATIONS {
            return Verdict::Unknown;
        }
        let order = program.vars.iter().map(|v| vars.iter().position(|w| v == w));
        let Some(order) = order.collect::<Option<Vec<usize>>>() else { return Verdict::Unknown };
        let ranges: Vec<(i64, i64)> = order.into_iter().map(|at| ranges[at]).collect();
        try_all(program, &ranges, roots.len())
    }

    /// The ranges of variables, if they hold at most `budget` points together.
    fn finite_ranges(&mut self, vars: &[Var], budget: u64) -> Option<Vec<(i64, i64)>> {
        let mut points: u64 = 1;
        let mut ranges = Vec::with_capacity(vars.len());
        for &v in vars {
            let v = self.pool.var(v);
            let range = self.bound_of(v);
            points = points.checked_mul(range.count()?).filter(|&points| points <= budget)?;
            ranges.push((range.min()?, range.max()?));
        }
        Some(ranges)
    }
}

/// Runs a program at each point of a box. Root 0 is the condition, the others say whether a point counts.
fn try_all(mut program: Program, ranges: &[(i64, i64)], roots: usize) -> Verdict {
    let mut point: Vec<i64> = ranges.iter().map(|range| range.0).collect();
    let mut verdict: Option<bool> = None;
    loop {
        program.run(&point);
        // A known condition that has no value does not rule its point out.
        if (1..roots).all(|i| program.value(i) != Ok(0)) {
            let Ok(value) = program.value(0) else { return Verdict::Unknown };
            if verdict.is_some_and(|seen| seen != (value != 0)) {
                return Verdict::Unknown;
            }
            verdict = Some(value != 0);
        }
        let Some(at) = (0..point.len()).find(|&i| point[i] < ranges[i].1) else { break };
        point[at] += 1;
        for i in 0..at {
            point[i] = ranges[i].0;
        }
    }
    verdict.map_or(Verdict::Unknown, Verdict::from)
}
