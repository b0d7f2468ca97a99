//! Conditions and choices of a header while some parameters have no value yet: of those a range is known.
//!
//! What is found holds for every value in the ranges. An expression that may divide by zero or overflow for some of them
//! has no range: whether it has a value is then for the values themselves to say.

use tc_arith::{BinaryOp, Interval};
use tc_dialects::algebra::infix_op;
use tc_ir::attrs::{AttrData, BinOp, UnOp};
use tc_ir::{Attr, Func, Name};

/// How deep an expression of a header may be.
const MAX_DEPTH: usize = 200;

/// The range of what a name stands for.
pub(crate) type Ranges<'a> = &'a dyn Fn(Name) -> Option<Interval>;

/// What is known of a condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Partial {
    /// It fails for all values.
    Fails,
    /// It has a truth value for all values, and holds for some or for all of them, as far as is known.
    MayHold,
    /// It may have no value.
    Unknown,
}

/// What is known of the condition `attr`.
pub(crate) fn condition(func: &Func, attr: Attr, names: Ranges<'_>) -> Partial {
    match range(func, attr, names) {
        None => Partial::Unknown,
        Some(range) if range.as_point() == Some(0) => Partial::Fails,
        Some(_) => Partial::MayHold,
    }
}

/// The range of `attr`, if it has a value for all values in the ranges of names; a truth value counts as 0 or 1.
pub(crate) fn range(func: &Func, attr: Attr, names: Ranges<'_>) -> Option<Interval> {
    range_deep(func, attr, names, MAX_DEPTH)
}

/// The range of all values that the choices `attr` may list, if they can be listed for all values.
pub(crate) fn range_of_choices(func: &Func, attr: Attr, names: Ranges<'_>) -> Option<Interval> {
    let range = |attr: Attr| range(func, attr, names);
    match func.attr_data(attr) {
        AttrData::List(list) => {
            let all: Option<Vec<Interval>> = list.iter().map(|&choice| range(choice)).collect();
            all?.into_iter().reduce(Interval::union)
        }
        AttrData::Call(name, args) => match (func.text(*name), &args[..]) {
            ("divisors", &[n]) => {
                let n = range(n)?;
                n.all_at_least(1).then(|| Interval::from_ends(Some(1), n.max()))
            }
            // A range that is empty lists nothing, and one whose step is none is refused where it is listed.
            ("range", &[low, high] | &[low, high, _]) => {
                let (low, high) = (range(low)?.min()?, range(high)?.max()?.checked_sub(1)?);
                (low <= high).then(|| Interval::new(low, high))
            }
            _ => None,
        },
        _ => None,
    }
}

fn truth(value: bool) -> Interval {
    Interval::point(i64::from(value))
}

/// Whether `value` is never, or always, other than zero.
fn decided(value: Interval) -> Option<bool> {
    match value.as_point() {
        Some(0) => Some(false),
        _ if !value.contains(0) => Some(true),
        _ => None,
    }
}

fn range_deep(func: &Func, attr: Attr, names: Ranges<'_>, depth: usize) -> Option<Interval> {
    let depth = depth.checked_sub(1)?;
    let range = |attr: Attr| range_deep(func, attr, names, depth);
    // What may leave 64 bits may have no value.
    let bounded = |range: Interval| range.is_finite().then_some(range);
    match func.attr_data(attr) {
        AttrData::Int(value, _) => bounded(Interval::point(i64::try_from(*value).ok()?)),
        AttrData::Bool(value) => Some(truth(*value)),
        AttrData::Word(name) => bounded(names(*name)?),
        AttrData::Unary(UnOp::Neg, arg) => bounded(-range(*arg)?),
        AttrData::Unary(UnOp::Not, arg) => Some(decided(range(*arg)?).map_or(Interval::BOOL, |arg| truth(!arg))),
        AttrData::Binary(op @ (BinOp::AndAnd | BinOp::OrOr), lhs, rhs) => {
            // The second operand is looked at only where the first does not decide.
            let decides = *op == BinOp::OrOr;
            match decided(range(*lhs)?) {
                Some(first) if first == decides => Some(truth(decides)),
                first => Some(match decided(range(*rhs)?) {
                    Some(second) if second == decides => truth(decides),
                    Some(_) if first.is_some() => truth(!decides),
                    _ => Interval::BOOL,
                }),
            }
        }
        AttrData::Binary(op, lhs, rhs) => {
            let (lhs, rhs) = (range(*lhs)?, range(*rhs)?);
            match infix_op(*op) {
                (op, true) => by_op(op, rhs, lhs),
                (op, false) => by_op(op, lhs, rhs),
            }
        }
        AttrData::Call(name, args) => {
            let op = BinaryOp::of_name(func.text(*name))?;
            let &[lhs, rhs] = &args[..] else { return None };
            by_op(op, range(lhs)?, range(rhs)?)
        }
        _ => None,
    }
}

/// The range of `op` over two ranges, if it has a value for all values in them.
fn by_op(op: BinaryOp, lhs: Interval, rhs: Interval) -> Option<Interval> {
    use BinaryOp::{And, BitAnd, BitOr, BitXor, Or, Shl, Shr};
    // Of bits nothing is known; `&&` and `||` stop early, and stand above.
    if matches!(op, And | Or | Shl | Shr | BitAnd | BitOr | BitXor) || (op.is_division() && rhs.contains(0)) {
        return None;
    }
    Some(Interval::apply(op, lhs, rhs)).filter(|range| range.is_finite())
}
