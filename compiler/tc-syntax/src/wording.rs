//! What a syntax error says: expected tokens folded into a few words, and the way out of common slips.

use crate::recover::Finding;
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

    /// Is something missing before the token, because nothing that opens a line may stand here?
    pub(crate) fn is_unfinished(self) -> bool {
        !self.has(Token::Let) || self.has(Token::In)
    }

    /// The set in words: `` `)`, `,` or an operator``.
    pub(crate) fn text(mut self) -> String {
        let mut words = Vec::new();
        let mut last = Vec::new();
        let expression = self.has(Token::Int) && self.has(Token::Float);
        if expression {
            words.push(if self.has(Token::Dtype) { "a value" } else { "an expression" }.to_string());
            if self.has(Token::Dtype) {
                self.remove(WORDS);
                self.remove(&[Token::LBrace]);
            }
            self.remove(EXPRESSION);
        }
        if self.has(Token::Let) && self.has(Token::In) {
            words.push("a name".to_string());
            self.remove(WORDS);
        } else if self.has_all(&[Token::Let, Token::Alloc]) {
            words.push("a statement".to_string());
            self.remove(STATEMENT);
        }
        if self.has_all(&[Token::Plus, Token::Star]) {
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
                    Token::Str => "a string".to_string(),
                    // A location may trail nearly everything, and nobody has meant to write one.
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

/// What stands round an error.
#[derive(Clone, Copy, Default)]
pub(crate) struct Context {
    /// The line on which the error is, from 0.
    pub(crate) line: u32,
    /// Is the error at the first token of its line?
    pub(crate) opens_line: bool,
    /// The token before the error, and the one before that.
    pub(crate) previous: Option<(Token, TextRange)>,
    before: Option<(Token, TextRange)>,
    /// The line of the token before.
    pub(crate) previous_line: u32,
    /// The token before the error that opened its line.
    opener: Option<(Token, TextRange)>,
    /// How far the lines are counted.
    counted: u32,
}

impl Context {
    /// Goes on by one token.
    pub(crate) fn step(&mut self, token: Token, range: TextRange, source: &str) {
        self.look(range.start, source);
        if self.opens_line {
            self.opener = Some((token, range));
        }
        self.before = self.previous;
        self.previous = Some((token, range));
        self.previous_line = self.line;
    }

    /// Counts the lines up to `at`.
    pub(crate) fn look(&mut self, at: u32, source: &str) {
        let gap = TextRange::new(self.counted, at.max(self.counted)).of(source);
        let lines = gap.bytes().filter(|&byte| byte == b'\n').count() as u32;
        self.line += lines;
        self.counted = at.max(self.counted);
        self.opens_line = self.line > self.previous_line || self.previous.is_none();
    }
}

/// What is said of a token, or the end of the file, that was not expected. `early` if something before it is missing.
pub(crate) fn unexpected(
    found: Option<Token>,
    range: TextRange,
    expected: &TokenSet,
    early: bool,
    context: &Context,
    source: &str,
) -> Finding {
    let what = match found {
        None => "the end of the file".to_string(),
        Some(_) if early => "the end of the line".to_string(),
        Some(token) if token.is_reserved() && expected.has(Token::Ident) => {
            let kind = if token == Token::Dtype { "element type" } else { "reserved word" };
            format!("the {kind} `{}`", range.of(source))
        }
        Some(_) => format!("`{}`", shorten(range.of(source))),
    };
    let item = expected.has(Token::Ident) && expected.has(Token::Dotted) && !expected.has(Token::RBrace);
    let at_top = item && !expected.has(Token::Int) && !expected.has(Token::Dtype) && !expected.has(Token::LBrace);
    let wanted = if at_top && !expected.has(Token::Let) && !in_alloc(context, source) {
        "an item such as `te.func @name`".to_string()
    } else {
        expected.text()
    };
    let mut finding = Finding::new(format!("expected {wanted}, found {what}"));
    finding.help = help(found, range, expected, early, context, source);
    finding
}

/// Is a scope being read? Its place takes the same tokens as an item's first word.
fn in_alloc(context: &Context, source: &str) -> bool {
    context.previous.is_some_and(|(_, range)| range.of(source) == "in")
}

fn help(
    found: Option<Token>,
    range: TextRange,
    expected: &TokenSet,
    early: bool,
    context: &Context,
    source: &str,
) -> Option<String> {
    let (previous, previous_range) = context.previous?;
    let (opener, _) = context.opener?;
    let text = range.of(source);
    let found = found?;
    let help = match (found, previous) {
        _ if expected.has(Token::Assign) && opener == Token::Compute && !expected.has(Token::LBrace) => {
            "a stage is written `compute B[i: n] = e`".to_string()
        }
        (Token::Colon, _) if expected.has(Token::Plus) && expected.has(Token::Let) => {
            "only an op may carry result types, `x = dialect.op(…) : f32`; a value's type stands before it, \
             `let x: f32 = e`, or is converted to, `cast<f32>(e)`"
                .to_string()
        }
        (Token::Assign, _) if expected.has(Token::EqEq) => "equality is written `==`".to_string(),
        (Token::EqEq, _) if expected.has(Token::Assign) => "an assignment is written `=`".to_string(),
        (Token::Assign, Token::Dotted) => "a result's name has no dots".to_string(),
        _ if early => return None,
        _ if matches!(opener, Token::Return | Token::Yield) && expected.has(Token::RBrace) => {
            let word = if opener == Token::Return { "return" } else { "yield" };
            format!("`{word}` is the last statement of its block")
        }
        (Token::Else, _) => "`else` follows the `}` of an `if`".to_string(),
        (Token::RBrace | Token::RParen | Token::RBracket, _) if !expected.has(found) && !expected.has(Token::Int) => {
            format!("this `{text}` closes nothing")
        }
        (Token::Dotted, _) if expected.has(Token::Ident) => "a name that is bound here has no dots".to_string(),
        (token, _) if token.is_reserved() && expected.has(Token::Ident) => {
            format!("`{text}` cannot be a name; `{text}_` can")
        }
        (Token::Ident, Token::Ident) if previous_range.of(source) == "func" => {
            "items are `te.func @name(…)`, `tir.func @name(…)`, `schedule @name for @operator`".to_string()
        }
        _ => return None,
    };
    Some(help)
}
