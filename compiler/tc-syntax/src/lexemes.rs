//! A text as lexemes, comments included: for whoever colours a text or lays it out, and does not parse it.

use crate::token::Token;
use crate::tree::TextRange;
use logos::Logos;

/// What a lexeme is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LexemeKind {
    /// `// …`, without the line end.
    Comment,
    /// A reserved word.
    Keyword,
    /// `true`, `false`.
    Truth,
    /// An element type.
    Type,
    /// A name or a dotted name.
    Name,
    /// `@name`.
    Symbol,
    /// A number.
    Number,
    /// A string.
    Str,
    /// `#12:5`.
    Location,
    /// `(`, `[`, `{`.
    Open,
    /// `)`, `]`, `}`.
    Close,
    /// An operator or a separator.
    Operator,
    /// What is never right.
    Wrong,
}

/// A lexeme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lexeme {
    /// What it is.
    pub kind: LexemeKind,
    /// Where it stands.
    pub range: TextRange,
}

/// The lexemes of `source`, in order. Between them there is only white space.
pub fn lexemes(source: &str) -> Vec<Lexeme> {
    let mut found = Vec::new();
    let mut lexer = Token::lexer(source);
    let mut end = 0;
    while let Some(token) = lexer.next() {
        let span = lexer.span();
        comments(source, end, span.start, &mut found);
        end = span.end;
        let kind = token.map_or(LexemeKind::Wrong, kind_of);
        found.push(Lexeme { kind, range: TextRange::new(span.start as u32, span.end as u32) });
    }
    comments(source, end, source.len(), &mut found);
    found
}

/// Is `text` a name that can be bound: one word, and none that is reserved?
pub fn is_name(text: &str) -> bool {
    let mut lexer = Token::lexer(text);
    lexer.next() == Some(Ok(Token::Ident)) && lexer.slice() == text && !text.contains('$')
}

/// The comments of what the lexer skipped.
fn comments(source: &str, start: usize, end: usize, found: &mut Vec<Lexeme>) {
    let Some(skipped) = source.get(start..end) else { return };
    let mut at = start;
    for line in skipped.split_inclusive('\n') {
        if let Some(begin) = line.find("//") {
            let text = line[begin..].trim_end_matches(['\n', '\r']);
            let range = TextRange::new((at + begin) as u32, (at + begin + text.len()) as u32);
            found.push(Lexeme { kind: LexemeKind::Comment, range });
        }
        at += line.len();
    }
}

fn kind_of(token: Token) -> LexemeKind {
    match token {
        Token::True | Token::False => LexemeKind::Truth,
        Token::InfNan | Token::Int | Token::Float => LexemeKind::Number,
        Token::Dtype => LexemeKind::Type,
        Token::Ident | Token::Dotted => LexemeKind::Name,
        Token::Sym => LexemeKind::Symbol,
        Token::Str => LexemeKind::Str,
        Token::Loc => LexemeKind::Location,
        Token::LParen | Token::LBracket | Token::LBrace | Token::DictOpen => LexemeKind::Open,
        Token::RParen | Token::RBracket | Token::RBrace | Token::DictClose => LexemeKind::Close,
        Token::BadNumber | Token::BadStr => LexemeKind::Wrong,
        token if token.is_reserved() => LexemeKind::Keyword,
        _ => LexemeKind::Operator,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lexemes_and_white_space_are_the_whole_text() {
        let text = "\u{feff}tir 1 // one\r\n// two\n\nfor i in 0..n { A[i] = -1.5 } ; \"x\" @f é //";
        let all = lexemes(text);
        let kinds: Vec<(LexemeKind, &str)> = all.iter().map(|one| (one.kind, one.range.of(text))).collect();
        assert_eq!(kinds[2], (LexemeKind::Comment, "// one"));
        assert_eq!(kinds[3], (LexemeKind::Comment, "// two"));
        assert_eq!(kinds[4], (LexemeKind::Keyword, "for"));
        assert_eq!(kinds.last(), Some(&(LexemeKind::Comment, "//")));
        assert!(kinds.contains(&(LexemeKind::Wrong, "é")) && kinds.contains(&(LexemeKind::Symbol, "@f")));
        let mut end = 0;
        for one in &all {
            let gap = &text[end..one.range.start as usize];
            assert!(gap.chars().all(|c| c.is_whitespace() || c == '\u{feff}'), "{gap:?}");
            end = one.range.end as usize;
        }
        assert_eq!(end, text.len());
    }

    #[test]
    fn names_are_single_words() {
        assert!(is_name("x") && is_name("_a1"));
        for text in ["", "for", "f32", "a.b", "x y", "1x", "@f", "x$1", "é", " x"] {
            assert!(!is_name(text), "{text}");
        }
    }
}
