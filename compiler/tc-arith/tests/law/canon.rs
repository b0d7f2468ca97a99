//! A canonical form of expressions by which instances of laws are recognised: sums as polynomials, operands that commute
//! in order, comparisons with all terms on the left. It is computed from what an expression is made of, by no rule.

use std::collections::BTreeMap;

use tc_arith::{BinaryOp, Expr, Node, Pool};

/// A sum of products of expressions that are none, by the sorted factors; the constant has no factors.
pub(crate) type Polynomial = BTreeMap<Vec<Expr>, i64>;

pub(crate) fn add(sum: &mut Polynomial, factors: Vec<Expr>, coef: i64) {
    let entry = sum.entry(factors).or_insert(0);
    *entry += coef;
    sum.retain(|_, coef| *coef != 0);
}

pub(crate) fn add_scaled(sum: &mut Polynomial, other: &Polynomial, factor: i64) {
    for (factors, coef) in other {
        add(sum, factors.clone(), coef * factor);
    }
}

/// The expression as a polynomial of canonical factors.
pub(crate) fn polynomial(pool: &mut Pool, e: Expr) -> Polynomial {
    let mut sum = Polynomial::new();
    match pool.node(e) {
        Node::Const(value) => add(&mut sum, Vec::new(), value),
        Node::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            sum = polynomial(pool, a);
            let b = polynomial(pool, b);
            add_scaled(&mut sum, &b, if op == BinaryOp::Add { 1 } else { -1 });
        }
        Node::Binary(BinaryOp::Mul, a, b) => {
            let (a, b) = (polynomial(pool, a), polynomial(pool, b));
            for ((x, p), (y, q)) in a.iter().flat_map(|x| b.iter().map(move |y| (x, y))) {
                let mut factors = [&x[..], &y[..]].concat();
                factors.sort_unstable();
                add(&mut sum, factors, p * q);
            }
        }
        _ => {
            let atom = canonical(pool, e);
            // A constructor may have made a sum of it.
            match pool.node(atom) {
                Node::Const(_) | Node::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) => {
                    return polynomial(pool, atom);
                }
                _ => add(&mut sum, vec![atom], 1),
            }
        }
    }
    sum
}

pub(crate) fn build(pool: &mut Pool, sum: &Polynomial) -> Expr {
    let mut result = pool.int(0);
    for (factors, &coef) in sum {
        let mut product = pool.int(coef);
        for &factor in factors {
            product = pool.mul(product, factor);
        }
        result = pool.add(result, product);
    }
    result
}

/// The difference of the sides of a comparison, with one more where they must differ: what is compared to zero.
pub(crate) fn compared(pool: &mut Pool, op: BinaryOp, a: Expr, b: Expr) -> Polynomial {
    let mut sum = polynomial(pool, a);
    let b = polynomial(pool, b);
    add_scaled(&mut sum, &b, -1);
    if op == BinaryOp::Lt {
        add(&mut sum, Vec::new(), 1);
    }
    sum
}

/// The canonical form.
pub(crate) fn canonical(pool: &mut Pool, e: Expr) -> Expr {
    match pool.node(e) {
        Node::Const(_) | Node::Bool(_) | Node::Var(_) => e,
        Node::Likely(a) => canonical(pool, a),
        Node::Cast(ty, a) => {
            let a = canonical(pool, a);
            pool.cast(ty, a)
        }
        Node::Not(a) => {
            let a = canonical(pool, a);
            pool.not(a)
        }
        Node::Select(c, a, b) => {
            let (c, a, b) = (canonical(pool, c), canonical(pool, a), canonical(pool, b));
            pool.select(c, a, b)
        }
        Node::Binary(BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul, ..) => {
            let sum = polynomial(pool, e);
            build(pool, &sum)
        }
        Node::Binary(op, a, b) if op.is_comparison() && !pool.is_bool(a) && !pool.is_bool(b) => {
            let mut sum = compared(pool, op, a, b);
            let mut bound = -sum.remove(&Vec::new()).unwrap_or(0);
            let equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
            if equality && sum.values().next().is_some_and(|&coef| coef < 0) {
                sum.values_mut().for_each(|coef| *coef = -*coef);
                bound = -bound;
            }
            let (left, right) = (build(pool, &sum), pool.int(bound));
            pool.binary(if equality { op } else { BinaryOp::Le }, left, right)
        }
        Node::Binary(op @ (BinaryOp::And | BinaryOp::Or), ..) => {
            let clauses = clauses(pool, op, e);
            let mut joined = pool.bool(op == BinaryOp::And);
            for clause in clauses {
                let clause = canonical(pool, clause);
                joined = pool.binary(op, joined, clause);
            }
            joined
        }
        Node::Binary(op, a, b) => {
            let (a, b) = (canonical(pool, a), canonical(pool, b));
            let (a, b) = if op.is_commutative() && b < a { (b, a) } else { (a, b) };
            pool.binary(op, a, b)
        }
    }
}

/// The operands of `&&` or `||`, from left to right.
pub(crate) fn clauses(pool: &Pool, op: BinaryOp, e: Expr) -> Vec<Expr> {
    match pool.node(e) {
        Node::Binary(found, a, b) if found == op => [clauses(pool, op, a), clauses(pool, op, b)].concat(),
        _ => vec![e],
    }
}
