//! From expressions of the index algebra to ops.

use super::Algebra;
use crate::arith;
use rustc_hash::FxHashMap;
use tc_arith::{BinaryOp, Expr, Node};
use tc_ir::{Builder, Elem, Type, Value, keys};

/// Makes the ops of `expr` at the place of `b`, integers as `elem`. A variable of another integer type is cast.
/// Every variable must be a value that is in scope there.
pub fn build(b: &mut Builder<'_>, algebra: &Algebra, expr: Expr, elem: Elem) -> Value {
    build_with(b, algebra, expr, elem, &mut FxHashMap::default())
}

/// [`build`], which finds in `made` what it has made before at this place.
pub fn build_with(
    b: &mut Builder<'_>,
    algebra: &Algebra,
    expr: Expr,
    elem: Elem,
    made: &mut FxHashMap<Expr, Value>,
) -> Value {
    let pool = &algebra.analyzer.pool;
    let mut pending = vec![expr];
    while let Some(&at) = pending.last() {
        if made.contains_key(&at) {
            pending.pop();
            continue;
        }
        let parts: Vec<Expr> = match pool.node(at) {
            Node::Const(_) | Node::Bool(_) | Node::Var(_) => Vec::new(),
            Node::Not(a) | Node::Likely(a) => vec![a],
            Node::Binary(_, x, y) => vec![x, y],
            Node::Select(c, x, y) => vec![c, x, y],
        };
        // Reversed, so that operands are made from left to right.
        let missing: Vec<Expr> = parts.iter().rev().copied().filter(|part| !made.contains_key(part)).collect();
        if !missing.is_empty() {
            pending.extend(missing);
            continue;
        }
        let args: Vec<Value> = parts.iter().map(|part| made[part]).collect();
        let value = match pool.node(at) {
            Node::Const(int) => b.int(int, elem),
            Node::Bool(truth) => b.bool(truth),
            Node::Var(var) => as_elem(b, Algebra::value(var), elem),
            Node::Not(_) => b.value(arith::NOT, &args, &[]),
            Node::Likely(_) => b.value(arith::LIKELY, &args, &[]),
            Node::Select(..) => {
                let arms = alike(b, &args[1..], elem);
                b.value(arith::SELECT, &[args[0], arms[0], arms[1]], &[])
            }
            Node::Binary(op, ..) => build_binary(b, op, &args, elem),
        };
        made.insert(at, value);
        pending.pop();
    }
    made[&expr]
}

/// `value`, cast where it is an integer of another type than `elem`.
fn as_elem(b: &mut Builder<'_>, value: Value, elem: Elem) -> Value {
    let ty: Type = b.func.elem_ty(elem);
    if b.func.value_type(value) == ty || b.func.value_type(value) == b.func.bool_ty() {
        return value;
    }
    let op = arith::Cast::build(b, value, &[], &[ty]);
    b.func.result(op).expect("a cast has one result")
}

/// Is `value` a truth value?
fn is_truth(b: &Builder<'_>, value: Value) -> bool {
    b.func.value_type(value) == b.func.bool_ty()
}

/// The values `args`, of one type: the algebra does not tell a variable that is a truth value from a number.
fn alike(b: &mut Builder<'_>, args: &[Value], elem: Elem) -> Vec<Value> {
    let n_truths = args.iter().filter(|&&arg| is_truth(b, arg)).count();
    if n_truths == 0 || n_truths == args.len() {
        return args.to_vec();
    }
    let is_bit = |&arg: &Value| is_truth(b, arg) || matches!(b.func.const_int(arg), Some(0 | 1));
    let all_bits = args.iter().all(is_bit);
    let mut alike = Vec::with_capacity(args.len());
    for &arg in args {
        alike.push(match b.func.const_int(arg) {
            Some(bit) if all_bits => b.bool(bit == 1),
            None if is_truth(b, arg) && !all_bits => {
                let ty = b.func.elem_ty(elem);
                let op = arith::Cast::build(b, arg, &[], &[ty]);
                b.func.result(op).expect("a cast has one result")
            }
            _ => arg,
        });
    }
    alike
}

/// `v == 0`, `v != 0` and their like of a truth value `v`: it, or its opposite.
fn truth_itself(b: &mut Builder<'_>, op: BinaryOp, args: &[Value]) -> Option<Value> {
    let &[value, number] = args else { return None };
    if !is_truth(b, value) {
        return None;
    }
    match (op, b.func.const_int(number)?) {
        (BinaryOp::Ne, 0) | (BinaryOp::Eq, 1) => Some(value),
        (BinaryOp::Eq, 0) | (BinaryOp::Ne, 1) => Some(b.value(arith::NOT, &[value], &[])),
        _ => None,
    }
}

fn build_binary(b: &mut Builder<'_>, op: BinaryOp, args: &[Value], elem: Elem) -> Value {
    if let Some(value) = truth_itself(b, op, args) {
        return value;
    }
    let args = alike(b, args, elem);
    build_op(b, op, &args)
}

/// Makes the op of `op` on two operands of one type.
pub fn build_op(b: &mut Builder<'_>, op: BinaryOp, args: &[Value]) -> Value {
    let opcode = match op {
        BinaryOp::Add => arith::ADD,
        BinaryOp::Sub => arith::SUB,
        BinaryOp::Mul => arith::MUL,
        BinaryOp::FloorDiv => arith::DIV,
        BinaryOp::FloorMod => arith::MOD,
        BinaryOp::TruncDiv => arith::TDIV,
        BinaryOp::TruncMod => arith::TMOD,
        BinaryOp::Min => arith::MIN,
        BinaryOp::Max => arith::MAX,
        BinaryOp::And => arith::AND,
        BinaryOp::Or => arith::OR,
        BinaryOp::Shl => arith::SHL,
        BinaryOp::Shr => arith::SHR,
        BinaryOp::BitAnd => arith::BITAND,
        BinaryOp::BitOr => arith::BITOR,
        BinaryOp::BitXor => arith::BITXOR,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => {
            let word = match op {
                BinaryOp::Eq => "eq",
                BinaryOp::Ne => "ne",
                BinaryOp::Lt => "lt",
                _ => "le",
            };
            let word = b.func.word_attr(word);
            return b.value(arith::CMP, args, &[(keys::PREDICATE, word)]);
        }
    };
    b.value(opcode, args, &[])
}
