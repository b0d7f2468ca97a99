//! Conditions and indices that are the same in all lanes, or one further from lane to lane, although they are written by
//! parts that are not: a guard on an axis that the lanes divide, the row and the column of a fused index.

use crate::analysis::launch::loop_var;
use tc_arith::{BinaryOp, Expr, Node, Var};
use tc_dialects::algebra::{Algebra, Made, build};
use tc_dialects::tir;
use tc_ir::effects::summary;
use tc_ir::walk::{is_inside, ops_under};
use tc_ir::{Func, Op, Rewriter, Value};

/// An operand to be computed another way.
struct Rewrite {
    op: Op,
    operand: usize,
    expr: Expr,
}

/// Writes the conditions and indices in the body of the vectorized loop `op` without its variable, or with it as a term of
/// a sum, where that is proved to be the same.
pub(super) fn expose(func: &mut Func, op: Op) {
    let var = Algebra::var(loop_var(func, op));
    let mut algebra = Algebra::of_func(func);
    algebra.enter_place(func, op);
    algebra.enter_region(func, func.op_regions(op)[0]);
    let mut rewrites = Vec::new();
    for inner in ops_under(func, func.op_regions(op)[0]) {
        for operand in asked(func, inner) {
            let value = func.operand(inner, operand);
            if let Some(expr) = plainer(func, &mut algebra, var, value) {
                rewrites.push(Rewrite { op: inner, operand, expr });
            }
        }
    }
    let mut old = Vec::new();
    for Rewrite { op, operand, expr } in rewrites {
        let value = func.operand(op, operand);
        let Some(computation) = algebra.recomputation(func, value, expr) else { continue };
        let mut rw = Rewriter::new(func);
        let new = build(&mut rw.before(op), &computation, &mut Made::default());
        rw.set_operand(op, operand, new);
        old.push(value);
    }
    erase_unused(func, op, old);
}

/// The operands of `op` that must not differ between lanes, or only by the lane.
fn asked(func: &Func, op: Op) -> std::ops::Range<usize> {
    match func.opcode(op) {
        tir::IF => 0..1,
        tir::LOAD => 1..func.operands(op).len(),
        tir::STORE => 1..func.operands(op).len() - 1,
        _ => 0..0,
    }
}

/// `value` without `var`, or with multiples of it alone, where it is written in another way.
fn plainer(func: &Func, algebra: &mut Algebra, var: Var, value: Value) -> Option<Expr> {
    if func.value_scalar(value).is_none_or(|scalar| scalar.lanes != 1) {
        return None;
    }
    let given = algebra.expr(func, value);
    if !algebra.analyzer.pool.uses(given, var) || is_affine(algebra, given, var) {
        return None;
    }
    let simple = algebra.analyzer.simplify(given);
    let exposed = !algebra.analyzer.pool.uses(simple, var) || is_affine(algebra, simple, var);
    exposed.then_some(simple)
}

/// Is `expr` written as a sum in which `var` is in multiples of it alone?
fn is_affine(algebra: &Algebra, expr: Expr, var: Var) -> bool {
    let pool = &algebra.analyzer.pool;
    let mut worklist = vec![expr];
    while let Some(part) = worklist.pop() {
        match pool.node(part) {
            _ if !pool.uses(part, var) => {}
            Node::Var(_) => {}
            Node::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) => worklist.extend([a, b]),
            Node::Binary(BinaryOp::Mul, a, b) if !pool.uses(b, var) => worklist.push(a),
            Node::Binary(BinaryOp::Mul, a, b) if !pool.uses(a, var) => worklist.push(b),
            _ => return false,
        }
    }
    true
}

/// Erases what nothing uses any more in the body of the loop `op`, of `values` and of what they are made of.
fn erase_unused(func: &mut Func, op: Op, values: Vec<Value>) {
    let mut worklist = values;
    let mut rw = Rewriter::new(func);
    while let Some(value) = worklist.pop() {
        let func = rw.func();
        let Some(def) = func.def_op(value).filter(|&def| is_inside(func, def, op)) else { continue };
        let unused = func.results(def).all(|result| func.n_uses(result) == 0);
        if unused && func.op_regions(def).is_empty() && summary(func, def).is_pure() {
            worklist.extend_from_slice(func.operands(def));
            rw.erase(def);
        }
    }
}
