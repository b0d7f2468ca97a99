//! The tokens of the language. They carry no text: a token is a kind, and its range says where to read it.

use logos::Logos;

/// A token's kind.
///
/// They stand in the order in which the grammar lists them, so that a token's number is the parser's number for it.
/// Words that are reserved come before `Ident`.
#[derive(Logos, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[logos(skip r"[ \t\r\n\x0c\u{feff}]+")]
#[logos(skip(r"//[^\n]*", allow_greedy = true))]
#[logos(subpattern float_type = r"(f16|bf16|f32|f64|f8e4m3|f8e5m2|tf32)")]
#[logos(subpattern int_type = r"(bool|index|[iu](8|16|32|64))")]
#[logos(subpattern word = r"[A-Za-z_][A-Za-z0-9_]*(\$[0-9]+)?")]
#[logos(subpattern chars = r#"([^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*"#)]
pub(crate) enum Token {
    #[token("for")]
    For,
    #[token("in")]
    In,
    #[token("if")]
    If,
    #[token("else")]
    Else,
    #[token("let")]
    Let,
    #[token("alloc")]
    Alloc,
    #[token("return")]
    Return,
    #[token("yield")]
    Yield,
    #[token("where")]
    Where,
    #[token("attributes")]
    Attributes,
    #[token("cast")]
    Cast,
    #[token("compute")]
    Compute,
    #[token("true")]
    True,
    #[token("false")]
    False,
    /// `inf` or `nan`, with or without a type.
    #[regex(r"(inf|nan)(?&float_type)?", priority = 20)]
    InfNan,
    /// An element type, with or without lanes.
    #[regex(r"((?&int_type)|(?&float_type))(x[0-9]+)?", priority = 20)]
    Dtype,
    /// A name, or one that a pass made: `x$1`, `$3`.
    #[regex(r"(?&word)", priority = 3)]
    #[regex(r"\$[0-9]+")]
    Ident,
    /// A dotted name. After a dot any word is a name, and so is a word before one.
    #[regex(r"(?&word)(\.(?&word))+")]
    Dotted,
    #[regex(r"@(?&word)")]
    #[regex(r#"@"(?&chars)""#)]
    Sym,
    #[regex(r"[0-9]+((?&int_type)|(?&float_type))?", priority = 12)]
    #[regex(r"0x[0-9a-fA-F]+(?&int_type)?", priority = 12)]
    Int,
    #[regex(r"[0-9]+\.[0-9]+([eE][+-]?[0-9]+)?(?&float_type)?", priority = 12)]
    #[regex(r"[0-9]+[eE][+-]?[0-9]+(?&float_type)?", priority = 14)]
    #[regex(r"0x[0-9a-fA-F]+(\.[0-9a-fA-F]+)?p[+-]?[0-9]+(?&float_type)?", priority = 14)]
    Float,
    #[regex(r#""(?&chars)""#)]
    Str,
    #[regex(r"#[0-9]+:[0-9]+")]
    #[regex(r##"#"(?&chars)":[0-9]+:[0-9]+"##)]
    Loc,

    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    // What the lexer's caller makes of the braces round attributes. To recovery they are not the braces of a block.
    DictOpen,
    DictClose,
    #[token(",")]
    Comma,
    #[token(":")]
    Colon,
    #[token("..")]
    DotDot,
    #[token("->")]
    Arrow,
    #[token("=")]
    Assign,
    #[token("||")]
    OrOr,
    #[token("&&")]
    AndAnd,
    #[token("==")]
    EqEq,
    #[token("!=")]
    Ne,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("|")]
    Or,
    #[token("^")]
    Caret,
    #[token("&")]
    And,
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("!")]
    Bang,

    // What is never right: the lexer's caller reports these, the grammar does not know them.
    /// A number with letters in it that mean nothing.
    #[regex(r"[0-9][0-9A-Za-z_]*(\.[0-9][0-9A-Za-z_]*)?", priority = 5)]
    BadNumber,
    /// A string without its closing quote on the line.
    #[regex(r#"[@#]?"(?&chars)\\?"#)]
    BadStr,
}

impl Token {
    /// Is it a reserved word?
    pub(crate) fn is_reserved(self) -> bool {
        self < Token::Ident
    }

    /// Is it a token that neither opens nor closes anything, and is what it seems to be?
    pub(crate) fn is_plain(self) -> bool {
        self < Token::LParen && self != Token::Else || (self > Token::DictClose && self < Token::Ge)
    }

    /// Is a brace after it that of attributes? No block stands there.
    pub(crate) fn opens_attributes(self) -> bool {
        matches!(self, Token::Attributes | Token::Assign | Token::Comma | Token::LParen | Token::LBracket)
    }

    /// Can an expression end with it? What follows such a token is never a unary operator.
    pub(crate) fn ends_operand(self) -> bool {
        matches!(
            self,
            Token::True
                | Token::False
                | Token::InfNan
                | Token::Dtype
                | Token::Ident
                | Token::Dotted
                | Token::Sym
                | Token::Int
                | Token::Float
                | Token::Str
                | Token::Loc
                | Token::RParen
                | Token::RBracket
                | Token::RBrace
                | Token::DictClose
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Result<Token, ()>> {
        Token::lexer(text).collect()
    }

    fn one(text: &str) -> Token {
        let all = tokens(text);
        assert_eq!(all.len(), 1, "`{text}` is {all:?}");
        all[0].expect("a token")
    }

    #[test]
    fn words() {
        assert_eq!(one("for"), Token::For);
        assert_eq!(one("fort"), Token::Ident);
        assert_eq!(one("inf"), Token::InfNan);
        assert_eq!(one("nanbf16"), Token::InfNan);
        assert_eq!(one("info"), Token::Ident);
        assert_eq!(one("f32"), Token::Dtype);
        assert_eq!(one("f8e4m3x16"), Token::Dtype);
        assert_eq!(one("f33"), Token::Ident);
        assert_eq!(one("f32x"), Token::Ident);
        assert_eq!(one("x$12"), Token::Ident);
        assert_eq!(one("$3"), Token::Ident);
        assert_eq!(one("_"), Token::Ident);
        assert_eq!(one("a.for.f32"), Token::Dotted);
        assert_eq!(one("B$1.yy$2"), Token::Dotted);
        assert_eq!(one("@f$1"), Token::Sym);
        assert_eq!(one(r#"@"a \" b""#), Token::Sym);
    }

    #[test]
    fn numbers() {
        for text in ["0", "12", "3i64", "0x1f", "0x1fu8", "7index", "1f32"] {
            assert_eq!(one(text), Token::Int, "{text}");
        }
        for text in ["1.5", "1e-3", "2.5e+10", "0.0f16", "1e5", "1E5f32", "0x1.8p-3", "0x1p4f64", "0.5f8e4m3"] {
            assert_eq!(one(text), Token::Float, "{text}");
        }
        for text in ["12abc", "0x", "0xg", "1.0abc", "3i7", "1e", "0b1"] {
            assert_eq!(one(text), Token::BadNumber, "{text}");
        }
        assert_eq!(tokens("0..n"), [Ok(Token::Int), Ok(Token::DotDot), Ok(Token::Ident)]);
        assert_eq!(tokens("n..1.5"), [Ok(Token::Ident), Ok(Token::DotDot), Ok(Token::Float)]);
    }

    #[test]
    fn strings_and_locations() {
        assert_eq!(one(r#""a\"b""#), Token::Str);
        assert_eq!(one("#12:5"), Token::Loc);
        assert_eq!(one("#\"f.tir\":12:5"), Token::Loc);
        assert_eq!(tokens("\"abc\nd"), [Ok(Token::BadStr), Ok(Token::Ident)]);
        assert_eq!(one("\"abc\\"), Token::BadStr);
        assert_eq!(one("@\"abc"), Token::BadStr);
        assert_eq!(tokens("\"a\0"), [Ok(Token::BadStr), Err(())]);
    }

    #[test]
    fn comments_and_strangers() {
        assert_eq!(tokens("a // b\n c//"), [Ok(Token::Ident), Ok(Token::Ident)]);
        assert_eq!(tokens("a ; é b").iter().filter(|token| token.is_err()).count(), 2);
        assert_eq!(tokens("\u{feff}a"), [Ok(Token::Ident)]);
    }
}
