//! What a syntax error says: expected tokens folded into a few words, and the help for common slips.

use crate::recover::ErrorText;
use crate::token::Token;
use crate::tree::TextRange;
use tc_support::suggest::shorten;

/// How the grammar names its tokens, in the order of [`Token`]; the others are in quotes as they are written.
const NAMES: &[(Token, &str)] = &[
    (Token::For, "for"),
    (Token::In, "in"),
    (Token::If, "if"),
    (Token::Else, "else"),
    (Token::Let, "let"),
    (Token::Alloc, "alloc"),
    (Token::Return, "return"),
    (Token::Yield, "yield"),
    (Token::Where, "where"),
    (Token::Attributes, "attributes"),
    (Token::Cast, "cast"),
    (Token::Compute, "compute"),
    (Token::True, "true"),
    (Token::False, "false"),
    (Token::InfNan, "INFNAN"),
    (Token::Dtype, "DTYPE"),
    (Token::Ident, "IDENT"),
    (Token::Dotted, "DOTTED"),
    (Token::Sym, "SYM"),
    (Token::Int, "INT"),
    (Token::Float, "FLOAT"),
    (Token::Str, "STR"),
    (Token::Loc, "LOC"),
    (Token::LParen, "("),
    (Token::RParen, ")"),
    (Token::LBracket, "["),
    (Token::RBracket, "]"),
    (Token::LBrace, "{"),
    (Token::RBrace, "}"),
    (Token::DictOpen, "DICT"),
    (Token::DictClose, "END"),
    (Token::Comma, ","),
    (Token::Colon, ":"),
    (Token::DotDot, ".."),
    (Token::Arrow, "->"),
    (Token::Assign, "="),
    (Token::OrOr, "||"),
    (Token::AndAnd, "&&"),
    (Token::EqEq, "=="),
    (Token::Ne, "!="),
    (Token::Lt, "<"),
    (Token::Le, "<="),
    (Token::Gt, ">"),
    (Token::Ge, ">="),
    (Token::Or, "|"),
    (Token::Caret, "^"),
    (Token::And, "&"),
    (Token::Shl, "<<"),
    (Token::Shr, ">>"),
    (Token::Plus, "+"),
    (Token::Minus, "-"),
    (Token::Star, "*"),
    (Token::Slash, "/"),
    (Token::Percent, "%"),
    (Token::Bang, "!"),
];

/// Tokens that only an expression begins with.
const EXPRESSION: &[Token] = &[
    Token::Cast,
    Token::True,
    Token::False,
    Token::InfNan,
    Token::Ident,
    Token::Dotted,
    Token::Sym,
    Token::Int,
    Token::Float,
    Token::Str,
    Token::LParen,
    Token::LBracket,
    Token::And,
    Token::Minus,
    Token::Bang,
];
const STATEMENT: &[Token] = &[
    Token::For,
    Token::If,
    Token::Let,
    Token::Alloc,
    Token::Return,
    Token::Yield,
    Token::Compute,
    Token::Ident,
    Token::Dotted,
    Token::Sym,
];
const OPERATORS: &[Token] = &[
    Token::OrOr,
    Token::AndAnd,
    Token::EqEq,
    Token::Ne,
    Token::Lt,
    Token::Le,
    Token::Gt,
    Token::Ge,
    Token::Or,
    Token::Caret,
    Token::And,
    Token::Shl,
    Token::Shr,
    Token::Plus,
    Token::Minus,
    Token::Star,
    Token::Slash,
    Token::Percent,
];
const WORDS: &[Token] = &[
    Token::For,
    Token::In,
    Token::If,
    Token::Else,
    Token::Let,
    Token::Alloc,
    Token::Return,
    Token::Yield,
    Token::Where,
    Token::Attributes,
    Token::Cast,
    Token::Compute,
    Token::True,
    Token::False,
    Token::InfNan,
    Token::Dtype,
    Token::Ident,
    Token::Dotted,
];

/// A set of tokens.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct TokenSet(u64);

impl TokenSet {
    /// The tokens that the grammar calls `names`.
    pub(crate) fn named(names: &[String]) -> TokenSet {
        let of = |name: &String| {
            let name = name.trim_matches('"');
            NAMES.iter().find(|(_, other)| *other == name).map_or(0, |&(token, _)| bit(token))
        };
        TokenSet(names.iter().map(of).fold(0, |set, bit| set | bit))
    }

    fn has(self, token: Token) -> bool {
        self.0 & bit(token) != 0
    }

    fn has_all(self, tokens: &[Token]) -> bool {
        tokens.iter().all(|&token| self.has(token))
    }

    fn remove(&mut self, tokens: &[Token]) {
        for &token in tokens {
            self.0 &= !bit(token);
        }
    }

    /// May a statement stand here? (Where any word is a name, `let` may stand too.)
    fn begins_statement(self) -> bool {
        self.has(Token::Let) && !self.has(Token::In)
    }

    /// May an item stand here? So may the place after `&`, but that does not follow a brace.
    fn begins_item(self) -> bool {
        self == TokenSet(bit(Token::Ident) | bit(Token::Dotted))
    }

    /// May only an item's symbol stand here?
    fn is_item_name(mut self) -> bool {
        self.remove(&[Token::Int]);
        self == TokenSet(bit(Token::Sym))
    }

    /// May a block end here?
    pub(crate) fn ends_block(self) -> bool {
        self.has(Token::RBrace)
    }

    /// May an expression stand here?
    fn begins_expression(self) -> bool {
        self.has(Token::Int) && self.has(Token::Float)
    }

    /// The set in words: `` `)`, `,` or an operator``.
    pub(crate) fn text(mut self) -> String {
        let mut words = Vec::new();
        let mut last = Vec::new();
        if self.is_item_name() {
            return "a symbol such as `@name`".to_string();
        }
        if self.begins_expression() {
            words.push(if self.has(Token::Dtype) { "a value" } else { "an expression" }.to_string());
            if self.has(Token::Dtype) {
                self.remove(WORDS);
                self.remove(&[Token::DictOpen]);
            }
            self.remove(EXPRESSION);
            self.remove(&[Token::For, Token::If]);
        }
        let has_operators = self.has_all(&[Token::Plus, Token::Star]);
        if has_operators && (self.has(Token::RParen) || self.has(Token::RBracket)) {
            // Inside brackets: what an atom may go on with is not what is missing.
            self.remove(OPERATORS);
            self.remove(&[Token::LParen, Token::LBracket, Token::Assign]);
        }
        if self.has(Token::Let) && self.has(Token::In) {
            words.push("a name".to_string());
            self.remove(WORDS);
        } else if self.has_all(&[Token::Let, Token::Alloc]) {
            words.push("a statement".to_string());
            self.remove(STATEMENT);
        }
        if has_operators && self.has(Token::Plus) {
            last.push("an operator".to_string());
            self.remove(OPERATORS);
        }
        if self.has_all(&[Token::Ident, Token::Dtype]) {
            words.push("a type".to_string());
            self.remove(&[Token::Ident, Token::Dotted, Token::Dtype]);
        }
        if self.has(Token::Ident) {
            words.push("a name".to_string());
            self.remove(&[Token::Ident, Token::Dotted]);
        }
        for &(token, name) in NAMES {
            if self.has(token) {
                words.push(match token {
                    Token::Ident | Token::Dotted => "a dotted name".to_string(),
                    Token::InfNan | Token::Float => "a float".to_string(),
                    Token::Dtype => "an element type".to_string(),
                    Token::Sym => "a symbol".to_string(),
                    Token::Int => "an integer".to_string(),
                    Token::DictOpen => "`{`".to_string(),
                    Token::DictClose => "`}`".to_string(),
                    Token::Str => "a string".to_string(),
                    // A location may trail nearly everything, and no author means to write one.
                    Token::Loc => continue,
                    _ => format!("`{name}`"),
                });
            }
        }
        words.append(&mut last);
        match words.as_slice() {
            [] => "the end of the file".to_string(),
            [one] => one.clone(),
            [first @ .., end] => format!("{} or {end}", first.join(", ")),
        }
    }
}

fn bit(token: Token) -> u64 {
    1 << token as u8
}

/// A token and its range.
type Spanned = (Token, TextRange);

/// What stands round an error.
#[derive(Clone, Copy, Default)]
pub(crate) struct Context {
    /// The line on which the error is, from 0.
    pub(crate) line: u32,
    /// Is the error at the first token of its line?
    opens_line: bool,
    /// The token before the error, and its line.
    previous: Option<Spanned>,
    previous_line: u32,
    /// The last token before the error that opened its line, whether it is not indented, and what stands before it.
    opener: Option<Spanned>,
    opener_at_margin: bool,
    before_opener: Option<Spanned>,
    before_opener_line: u32,
    /// How many braces are open.
    pub(crate) n_open: u32,
    /// How far the lines are counted.
    counted: u32,
}

impl Context {
    /// Goes on by one token.
    pub(crate) fn step(&mut self, token: Token, range: TextRange, source: &str) {
        self.look(range.start, source);
        if self.opens_line {
            self.opener = Some((token, range));
            self.opener_at_margin = is_at_margin(range.start, source);
            self.before_opener = self.previous;
            self.before_opener_line = self.previous_line;
        }
        self.previous = Some((token, range));
        self.previous_line = self.line;
        self.brace(token);
    }

    /// A brace opens or closes.
    pub(crate) fn brace(&mut self, token: Token) {
        match token {
            Token::LBrace => self.n_open += 1,
            Token::RBrace => self.n_open = self.n_open.saturating_sub(1),
            _ => {}
        }
    }

    /// Counts the lines up to `at`.
    pub(crate) fn look(&mut self, at: u32, source: &str) {
        let gap = TextRange::new(self.counted, at.max(self.counted)).of(source);
        let lines = gap.bytes().filter(|&byte| byte == b'\n').count() as u32;
        self.line += lines;
        self.counted = at.max(self.counted);
        self.opens_line = self.line > self.previous_line || self.previous.is_none();
    }

    fn previous_is(&self, token: Token) -> bool {
        self.previous.is_some_and(|(previous, _)| previous == token)
    }
}

fn is_at_margin(at: u32, source: &str) -> bool {
    at == 0 || source.as_bytes().get(at as usize - 1) == Some(&b'\n')
}

/// Where an error is reported, and what is said.
pub(crate) struct Told {
    pub(crate) range: TextRange,
    pub(crate) line: u32,
    pub(crate) error_text: ErrorText,
    /// Does the parser expect an item?
    pub(crate) outside: bool,
    /// Is it said of an indented text outside items? Such errors are reported once.
    pub(crate) astray: bool,
}

/// A token, or the end of the file, that was not expected.
#[derive(Clone, Copy)]
struct Unexpected<'a> {
    found: Option<Token>,
    text: &'a str,
    expected: TokenSet,
    context: &'a Context,
}

/// What is said of a token, or the end of the file, that was not expected.
pub(crate) fn unexpected(
    found: Option<Token>,
    range: TextRange,
    expected: TokenSet,
    context: &Context,
    source: &str,
) -> Told {
    let error = Unexpected { found, text: range.of(source), expected, context };
    if let Some(told) = error.run_on().or_else(|| error.after_the_last()).or_else(|| error.early()) {
        return told;
    }
    let at_margin = if context.opens_line { is_at_margin(range.start, source) } else { context.opener_at_margin };
    let outside = error.begins_item() || expected.is_item_name();
    let mut error_text = ErrorText::new(format!("expected {}, found {}", error.wanted(), error.what()));
    error_text.help = error.help();
    Told { range, line: context.line, error_text, outside, astray: outside && !at_margin }
}

impl Unexpected<'_> {
    fn at_the_end(&self, (_, range): Spanned, line: u32, wanted: &str, help: Option<String>) -> Option<Told> {
        let mut error_text = ErrorText::new(format!("expected {wanted}, found the end of the line"));
        error_text.help = help;
        Some(Told { range: TextRange::new(range.end, range.end), line, error_text, outside: false, astray: false })
    }

    /// The token opens its line, and something is missing on the line before.
    fn early(&self) -> Option<Told> {
        let context = self.context;
        // Where a line may begin, the token itself is wrong.
        let is_unfinished = !self.expected.begins_statement() && !self.begins_item();
        if !context.opens_line || !is_unfinished || self.found.is_none() {
            return None;
        }
        self.at_the_end(context.previous?, context.previous_line, &self.expected.text(), self.stage_help())
    }

    /// The line before was cut short, so that the head of this line was read as the rest of it.
    fn run_on(&self) -> Option<Told> {
        let context = self.context;
        let (before, (opener, range)) = (context.before_opener?, context.opener?);
        if context.opens_line || !matches!(opener, Token::Ident | Token::Dotted) {
            return None;
        }
        let (expected, line) = (self.expected, context.before_opener_line);
        let is_second = context.previous.is_some_and(|(_, previous)| previous == range);
        if is_second && expected.has(Token::LBrace) && expected.has(Token::Attributes) && before.0 != Token::LBrace {
            return self.at_the_end(before, line, "`{`", None);
        }
        let cut = match before.0 {
            Token::Colon => "a type",
            Token::LBrace | Token::LParen | Token::LBracket | Token::Comma | Token::Else => return None,
            token if token.ends_operand() => return None,
            _ => "an expression",
        };
        if self.found != Some(Token::Assign) {
            return None;
        }
        self.at_the_end(before, line, cut, None)
    }

    /// Something follows a `return` or `yield` in its block.
    fn after_the_last(&self) -> Option<Told> {
        let (opener, range) = self.context.opener?;
        let word = match opener {
            Token::Return => "return",
            Token::Yield => "yield",
            _ => return None,
        };
        let closing = matches!(self.found, None | Some(Token::RParen | Token::RBracket | Token::Assign));
        if closing || !self.expected.ends_block() || self.expected.begins_expression() {
            return None;
        }
        let error_text = ErrorText::new(format!("`{word}` is not the last statement of its block"))
            .help(format!("a block has one `{word}`, at its end"));
        let line = if self.context.opens_line { self.context.previous_line } else { self.context.line };
        Some(Told { range, line, error_text, outside: false, astray: false })
    }

    fn begins_item(&self) -> bool {
        self.expected.begins_item() && matches!(self.context.previous, None | Some((Token::RBrace | Token::Int, _)))
    }

    fn wanted(&self) -> String {
        match self.context.previous {
            _ if self.begins_item() => "an item such as `te.func @name`".to_string(),
            Some((Token::And, _)) if self.expected.begins_item() => "a place such as `A[i]`".to_string(),
            Some((Token::In, _)) if self.expected.begins_item() => "a scope".to_string(),
            _ => self.expected.text(),
        }
    }

    fn what(&self) -> String {
        let Some(found) = self.found else { return "the end of the file".to_string() };
        match found {
            Token::Dtype if self.expected.has(Token::Ident) => format!("the element type `{}`", self.text),
            _ if found.is_reserved() && self.expected.has(Token::Ident) => format!("the reserved word `{}`", self.text),
            _ => format!("`{}`", shorten(self.text)),
        }
    }

    /// The help for a `compute` that lacks its `=`.
    fn stage_help(&self) -> Option<String> {
        let (opener, _) = self.context.opener?;
        let is_head = opener == Token::Compute && !self.expected.begins_expression();
        let lacks = self.expected.has(Token::Assign) || self.expected.has(Token::Colon);
        (is_head && lacks).then(|| "a stage is written `compute B[i: n] = e`".to_string())
    }

    fn help(&self) -> Option<String> {
        let Unexpected { text, expected, context, .. } = *self;
        let found = self.found?;
        let help = match found {
            Token::Assign if expected.has(Token::RBracket) => "a `[` before it is not closed".to_string(),
            Token::Assign
                if expected.has(Token::EqEq) || (expected.has(Token::LBrace) && expected.has(Token::Attributes)) =>
            {
                "equality is written `==`".to_string()
            }
            Token::Assign | Token::Comma if context.previous_is(Token::Dotted) => {
                "a result's name has no dots".to_string()
            }
            Token::EqEq if expected.has(Token::Assign) => "an assignment is written `=`".to_string(),
            Token::Colon if expected.begins_statement() => {
                "only an op may carry result types, `x = dialect.op(…) : f32`; the type of a value stands before it, \
                 `let x: f32 = e`, and a conversion is written `cast<f32>(e)`"
                    .to_string()
            }
            Token::RBrace | Token::RParen | Token::RBracket if expected.begins_statement() || self.begins_item() => {
                format!("this `{text}` closes nothing")
            }
            Token::Else => "`else` follows the `}` of an `if`".to_string(),
            Token::Dtype if expected.begins_expression() => {
                format!("a conversion is written `cast<{}>(e)`", shorten(text))
            }
            Token::Dtype if expected.has(Token::Colon) && expected.has(Token::In) => {
                "a parameter is written `name: type`".to_string()
            }
            _ if self.begins_item() => {
                "what stands outside an item is a comment, or the version line `tir 1`".to_string()
            }
            Token::Dotted if expected.has(Token::Ident) && !expected.has(Token::Dotted) => {
                "a name that is bound here has no dots".to_string()
            }
            _ if found.is_reserved() && expected.has(Token::Ident) && text.len() < 16 => {
                format!("`{text}` cannot be a name; `{text}_` can")
            }
            _ if expected.is_item_name() && self.context.previous.is_some_and(|(token, _)| token == Token::Ident) => {
                "items are `te.func @name(…)`, `tir.func @name(…)`, `schedule @name for @operator`".to_string()
            }
            _ => return self.stage_help(),
        };
        Some(help)
    }
}
