//! How element types hold numbers: rounding of floats, wrapping of integers.

use crate::types::{Elem, ElemKind};
use half::{bf16, f16};
use tc_support::rounding::to_odd;

impl Elem {
    /// `value` rounded to the nearest number of this float type, ties to even.
    pub fn round(self, value: f64) -> f64 {
        match self {
            Elem::F32 => f64::from(value as f32),
            Elem::F16 => f16::from_f32(to_odd(value)).to_f64(),
            Elem::BF16 => bf16::from_f32(to_odd(value)).to_f64(),
            // The tensor cores' 19-bit format: an f32 whose mantissa keeps 10 bits.
            Elem::TF32 => f64::from(round_mantissa(value as f32, 13)),
            Elem::F8E4M3 => round_small(value, 3, -6, 448.0, false),
            Elem::F8E5M2 => round_small(value, 2, -14, 57344.0, true),
            _ => value,
        }
    }

    /// `value` modulo 2^bits, in the range of this integer type.
    pub fn wrap(self, value: i128) -> i128 {
        let bits = self.bits();
        let low = value & ((1i128 << bits) - 1);
        if self.kind() == ElemKind::Signed && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low }
    }

    /// `value` as this integer type holds it: unsigned and narrow integers wrap; `None` is an overflow, which is an
    /// error of the program.
    pub fn fit(self, value: i128) -> Option<i128> {
        let (min, max) = self.int_range()?;
        if (min..=max).contains(&value) {
            return Some(value);
        }
        let wraps = self.kind() == ElemKind::Unsigned || self.bits() < 32;
        wraps.then(|| self.wrap(value))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats_round_as_the_hardware_does() {
        assert_eq!(Elem::F16.round(1.0 + 1.0 / 4096.0), 1.0);
        assert_eq!(Elem::F16.round(3.0e38), f64::INFINITY);
        assert_eq!(Elem::BF16.round(1.0 + 1.0 / 512.0), 1.0);
        assert_eq!(Elem::F8E4M3.round(448.0), 448.0);
        assert_eq!(Elem::F8E4M3.round(17.0), 16.0);
        assert!(Elem::F8E4M3.round(1000.0).is_nan());
        assert_eq!(Elem::F8E5M2.round(61440.0), f64::INFINITY);
        assert_eq!(Elem::F8E4M3.round(0.001953125), 0.001953125);
        assert_eq!(Elem::TF32.round(1.0 + 1.0 / 4096.0), 1.0);
    }

    #[test]
    fn what_lies_next_to_a_tie_is_rounded_once() {
        // Halfway between two f16s, and just beyond it on either side; f32 does not tell these three apart.
        let tie = 2.5 + 1.0 / 1024.0;
        assert_eq!(Elem::F16.round(tie), 2.5);
        assert_eq!(Elem::F16.round(tie + 1e-12), 2.501953125);
        assert_eq!(Elem::F16.round(-tie - 1e-12), -2.501953125);
        assert_eq!(Elem::F16.round(tie - 1e-12), 2.5);
        let tie = 1.0 + 1.0 / 256.0;
        assert_eq!(Elem::BF16.round(tie), 1.0);
        assert_eq!(Elem::BF16.round(tie + 1e-12), 1.0078125);
        assert_eq!(Elem::BF16.round(1e300), f64::INFINITY);
        assert!(Elem::F16.round(-1e-300) == 0.0 && Elem::F16.round(-1e-300).is_sign_negative());
        // Every f16 is its own rounding.
        for bits in 0..=u16::MAX {
            let value = f16::from_bits(bits).to_f64();
            assert!(value.is_nan() || Elem::F16.round(value) == value, "{value}");
        }
    }

    #[test]
    fn integers_wrap_where_they_may() {
        assert_eq!(Elem::I8.fit(128), Some(-128));
        assert_eq!(Elem::U32.fit(-1), Some(i128::from(u32::MAX)));
        assert_eq!(Elem::I32.fit(1 << 31), None);
    }
}
