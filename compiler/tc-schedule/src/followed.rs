//! Reductions whose bounds follow the element: `sum[k: 0..i + 1]`, `sum[k: 0..min(len[i], 64)]`.
//!
//! Loops over a reduction have bounds that are the same for all elements. So such a reduction runs over a range that holds all of
//! them, with the condition that its index lies within its own bounds; elements without a step get the initial value. The range is
//! found by interval arithmetic over the axes of the stage. The condition is `likely`: `loop-partition` divides a loop by it, and
//! leaves out iterations in which it never holds.

use tc_dialects::{arith, te};
use tc_ir::attrs::BinOp;
use tc_ir::opdef::Role;
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{Builder, Def, Func, Op, Rewriter, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// Deeper arithmetic in a bound is not looked through.
const MAX_DEPTH: usize = 64;

/// An end of an interval.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Low,
    High,
}

impl End {
    fn other(self) -> End {
        if self == End::Low { End::High } else { End::Low }
    }
}

/// Does a reduction of `te` have bounds that follow the element?
pub fn has_followed_bounds(te: &Func) -> bool {
    all_ops(te).any(|op| te.opcode(op) == te::REDUCE && followed(te, op).next().is_some())
}

/// `te` with ranges and conditions in the place of bounds that follow the element.
///
/// # Errors
///
/// A bound that data decide alone.
pub fn with_conditions(te: &Func) -> Result<Func, Diagnostics> {
    let mut func = te.clone();
    let mut found = Diagnostics::new();
    let reductions: Vec<Op> = all_ops(te).filter(|&op| te.opcode(op) == te::REDUCE).collect();
    for op in reductions {
        let bounds: Vec<(usize, End)> = followed(&func, op).collect();
        for &(nth, end) in &bounds {
            if let Err(wrong) = replace(&mut func, op, nth, end) {
                found.push(wrong);
            }
        }
        for (nth, _) in bounds {
            run_forwards(&mut func, op, nth);
        }
    }
    if found.has_errors() { Err(found) } else { Ok(func) }
}

/// The bounds of the reduction that are not the same for all elements, as numbers of axes and ends.
fn followed(te: &Func, op: Op) -> impl Iterator<Item = (usize, End)> + '_ {
    let n_axes = te.attr_named(op, "n_axes").and_then(|attr| te.as_int(attr)).unwrap_or(0);
    let all = (0..usize::try_from(n_axes).unwrap_or(0)).flat_map(|nth| [(nth, End::Low), (nth, End::High)]);
    all.filter(move |&(nth, end)| !is_fixed(te, te.operand(op, operand(nth, end)), 0))
}

fn operand(nth: usize, end: End) -> usize {
    2 * nth + usize::from(end == End::High)
}

/// Do sizes alone tell the value?
fn is_fixed(te: &Func, value: Value, depth: usize) -> bool {
    match te.def(value) {
        Def::Arg(region, _) => region == te.body() && te.value_scalar(value).is_some_and(|scalar| scalar.elem.is_int()),
        Def::Result(op, _) => {
            depth < MAX_DEPTH
                && te.opcode(op) != te::READ
                && te.operands(op).iter().all(|&operand| is_fixed(te, operand, depth + 1))
        }
    }
}

fn replace(func: &mut Func, op: Op, nth: usize, end: End) -> Result<(), Diagnostic> {
    let bound = func.operand(op, operand(nth, end));
    let Some(hull) = extreme(func, op, bound, end, 0) else {
        let name = func.region_args(func.op_regions(op)[0]).get(nth).map_or("", |&axis| func.value_text(axis));
        let name = tc_support::suggest::shorten(name);
        let text = format!("a bound of `{name}` depends on data, and how far it may reach is not known");
        let help = match end {
            End::High => "say how far, `min(…, 64)`: the reduction runs over that range, and leaves out the rest",
            End::Low => "say how far, `max(…, 0)`: the reduction runs over that range, and leaves out the rest",
        };
        return Err(Diagnostic::error("extent", func.op_location(op), text).help(help));
    };
    let region = func.op_regions(op)[0];
    let Some(yielding) = func.terminator(region) else { return Ok(()) };
    let axis = func.region_args(region)[nth];
    let has_where = func.attr_named(op, "has_where").is_some();
    let mut values = func.operands(yielding).to_vec();
    let mut b = Builder::before(func, yielding);
    let word = b.func.word_attr(if end == End::High { "lt" } else { "le" });
    let operands = if end == End::High { [axis, bound] } else { [bound, axis] };
    let within = b.value(arith::CMP, &operands, &[(keys::PREDICATE, word)]);
    let within = b.value(arith::LIKELY, &[within], &[]);
    match values.last().copied().filter(|_| has_where) {
        Some(own) if !reads(b.func, own, 0) => {
            let both = b.value(arith::AND, &[within, own], &[]);
            values.pop();
            values.push(both);
        }
        // The author's condition may read what lies beyond the bound.
        Some(own) => {
            let never = b.bool(false);
            let both = b.value(arith::SELECT, &[within, own, never], &[]);
            values.pop();
            values.push(both);
        }
        None => values.push(within),
    }
    let key = func.name("has_where");
    let yes = func.attr(tc_ir::AttrData::Bool(true));
    let mut rw = Rewriter::new(func);
    rw.set_operands(yielding, &values);
    rw.set_attr(op, key, yes);
    rw.set_operand(op, operand(nth, end), hull);
    Ok(())
}

/// Where all elements may have an empty range, the range that holds them ends no earlier than it starts.
fn run_forwards(func: &mut Func, op: Op, nth: usize) {
    let [low, high] = [End::Low, End::High].map(|end| func.operand(op, operand(nth, end)));
    let runs_forwards = match (func.const_int(low), func.const_int(high)) {
        (Some(low), Some(high)) => low <= high,
        (Some(low), None) => low <= 0 && is_natural(func, high, 0),
        _ => false,
    };
    if !runs_forwards && low != high {
        let high = Builder::before(func, op).value(arith::MAX, &[low, high], &[]);
        Rewriter::new(func).set_operand(op, operand(nth, End::High), high);
    }
}

/// Is `value`, which sizes and literals alone tell, known to be no less than 0? An argument here is a size.
fn is_natural(func: &Func, value: Value, depth: usize) -> bool {
    if let Some(number) = func.const_int(value) {
        return number >= 0;
    }
    let Def::Result(op, _) = func.def(value) else { return true };
    let all = || depth < MAX_DEPTH && func.operands(op).iter().all(|&operand| is_natural(func, operand, depth + 1));
    let any = || depth < MAX_DEPTH && func.operands(op).iter().any(|&operand| is_natural(func, operand, depth + 1));
    match (func.role(op), func.opcode(op)) {
        (Role::Binary(BinOp::Add | BinOp::Mul | BinOp::Div), _) | (_, arith::MIN) => all(),
        (_, arith::MAX) => any(),
        _ => false,
    }
}

/// May computing the value in a reduction read a tensor?
fn reads(func: &Func, value: Value, depth: usize) -> bool {
    match func.def(value) {
        Def::Arg(..) => false,
        Def::Result(op, _) => {
            depth >= MAX_DEPTH
                || func.opcode(op) == te::READ
                || !func.op_regions(op).is_empty()
                || func.operands(op).iter().any(|&operand| reads(func, operand, depth + 1))
        }
    }
}

/// The least or greatest value that `value` has for any element, as one that sizes tell, computed before `op`; `None` where
/// data decide.
fn extreme(func: &mut Func, op: Op, value: Value, end: End, depth: usize) -> Option<Value> {
    if is_fixed(func, value, depth) {
        return Some(value);
    }
    if depth >= MAX_DEPTH {
        return None;
    }
    let def = match func.def(value) {
        Def::Arg(region, nth) => return axis_end(func, op, region, nth, end),
        Def::Result(def, _) => def,
    };
    let operands = func.operands(def).to_vec();
    let (lhs, rhs) = (*operands.first()?, operands.get(1).copied());
    let constant = |func: &Func, value: Option<Value>| value.and_then(|value| func.const_int(value));
    let (other, next) = (end.other(), depth + 1);
    let (opcode, one, two) = match (func.role(def), rhs) {
        (Role::Binary(BinOp::Add), Some(rhs)) => {
            (func.opcode(def), extreme(func, op, lhs, end, next)?, extreme(func, op, rhs, end, next)?)
        }
        (Role::Binary(BinOp::Sub), Some(rhs)) => {
            (func.opcode(def), extreme(func, op, lhs, end, next)?, extreme(func, op, rhs, other, next)?)
        }
        (Role::Binary(BinOp::Mul), Some(rhs)) => {
            let (factor, by) = match (constant(func, Some(lhs)), constant(func, Some(rhs))) {
                (_, Some(by)) => (lhs, (rhs, by)),
                (Some(by), _) => (rhs, (lhs, by)),
                _ => return None,
            };
            let end = if by.1 < 0 { other } else { end };
            (func.opcode(def), extreme(func, op, factor, end, next)?, by.0)
        }
        (Role::Binary(BinOp::Div), Some(rhs)) if constant(func, Some(rhs)).is_some_and(|by| by > 0) => {
            (func.opcode(def), extreme(func, op, lhs, end, next)?, rhs)
        }
        // One side that is known bounds the lesser of two from above, and the greater from below.
        (_, Some(rhs)) if matches!(func.opcode(def), arith::MIN | arith::MAX) => {
            let bounds_alone = (func.opcode(def) == arith::MIN) == (end == End::High);
            match (extreme(func, op, lhs, end, next), extreme(func, op, rhs, end, next)) {
                (Some(one), Some(two)) => (func.opcode(def), one, two),
                (Some(one), None) | (None, Some(one)) if bounds_alone => return Some(one),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Builder::before(func, op).value(opcode, &[one, two], &[]))
}

/// The first or last value of an axis of the stage around `op`.
fn axis_end(func: &mut Func, op: Op, region: tc_ir::Region, nth: usize, end: End) -> Option<Value> {
    let compute = ancestors(func, op).find(|&outer| func.op_regions(outer).first() == Some(&region))?;
    if func.opcode(compute) != te::COMPUTE {
        return None;
    }
    let bound = *func.operands(compute).get(operand(nth, end))?;
    if end == End::Low {
        return Some(bound);
    }
    let mut b = Builder::before(func, op);
    let elem = b.func.value_scalar(bound)?.elem;
    let one = b.int(1, elem);
    Some(b.value(arith::SUB, &[bound, one], &[]))
}
