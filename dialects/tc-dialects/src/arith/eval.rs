//! What arithmetic on literals gives: the meaning that folding, the simulator and the emitters share.

use super::Predicate;
use crate::algebra::infix_op;
use tc_arith::BinaryOp;
use tc_ir::attrs::BinOp;
use tc_ir::{Elem, Opcode};

/// An integer operation; `None` where the program would be wrong: overflow, division by zero, a bad shift. What operators
/// mean on numbers is [`BinaryOp`]'s to say; the type says which numbers there are, and whether others wrap.
pub fn int_binary(op: BinOp, lhs: i128, rhs: i128, elem: Elem) -> Option<i128> {
    let raw = match op {
        // Two unsigned numbers of 64 bits may overflow even this; modulo 2^64, nothing is lost.
        BinOp::Mul => lhs.wrapping_mul(rhs),
        BinOp::Shl | BinOp::Shr if !(0..i128::from(elem.bits())).contains(&rhs) => return None,
        op if op.is_comparison() || matches!(op, BinOp::AndAnd | BinOp::OrOr) => return None,
        op => infix_op(op).0.apply_wide(lhs, rhs).ok()?,
    };
    elem.fit(raw)
}

/// `tdiv` or `tmod`.
pub fn int_trunc(opcode: Opcode, lhs: i128, rhs: i128, elem: Elem) -> Option<i128> {
    let op = if opcode == super::TDIV { BinaryOp::TruncDiv } else { BinaryOp::TruncMod };
    elem.fit(op.apply_wide(lhs, rhs).ok()?)
}

/// A float operation, rounded once to `elem`.
///
/// For f32 and narrower types, sums, differences, products, quotients and square roots computed in f64 and
/// rounded once more are exact to the type (Figueroa 1995: 53 >= 2 * 24 + 2).
pub fn float_binary(op: BinOp, lhs: f64, rhs: f64, elem: Elem) -> Option<f64> {
    let raw = match op {
        BinOp::Add => lhs + rhs,
        BinOp::Sub => lhs - rhs,
        BinOp::Mul => lhs * rhs,
        BinOp::Div => lhs / rhs,
        BinOp::Mod => lhs - (lhs / rhs).floor() * rhs,
        _ => return None,
    };
    Some(elem.round(raw))
}

/// A comparison of integers.
pub fn int_cmp(predicate: Predicate, lhs: i128, rhs: i128) -> bool {
    predicate.holds(Some(lhs.cmp(&rhs)))
}

/// A comparison of floats.
pub fn float_cmp(predicate: Predicate, lhs: f64, rhs: f64) -> bool {
    predicate.holds(lhs.partial_cmp(&rhs))
}

/// A float as an integer: truncated; `None` where the integer type does not hold it.
pub fn float_to_int(value: f64, elem: Elem) -> Option<i128> {
    let whole = value.trunc();
    if !whole.is_finite() || whole.abs() > 1e30 {
        return None;
    }
    let (min, max) = elem.int_range()?;
    Some(whole as i128).filter(|value| (min..=max).contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_down_and_the_remainder_has_the_divisors_sign() {
        for (lhs, rhs, quotient, remainder) in
            [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-6, 2, -3, 0)]
        {
            assert_eq!(int_binary(BinOp::Div, lhs, rhs, Elem::Index), Some(quotient));
            assert_eq!(int_binary(BinOp::Mod, lhs, rhs, Elem::Index), Some(remainder));
        }
        assert_eq!(int_binary(BinOp::Div, 1, 0, Elem::Index), None);
    }

    #[test]
    fn wide_signed_overflow_is_an_error_and_the_rest_wraps() {
        assert_eq!(int_binary(BinOp::Add, i128::from(i32::MAX), 1, Elem::I32), None);
        assert_eq!(int_binary(BinOp::Add, 127, 1, Elem::I8), Some(-128));
        assert_eq!(int_binary(BinOp::Sub, 0, 1, Elem::U32), Some(i128::from(u32::MAX)));
        assert_eq!(int_binary(BinOp::Mul, i128::from(i64::MAX), i128::from(i64::MAX), Elem::Index), None);
        let greatest = i128::from(u64::MAX);
        assert_eq!(int_binary(BinOp::Mul, greatest, greatest, Elem::U64), Some(1));
    }
}
