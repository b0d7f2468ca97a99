//! Semantic colours: each lexeme by what it is, and names by what they stand for.

use crate::analysis::lexemes_of;
use crate::capability::{Cx, Handler, Refusal};
use crate::documents::Snapshot;
use crate::index::{DefKind, Index, What};
use lsp_types::request::SemanticTokensFullRequest;
use lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensFullOptions,
    SemanticTokensLegend, SemanticTokensOptions, SemanticTokensParams, SemanticTokensResult,
    SemanticTokensServerCapabilities, ServerCapabilities,
};
use tc::syntax::lexemes::LexemeKind;
use tc::syntax::tree::TextRange;

/// A colour, by its place in the legend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Colour {
    Comment,
    Keyword,
    Type,
    Number,
    Str,
    Function,
    Directive,
    Parameter,
    Variable,
    Property,
    Word,
}

impl Colour {
    /// The legend, in the order of the colours.
    const LEGEND: [SemanticTokenType; 11] = [
        SemanticTokenType::COMMENT,
        SemanticTokenType::KEYWORD,
        SemanticTokenType::TYPE,
        SemanticTokenType::NUMBER,
        SemanticTokenType::STRING,
        SemanticTokenType::FUNCTION,
        SemanticTokenType::MACRO,
        SemanticTokenType::PARAMETER,
        SemanticTokenType::VARIABLE,
        SemanticTokenType::PROPERTY,
        SemanticTokenType::ENUM_MEMBER,
    ];
}

/// The modifiers, as bits: the legend lists them in this order.
const DEFINES: u32 = 1;
const LIBRARY: u32 = 2;
const READ_ONLY: u32 = 4;

/// `textDocument/semanticTokens/full`.
pub(crate) struct Tokens;

impl Handler for Tokens {
    type Request = SemanticTokensFullRequest;

    fn announce(capabilities: &mut ServerCapabilities) {
        let legend = SemanticTokensLegend {
            token_types: Colour::LEGEND.to_vec(),
            token_modifiers: vec![
                SemanticTokenModifier::DECLARATION,
                SemanticTokenModifier::DEFAULT_LIBRARY,
                SemanticTokenModifier::READONLY,
            ],
        };
        let full = Some(SemanticTokensFullOptions::Bool(true));
        let options = SemanticTokensOptions { legend, full, ..SemanticTokensOptions::default() };
        capabilities.semantic_tokens_provider = Some(SemanticTokensServerCapabilities::SemanticTokensOptions(options));
    }

    fn handle(cx: &Cx<'_>, params: SemanticTokensParams) -> Result<Option<SemanticTokensResult>, Refusal> {
        let snapshot = cx.document(&params.text_document.uri)?;
        let index = snapshot.index(cx.compiler());
        let data = encode(snapshot, &coloured(&snapshot.text, index));
        Ok(Some(SemanticTokensResult::Tokens(SemanticTokens { result_id: None, data })))
    }
}

/// A piece of the text and its colour.
type Coloured = (TextRange, Colour, u32);

/// The coloured pieces, in order.
fn coloured(text: &str, index: &Index) -> Vec<Coloured> {
    let mut found = Vec::new();
    let mut mentions = index.mentions.iter().peekable();
    for lexeme in lexemes_of(text) {
        let TextRange { start, end } = lexeme.range;
        while mentions.next_if(|mention| mention.range.start < start).is_some() {}
        let before = found.len();
        while let Some(mention) = mentions.next_if(|mention| mention.range.start < end) {
            if let Some((colour, modifiers)) = of_mention(index, mention.what) {
                // A symbol is coloured with its `@`.
                let from = if lexeme.kind == LexemeKind::Symbol { start } else { mention.range.start };
                found.push((TextRange::new(from, mention.range.end.min(end)), colour, modifiers));
            }
        }
        if found.len() == before {
            found.extend(of_lexeme(lexeme.kind).map(|colour| (lexeme.range, colour, 0)));
        }
    }
    found
}

fn of_lexeme(kind: LexemeKind) -> Option<Colour> {
    match kind {
        LexemeKind::Comment => Some(Colour::Comment),
        LexemeKind::Keyword | LexemeKind::Truth => Some(Colour::Keyword),
        LexemeKind::Type => Some(Colour::Type),
        LexemeKind::Number | LexemeKind::Location => Some(Colour::Number),
        LexemeKind::Str => Some(Colour::Str),
        LexemeKind::Symbol => Some(Colour::Function),
        LexemeKind::Name | LexemeKind::Open | LexemeKind::Close | LexemeKind::Operator | LexemeKind::Wrong => None,
    }
}

fn of_mention(index: &Index, what: What) -> Option<(Colour, u32)> {
    let of_def = |def: usize| match index.defs[def].kind {
        DefKind::Item => (Colour::Function, 0),
        DefKind::Size | DefKind::Param => (Colour::Parameter, 0),
        DefKind::Axis | DefKind::Loop | DefKind::SplitAxis => (Colour::Variable, READ_ONLY),
        DefKind::Tensor | DefKind::Buffer | DefKind::Stage | DefKind::Value => (Colour::Variable, 0),
    };
    Some(match what {
        What::Definition(def) => {
            let (colour, modifiers) = of_def(def);
            (colour, modifiers | DEFINES)
        }
        What::Use(def) => of_def(def),
        What::Row(_) => (Colour::Directive, LIBRARY),
        What::Elsewhere => (Colour::Function, LIBRARY),
        What::ItemKeyword => (Colour::Keyword, 0),
        What::Key => (Colour::Property, 0),
        What::Word => (Colour::Word, 0),
        What::Type => (Colour::Type, 0),
    })
}

/// The pieces as the protocol counts them: each from the one before.
fn encode(snapshot: &Snapshot, pieces: &[Coloured]) -> Vec<SemanticToken> {
    let mut data = Vec::with_capacity(pieces.len());
    let (mut line, mut character) = (0, 0);
    for &(range, colour, modifiers) in pieces {
        let start = snapshot.lines.position(&snapshot.text, range.start);
        let length = range.of(&snapshot.text).encode_utf16().count() as u32;
        let delta_line = start.line - line;
        let delta_start = if delta_line == 0 { start.character - character } else { start.character };
        data.push(SemanticToken {
            delta_line,
            delta_start,
            length,
            token_type: colour as u32,
            token_modifiers_bitset: modifiers,
        });
        (line, character) = (start.line, start.character);
    }
    data
}
