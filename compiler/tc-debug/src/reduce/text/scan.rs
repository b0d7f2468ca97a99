//! Text as tokens, whatever it is: a text that does not parse is made small too.

/// What a token is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// `// …`
    Comment,
    /// A name, a word, or several with dots between.
    Word,
    /// `@name`
    Symbol,
    /// An integer, perhaps with a type: `8`, `8i64`.
    Int,
    /// A number with a fraction or an exponent, or in another base.
    Float,
    /// `"…"`
    Str,
    /// `#12:5`, `#"f.tir":12:5`
    Loc,
    /// Anything else.
    Sign,
}

/// A token and where it stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token<'t> {
    pub(crate) kind: Kind,
    pub(crate) start: usize,
    pub(crate) text: &'t str,
}

impl<'t> Token<'t> {
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// The digits of an integer, and the type behind them.
    pub(crate) fn digits(&self) -> (&'t str, &'t str) {
        let end = self.text.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.text.len());
        self.text.split_at(end)
    }

    /// The value of an integer.
    pub(crate) fn int(&self) -> Option<u128> {
        if self.kind == Kind::Int { self.digits().0.parse().ok() } else { None }
    }

    /// Is it this sign?
    pub(crate) fn is(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.text == sign
    }
}

/// Signs of more than one character.
const LONG: &[&str] = &["..", "->", "==", "!=", "<=", ">=", "||", "&&", "<<", ">>"];

/// The tokens of `text`, in order.
pub(crate) fn scan(text: &str) -> impl Iterator<Item = Token<'_>> + Clone {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &text[at..];
        let start = at + (rest.len() - rest.trim_start().len());
        let rest = &text[start..];
        let (kind, len) = token(rest)?;
        at = start + len;
        Some(Token { kind, start, text: &rest[..len] })
    })
}

fn token(rest: &str) -> Option<(Kind, usize)> {
    let first = rest.chars().next()?;
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    let run = |from: usize, fits: &dyn Fn(char) -> bool| {
        from + rest[from..].find(|c: char| !fits(c)).unwrap_or(rest.len() - from)
    };
    Some(match first {
        _ if rest.starts_with("//") => (Kind::Comment, rest.find('\n').unwrap_or(rest.len())),
        '"' => (Kind::Str, string(rest)),
        '@' if rest[1..].starts_with('"') => (Kind::Symbol, 1 + string(&rest[1..])),
        '@' => (Kind::Symbol, run(1, &is_word)),
        '#' if rest[1..].starts_with('"') => (Kind::Loc, run(1 + string(&rest[1..]), &is_place)),
        '#' => (Kind::Loc, run(1, &is_place)),
        c if c.is_ascii_digit() => number(rest),
        c if c.is_alphabetic() || matches!(c, '_' | '$') => (Kind::Word, run(0, &is_word)),
        _ => {
            let long = LONG.iter().find(|sign| rest.starts_with(**sign));
            (Kind::Sign, long.map_or(first.len_utf8(), |sign| sign.len()))
        }
    })
}

fn is_place(c: char) -> bool {
    c.is_ascii_digit() || c == ':'
}

/// The length of the string that `rest` opens with.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            '\n' => return at,
            _ => {}
        }
    }
    rest.len()
}

fn number(rest: &str) -> (Kind, usize) {
    let bytes = rest.as_bytes();
    let mut end = 0;
    let mut kind = Kind::Int;
    while let Some(&byte) = bytes.get(end) {
        let next_is_digit = bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        match byte {
            b'.' if next_is_digit => kind = Kind::Float,
            b'+' | b'-' if end > 0 && matches!(bytes[end - 1], b'e' | b'E' | b'p') && next_is_digit => {}
            byte if byte.is_ascii_alphanumeric() => {}
            _ => break,
        }
        end += 1;
    }
    let digits = rest[..end].trim_start_matches(|c: char| c.is_ascii_digit());
    // `1e5` and `0x10` are numbers that one does not halve by their digits.
    let is_type = digits.is_empty() || digits.starts_with(['i', 'u', 'f', 'b']) || digits.starts_with("tf");
    (if is_type { kind } else { Kind::Float }, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_known() {
        let text = "for i.j in 0..128i64 { @f(1.5f32, 1e-3, 0x10) } #\"a b\":1:2 \"x\\\"y\" // no\n$3->é";
        let tokens: Vec<(Kind, &str)> = scan(text).map(|token| (token.kind, token.text)).collect();
        use Kind::{Comment, Float, Int, Loc, Sign, Str, Symbol, Word};
        let want = [
            (Word, "for"),
            (Word, "i.j"),
            (Word, "in"),
            (Int, "0"),
            (Sign, ".."),
            (Int, "128i64"),
            (Sign, "{"),
            (Symbol, "@f"),
            (Sign, "("),
            (Float, "1.5f32"),
            (Sign, ","),
            (Float, "1e-3"),
            (Sign, ","),
            (Float, "0x10"),
            (Sign, ")"),
            (Sign, "}"),
            (Loc, "#\"a b\":1:2"),
            (Str, "\"x\\\"y\""),
            (Comment, "// no"),
            (Word, "$3"),
            (Sign, "->"),
            (Word, "é"),
        ];
        assert_eq!(tokens, want);
        assert_eq!(scan("128i64").next().and_then(|token| token.int()), Some(128));
        assert!(scan("\"open\n#\"open").count() == 2);
    }
}
