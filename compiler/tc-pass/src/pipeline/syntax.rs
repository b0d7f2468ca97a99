//! The grammar of pipeline strings, before any name has a meaning.

use crate::options::RawOption;
use std::ops::Range;
use tc_support::suggest::shorten;

/// How deep anchors may be nested. Two levels mean something; the rest is for the sake of the error.
const MAX_DEPTH: usize = 32;

/// One element of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Element {
    /// The name of a pass, a pipeline or an anchor; the path of a file.
    pub(crate) name: String,
    /// Where the name stands.
    pub(crate) at: Range<usize>,
    /// Is it the `@path` of a file?
    pub(crate) is_file: bool,
    /// What stands in braces.
    pub(crate) options: Vec<RawOption>,
    /// Where the braces stand, if there are any.
    pub(crate) options_at: Option<Range<usize>>,
    /// What stands in parentheses, if there are any.
    pub(crate) children: Option<Vec<Element>>,
}

/// What is wrong with the text of a pipeline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SyntaxError {
    pub(crate) message: String,
    pub(crate) at: Range<usize>,
    /// A second place that belongs to it.
    pub(crate) label: Option<(Range<usize>, &'static str)>,
    pub(crate) help: Option<String>,
}

impl SyntaxError {
    fn new(message: impl Into<String>, at: Range<usize>) -> SyntaxError {
        SyntaxError { message: message.into(), at, label: None, help: None }
    }

    fn label(mut self, at: Range<usize>, text: &'static str) -> SyntaxError {
        self.label = Some((at, text));
        self
    }

    fn help(mut self, help: impl Into<String>) -> SyntaxError {
        self.help = Some(help.into());
        self
    }
}

/// Reads a pipeline: elements with commas between them.
pub(crate) fn parse(text: &str) -> Result<Vec<Element>, SyntaxError> {
    let mut cursor = Cursor { text, at: 0 };
    cursor.skip();
    if cursor.peek().is_none() {
        return Err(SyntaxError::new("the pipeline is empty", 0..text.len())
            .help("write passes with commas between them, such as `module(tir.func(simplify,cse))`"));
    }
    let list = cursor.list(0)?;
    match cursor.peek() {
        None => Ok(list),
        Some(')') => Err(SyntaxError::new("this `)` closes nothing", cursor.here())),
        Some(_) => Err(cursor.expected("`,` or the end of the pipeline")),
    }
}

struct Cursor<'t> {
    text: &'t str,
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Takes `c`, if it is next.
    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        if found {
            self.at += c.len_utf8();
        }
        found
    }

    /// Skips white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = &self.text[self.at..];
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if !trimmed.starts_with("//") {
                return;
            }
            self.at += trimmed.find('\n').unwrap_or(trimmed.len());
        }
    }

    /// The range of the next character.
    fn here(&self) -> Range<usize> {
        self.at..self.at + self.peek().map_or(0, char::len_utf8)
    }

    fn expected(&self, what: &str) -> SyntaxError {
        match self.peek() {
            None => SyntaxError::new(format!("expected {what}, found the end of the pipeline"), self.here()),
            Some(c) => SyntaxError::new(format!("expected {what}, found {}", shown(c)), self.here()),
        }
    }

    /// Takes characters while `good` holds.
    fn take(&mut self, good: impl Fn(char) -> bool) -> Range<usize> {
        let start = self.at;
        let rest = &self.text[start..];
        self.at += rest.find(|c| !good(c)).unwrap_or(rest.len());
        start..self.at
    }

    /// Elements up to something that is neither an element nor a comma.
    fn list(&mut self, depth: usize) -> Result<Vec<Element>, SyntaxError> {
        let mut list = Vec::new();
        loop {
            self.skip();
            list.push(self.element(depth)?);
            self.skip();
            if !self.eat(',') {
                return Ok(list);
            }
        }
    }

    fn element(&mut self, depth: usize) -> Result<Element, SyntaxError> {
        let is_file = self.eat('@');
        let at = if is_file { self.path()? } else { self.take(is_name) };
        if at.is_empty() {
            return Err(self.expected(if is_file { "the path of a file" } else { "the name of a pass or an anchor" }));
        }
        let name = self.text[at.clone()].to_string();
        self.skip();
        let open = self.at;
        let (mut options, mut options_at) = (Vec::new(), None);
        if !is_file && self.eat('{') {
            options = self.options(open)?;
            options_at = Some(open..self.at);
            self.skip();
        }
        let children = if !is_file && self.peek() == Some('(') { Some(self.children(depth)?) } else { None };
        self.skip();
        if self.peek() == Some('=') {
            return Err(self.expected("`,`").help("the options of a pass stand in braces: `pass{key=value}`"));
        }
        Ok(Element { name, at, is_file, options, options_at, children })
    }

    /// A path after `@`; the quotes of a quoted one are not part of the range.
    fn path(&mut self) -> Result<Range<usize>, SyntaxError> {
        let open = self.here();
        if !self.eat('"') {
            return Ok(self.take(|c| !c.is_whitespace() && !matches!(c, ',' | '(' | ')' | '{' | '}' | '"')));
        }
        let at = self.take(|c| c != '"');
        if !self.eat('"') {
            return Err(SyntaxError::new("this quote is never closed", open));
        }
        Ok(at)
    }

    /// What stands in parentheses.
    fn children(&mut self, depth: usize) -> Result<Vec<Element>, SyntaxError> {
        let open = self.here();
        if depth == MAX_DEPTH {
            return Err(SyntaxError::new(format!("pipelines are nested more than {MAX_DEPTH} deep"), open));
        }
        self.eat('(');
        self.skip();
        if self.eat(')') {
            return Ok(Vec::new());
        }
        let list = self.list(depth + 1)?;
        if self.eat(')') {
            return Ok(list);
        }
        Err(self.expected("`,` or `)`").label(open, "this parenthesis is open"))
    }

    /// What stands in braces, up to and with the closing one; the opening one, at `open`, is taken.
    fn options(&mut self, open: usize) -> Result<Vec<RawOption>, SyntaxError> {
        let mut list = Vec::new();
        loop {
            while self.peek().is_some_and(|c| c.is_whitespace() || c == ',') {
                self.at += self.here().len();
            }
            if self.eat('}') {
                return Ok(list);
            }
            let key_at = self.take(is_name);
            if key_at.is_empty() {
                let error = self.expected("the key of an option or `}`");
                return Err(error.label(open..open + 1, "this brace is open"));
            }
            let key = self.text[key_at.clone()].to_string();
            let (value, value_at) =
                if self.eat('=') { self.value(&key, open)? } else { ("true".to_string(), key_at.clone()) };
            list.push(RawOption { key, value, key_at, value_at });
            if !matches!(self.peek(), None | Some('}' | ',')) && !self.peek().is_some_and(char::is_whitespace) {
                return Err(self.expected("a space, `,` or `}`"));
            }
        }
    }

    fn value(&mut self, key: &str, open: usize) -> Result<(String, Range<usize>), SyntaxError> {
        let start = self.at;
        match self.peek() {
            Some(quote @ ('"' | '\'')) => self.quoted(quote),
            _ => {
                self.bare(open)?;
                if self.at == start {
                    return Err(self.expected(&format!("the value of option `{}`", shorten(key))));
                }
                Ok((unbraced(&self.text[start..self.at]).to_string(), start..self.at))
            }
        }
    }

    /// A value without quotes: up to a space, a comma or `}` that is outside of its own brackets.
    fn bare(&mut self, open: usize) -> Result<(), SyntaxError> {
        let mut closers = Vec::new();
        while let Some(c) = self.peek() {
            match c {
                '{' => closers.push('}'),
                '[' => closers.push(']'),
                '(' => closers.push(')'),
                '}' | ']' | ')' if closers.last() == Some(&c) => {
                    closers.pop();
                }
                ',' | '}' if closers.is_empty() => return Ok(()),
                ']' | ')' | '}' => return Err(SyntaxError::new(format!("this `{c}` closes nothing"), self.here())),
                c if c.is_whitespace() && closers.is_empty() => return Ok(()),
                _ => {}
            }
            self.at += c.len_utf8();
        }
        Err(self.expected("`}`").label(open..open + 1, "this brace is open"))
    }

    fn quoted(&mut self, quote: char) -> Result<(String, Range<usize>), SyntaxError> {
        let open = self.here();
        self.at += 1;
        let mut value = String::new();
        while let Some(c) = self.peek() {
            self.at += c.len_utf8();
            match c {
                '\\' if quote == '"' => match self.peek() {
                    Some(escaped @ ('"' | '\\')) => {
                        value.push(escaped);
                        self.at += 1;
                    }
                    _ => value.push('\\'),
                },
                c if c == quote => return Ok((value, open.start..self.at)),
                c => value.push(c),
            }
        }
        Err(SyntaxError::new("this quote is never closed", open))
    }
}

/// `c` for a message.
fn shown(c: char) -> String {
    if c.is_control() { format!("`{}`", c.escape_debug()) } else { format!("`{c}`") }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// What stands in the braces of a value that is one pair of braces as a whole; any other value as it is.
fn unbraced(value: &str) -> &str {
    let Some(inner) = value.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else { return value };
    let mut depth = 0usize;
    for c in inner.chars() {
        match c {
            '{' => depth += 1,
            // The first brace ends before the value does.
            '}' if depth == 0 => return value,
            '}' => depth -= 1,
            _ => {}
        }
    }
    inner.trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (String, Range<usize>) {
        let error = parse(text).expect_err("refused");
        (error.message, error.at)
    }

    #[test]
    fn braces_are_taken_off_a_value_that_they_enclose() {
        let values = |text: &str| -> Vec<String> {
            let list = parse(text).expect("right");
            list[0].options.iter().map(|option| option.value.clone()).collect()
        };
        assert_eq!(values("a{x={k=1} y={n}{m} z={n}7ᘘ w={{}}}"), ["k=1", "{n}{m}", "{n}7ᘘ", "{}"]);
    }

    #[test]
    fn options_are_separated_by_spaces_or_commas() {
        let list = parse("a{x=1 y=2,z , w=\"p q\" v={k=1, l=[2]} u='it''}").map_err(|error| error.message);
        assert_eq!(list, Err("expected a space, `,` or `}`, found `'`".to_string()));
        let list = parse("a{x=1 y=2,z , w=\"p \\\" q\" v={k=1, l=[2]}}").expect("right");
        let pairs: Vec<_> = list[0].options.iter().map(|option| (&*option.key, &*option.value)).collect();
        assert_eq!(pairs, [("x", "1"), ("y", "2"), ("z", "true"), ("w", "p \" q"), ("v", "k=1, l=[2]")]);
    }

    #[test]
    fn comments_and_line_ends_mean_nothing() {
        let list = parse("module( // first\n  a,\n\tb // last\n)\n").expect("right");
        assert_eq!(list[0].children.as_ref().map(Vec::len), Some(2));
    }

    #[test]
    fn errors_stand_at_their_place() {
        assert_eq!(refused("  "), ("the pipeline is empty".into(), 0..2));
        assert_eq!(refused("module(a"), ("expected `,` or `)`, found the end of the pipeline".into(), 8..8));
        assert_eq!(refused("a)"), ("this `)` closes nothing".into(), 1..2));
        assert_eq!(refused("a b"), ("expected `,` or the end of the pipeline, found `b`".into(), 2..3));
        assert_eq!(
            refused("a,"),
            ("expected the name of a pass or an anchor, found the end of the pipeline".into(), 2..2)
        );
        assert_eq!(refused("a{x=}"), ("expected the value of option `x`, found `}`".into(), 4..5));
        assert_eq!(refused("a{x=\"1}"), ("this quote is never closed".into(), 4..5));
        assert_eq!(refused("a(é)"), ("expected the name of a pass or an anchor, found `é`".into(), 2..4));
        assert_eq!(refused("a{x=(}"), ("this `}` closes nothing".into(), 5..6));
    }

    #[test]
    fn deep_nesting_is_an_error() {
        let (message, at) = refused(&"module(".repeat(100_000));
        assert_eq!((message.as_str(), at), ("pipelines are nested more than 32 deep", 7 * 33 - 1..7 * 33));
        let open = format!("a{{x={}", "{".repeat(100_000));
        assert_eq!(refused(&open).0, "expected `}`, found the end of the pipeline");
    }
}
