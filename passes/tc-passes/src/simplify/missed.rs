//! Guards that nothing decides.

use crate::analysis::places::walk_places;
use crate::analysis::words;
use tc_arith::{BinaryOp, Expr, Node};
use tc_dialects::algebra::Algebra;
use tc_ir::opdef::Role;
use tc_ir::{Func, Op};
use tc_pass::PassCx;
use tc_support::Diagnostic;

/// Tells of each conditional that stays why its condition is not decided.
pub(super) fn tell(func: &Func, cx: &mut PassCx) {
    walk_places(func, |places, op| {
        if func.role(op) == Role::If {
            let algebra = places.algebra();
            let condition = algebra.expr(func, func.operand(op, 0));
            cx.report(undecided(func, algebra, op, condition));
        }
    });
}

fn undecided(func: &Func, algebra: &mut Algebra, op: Op, condition: Expr) -> Diagnostic {
    let (open, is_hinted) = first_open(algebra, condition);
    let text = format!("the condition `{}` stays: it holds in some cases only, as far as is known", algebra.text(open));
    let mut found = Diagnostic::remark("undecided", func.op_location(op), text);
    if let Node::Binary(BinaryOp::Lt | BinaryOp::Le | BinaryOp::Eq | BinaryOp::Ne, lhs, rhs) =
        algebra.analyzer.pool.node(open)
    {
        for side in [lhs, rhs] {
            if algebra.analyzer.pool.as_const(side).is_some() {
                continue;
            }
            let range = words::range(algebra.analyzer.bounds(side));
            found = found.note(format!("`{}` {range}", algebra.text(side)));
        }
    }
    if is_hinted {
        found = found
            .help("a factor that divides the extent makes it needless; `loop-partition` frees most iterations of it");
    }
    found
}

/// The first part of a conjunction that is not proved, and whether a hint says that it mostly holds.
fn first_open(algebra: &mut Algebra, condition: Expr) -> (Expr, bool) {
    let (mut at, mut is_hinted) = (condition, false);
    loop {
        match algebra.analyzer.pool.node(at) {
            Node::Likely(inner) => (at, is_hinted) = (inner, true),
            Node::Binary(BinaryOp::And, lhs, rhs) => at = if algebra.analyzer.can_prove(lhs) { rhs } else { lhs },
            _ => return (at, is_hinted),
        }
    }
}
