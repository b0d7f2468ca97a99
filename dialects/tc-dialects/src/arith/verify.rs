//! Types of arithmetic, and the predicates of comparisons.

use tc_ir::attrs::AttrData;
use tc_ir::types::ElemKind;
use tc_ir::{Attrs, Elem, Func, Op, Scalar, Type, Value, keys};
use tc_support::{Diagnostic, Diagnostics};

/// The most lanes a vector may have.
const MAX_LANES: i64 = Scalar::MAX_LANES as i64;

/// How two numbers are compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "the predicates name themselves")]
pub enum Predicate {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Predicate {
    /// The predicate called `word`.
    pub fn parse(word: &str) -> Option<Predicate> {
        Some(match word {
            "eq" => Predicate::Eq,
            "ne" => Predicate::Ne,
            "lt" => Predicate::Lt,
            "le" => Predicate::Le,
            "gt" => Predicate::Gt,
            "ge" => Predicate::Ge,
            _ => return None,
        })
    }

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Predicate::Eq => "eq",
            Predicate::Ne => "ne",
            Predicate::Lt => "lt",
            Predicate::Le => "le",
            Predicate::Gt => "gt",
            Predicate::Ge => "ge",
        }
    }

    /// The predicate of the comparison `op`.
    pub fn of(func: &Func, op: Op) -> Option<Predicate> {
        Predicate::parse(func.word_of(op, keys::PREDICATE)?)
    }

    /// Does it hold of two numbers in this order? `None` stands for unordered: a NaN.
    pub fn holds(self, order: Option<std::cmp::Ordering>) -> bool {
        use std::cmp::Ordering::{Equal, Greater, Less};
        match self {
            Predicate::Eq => order == Some(Equal),
            Predicate::Ne => order != Some(Equal),
            Predicate::Lt => order == Some(Less),
            Predicate::Le => matches!(order, Some(Less | Equal)),
            Predicate::Gt => order == Some(Greater),
            Predicate::Ge => matches!(order, Some(Greater | Equal)),
        }
    }
}

fn error(func: &Func, op: Op, found: &mut Diagnostics, message: String) {
    found.push(Diagnostic::error("type", func.op_location(op), message));
}

/// All operands are numbers of one type, which is the result's.
pub(super) fn numbers(func: &Func, op: Op, found: &mut Diagnostics) {
    same(func, op, found, "numbers", |kind| kind != ElemKind::Bool);
}

/// All operands are integers of one type.
pub(super) fn integers(func: &Func, op: Op, found: &mut Diagnostics) {
    same(func, op, found, "integers", |kind| matches!(kind, ElemKind::Signed | ElemKind::Unsigned));
}

/// All operands are floats of one type.
pub(super) fn floats(func: &Func, op: Op, found: &mut Diagnostics) {
    same(func, op, found, "floats", |kind| kind == ElemKind::Float);
}

/// All operands are f32, the type that the hardware approximates functions in.
pub(super) fn f32s(func: &Func, op: Op, found: &mut Diagnostics) {
    let is_other = |&operand: &tc_ir::Value| func.value_scalar(operand).is_none_or(|scalar| scalar.elem != Elem::F32);
    if let Some(&operand) = func.operands(op).iter().find(|&operand| is_other(operand)) {
        let ty = func.show_type(func.value_type(operand));
        let text = format!("`{}` approximates in f32, not `{ty}`", func.op_name(op));
        let help = "convert the operand, and the result: `cast<f32>(x)`; or take the function without `.approx`";
        found.push(Diagnostic::error("type", func.op_location(op), text).help(help));
    }
}

/// All operands are truth values.
pub(super) fn truths(func: &Func, op: Op, found: &mut Diagnostics) {
    same(func, op, found, "truth values", |kind| kind == ElemKind::Bool);
}

/// The result is of what the operand is.
pub(super) fn broadcast(func: &Func, op: Op, found: &mut Diagnostics) {
    same(func, op, found, "numbers or truth values", |_| true);
}

fn same(func: &Func, op: Op, found: &mut Diagnostics, what: &str, accepts: impl Fn(ElemKind) -> bool) {
    let operands = func.operands(op);
    let first = func.value_type(operands[0]);
    let is_first = |value: Value| func.value_type(value) == first;
    if func.as_scalar(first).is_some_and(|scalar| accepts(scalar.elem.kind()))
        && operands[1..].iter().all(|&operand| is_first(operand))
        && func.result(op).is_none_or(is_first)
    {
        return;
    }
    for &operand in operands {
        let ty = func.value_type(operand);
        if !func.as_scalar(ty).is_some_and(|scalar| accepts(scalar.elem.kind())) {
            let ty = func.show_type(ty);
            return error(func, op, found, format!("`{}` takes {what}, not `{ty}`", func.op_name(op)));
        }
        if ty != first {
            let (lhs, rhs) = (func.show_type(first), func.show_type(ty));
            return error(
                func,
                op,
                found,
                format!("`{}` takes operands of one type, not `{lhs}` and `{rhs}`", func.op_name(op)),
            );
        }
    }
    // The result of a ramp or a broadcast has more lanes than the operands.
    let widens = matches!(func.opcode(op), super::RAMP | super::BROADCAST);
    let fits = |result: Scalar, first: Scalar| result.elem == first.elem && (widens || result.lanes == first.lanes);
    if let Some(result) = func.result(op)
        && !func.value_scalar(result).zip(func.as_scalar(first)).is_some_and(|(result, first)| fits(result, first))
    {
        let (first, result) = (func.show_type(first), func.show_type(func.value_type(result)));
        error(func, op, found, format!("`{}` of `{first}` cannot be `{result}`", func.op_name(op)));
    }
}

pub(super) fn constant(func: &Func, op: Op, found: &mut Diagnostics) {
    let Some(value) = func.attr_of(op, keys::VALUE) else { return };
    let ty = func.value_type(func.result(op).expect("the row has one result"));
    let Some(Scalar { elem, lanes: 1 }) = func.as_scalar(ty) else {
        return error(func, op, found, format!("a literal cannot be `{}`; use `broadcast`", func.show_type(ty)));
    };
    match func.attr_data(value) {
        AttrData::Bool(_) if elem == Elem::Bool => {}
        AttrData::Float(..) if elem.is_float() => {}
        // Every type of integers holds these.
        AttrData::Int(0..=127, _) if elem.is_int() => {}
        AttrData::Int(value, _) if elem.is_int() => {
            let (min, max) = elem.int_range().expect("an integer type has a range");
            if !(min..=max).contains(value) {
                error(func, op, found, format!("{value} does not fit `{}`, which holds {min} to {max}", elem.name()));
            }
        }
        _ => error(func, op, found, format!("{} is no `{}`", func.show_attr(value), elem.name())),
    }
}

pub(super) fn cmp(func: &Func, op: Op, found: &mut Diagnostics) {
    if Predicate::of(func, op).is_none() {
        let word = func.word_of(op, keys::PREDICATE).unwrap_or("");
        error(func, op, found, format!("there is no comparison `{word}`; there are eq, ne, lt, le, gt, ge"));
    }
    let (lhs, rhs) = (func.value_type(func.operand(op, 0)), func.value_type(func.operand(op, 1)));
    if lhs != rhs || func.as_scalar(lhs).is_none() {
        let (lhs, rhs) = (func.show_type(lhs), func.show_type(rhs));
        return error(func, op, found, format!("cannot compare `{lhs}` with `{rhs}`"));
    }
    let truth = func.as_scalar(lhs).map(|scalar| Scalar { elem: Elem::Bool, ..scalar });
    let result = func.value_type(func.result(op).expect("the row has one result"));
    if func.as_scalar(result) != truth {
        error(func, op, found, format!("a comparison gives `bool`, not `{}`", func.show_type(result)));
    }
}

pub(super) fn cast(func: &Func, op: Op, found: &mut Diagnostics) {
    let from = func.value_type(func.operand(op, 0));
    let to = func.value_type(func.result(op).expect("the row has one result"));
    match (func.as_scalar(from), func.as_scalar(to)) {
        (Some(from), Some(to)) if from.lanes == to.lanes => {}
        _ => error(func, op, found, format!("cannot cast `{}` to `{}`", func.show_type(from), func.show_type(to))),
    }
}

pub(super) fn select(func: &Func, op: Op, found: &mut Diagnostics) {
    let condition = func.value_type(func.operand(op, 0));
    let (lhs, rhs) = (func.value_type(func.operand(op, 1)), func.value_type(func.operand(op, 2)));
    let lanes = func.as_scalar(lhs).map_or(1, |scalar| scalar.lanes);
    if !func.as_scalar(condition).is_some_and(|c| c.elem == Elem::Bool && (c.lanes == 1 || c.lanes == lanes)) {
        let condition = func.show_type(condition);
        return error(func, op, found, format!("the condition of `select` must be `bool`, not `{condition}`"));
    }
    if lhs != rhs || func.as_scalar(lhs).is_none() {
        let (lhs, rhs) = (func.show_type(lhs), func.show_type(rhs));
        return error(func, op, found, format!("the arms of `select` have types `{lhs}` and `{rhs}`"));
    }
    let result = func.value_type(func.result(op).expect("the row has one result"));
    if result != lhs {
        let (lhs, result) = (func.show_type(lhs), func.show_type(result));
        error(func, op, found, format!("`select` of `{lhs}` cannot be `{result}`"));
    }
}

pub(super) fn infer_ramp(func: &mut Func, operands: &[Value], attrs: Attrs) -> Result<Type, String> {
    widen(func, operands, attrs, "ramp")
}

pub(super) fn infer_broadcast(func: &mut Func, operands: &[Value], attrs: Attrs) -> Result<Type, String> {
    widen(func, operands, attrs, "broadcast")
}

fn widen(func: &mut Func, operands: &[Value], attrs: Attrs, name: &str) -> Result<Type, String> {
    let lanes = func.entry(attrs, keys::LANES).and_then(|attr| func.as_int(attr));
    let lanes = lanes.filter(|lanes| (2..=MAX_LANES).contains(lanes));
    let lanes = lanes.ok_or_else(|| format!("`{name}` takes a number of lanes from 2 to {MAX_LANES}"))?;
    let base = operands.first().and_then(|&base| func.value_scalar(base));
    let base = base.filter(|base| base.lanes == 1).ok_or_else(|| format!("`{name}` starts from a number"))?;
    Ok(func.scalar_ty(Scalar { elem: base.elem, lanes: lanes as u16 }))
}
