//! What literals mean. The tree keeps their ranges; these functions read the text.
//!
//! Each takes the text of one token. A text that the lexer would not have made a token of that kind is an error too,
//! so that none of these functions panics on anything.

use std::borrow::Cow;
use std::fmt;

/// Why a literal has no meaning: lower case, without a final stop, fit for a diagnostic.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiteralError {
    /// The byte of the literal's text at which it goes wrong.
    pub offset: u32,
    /// What is wrong.
    pub message: String,
}

impl LiteralError {
    fn new(offset: usize, message: impl Into<String>) -> LiteralError {
        LiteralError { offset: offset as u32, message: message.into() }
    }
}

impl fmt::Display for LiteralError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for LiteralError {}

/// An integer literal. A minus before it is an operator, so there are no negative ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntLiteral<'s> {
    /// The value.
    pub value: u64,
    /// The element type that it carries: `i64` of `3i64`.
    pub suffix: Option<&'s str>,
}

/// A float literal, rounded once from the text to each of the two widths.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FloatLiteral<'s> {
    /// The nearest `f64`.
    pub value: f64,
    /// The nearest `f32`, which is not always the `f32` nearest to `value`; infinite if the text is too large for it.
    pub single: f32,
    /// The element type that it carries: `f16` of `0.5f16`.
    pub suffix: Option<&'s str>,
}

/// An element type with its lanes: `f32x4`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Dtype<'s> {
    /// The element type: `f32`.
    pub element: &'s str,
    /// The number behind `x`, if there is one; it is at least 1.
    pub lanes: Option<u32>,
}

/// A location in the text: `#12:5`, `#"f.tir":12:5`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LocLiteral<'s> {
    /// The file, if it is not that of the text itself.
    pub file: Option<Cow<'s, str>>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub col: u32,
}

/// `12`, `3i64`, `0x1fu8`.
pub fn int(text: &str) -> Result<IntLiteral<'_>, LiteralError> {
    let (digits, base, skip) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16, 2),
        None => (text, 10, 0),
    };
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(end);
    if digits.is_empty() {
        return Err(LiteralError::new(skip, "an integer without digits"));
    }
    let value = u64::from_str_radix(digits, base)
        .map_err(|_| LiteralError::new(0, "this integer is too large: it takes more than 64 bits"))?;
    Ok(IntLiteral { value, suffix: (!suffix.is_empty()).then_some(suffix) })
}

/// `0.5`, `1e-5f32`, `0x1.8p3`, `inf`, `nanf16`.
pub fn float(text: &str) -> Result<FloatLiteral<'_>, LiteralError> {
    for (word, value, single) in [("inf", f64::INFINITY, f32::INFINITY), ("nan", f64::NAN, f32::NAN)] {
        if let Some(suffix) = text.strip_prefix(word) {
            return Ok(FloatLiteral { value, single, suffix: (!suffix.is_empty()).then_some(suffix) });
        }
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return hex_float(digits);
    }
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len()
        && (bytes[end].is_ascii_digit()
            || matches!(bytes[end], b'.' | b'e' | b'E')
            || (matches!(bytes[end], b'+' | b'-') && matches!(bytes[end.saturating_sub(1)], b'e' | b'E')))
    {
        end += 1;
    }
    let (digits, suffix) = text.split_at(end);
    let malformed = |_| LiteralError::new(0, "a malformed float");
    let value: f64 = digits.parse().map_err(malformed)?;
    let single: f32 = digits.parse().map_err(malformed)?;
    finish_float(value, single, suffix)
}

fn finish_float(value: f64, single: f32, suffix: &str) -> Result<FloatLiteral<'_>, LiteralError> {
    if value.is_infinite() {
        return Err(LiteralError::new(0, "this float is too large for any type; infinity is written `inf`"));
    }
    Ok(FloatLiteral { value, single, suffix: (!suffix.is_empty()).then_some(suffix) })
}

/// What follows the `0x` of a hexadecimal float.
fn hex_float(text: &str) -> Result<FloatLiteral<'_>, LiteralError> {
    let malformed = || LiteralError::new(0, "a malformed hexadecimal float");
    let (digits, rest) = text.split_once('p').ok_or_else(malformed)?;
    let sign_len = usize::from(rest.starts_with(['+', '-']));
    let end = sign_len + rest[sign_len..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - sign_len);
    let (exponent, suffix) = rest.split_at(end);
    // An exponent of this size has long left every format; the clamp keeps the sums below from overflowing.
    let exponent = match exponent.parse::<i64>() {
        Ok(exponent) => exponent.clamp(-1 << 40, 1 << 40),
        Err(_) if end > sign_len => {
            if exponent.starts_with('-') {
                -1 << 40
            } else {
                1 << 40
            }
        }
        Err(_) => return Err(malformed()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (mut mantissa, mut scale, mut sticky) = (0u64, exponent, false);
    for (idx, c) in whole.chars().chain(fraction.chars()).enumerate() {
        let digit = u64::from(c.to_digit(16).ok_or_else(malformed)?);
        let in_fraction = idx >= whole.len();
        if mantissa >> 59 == 0 {
            mantissa = mantissa << 4 | digit;
            scale -= if in_fraction { 4 } else { 0 };
        } else {
            sticky |= digit != 0;
            scale += if in_fraction { 0 } else { 4 };
        }
    }
    // The lowest bit stands for all that was cut off; rounding looks no closer.
    mantissa |= u64::from(sticky);
    let value = round(mantissa, scale, 53, -1074);
    let single = round(mantissa, scale, 24, -149) as f32;
    finish_float(value, single, suffix)
}

/// `mantissa * 2^scale`, rounded to nearest, ties to even, to `bits` bits of which none is below `2^lowest`.
fn round(mantissa: u64, scale: i64, bits: i64, lowest: i64) -> f64 {
    if mantissa == 0 {
        return 0.0;
    }
    let top = scale + 64 - i64::from(mantissa.leading_zeros());
    let unit = (top - bits).max(lowest);
    let cut = unit - scale;
    let kept = match cut {
        ..=0 => mantissa,
        1..=64 => {
            let wide = u128::from(mantissa);
            let (kept, rest, half) = (wide >> cut, wide & ((1 << cut) - 1), 1u128 << (cut - 1));
            (kept + u128::from(rest > half || (rest == half && kept & 1 == 1))) as u64
        }
        _ => 0,
    };
    // `kept` has at most `bits` bits and the unit is one of the format's, so these products are exact.
    let exponent = if cut <= 0 { scale } else { unit };
    scale_by(kept as f64, exponent)
}

/// `value * 2^exponent`, in steps that stay in range.
fn scale_by(mut value: f64, mut exponent: i64) -> f64 {
    while exponent > 0 && value.is_finite() && value != 0.0 {
        let step = exponent.min(1000);
        value *= 2f64.powi(step as i32);
        exponent -= step;
    }
    while exponent < 0 && value != 0.0 {
        let step = exponent.max(-1000);
        value *= 2f64.powi(step as i32);
        exponent -= step;
    }
    value
}

/// `"a\n"`, with its quotes.
///
/// The escapes are `\n`, `\t`, `\r`, `\0`, `\\`, `\"`, `\'`, `\x7f` and `\u{1f600}`.
pub fn string(text: &str) -> Result<Cow<'_, str>, LiteralError> {
    let inner = text
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
        .ok_or_else(|| LiteralError::new(0, "a string without its quotes"))?;
    if !inner.contains('\\') {
        return Ok(Cow::Borrowed(inner));
    }
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let offset = 1 + inner.len() - rest.len() + at;
        let (c, len) = escape(&rest[at + 1..]).ok_or_else(|| {
            let shown: String = rest[at..].chars().take(2).collect();
            LiteralError::new(offset, format!("unknown escape `{shown}`"))
        })?;
        out.push(c);
        rest = &rest[at + 1 + len..];
    }
    out.push_str(rest);
    Ok(Cow::Owned(out))
}

/// The character of an escape, given what follows its backslash, and how long that is.
fn escape(text: &str) -> Option<(char, usize)> {
    let c = match text.chars().next()? {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        c @ ('\\' | '"' | '\'') => c,
        'x' => {
            let byte = u8::from_str_radix(text.get(1..3)?, 16).ok().filter(u8::is_ascii)?;
            return Some((char::from(byte), 3));
        }
        'u' => {
            let digits = text.strip_prefix("u{")?.split('}').next()?;
            let c = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32)?;
            return text[2 + digits.len()..].starts_with('}').then_some((c, digits.len() + 3));
        }
        _ => return None,
    };
    Some((c, 1))
}

/// `@name` or `@"any name"`, without the `@`.
pub fn symbol(text: &str) -> Result<Cow<'_, str>, LiteralError> {
    let name = text.strip_prefix('@').ok_or_else(|| LiteralError::new(0, "a symbol without its `@`"))?;
    if !name.starts_with('"') {
        return Ok(Cow::Borrowed(name));
    }
    string(name).map_err(|error| LiteralError { offset: error.offset + 1, ..error })
}

/// `f32`, `f32x4`.
pub fn dtype(text: &str) -> Result<Dtype<'_>, LiteralError> {
    // No element type has an `x` in it but `index`, whose lanes follow a second one.
    let split = text.rfind('x').filter(|&at| at + 1 < text.len() && text[at + 1..].bytes().all(|b| b.is_ascii_digit()));
    let Some(at) = split else { return Ok(Dtype { element: text, lanes: None }) };
    match text[at + 1..].parse() {
        Ok(0) => Err(LiteralError::new(at, "a vector of no lanes")),
        Ok(lanes) => Ok(Dtype { element: &text[..at], lanes: Some(lanes) }),
        Err(_) => Err(LiteralError::new(at, "too many lanes")),
    }
}

/// `#12:5`, `#"f.tir":12:5`.
pub fn location(text: &str) -> Result<LocLiteral<'_>, LiteralError> {
    let malformed = || LiteralError::new(0, "a malformed location");
    let rest = text.strip_prefix('#').ok_or_else(malformed)?;
    let (head, col) = rest.rsplit_once(':').ok_or_else(malformed)?;
    let (file, line) = match head.rsplit_once(':') {
        Some((file, line)) => {
            let file = string(file).map_err(|error| LiteralError { offset: error.offset + 1, ..error })?;
            (Some(file), line)
        }
        None => (None, head),
    };
    let number = |text: &str| match text.parse::<u32>() {
        Ok(0) => Err(LiteralError::new(0, "lines and columns are counted from 1")),
        Ok(number) => Ok(number),
        Err(_) => Err(LiteralError::new(0, "a line or column that is not a number below 2^32")),
    };
    Ok(LocLiteral { file, line: number(line)?, col: number(col)? })
}

/// A name taken apart: `x$1`, which a pass made from `x`, is `x` and 1; `$3` is the empty name and 3.
pub fn name(text: &str) -> Result<(&str, Option<u32>), LiteralError> {
    match text.split_once('$') {
        None => Ok((text, None)),
        Some((name, number)) => match number.parse() {
            Ok(number) => Ok((name, Some(number))),
            Err(_) => Err(LiteralError::new(name.len(), "the number of this name is too large")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(int("12"), Ok(IntLiteral { value: 12, suffix: None }));
        assert_eq!(int("3i64"), Ok(IntLiteral { value: 3, suffix: Some("i64") }));
        assert_eq!(int("0x1fu8"), Ok(IntLiteral { value: 31, suffix: Some("u8") }));
        assert_eq!(int("1f32"), Ok(IntLiteral { value: 1, suffix: Some("f32") }));
        assert_eq!(int("18446744073709551615").map(|int| int.value), Ok(u64::MAX));
        assert!(int("18446744073709551616").unwrap_err().message.contains("64 bits"));
        assert!(int("0x").is_err() && int("").is_err() && int("é").is_err());
    }

    #[test]
    fn floats() {
        let value = |text: &str| float(text).unwrap().value;
        assert_eq!(float("0.5f16"), Ok(FloatLiteral { value: 0.5, single: 0.5, suffix: Some("f16") }));
        assert_eq!(float("1e-5f32").unwrap().single, 1e-5f32);
        assert_eq!(value("2.5e+10"), 2.5e10);
        assert_eq!(value("0.5f8e4m3"), 0.5);
        assert_eq!(float("-inf"), Err(LiteralError::new(0, "a malformed float")));
        assert_eq!(value("inf"), f64::INFINITY);
        assert!(value("nanf16").is_nan());
        assert!(float("1e999").is_err());
        assert_eq!(float("1e300").unwrap().single, f32::INFINITY);
        assert!(float("").is_err() && float("1e").is_err());
    }

    #[test]
    fn a_float_is_rounded_once() {
        // Just above a tie of f32: the way over f64 would round to the tie and then down.
        let text = "1.00000005960464477540";
        assert_eq!(float(text).unwrap().single, 1.0 + f32::EPSILON);
        assert_eq!(float(text).unwrap().value as f32, 1.0);
    }

    #[test]
    fn hexadecimal_floats() {
        let value = |text: &str| float(text).unwrap().value;
        assert_eq!(value("0x1.8p3"), 12.0);
        assert_eq!(value("0x10p-4f32"), 1.0);
        assert_eq!(value("0x1.921fb54442d18p1"), std::f64::consts::PI);
        assert_eq!(value("0x1p-1074"), f64::from_bits(1));
        assert_eq!(value("0x1p-1075"), 0.0);
        assert_eq!(value("0x1.8p-1075"), f64::from_bits(1));
        assert_eq!(value("0x1.fffffffffffffp1023"), f64::MAX);
        assert_eq!(float("0x1.000001p0").unwrap().single, 1.0);
        assert_eq!(float("0x1.0000010000000000000000001p0").unwrap().single, 1.0 + f32::EPSILON);
        assert_eq!(float("0x1.000003p0").unwrap().single, 1.0 + 2.0 * f32::EPSILON);
        assert_eq!(float("0x1p-149").unwrap().single, f32::from_bits(1));
        assert_eq!(value("0x0p99999999999999999999"), 0.0);
        assert!(float("0x1p1024").is_err() && float("0x1p99999999999999999999").is_err() && float("0x1p").is_err());
    }

    #[test]
    fn strings_and_symbols() {
        assert_eq!(string(r#""a b""#).unwrap(), "a b");
        assert_eq!(string(r#""\n\t\\\"\x41\u{e9}é""#).unwrap(), "\n\t\\\"Aéé");
        assert_eq!(string(r#""ab\q""#).unwrap_err(), LiteralError::new(3, "unknown escape `\\q`"));
        for bad in [r#""\x8""#, r#""\xff""#, r#""\u{110000}""#, r#""\u{12""#, r#""\"#, "a", "\""] {
            assert!(string(bad).is_err(), "{bad}");
        }
        assert_eq!(symbol("@f").unwrap(), "f");
        assert_eq!(symbol(r#"@"a \"b""#).unwrap(), "a \"b");
        assert!(symbol("f").is_err());
    }

    #[test]
    fn types_locations_and_names() {
        assert_eq!(dtype("f32x4"), Ok(Dtype { element: "f32", lanes: Some(4) }));
        assert_eq!(dtype("index"), Ok(Dtype { element: "index", lanes: None }));
        assert_eq!(dtype("indexx8"), Ok(Dtype { element: "index", lanes: Some(8) }));
        assert!(dtype("f32x0").is_err() && dtype("f32x99999999999").is_err());
        assert_eq!(location("#12:5"), Ok(LocLiteral { file: None, line: 12, col: 5 }));
        assert_eq!(location("#\"a:b\":3:4"), Ok(LocLiteral { file: Some("a:b".into()), line: 3, col: 4 }));
        assert!(location("#0:1").is_err() && location("#99999999999:1").is_err());
        assert_eq!(name("x"), Ok(("x", None)));
        assert_eq!(name("x$12"), Ok(("x", Some(12))));
        assert_eq!(name("$3"), Ok(("", Some(3))));
        assert!(name("$99999999999").is_err());
    }
}
