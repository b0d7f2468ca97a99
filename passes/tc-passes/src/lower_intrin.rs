//! Lowers ops that a GPU has no instruction for: division that rounds down, and the hint `likely`.
//!
//! # Input form
//!
//! `scheduled`.
//!
//! # Output form
//!
//! No `likely`, and no division or remainder of integers that rounds down: `tdiv`, `tmod`, shifts and masks replace
//! them. Floats keep `/` and `%`.
//!
//! # Example
//!
//! ```tir
//! A[i / 8] = B[i % 5]
//! ->
//! A[i >> 3] = B[tmod(i, 5)]
//! ```
//!
//! # Algorithm
//!
//! 1. Find the divisions of integers, and prove under the loop ranges and conditions of the program point which of them
//!    have only non-negative operands.
//! 2. Rewrite each by the first matching line:
//!    - unsigned: `tdiv`, `tmod`;
//!    - a divisor of 2^k: `a >> k`, `a & (2^k - 1)`, right for negative numbers too, as a shift rounds down;
//!       - operands not negative: `tdiv(a, b)`, `tmod(a, b)`;
//!    - else with `r = tmod(a, b)`: if `r` is not zero and its sign is not that of `b`, the quotient is one less and
//!      the remainder `r + b`. None of this overflows unless the division itself does.
//! 3. `likely(c)` becomes `c`.
//!
//! # Limits
//!
//! `legalize-arith` lowers the remainder of floats.
//!
//! # Remarks
//!
//! `long-division`: a division or remainder whose operands may be negative, with their ranges.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/lower_intrin.cc`; its shift by a multiple of the divisor overflows (TVM #18694) and is
//! not used.

use crate::analysis::launch::LaunchNests;
use crate::analysis::numbers::{Numbers, splat};
use crate::analysis::places::{Places, walk_places};
use crate::analysis::words;
use indexmap::IndexMap;
use tc_dialects::arith::{self, Predicate};
use tc_dialects::{forms, tir};
use tc_ir::rewrite::rewrite_ops;
use tc_ir::types::ElemKind;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter, Scalar, Value};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind, preserved};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `lower-intrin` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "lower-intrin",
    page: tc_support::page!("lower_intrin.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[&forms::SCHEDULED],
    establishes: &[],
    preserves: &[preserved::<LaunchNests>],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(LowerIntrin))),
};

/// The pass.
pub struct LowerIntrin;

impl FuncPass for LowerIntrin {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let signs = signs_of_divisions(func, cx);
        rewrite_ops(func, |rw, op| {
            let counter = match rw.func().opcode(op) {
                arith::DIV | arith::MOD => {
                    let is_int = |scalar: Scalar| scalar.elem.is_int();
                    if !rw.func().value_scalar(rw.func().operand(op, 0)).is_some_and(is_int) {
                        return;
                    }
                    divide(rw, op, signs.get(&op).copied().unwrap_or(Sign::Any));
                    "divisions lowered"
                }
                arith::LIKELY => {
                    let condition = rw.func().operand(op, 0);
                    rw.replace_op(op, &[condition]);
                    "hints removed"
                }
                _ => return,
            };
            cx.count(counter, 1);
        })
    }
}

/// How a division of integers may be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sign {
    /// Neither operand is ever negative, or their type has no sign.
    Positive,
    /// The divisor is positive.
    PositiveDivisor,
    Any,
}

/// The divisions of integers that shifts and masks do not do, in order, and what is proved of each where it stands.
fn signs_of_divisions(func: &Func, cx: &mut PassCx) -> IndexMap<Op, Sign> {
    let mut found = IndexMap::new();
    if !all_ops(func).any(|op| needs_sign(func, op)) {
        return found;
    }
    walk_places(func, |places, op| {
        if needs_sign(func, op) {
            let sign = sign(func, places, op);
            if sign != Sign::Positive {
                cx.missed(|| rounds_down(func, places, op, sign));
            }
            found.insert(op, sign);
        }
    });
    found
}

/// What is reported of a division that is not the one of the machine.
fn rounds_down(func: &Func, places: &mut Places<'_>, op: Op, sign: Sign) -> Diagnostic {
    let algebra = places.algebra();
    let sides = [0, 1].map(|nth| algebra.expr(func, func.operand(op, nth)));
    let [lhs, rhs] = sides.map(|side| algebra.text(side));
    let what = if func.opcode(op) == arith::DIV { "quotient" } else { "remainder" };
    let text = format!("the {what} of `{lhs}` by `{rhs}` is rounded down by extra operations");
    let found = Diagnostic::remark("long-division", func.op_location(op), text);
    let [lhs_is, rhs_is] = sides.map(|side| words::range(algebra.analyzer.bounds(side)));
    let found = found.note(format!("as far as is known, `{lhs}` {lhs_is}"));
    let found = if sign == Sign::Any { found.note(format!("as far as is known, `{rhs}` {rhs_is}")) } else { found };
    found.help("where both are positive, say so by a condition or by the range of a size: `<n: 1..65536>`")
}

fn needs_sign(func: &Func, op: Op) -> bool {
    matches!(func.opcode(op), arith::DIV | arith::MOD)
        && func.value_scalar(func.operand(op, 0)).is_some_and(|scalar| scalar.elem.is_int())
        && power_of_two(func, func.operand(op, 1)).is_none()
}

/// The power of two that every lane of `value` is.
fn power_of_two(func: &Func, value: Value) -> Option<i64> {
    splat(func, value).filter(|&divisor| divisor > 0 && divisor.count_ones() == 1)
}

fn sign(func: &Func, places: &mut Places<'_>, op: Op) -> Sign {
    let scalar = func.value_scalar(func.operand(op, 0)).expect("a division is of numbers");
    if scalar.elem.kind() == ElemKind::Unsigned {
        return Sign::Positive;
    }
    let mut at_least = |value: Value, least: i64| -> bool {
        match scalar.lanes {
            1 => {
                places.quick_bounds(value).all_at_least(least) || {
                    let algebra = places.algebra();
                    let expr = algebra.expr(func, value);
                    algebra.analyzer.bounds(expr).all_at_least(least)
                }
            }
            _ => splat(func, value).is_some_and(|value| value >= least),
        }
    };
    match (at_least(func.operand(op, 0), 0), at_least(func.operand(op, 1), 1)) {
        (true, true) => Sign::Positive,
        (_, true) => Sign::PositiveDivisor,
        _ => Sign::Any,
    }
}

fn divide(rw: &mut Rewriter<'_>, op: Op, sign: Sign) {
    let func = rw.func();
    let quotient = func.opcode(op) == arith::DIV;
    let (lhs, rhs) = (func.operand(op, 0), func.operand(op, 1));
    let scalar = func.value_scalar(lhs).expect("a division is of numbers");
    let power = power_of_two(func, rhs);
    let mut b = rw.before(op);
    let mut make = Numbers { b: &mut b, scalar };
    let value = match power {
        Some(1) if quotient => lhs,
        Some(divisor) if quotient => {
            let count = make.int(i64::from(divisor.trailing_zeros()));
            make.op(arith::SHR, &[lhs, count])
        }
        Some(divisor) => {
            let mask = make.int(divisor - 1);
            make.op(arith::BITAND, &[lhs, mask])
        }
        None if sign == Sign::Positive => make.op(if quotient { arith::TDIV } else { arith::TMOD }, &[lhs, rhs]),
        None => floor(&mut make, lhs, rhs, quotient, sign),
    };
    rw.replace_op(op, &[value]);
}

/// The quotient rounded down, or its remainder, by what truncates.
fn floor(make: &mut Numbers<'_, '_>, lhs: Value, rhs: Value, quotient: bool, sign: Sign) -> Value {
    let zero = make.int(0);
    let rest = make.op(arith::TMOD, &[lhs, rhs]);
    let off = if sign == Sign::PositiveDivisor {
        make.compare(Predicate::Lt, rest, zero)
    } else {
        // The signs differ, and the remainder is not zero.
        let some = make.compare(Predicate::Ne, rest, zero);
        let mixed = make.op(arith::BITXOR, &[rest, rhs]);
        let differ = make.compare(Predicate::Lt, mixed, zero);
        make.op(arith::AND, &[some, differ])
    };
    if quotient {
        let (one, truncated) = (make.int(1), make.op(arith::TDIV, &[lhs, rhs]));
        let correction = make.op(arith::SELECT, &[off, one, zero]);
        make.op(arith::SUB, &[truncated, correction])
    } else {
        let correction = make.op(arith::SELECT, &[off, rhs, zero]);
        make.op(arith::ADD, &[rest, correction])
    }
}
