//! Literals and comments of C.

use std::fmt::Write;

/// `text` as a string literal. All but printable ASCII is escaped, and so is `$`, which stands for the name of the bundle.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend(['\\', char::from(byte)]),
            b' '..=b'~' if !matches!(byte, b'?' | b'$') => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('"');
    out
}

/// `text` for a comment, which it does not end.
pub(crate) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() || matches!(c, '*' | '\\' | '?' | '$') { '.' } else { c }).collect()
}

/// An integer of 64 bits with a sign.
pub(crate) fn int(value: i64) -> String {
    match value {
        // The literal would be the negative of a number that does not fit.
        i64::MIN => "INT64_MIN".to_string(),
        value if i32::try_from(value).is_ok_and(|value| value > i32::MIN) => value.to_string(),
        value => format!("INT64_C({value})"),
    }
}

/// An integer of 64 bits without a sign.
pub(crate) fn uint(value: u64) -> String {
    if i32::try_from(value).is_ok() { value.to_string() } else { format!("UINT64_C({value})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_literal_or_comment() {
        assert_eq!(string("a\"b\\c\n??/é%$"), r#""a\"b\\c\012\077\077/\303\251%\044""#);
        assert_eq!(comment("a */ b\n\\"), "a ./ b..");
    }

    #[test]
    fn integers_have_the_width_that_they_need() {
        assert_eq!([0, -5, i64::from(i32::MIN), i64::MIN].map(int), ["0", "-5", "INT64_C(-2147483648)", "INT64_MIN"]);
        assert_eq!(uint(u64::MAX), "UINT64_C(18446744073709551615)");
    }
}
