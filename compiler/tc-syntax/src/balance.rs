//! Which braces a text lacks, told by where items begin and how lines are indented.
//!
//! Used only on a text that does not parse. A brace that is not closed would make every later item a wrong
//! statement; instead, the first word of an item at the start of a line closes what is open.

use crate::recover::{ErrorKind, ErrorText, SyntaxError};
use crate::token::Token;
use crate::tree::TextRange;
use logos::Logos;

/// The brackets to put in, each before the token at its offset, and the errors that say so.
#[derive(Default)]
pub(crate) struct Repairs {
    pub(crate) missing: Vec<(u32, Token)>,
    pub(crate) errors: Vec<SyntaxError>,
}

/// An open bracket: which, where, and how far its line is indented.
struct Open {
    token: Token,
    range: TextRange,
    indent: u32,
}

struct Balance<'s> {
    source: &'s str,
    open: Vec<Open>,
    /// The brace that an indentation says is not closed.
    suspect: Option<TextRange>,
    repairs: Repairs,
}

/// Looks for braces that are not closed.
pub(crate) fn balance(source: &str) -> Repairs {
    let mut balance = Balance { source, open: Vec::new(), suspect: None, repairs: Repairs::default() };
    let (mut line, mut indent, mut counted) = (0, 0, 0);
    let mut first: Option<TextRange> = None;
    let mut lexer = Token::lexer(source);
    while let Some(result) = lexer.next() {
        let span = lexer.span();
        let Ok(token) = result else { continue };
        let range = TextRange::new(span.start as u32, span.end as u32);
        let opens_line = match source[counted..span.start].rfind('\n') {
            Some(idx) => {
                line = counted + idx + 1;
                true
            }
            None => counted == 0,
        };
        counted = span.start;
        if opens_line {
            indent = (span.start - line) as u32;
        }
        if let Some(word) = first.take()
            && token == Token::Sym
        {
            balance.item(word);
        }
        if opens_line && indent == 0 && matches!(token, Token::Ident | Token::Dotted) {
            first = Some(range);
        }
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => balance.open.push(Open { token, range, indent }),
            Token::RParen | Token::RBracket => {
                balance.open.pop_if(|open| open.token != Token::LBrace);
            }
            Token::RBrace => balance.close(opens_line.then_some(indent)),
            _ => {}
        }
    }
    let end = source.len() as u32;
    balance.item(TextRange::new(end, end));
    balance.repairs
}

impl Balance<'_> {
    /// A `}` on a line of its own that is indented so far.
    fn close(&mut self, indent: Option<u32>) {
        while self.open.pop_if(|open| open.token != Token::LBrace).is_some() {}
        if let Some(open) = self.open.pop()
            && indent.is_some_and(|indent| indent < open.indent)
        {
            self.suspect.get_or_insert(open.range);
        }
    }

    /// An item begins with `word`, or the file ends.
    fn item(&mut self, word: TextRange) {
        let mut braces = self.open.iter().filter(|open| open.token == Token::LBrace);
        let n_missing = braces.clone().count();
        if let Some(innermost) = braces.next_back() {
            let range = self.suspect.unwrap_or(innermost.range);
            let place = match word.of(self.source) {
                "" => "the file ends here",
                _ => "an item begins here",
            };
            let error_text = ErrorText::new("this `{` is not closed").label(word, place);
            self.repairs.errors.push(SyntaxError { range, kind: ErrorKind::Told(error_text) });
            self.repairs.missing.extend(std::iter::repeat_n((word.start, Token::RBrace), n_missing));
        }
        self.open.clear();
        self.suspect = None;
    }
}
