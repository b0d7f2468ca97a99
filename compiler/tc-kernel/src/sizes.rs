//! Sizes that a program leaves open: the type that kernels take them under, and formulas for what follows from them.

use tc_dialects::algebra::{Algebra, infix_op, is_symbol, predicate_op};
use tc_dialects::arith::{self, Predicate};
use tc_dialects::tir;
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{Attr, Elem, Func, Op, Value};
use tc_support::Diagnostic;
use tc_target::sizes::MAX_FORMULA_DEPTH;
use tc_target::{BinaryOp, DType, Formula, OpenSize};

/// How many values of sizes are tried to find some for which the facts hold.
const MAX_TRIED: i64 = 4096;

/// How many operations and operands a formula has at most.
const MAX_FORMULA_TERMS: usize = 1024;

/// The least and the greatest that the size `value` of `func` may be.
fn range(func: &Func, value: Value) -> (Option<i64>, Option<i64>) {
    let mut algebra = Algebra::of_func(func);
    let size = algebra.expr(func, value);
    let range = algebra.analyzer.bounds(size);
    (range.min(), range.max())
}

/// The type under which a kernel takes the size `value` of `func`.
pub fn elem(func: &Func, value: Value) -> Elem {
    let (_, most) = range(func, value);
    if most.is_some_and(|most| most <= i32::MAX.into()) { Elem::I32 } else { Elem::I64 }
}

/// The sizes of `func`.
pub fn symbols(func: &Func) -> &[Value] {
    &func.region_args(func.body())[..func.header.symbols.len()]
}

/// Is `op` a conversion of a size to the type under which the kernel takes it?
fn is_taken_as(func: &Func, op: Op) -> bool {
    func.opcode(op) == arith::CAST
        && is_symbol(func, func.operand(op, 0))
        && func
            .result(op)
            .and_then(|value| func.value_scalar(value))
            .is_some_and(|to| to.lanes == 1 && to.elem == elem(func, func.operand(op, 0)))
}

/// Does a size of the kernel reach an op that does anything but convert it?
pub fn strays(func: &Func) -> Option<Op> {
    let uses = |op: &Op| func.operands(*op).iter().any(|&operand| is_symbol(func, operand));
    all_ops(func).find(|op| uses(op) && func.opcode(*op) != arith::CAST)
}

/// The open sizes of the host function `func`, at their defaults; where they have none, at the least for which the facts
/// hold.
pub fn open(func: &Func, facts: &[Formula]) -> Result<Vec<OpenSize>, Diagnostic> {
    let mut sizes: Vec<OpenSize> = Vec::new();
    let mut has_default = Vec::new();
    for (symbol, &value) in func.header.symbols.iter().zip(symbols(func)) {
        let (low, high) = range(func, value);
        let low = low.unwrap_or(0);
        let known = |name: &str| sizes.iter().find(|size| size.name == name).map(|size| size.value);
        let default =
            symbol.default.and_then(|default| of_attr(func, default)).and_then(|default| default.eval(&known));
        has_default.push(default.is_some());
        let dtype = if elem(func, value) == Elem::I32 { DType::I32 } else { DType::I64 };
        let name = func.text(symbol.name).to_string();
        sizes.push(OpenSize { name, dtype, low, high, value: default.unwrap_or(low) });
    }
    for more in 0..MAX_TRIED {
        for (size, &fixed) in sizes.iter_mut().zip(&has_default) {
            if !fixed {
                let value = size.low.saturating_add(more);
                size.value = size.high.map_or(value, |high| value.min(high));
            }
        }
        let known = |name: &str| sizes.iter().find(|size| size.name == name).map(|size| size.value);
        if facts.iter().all(|fact| fact.eval(&known).is_some_and(|value| value != 0)) {
            return Ok(sizes);
        }
    }
    let (text, help) = if has_default.contains(&false) {
        let text = format!("no sizes were found for which the facts of `@{}` hold", func.symbol());
        (text, "give the sizes defaults")
    } else {
        let defaults: Vec<String> = sizes.iter().map(|size| format!("{} = {}", size.name, size.value)).collect();
        let text = format!("the facts of `@{}` do not hold for its defaults: {}", func.symbol(), defaults.join(", "));
        (text, "give defaults for which they hold, or none")
    };
    Err(Diagnostic::error("size-fact", func.location(func.header.loc), text).help(help))
}

/// The results under which the size `size` is used as it is: of conversions to the type that it has here.
pub fn taken_as(func: &Func, size: Value) -> impl Iterator<Item = Value> {
    let taken = all_ops(func).filter(move |&op| is_taken_as(func, op) && func.operand(op, 0) == size);
    taken.filter_map(|op| func.result(op))
}

/// The formula of an extent or a fact; `None` where it is none.
pub fn of_attr(func: &Func, attr: Attr) -> Option<Formula> {
    attr_at(func, attr, MAX_FORMULA_DEPTH)
}

fn attr_at(func: &Func, attr: Attr, depth: usize) -> Option<Formula> {
    let depth = depth.checked_sub(1)?;
    let of = |attr: Attr| attr_at(func, attr, depth);
    match func.attr_data(attr) {
        AttrData::Int(value, _) => Some(Formula::Int(i64::try_from(*value).ok()?)),
        AttrData::Bool(value) => Some(Formula::Int(i64::from(*value))),
        AttrData::Word(name) => Some(Formula::Size(func.text(*name).to_string())),
        AttrData::Unary(UnOp::Neg, arg) => Some(Formula::op(BinaryOp::Sub, Formula::Int(0), of(*arg)?)),
        AttrData::Unary(UnOp::Not, arg) => Some(Formula::op(BinaryOp::Eq, of(*arg)?, Formula::Int(0))),
        AttrData::Binary(op, lhs, rhs) => Some(infix(*op, of(*lhs)?, of(*rhs)?)),
        AttrData::Call(name, args) => {
            let &[lhs, rhs] = &args[..] else { return None };
            Some(Formula::op(BinaryOp::of_name(func.text(*name))?, of(lhs)?, of(rhs)?))
        }
        _ => None,
    }
}

fn infix(op: BinOp, lhs: Formula, rhs: Formula) -> Formula {
    match (op, &rhs) {
        // What a division by a power of two was made, as people write it.
        (BinOp::Shr, &Formula::Int(bits @ 0..=62)) => {
            return Formula::op(BinaryOp::FloorDiv, lhs, Formula::Int(1 << bits));
        }
        (BinOp::Shl, &Formula::Int(bits @ 0..=62)) => return Formula::op(BinaryOp::Mul, lhs, Formula::Int(1 << bits)),
        (BinOp::BitAnd, &Formula::Int(mask @ 0..)) if mask.checked_add(1).is_some_and(|by| by.count_ones() == 1) => {
            return Formula::op(BinaryOp::FloorMod, lhs, Formula::Int(mask + 1));
        }
        _ => {}
    }
    match infix_op(op) {
        (op, true) => Formula::op(op, rhs, lhs),
        (op, false) => Formula::op(op, lhs, rhs),
    }
}

/// The formula of the integer `value` of a kernel; `None` where it does not follow from sizes alone, or only by a formula of
/// more than 1024 terms: a value used twice is written twice.
pub fn of_value(func: &Func, value: Value) -> Option<Formula> {
    value_at(func, value, MAX_FORMULA_DEPTH, &mut MAX_FORMULA_TERMS.clone())
}

fn value_at(func: &Func, value: Value, depth: usize, terms: &mut usize) -> Option<Formula> {
    let depth = depth.checked_sub(1)?;
    *terms = terms.checked_sub(1)?;
    // Formulas are of integers and truth values: a quotient of floats is not rounded down.
    func.value_scalar(value).filter(|scalar| scalar.lanes == 1 && !scalar.elem.is_float())?;
    if is_symbol(func, value) {
        return Some(Formula::Size(func.value_text(value).to_string()));
    }
    if let Some(int) = func.const_int(value) {
        return Some(Formula::Int(int));
    }
    let op = func.def_op(value)?;
    let mut of = |idx: usize| value_at(func, func.operand(op, idx), depth, terms);
    match func.role(op) {
        // Any number but 0 is true.
        Role::Cast if func.value_scalar(value)?.elem == Elem::Bool => {
            Some(Formula::op(BinaryOp::Ne, of(0)?, Formula::Int(0)))
        }
        Role::Cast => of(0),
        Role::Binary(binary_op) => Some(infix(binary_op, of(0)?, of(1)?)),
        Role::Compare => Some(infix(predicate_op(Predicate::of(func, op)?), of(0)?, of(1)?)),
        _ if func.opcode(op) == arith::SELECT => Some(select(of(0)?, of(1)?, of(2)?)),
        _ if func.operands(op).len() == 2 => Some(Formula::op(BinaryOp::of_name(func.row(op).short?)?, of(0)?, of(1)?)),
        _ => None,
    }
}

/// A choice as a sum of products; `condition` is 0 or 1.
fn select(condition: Formula, yes: Formula, no: Formula) -> Formula {
    if (&yes, &no) == (&Formula::Int(1), &Formula::Int(0)) {
        return condition;
    }
    let otherwise = Formula::op(BinaryOp::Eq, condition.clone(), Formula::Int(0));
    let (yes, no) = (Formula::op(BinaryOp::Mul, condition, yes), Formula::op(BinaryOp::Mul, otherwise, no));
    Formula::op(BinaryOp::Add, yes, no)
}

/// The formula of the extent of the launch loop `op`.
pub fn extent(func: &Func, op: Op) -> Option<Formula> {
    debug_assert!(func.opcode(op) == tir::FOR);
    let (lo, hi) = (of_value(func, func.operand(op, 0))?, of_value(func, func.operand(op, 1))?);
    Some(match lo {
        Formula::Int(0) => hi,
        _ => Formula::op(BinaryOp::Sub, hi, lo),
    })
}
