//! Recorded steps as laws: what a rule made of an expression in a place.

use tc_arith::{Analyzer, BinaryOp, Expr, Node, RuleApplication, Var};

use super::{Condition, Law, Sort, Term};

impl Law {
    /// The statement that a step keeps the value wherever all that was known holds. `None` where the step is about the
    /// bits of numbers, of which laws do not speak.
    pub(crate) fn of_step(az: &mut Analyzer, step: &RuleApplication) -> Option<Law> {
        let show = |az: &Analyzer, e: Expr| az.pool.display(e).to_string();
        let text = format!("{} -> {}", show(az, step.before), show(az, step.after));
        let mut law = Law { text, names: Vec::new(), left: Term::Int(0), right: Term::Int(0), conditions: Vec::new() };
        let truth = az.pool.is_bool(step.before);
        law.left = law.of_expr(az, step.before, truth)?;
        law.right = law.of_expr(az, step.after, truth)?;
        for &condition in &step.under {
            let held = law.of_expr(az, condition, true)?;
            law.conditions.extend([Condition::Defined(held.clone()), Condition::Holds(held)]);
        }
        // Definitions may name further variables.
        let mut at = 0;
        while let Some((name, _)) = law.names.get(at) {
            let var = Var(name.trim_start_matches('v').parse().expect("names of variables end with their numbers"));
            let own = az.pool.var(var);
            let value = az.expand(own);
            if value != own {
                let value = law.of_expr(az, value, false)?;
                law.conditions.push(Condition::Same(Term::Name(at), value));
            }
            let range = az.range(var);
            let bounds = [
                range.min().map(|min| (Term::Int(min), Term::Name(at))),
                range.max().map(|max| (Term::Name(at), Term::Int(max))),
            ];
            for (low, high) in bounds.into_iter().flatten() {
                law.conditions.push(Condition::Holds(Term::Binary(BinaryOp::Le, Box::new(low), Box::new(high))));
            }
            at += 1;
        }
        Some(law)
    }

    /// The expression as a truth value or as an integer.
    fn of_expr(&mut self, az: &Analyzer, e: Expr, truth: bool) -> Option<Term> {
        let boxed = |term: Term| Box::new(term);
        let term = match az.pool.node(e) {
            Node::Const(value) => Term::Int(value),
            Node::Bool(value) => Term::Bool(value),
            Node::Var(v) => {
                let name = format!("v{}", v.0);
                let known = self.names.iter().position(|(known, _)| *known == name);
                Term::Name(known.unwrap_or_else(|| {
                    self.names.push((name, Sort::Variable));
                    self.names.len() - 1
                }))
            }
            Node::Likely(a) => self.of_expr(az, a, true)?,
            Node::Not(a) => Term::Not(boxed(self.of_expr(az, a, true)?)),
            Node::Select(c, a, b) => {
                let truth = az.pool.is_bool(e);
                let c = self.of_expr(az, c, true)?;
                Term::Select(boxed(c), boxed(self.of_expr(az, a, truth)?), boxed(self.of_expr(az, b, truth)?))
            }
            // A remainder, by the definition of congruence.
            Node::Cast(ty, a) => {
                let (size, low) = (1_i64 << ty.bits(), ty.range().min()?);
                let binary = |op, a: Term, value: i64| Term::Binary(op, boxed(a), boxed(Term::Int(value)));
                let above = binary(BinaryOp::Sub, self.of_expr(az, a, false)?, low);
                binary(BinaryOp::Add, binary(BinaryOp::FloorMod, above, size), low)
            }
            Node::Binary(op @ (BinaryOp::Shl | BinaryOp::Shr), a, by) => {
                let factor = 1 << az.pool.as_const(by).filter(|by| (0..32).contains(by))?;
                let op = if op == BinaryOp::Shl { BinaryOp::Mul } else { BinaryOp::FloorDiv };
                Term::Binary(op, boxed(self.of_expr(az, a, false)?), boxed(Term::Int(factor)))
            }
            Node::Binary(BinaryOp::BitAnd | BinaryOp::BitOr | BinaryOp::BitXor, ..) => return None,
            Node::Binary(op, a, b) => {
                let truth = matches!(op, BinaryOp::And | BinaryOp::Or);
                let a = self.of_expr(az, a, truth)?;
                Term::Binary(op, boxed(a), boxed(self.of_expr(az, b, truth)?))
            }
        };
        Some(match (truth, self.is_truth(&term)) {
            (true, false) => Term::Binary(BinaryOp::Ne, boxed(term), boxed(Term::Int(0))),
            (false, true) => Term::Select(boxed(term), boxed(Term::Int(1)), boxed(Term::Int(0))),
            _ => term,
        })
    }
}
