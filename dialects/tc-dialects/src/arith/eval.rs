//! What arithmetic on literals gives: the meaning that folding, the simulator and the emitters share.

use super::Predicate;
use half::{bf16, f16};
use tc_ir::attrs::BinOp;
use tc_ir::types::ElemKind;
use tc_ir::{Elem, Opcode};

/// `value` as `elem` holds it: unsigned and narrow integers wrap; `None` is an overflow that is an error.
pub fn fit_int(value: i128, elem: Elem) -> Option<i128> {
    let (min, max) = elem.int_range()?;
    if (min..=max).contains(&value) {
        return Some(value);
    }
    let wraps = elem.kind() == ElemKind::Unsigned || elem.bits() < 32;
    wraps.then(|| wrap_int(value, elem))
}

/// `value` modulo 2^bits, in the range of `elem`.
pub fn wrap_int(value: i128, elem: Elem) -> i128 {
    let bits = elem.bits();
    let low = value & ((1i128 << bits) - 1);
    if elem.kind() == ElemKind::Signed && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low }
}

/// `value` rounded to the nearest number of `elem`, ties to even.
pub fn round_float(value: f64, elem: Elem) -> f64 {
    match elem {
        Elem::F64 => value,
        Elem::F32 => f64::from(value as f32),
        Elem::F16 => f16::from_f64(value).to_f64(),
        Elem::BF16 => bf16::from_f64(value).to_f64(),
        // The tensor cores' 19-bit format: an f32 whose mantissa keeps 10 bits.
        Elem::TF32 => f64::from(round_mantissa(value as f32, 13)),
        Elem::F8E4M3 => round_small(value, 3, -6, 448.0, false),
        Elem::F8E5M2 => round_small(value, 2, -14, 57344.0, true),
        _ => value,
    }
}

fn round_mantissa(value: f32, drop: u32) -> f32 {
    if !value.is_finite() {
        return value;
    }
    let bits = value.to_bits();
    let half = (1u32 << (drop - 1)) - 1 + (bits >> drop & 1);
    f32::from_bits(bits.wrapping_add(half) & !((1u32 << drop) - 1))
}

/// Rounds to a float with `mantissa` bits and least exponent `min_exp` (Micikevicius et al. 2022, "FP8 formats
/// for deep learning"). Past `max` an E5M2 becomes infinite and an E4M3, which has no infinity, NaN.
fn round_small(value: f64, mantissa: i32, min_exp: i32, max: f64, has_inf: bool) -> f64 {
    if value.is_nan() || value == 0.0 {
        return value;
    }
    if value.is_infinite() {
        return if has_inf { value } else { f64::NAN };
    }
    let exp = (((value.to_bits() >> 52) & 0x7ff) as i32 - 1023).max(min_exp);
    let step = 2f64.powi(exp - mantissa);
    let rounded = (value / step).round_ties_even() * step;
    if rounded.abs() <= max {
        rounded
    } else if has_inf {
        f64::INFINITY.copysign(value)
    } else {
        f64::NAN
    }
}

/// An integer operation; `None` where the program would be wrong: overflow, division by zero, a bad shift.
pub fn int_binary(op: BinOp, lhs: i128, rhs: i128, elem: Elem) -> Option<i128> {
    let raw = match op {
        BinOp::Add => lhs + rhs,
        BinOp::Sub => lhs - rhs,
        BinOp::Mul => lhs.checked_mul(rhs)?,
        BinOp::Div => floor_div(lhs, rhs)?,
        BinOp::Mod => lhs - floor_div(lhs, rhs)?.checked_mul(rhs)?,
        BinOp::BitAnd => lhs & rhs,
        BinOp::BitOr => lhs | rhs,
        BinOp::BitXor => lhs ^ rhs,
        BinOp::Shl | BinOp::Shr => {
            let count = u32::try_from(rhs).ok().filter(|&count| count < elem.bits())?;
            if op == BinOp::Shl { lhs.checked_shl(count)? } else { lhs >> count }
        }
        _ => return None,
    };
    fit_int(raw, elem)
}

fn floor_div(lhs: i128, rhs: i128) -> Option<i128> {
    if rhs == 0 {
        return None;
    }
    let quotient = lhs.checked_div(rhs)?;
    Some(if lhs % rhs != 0 && (lhs < 0) != (rhs < 0) { quotient - 1 } else { quotient })
}

/// `tdiv` or `tmod`.
pub fn int_trunc(opcode: Opcode, lhs: i128, rhs: i128, elem: Elem) -> Option<i128> {
    let raw = if opcode == super::TDIV { lhs.checked_div(rhs)? } else { lhs.checked_rem(rhs)? };
    fit_int(raw, elem)
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
    Some(round_float(raw, elem))
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
        for (lhs, rhs, quotient, remainder) in [(7, 2, 3, 1), (-7, 2, -4, 1), (7, -2, -4, -1), (-7, -2, 3, -1), (-6, 2, -3, 0)] {
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
    }

    #[test]
    fn small_floats_round_as_the_hardware_does() {
        assert_eq!(round_float(1.0 + 1.0 / 4096.0, Elem::F16), 1.0);
        assert_eq!(round_float(3.0e38, Elem::F16), f64::INFINITY);
        assert_eq!(round_float(1.0 + 1.0 / 512.0, Elem::BF16), 1.0);
        assert_eq!(round_float(448.0, Elem::F8E4M3), 448.0);
        assert_eq!(round_float(17.0, Elem::F8E4M3), 16.0);
        assert!(round_float(1000.0, Elem::F8E4M3).is_nan());
        assert_eq!(round_float(61440.0, Elem::F8E5M2), f64::INFINITY);
        assert_eq!(round_float(0.001953125, Elem::F8E4M3), 0.001953125);
        assert_eq!(round_float(1.0 + 1.0 / 4096.0, Elem::TF32), 1.0);
    }
}
