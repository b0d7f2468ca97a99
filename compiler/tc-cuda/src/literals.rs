//! Literals that read back as just the number they stand for.
//!
//! A float is written with the shortest digits that tell it from its neighbours. Where a reader that goes by way of
//! f64 would round those twice, and wrongly, the literal is a hexadecimal one.

use crate::expr::{Expr, prec};
use std::fmt::Write;
use tc_ir::Elem;

/// The integer `value` of type `elem`. Literals of 8 and 16 bits are plain `int`s.
pub(crate) fn int(value: i128, elem: Elem) -> Expr {
    let suffix = match elem {
        Elem::U32 => "u",
        Elem::I64 => "LL",
        Elem::U64 => "ULL",
        _ => "",
    };
    // The least number has no literal: a minus is no part of one, and its absolute value does not fit.
    if matches!(elem, Elem::I32 | Elem::I64) && elem.int_range().is_some_and(|(min, _)| min == value) {
        return Expr::new(format!("{}{suffix} - 1{suffix}", value + 1), prec::ADD);
    }
    signed(format!("{value}{suffix}"))
}

/// A text that may open with a minus.
fn signed(text: String) -> Expr {
    let prec = if text.starts_with('-') { prec::UNARY } else { prec::PRIMARY };
    Expr::new(text, prec)
}

/// `value`, rounded to f32.
pub(crate) fn float(value: f64) -> Expr {
    let value = value as f32;
    if value.is_nan() {
        return Expr::new("__int_as_float(0x7fc00000)".into(), prec::POSTFIX);
    }
    if value.is_infinite() {
        return signed(format!("{}__int_as_float(0x7f800000)", if value < 0.0 { "-" } else { "" }));
    }
    let digits = format!("{value:?}");
    let by_f64 = digits.parse::<f64>().map(|wide| wide as f32);
    if by_f64.is_ok_and(|read| read.to_bits() == value.to_bits()) {
        signed(format!("{digits}f"))
    } else {
        signed(format!("{}f", hexadecimal(value)))
    }
}

/// `value` as an f64.
pub(crate) fn double(value: f64) -> Expr {
    if value.is_nan() {
        return Expr::new("__longlong_as_double(0x7ff8000000000000LL)".into(), prec::POSTFIX);
    }
    if value.is_infinite() {
        return signed(format!("{}__longlong_as_double(0x7ff0000000000000LL)", if value < 0.0 { "-" } else { "" }));
    }
    signed(format!("{value:?}"))
}

/// A finite f32 with hexadecimal digits.
fn hexadecimal(value: f32) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 23 & 0xff) as i32, (bits & 0x7f_ffff) << 1);
    let (lead, exponent) = if exponent == 0 { (0, -126) } else { (1, exponent - 127) };
    let mut out = String::new();
    let _ = write!(out, "{}0x{lead}.{fraction:06x}p{exponent}", if value.is_sign_negative() { "-" } else { "" });
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_have_the_type_that_they_are_meant_to_have() {
        let show = |value: i128, elem| int(value, elem).at(prec::UNARY);
        assert_eq!(show(5, Elem::I32), "5");
        assert_eq!(show(-5, Elem::I64), "-5LL");
        assert_eq!(show(i32::MIN.into(), Elem::I32), "(-2147483647 - 1)");
        assert_eq!(show(i64::MIN.into(), Elem::I64), "(-9223372036854775807LL - 1LL)");
        assert_eq!(show(u64::MAX.into(), Elem::U64), "18446744073709551615ULL");
        assert_eq!(show(-128, Elem::I8), "-128");
        assert_eq!(show(7, Elem::U32), "7u");
    }

    #[test]
    fn floats_are_exact() {
        assert_eq!(float(0.1).text, "0.1f");
        assert_eq!(float(1.0).text, "1.0f");
        assert_eq!(float(-0.0).text, "-0.0f");
        assert_eq!(float(1e-45).text, "1e-45f");
        assert_eq!(float(3.4028234663852886e38).text, "3.4028235e38f");
        assert_eq!(float(f64::NEG_INFINITY).text, "-__int_as_float(0x7f800000)");
        assert_eq!(float(f64::NAN).text, "__int_as_float(0x7fc00000)");
        assert_eq!(double(0.1).text, "0.1");
        assert_eq!(double(1e300).text, "1e300");
    }

    #[test]
    fn hexadecimal_digits_are_those_of_the_bits() {
        assert_eq!(hexadecimal(1.0), "0x1.000000p0");
        assert_eq!(hexadecimal(-0.1), "-0x1.99999ap-4");
        assert_eq!(hexadecimal(f32::from_bits(1)), "0x0.000002p-126");
        assert_eq!(hexadecimal(f32::MAX), "0x1.fffffep127");
    }
}
