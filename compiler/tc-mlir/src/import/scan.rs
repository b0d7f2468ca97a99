//! What MLIR's parser, and those who print what it read, must not be given.
//!
//! The parser recurses by brackets and signs, reads bytes that are no text, and prints what aliases stand for in full,
//! however often. Texts come from strangers, so a look at the tokens comes first.

use super::text::{At, Text};
use rustc_hash::FxHashMap;
use tc_support::Diagnostic;

/// How deep brackets of a text may be, which bounds what MLIR's parser needs of the stack.
const MAX_DEPTH: usize = 512;
/// Signs in a row, in which affine expressions recurse.
const MAX_SIGNS: usize = 256;
/// Bytes of what one alias stands for.
const MAX_ALIAS: usize = 1 << 20;

/// Why `source` is not given to MLIR.
pub(crate) fn unreadable(source: &str, text: &Text<'_>) -> Option<Diagnostic> {
    let found = Scan { source, at: 0, depth: 0, signs: 0, aliases: FxHashMap::default(), open: None }.run();
    found.err().map(|(at, message)| Diagnostic::error("syntax", text.location(&At::Here(at)), message))
}

/// What is wrong, and at which byte.
type Wrong = (usize, String);

struct Scan<'t> {
    source: &'t str,
    at: usize,
    depth: usize,
    signs: usize,
    /// Bytes of what each alias stands for.
    aliases: FxHashMap<&'t str, usize>,
    /// The alias that is being defined, its bytes so far, and how deep it stands.
    open: Option<(&'t str, usize, usize)>,
}

impl<'t> Scan<'t> {
    fn run(mut self) -> Result<(), Wrong> {
        while let Some(&byte) = self.source.as_bytes().get(self.at) {
            let start = self.at;
            match byte {
                0 => return Err((start, "there is a zero in this text".to_string())),
                b'/' if self.source[start..].starts_with("//") => {
                    self.at = self.source[start..].find('\n').map_or(self.source.len(), |end| start + end);
                    continue;
                }
                b'"' => self.string()?,
                b'#' | b'!' => self.alias()?,
                _ => self.at += 1,
            }
            self.signs = if byte == b'-' { self.signs + 1 } else { self.signs * usize::from(byte == b' ') };
            match byte {
                b'(' | b'[' | b'{' | b'<' => self.depth += 1,
                // An arrow and a comparison are no brackets.
                b'>' if self.source[..start].ends_with('-') || self.source[self.at..].starts_with('=') => {}
                b')' | b']' | b'}' | b'>' => self.depth = self.depth.saturating_sub(1),
                b'a' if self.is_index_array(start) => {
                    return Err((start, "an array of `index` brings MLIR 22's parser down".to_string()));
                }
                _ => {}
            }
            if self.depth > MAX_DEPTH {
                return Err((start, format!("brackets may be nested {MAX_DEPTH} deep")));
            }
            if self.signs > MAX_SIGNS {
                return Err((start, format!("{MAX_SIGNS} signs may follow one another")));
            }
            match self.open {
                // The end of a line ends a definition that has begun and has no bracket open.
                Some((_, bytes, depth)) if byte == b'\n' && bytes > 1 && self.depth <= depth => self.open = None,
                _ if byte.is_ascii_whitespace() => {}
                _ => self.grow(start, self.at - start)?,
            }
        }
        Ok(())
    }

    /// The alias that is being defined stands for `n` bytes more.
    fn grow(&mut self, at: usize, n: usize) -> Result<(), Wrong> {
        let Some((name, bytes, _)) = &mut self.open else { return Ok(()) };
        *bytes = bytes.saturating_add(n);
        if *bytes > MAX_ALIAS {
            return Err((at, format!("`{name}` stands for more than {MAX_ALIAS} bytes")));
        }
        self.aliases.insert(name, *bytes);
        Ok(())
    }

    /// A string, whose escapes are bytes of text.
    fn string(&mut self) -> Result<(), Wrong> {
        let start = self.at;
        let bytes = self.source.as_bytes();
        let mut content = Vec::new();
        self.at += 1;
        loop {
            match bytes.get(self.at) {
                // The parser says what is wrong with a string without an end.
                None | Some(b'\n') => return Ok(()),
                Some(b'"') => break,
                Some(b'\\') => {
                    let escape = self.source.get(self.at + 1..self.at + 3);
                    let byte = escape.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                    content.push(byte.unwrap_or(b'?'));
                    self.at += if byte.is_some() { 3 } else { 2 };
                }
                Some(&byte) => {
                    content.push(byte);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        if std::str::from_utf8(&content).is_err() || content.contains(&0) {
            return Err((start, "this string is no text in UTF-8, or has a zero in it".to_string()));
        }
        if content.is_empty() && self.source[..start].ends_with('@') {
            return Err((start, "a symbol has a name".to_string()));
        }
        Ok(())
    }

    /// The name of an alias, where it is defined or used, or of a dialect's attribute or type.
    fn alias(&mut self) -> Result<(), Wrong> {
        let start = self.at;
        let rest = &self.source[start + 1..];
        let n = rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '.' | '-')))
            .unwrap_or(rest.len());
        let name = &self.source[start..start + 1 + n];
        self.at += 1 + n;
        let is_definition = rest[n..].trim_start().starts_with('=') && self.starts_line(start);
        if is_definition {
            self.open = Some((name, 0, self.depth));
            return Ok(());
        }
        match self.aliases.get(name) {
            Some(&bytes) => self.grow(start, bytes),
            None => Ok(()),
        }
    }

    fn starts_line(&self, at: usize) -> bool {
        self.source[..at].trim_end_matches([' ', '\t']).ends_with('\n') || self.source[..at].trim().is_empty()
    }

    /// `array<index`
    fn is_index_array(&self, at: usize) -> bool {
        let inner = self.source[at..].strip_prefix("array").and_then(|rest| rest.trim_start().strip_prefix('<'));
        inner.is_some_and(|inner| inner.trim_start().starts_with("index"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_support::Pos;

    fn scanned(source: &str) -> Option<String> {
        unreadable(source, &Text::new(source, Pos(0))).map(|found| found.message)
    }

    #[test]
    fn brackets_count_where_they_are_brackets() {
        let deep = |open: &str, n: usize| open.repeat(n);
        assert!(scanned(&deep("(", 600)).is_some() && scanned(&deep("!llvm.array<2 x ", 600)).is_some());
        assert_eq!(scanned(&format!("// {}\nmodule {{}}", deep("(", 600))), None);
        assert_eq!(scanned(&format!("\"{}\"", deep("(", 600))), None);
        assert!(scanned(&deep("scf.if %t { // }\n", 600)).is_some());
        assert_eq!(scanned(&deep("() -> ()\n", 600)), None);
    }

    #[test]
    fn what_brings_the_parser_down_is_refused() {
        assert!(scanned("affine_map<(d0) -> (").is_none());
        assert!(scanned(&"-".repeat(1000)).is_some() && scanned(&"- ".repeat(1000)).is_some());
        assert!(scanned("{a = array<index: 1>}").is_some() && scanned("{a = array< index : 1>}").is_some());
        assert_eq!(scanned("{a = array<i64: 1>}"), None);
        assert!(scanned("func @\"\"").is_some() && scanned("@\"\\FF\"").is_some() && scanned("\"\\00\"").is_some());
        assert_eq!(scanned("@\"\\C3\\A9\" \"\\\"\" \"\""), None);
    }

    #[test]
    fn aliases_stand_for_a_megabyte_at_most() {
        let mut text = "#a0 = [1, 2]\n".to_string();
        for nth in 1..40 {
            text += &format!("#a{nth} = [#a{}, #a{}]\n", nth - 1, nth - 1);
        }
        assert!(scanned(&text).is_some_and(|message| message.contains("more than")));
        assert_eq!(scanned("#a = [1]\n#b = [#a, #a]\nmodule {}"), None);
    }
}
