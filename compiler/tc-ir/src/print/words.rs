//! What the lexer reads as a name, and numbers written fast.

use crate::types::Elem;

/// The words that no name may be.
const RESERVED: [&str; 14] = [
    "for",
    "in",
    "if",
    "else",
    "let",
    "alloc",
    "return",
    "yield",
    "where",
    "attributes",
    "cast",
    "compute",
    "true",
    "false",
];

/// What a text is to the lexer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Letters, digits and `_`, then perhaps `$` and digits.
    Word,
    /// Words with dots between.
    Dotted,
    Other,
}

fn shape(text: &str) -> Shape {
    let mut shape = Shape::Word;
    // Are we at the start of a word; in the digits behind a `$`, and is there one?
    let (mut at_start, mut behind, mut has_digit) = (true, false, false);
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' if behind => has_digit = true,
            b'0'..=b'9' if !at_start => {}
            b'a'..=b'z' | b'A'..=b'Z' | b'_' if !behind => at_start = false,
            b'$' if !at_start && !behind => behind = true,
            b'.' if !at_start && behind == has_digit => {
                shape = Shape::Dotted;
                (at_start, behind, has_digit) = (true, false, false);
            }
            _ => return Shape::Other,
        }
    }
    if at_start || behind != has_digit { Shape::Other } else { shape }
}

/// Is `text` a word: a letter or `_`, then letters, digits and `_`, then perhaps `$` and digits?
pub(super) fn is_word(text: &str) -> bool {
    shape(text) == Shape::Word
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Does the lexer read the word `text` as something else than a name: a reserved word, a type, `inf`, `nan`?
pub(super) fn is_taken(text: &str) -> bool {
    // No such word is longer than an element type with its lanes; most names end here.
    if !matches!(text.as_bytes().first(), Some(b'a'..=b'y')) {
        return false;
    }
    RESERVED.contains(&text) || is_dtype(text) || is_inf_nan(text)
}

fn is_dtype(text: &str) -> bool {
    let elem = match text.rsplit_once('x') {
        Some((elem, lanes)) if is_digits(lanes) => elem,
        _ => text,
    };
    Elem::parse(elem).is_some()
}

fn is_inf_nan(text: &str) -> bool {
    let rest = text.strip_prefix("inf").or_else(|| text.strip_prefix("nan"));
    rest.is_some_and(|rest| rest.is_empty() || Elem::parse(rest).is_some_and(Elem::is_float))
}

/// Is `text` a name that an author may give: a word that is not taken, without `$`, and not `_`?
pub(super) fn is_name(text: &str) -> bool {
    is_word(text) && !text.contains('$') && text != "_" && !is_taken(text)
}

/// Is `text` a path: a word that is not taken, or words with dots between?
pub(super) fn is_path(text: &str) -> bool {
    match shape(text) {
        Shape::Word => !is_taken(text),
        Shape::Dotted => true,
        Shape::Other => false,
    }
}

/// Is `text` a key: any word, or words with dots between?
pub(super) fn is_key(text: &str) -> bool {
    shape(text) != Shape::Other
}

/// A name made of `text`, which is none.
pub(super) fn as_name(text: &str) -> String {
    // A number behind `$` is the printer's, whoever wrote it.
    if let Some((stem, number)) = text.split_once('$')
        && is_name(stem)
        && is_digits(number)
    {
        return stem.to_string();
    }
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' };
    std::iter::once('x').chain(text.chars().map(keep)).collect()
}

/// A path made of `text`, which is none.
pub(super) fn as_path(text: &str) -> String {
    let parts: Vec<String> = text
        .split('.')
        .map(|part| if is_word(part) && !is_taken(part) { part.to_string() } else { as_name(part) })
        .collect();
    parts.join(".")
}

const THOUSAND_BYTES: [u8; 3000] = {
    let mut digits = [b'0'; 3000];
    let mut at = 0;
    while at < 1000 {
        digits[3 * at] += (at / 100) as u8;
        digits[3 * at + 1] += (at / 10 % 10) as u8;
        digits[3 * at + 2] += (at % 10) as u8;
        at += 1;
    }
    digits
};

/// The numbers from 000 to 999, one after the other.
static THOUSAND: &str = match std::str::from_utf8(&THOUSAND_BYTES) {
    Ok(text) => text,
    Err(_) => panic!("digits are ASCII"),
};

/// Appends `value` in decimal digits.
pub(super) fn push_u64(out: &mut String, value: u64) {
    let skip = match value {
        0..10 => 2,
        10..100 => 1,
        100..1000 => 0,
        _ => {
            push_u64(out, value / 1000);
            0
        }
    };
    let at = 3 * (value % 1000) as usize;
    out.push_str(&THOUSAND[at + skip..at + 3]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_lexer_reads_as_names() {
        for text in ["a", "_x", "fort", "info", "nanx", "f33", "f32x", "xfor", "Index", "i7"] {
            assert!(is_name(text), "{text}");
        }
        for text in ["", "_", "for", "f32", "f32x4", "boolx99", "inf", "nanbf16", "a$1", "$1", "1a", "a b", "a.b", "é"]
        {
            assert!(!is_name(text), "{text}");
        }
        assert!(is_path("blockIdx.x") && is_path("a.for.f32") && is_path("x$1.yy$2") && is_path("shared"));
        assert!(!is_path("for") && !is_path("a.") && !is_path(".a") && !is_path("a..b") && !is_path("1.a"));
        assert!(is_key("for") && is_key("f32") && is_key("x.note") && !is_key("a b"));
    }

    #[test]
    fn every_text_can_be_made_a_name() {
        for (text, name) in
            [("for", "xfor"), ("1a", "x1a"), ("a.b", "xa_b"), ("x$12", "x"), ("$3", "x_3"), ("", "x"), ("é!", "x__")]
        {
            assert_eq!(as_name(text), name);
            assert!(is_name(&as_name(text)));
        }
        assert_eq!(as_path("a b.for"), "xa_b.xfor");
    }

    #[test]
    fn numbers_are_written_in_full() {
        for value in [0, 7, 10, 99, 100, 999, 1000, 1001, 20_034, 1_000_000, u64::MAX] {
            let mut out = String::new();
            push_u64(&mut out, value);
            assert_eq!(out, value.to_string());
        }
    }
}
