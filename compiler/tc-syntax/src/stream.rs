//! The tokens of a file as the parser reads them: what is never right is reported here, and nesting is bounded here.

use crate::MAX_DEPTH;
use crate::recover::{ErrorText, Shared};
use crate::token::Token;
use crate::tree::TextRange;
use logos::{Lexer, Logos};

/// A token with the range of its text.
type Spanned = (u32, Token, u32);

/// What is open around the next token.
#[derive(Clone, Copy)]
struct Frame {
    /// The bracket that opened inside of this.
    opening: Token,
    /// Unary operators whose operand is being read.
    unary: u32,
    /// `else` branches of the chain of conditionals that is being read.
    chain: u32,
    /// Type arguments that are being read.
    angles: u32,
}

impl Default for Frame {
    fn default() -> Frame {
        Frame { opening: Token::LBrace, unary: 0, chain: 0, angles: 0 }
    }
}

/// The tokens of a file.
pub(crate) struct Stream<'s> {
    lexer: Lexer<'s, Token>,
    shared: &'s Shared,
    frame: Frame,
    /// What was open where each open bracket stands.
    frames: Vec<Frame>,
    previous: Token,
    /// The second half of a token that was split.
    half: Option<Spanned>,
    /// Brackets that the text lacks, each before the token at its offset, in this order.
    missing: &'s [(u32, Token)],
    /// A token that waits for the missing brackets before it.
    waiting: Option<Spanned>,
}

impl<'s> Stream<'s> {
    /// The tokens of `source`, with the `missing` brackets put in.
    pub(crate) fn new(source: &'s str, shared: &'s Shared, missing: &'s [(u32, Token)]) -> Stream<'s> {
        let frame = Frame::default();
        let (previous, half, waiting) = (Token::LBrace, None, None);
        Stream { lexer: Token::lexer(source), shared, frame, frames: Vec::new(), previous, half, missing, waiting }
    }

    /// The next token, whatever it is.
    fn read(&mut self) -> Option<Spanned> {
        if let Some(half) = self.half.take() {
            return Some(half);
        }
        let mut token = self.waiting.take();
        while token.is_none() {
            let Some(result) = self.lexer.next() else { return self.missing_at_end() };
            let span = self.lexer.span();
            token = self.judge(result, TextRange::new(span.start as u32, span.end as u32));
            if self.shared.stop.get() {
                return None;
            }
        }
        if let Some(&(at, bracket)) = self.missing.first()
            && let Some((start, _, _)) = token
            && start >= at
        {
            self.missing = &self.missing[1..];
            self.shared.break_item();
            self.waiting = token;
            return Some((at, bracket, at));
        }
        token
    }

    /// What the lexer has read, made a token. What begins no token is left out.
    fn judge(&mut self, result: Result<Token, ()>, range: TextRange) -> Option<Spanned> {
        let token = match result {
            Ok(Token::BadNumber) => self.bad_number(range),
            Ok(Token::BadStr) => self.bad_string(range),
            Ok(token) => token,
            Err(()) => {
                self.stray(range);
                return None;
            }
        };
        Some((range.start, token, range.end))
    }

    /// The brackets that are missing at the end of the text.
    fn missing_at_end(&mut self) -> Option<Spanned> {
        let (&(at, bracket), rest) = self.missing.split_first()?;
        self.missing = rest;
        self.shared.break_item();
        Some((at, bracket, at))
    }

    /// Keeps account of what is open around the tokens; most open and close nothing. Tells apart the two kinds of braces.
    fn nest(&mut self, start: u32, mut token: Token, end: u32) -> Token {
        let previous = std::mem::replace(&mut self.previous, token);
        if self.frame.unary > 0 && previous.ends_operand() && !matches!(token, Token::LParen | Token::LBracket) {
            self.leave(self.frame.unary);
            self.frame.unary = 0;
        }
        if previous == Token::RBrace && token != Token::Else && self.frame.chain > 0 {
            self.leave(self.frame.chain);
            self.frame.chain = 0;
        }
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                self.frame.angles = self.shared.angles.replace(0);
                self.frame.opening = token;
                if token == Token::LBrace && previous.opens_attributes() {
                    token = Token::DictOpen;
                    self.frame.opening = token;
                }
                self.frames.push(std::mem::take(&mut self.frame));
                self.enter(start, end);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                // In a text with errors a brace may close what is open inside it.
                while let Some(frame) = self.frames.pop() {
                    self.leave(self.frame.unary + self.frame.chain + 1);
                    self.frame = frame;
                    self.shared.angles.set(frame.angles);
                    if token == Token::RBrace && frame.opening == Token::DictOpen {
                        token = Token::DictClose;
                    }
                    if token != Token::RBrace || frame.opening == Token::LBrace {
                        break;
                    }
                }
                self.previous = token;
            }
            Token::Minus | Token::Bang if !previous.ends_operand() => {
                self.frame.unary += 1;
                self.enter(start, end);
            }
            Token::Else => {
                self.frame.chain += 1;
                self.enter(start, end);
            }
            _ => {}
        }
        token
    }

    fn enter(&mut self, start: u32, end: u32) {
        let depth = self.shared.depth.get() + 1;
        self.shared.depth.set(depth);
        self.shared.peak.set(self.shared.peak.get().max(depth));
        if !self.shared.fits(0) {
            self.shared.too_deep(TextRange::new(start, end));
        }
    }

    fn leave(&mut self, levels: u32) {
        self.shared.depth.set(self.shared.depth.get().saturating_sub(levels));
    }

    fn bad_number(&mut self, range: TextRange) -> Token {
        let text = range.of(self.lexer.source());
        let help = match text.get(..2) {
            Some("0x" | "0X") => {
                "a hexadecimal number is `0x` and the digits, then an integer type if need be: `0x1fu8`"
            }
            _ => "a number is its digits, then a type if need be: `3i64`, `0.5f16`, `1e-5f32`",
        };
        let error_text =
            ErrorText::new(format!("malformed number `{}`", tc_support::suggest::shorten(text))).help(help);
        self.shared.report(range, error_text);
        if text.contains('.') { Token::Float } else { Token::Int }
    }

    fn bad_string(&mut self, range: TextRange) -> Token {
        let source = self.lexer.source();
        let error_text = match source.as_bytes().get(range.end as usize) {
            Some(b'"') => {
                ErrorText::new("a malformed location").help("a location is written `#12:5` or `#\"f.tir\":12:5`")
            }
            Some(&byte) if byte != b'\n' && byte != b'\r' => control(byte, "in a string"),
            _ => ErrorText::new("this string is not closed on its line").help("write a line break as `\\n`"),
        };
        self.shared.report(range, error_text);
        match source.as_bytes()[range.start as usize] {
            b'@' => Token::Sym,
            b'#' => Token::Loc,
            _ => Token::Str,
        }
    }

    /// A character that begins no token. It is left out, so that the parser may find nothing else to complain of.
    fn stray(&mut self, range: TextRange) {
        let source = self.lexer.source();
        let Some(found) = source.get(range.start as usize..).and_then(|rest| rest.chars().next()) else { return };
        let range = TextRange::new(range.start, range.start + found.len_utf8() as u32);
        let error_text = match found {
            ';' => ErrorText::new("stray `;`").help("statements end by themselves: leave it out"),
            '@' => ErrorText::new("`@` without a name after it").help("a symbol is written `@name` or `@\"any name\"`"),
            '#' => ErrorText::new("`#` without a location after it")
                .help("a location is written `#12:5` or `#\"f.tir\":12:5`; a comment begins with `//`"),
            '.' => ErrorText::new("stray `.`").help(
                "a float has digits on both sides of its point, a dotted name has no spaces, a range is `low..high`",
            ),
            '\'' => ErrorText::new("stray `'`").help("strings stand between double quotes"),
            c if c.is_ascii_control() => control(c as u8, "in the text"),
            c if c.is_ascii() => ErrorText::new(format!("stray `{c}`")),
            c => ErrorText::new(format!("stray character `{}` (U+{:04X})", c.escape_debug(), u32::from(c)))
                .help("names are ASCII; other characters may stand in strings and comments"),
        };
        self.shared.report(range, error_text);
    }
}

fn control(byte: u8, place: &str) -> ErrorText {
    match byte {
        0 => ErrorText::new(format!("a NUL byte {place}")).help("is this a text file?"),
        _ => ErrorText::new(format!("a control character (0x{byte:02x}) {place}")),
    }
}

impl Stream<'_> {
    /// The next token, with what it does to the nesting.
    fn step(&mut self, read: Option<Spanned>) -> Option<Spanned> {
        let (start, mut token, mut end) = read?;
        if matches!(token, Token::Shr | Token::Ge) && self.shared.angles.get() > 0 {
            // Inside type arguments the `>` is a bracket, whatever follows it.
            let rest = if token == Token::Shr { Token::Gt } else { Token::Assign };
            self.half = Some((start + 1, rest, end));
            (token, end) = (Token::Gt, start + 1);
        }
        token = self.nest(start, token, end);
        Some((start, token, end))
    }
}

impl Iterator for Stream<'_> {
    type Item = Spanned;

    #[inline]
    fn next(&mut self) -> Option<Spanned> {
        let is_flat = self.frame.unary | self.frame.chain == 0;
        let token = if self.half.is_none() && self.missing.is_empty() && self.waiting.is_none() {
            // Most tokens come this way: there is nothing to be said of them.
            let result = self.lexer.next();
            let span = self.lexer.span();
            match result {
                Some(Ok(token)) if token.is_plain() && is_flat => {
                    self.previous = token;
                    Some((span.start as u32, token, span.end as u32))
                }
                Some(result) => {
                    let read = self.judge(result, TextRange::new(span.start as u32, span.end as u32));
                    let read = read.or_else(|| self.read());
                    self.step(read)
                }
                None => None,
            }
        } else {
            let read = self.read();
            self.step(read)
        };
        if self.shared.is_stopped() { None } else { token }
    }
}

const _: () = assert!(MAX_DEPTH < 1 << 16, "costs of recovery are computed with the square of the depth");
