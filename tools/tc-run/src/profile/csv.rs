//! Values between commas, as ncu writes them: all in quotes, a quote inside as two.

/// The values of a line.
pub(super) fn values(line: &str) -> Vec<String> {
    let (mut values, mut value, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                value.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => values.push(std::mem::take(&mut value)),
            c => value.push(c),
        }
    }
    values.push(value);
    values
}

/// A number, which may have commas between thousands; 0 where there is none.
pub(super) fn number(text: &str) -> f64 {
    text.replace(',', "").parse().ok().filter(|number: &f64| number.is_finite()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_commas_and_quotes() {
        assert_eq!(values(r#""a","1,024","say ""b""","""#), ["a", "1,024", "say \"b\"", ""]);
        assert_eq!(values("a,,b"), ["a", "", "b"]);
        assert_eq!((number("54,086"), number("-"), number("nan"), number("1.5")), (54086.0, 0.0, 0.0, 1.5));
    }
}
