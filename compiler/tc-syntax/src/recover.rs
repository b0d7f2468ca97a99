//! Syntax errors: what the token stream and the actions share about them, and which of them are worth telling.
//!
//! Recovery in an LR parser finds one mistake several times over. Three rules keep the echo out: brackets that the
//! text lacks are put in before the second parse (see [`crate::balance`]); a token that opens its line is blamed on
//! the end of the line before, if something is missing there; and a line gets one error.

use crate::actions::Recovered;
use crate::token::Token;
use crate::tree::TextRange;
use crate::wording::{self, Context, TokenSet, Told};
use crate::{MAX_DEPTH, MAX_ERRORS};
use lalrpop_util::ParseError;
use logos::Logos;
use std::cell::{Cell, RefCell};
use tc_support::{Diagnostic, Diagnostics, Pos, Span};

/// What one error says.
#[derive(Clone, Debug)]
pub(crate) struct ErrorText {
    pub(crate) message: String,
    pub(crate) label: Option<(TextRange, &'static str)>,
    pub(crate) help: Option<String>,
}

impl ErrorText {
    /// A text without a help.
    pub(crate) fn new(message: impl Into<String>) -> ErrorText {
        ErrorText { message: message.into(), label: None, help: None }
    }

    /// With a help.
    pub(crate) fn help(self, help: impl Into<String>) -> ErrorText {
        ErrorText { help: Some(help.into()), ..self }
    }

    /// With a second place.
    pub(crate) fn label(self, range: TextRange, text: &'static str) -> ErrorText {
        ErrorText { label: Some((range, text)), ..self }
    }
}

/// An error, before it is known whether it is reported.
pub(crate) struct SyntaxError {
    pub(crate) range: TextRange,
    pub(crate) kind: ErrorKind,
}

/// What kind of error it is.
pub(crate) enum ErrorKind {
    /// It says so itself.
    Told(ErrorText),
    /// A token, or the end of the file, where other tokens are expected.
    Unexpected(Option<Token>, TokenSet),
}

/// What the token stream and the actions know of each other. Both run in turn, on one thread.
#[derive(Default)]
pub(crate) struct Shared {
    /// No further token is read.
    pub(crate) stop: Cell<bool>,
    /// No further error is noted.
    deaf: Cell<bool>,
    /// How deep the tokens are nested.
    pub(crate) depth: Cell<u32>,
    /// How deep they have been nested in this item, which bounds what the parser holds open.
    pub(crate) peak: Cell<u32>,
    /// How many lists of type arguments are open since the last open bracket.
    pub(crate) angles: Cell<u32>,
    /// How many tokens were read since an action last ran.
    pub(crate) idle: Cell<u32>,
    /// What skipping tokens has cost.
    cost: Cell<u64>,
    broken: Cell<bool>,
    errors: RefCell<Vec<SyntaxError>>,
}

impl Shared {
    /// More tokens than this between two actions are tokens that recovery skips: without it, brackets that open or
    /// close, each with a comma, make the longest run.
    const MAX_IDLE: u32 = 4 * MAX_DEPTH;
    /// Looking for a place to go on takes time with the square of the depth, for each skipped token.
    const MAX_COST: u64 = 1 << 30;
    /// More errors than this are not looked for; most of them are echoes.
    const MAX_FOUND: usize = 8 * MAX_ERRORS;

    /// Are so many levels within the limit?
    pub(crate) fn fits(&self, more: usize) -> bool {
        (self.depth.get() + self.angles.get()) as usize + more <= MAX_DEPTH as usize
    }

    /// Does the text end here for the parser? Asked once a token.
    pub(crate) fn is_stopped(&self) -> bool {
        let idle = self.idle.get() + 1;
        self.idle.set(idle);
        if idle > Shared::MAX_IDLE && self.is_too_costly(1) {
            self.stop.set(true);
        }
        self.stop.get()
    }

    /// Recovery has skipped so many tokens. Is that too much by now?
    fn is_too_costly(&self, n_tokens: usize) -> bool {
        let depth = u64::from(self.peak.get()) + 1;
        self.cost.set(self.cost.get() + depth * depth * n_tokens as u64);
        self.cost.get() > Shared::MAX_COST
    }

    /// Notes an error.
    pub(crate) fn report(&self, range: TextRange, error_text: ErrorText) {
        self.note(SyntaxError { range, kind: ErrorKind::Told(error_text) });
    }

    /// Notes that the text is nested too deeply, and ends the parse.
    pub(crate) fn too_deep(&self, range: TextRange) {
        self.report(range, ErrorText::new(format!("nested too deeply (the limit is {MAX_DEPTH})")));
        self.give_up();
    }

    /// Notes what the parser found.
    pub(crate) fn syntax_error(&self, recovered: Recovered) {
        self.parse_error(recovered.error);
        if self.is_too_costly(recovered.dropped_tokens.len()) {
            self.give_up();
        }
    }

    /// Notes what the parser found, or gave up on.
    pub(crate) fn parse_error(&self, error: ParseError<u32, Token, ()>) {
        let (range, found, expected) = match error {
            ParseError::UnrecognizedToken { token: (start, token, end), expected } => {
                (TextRange::new(start, end), Some(token), expected)
            }
            // The end at which a stopped parse arrives is not the file's.
            ParseError::UnrecognizedEof { .. } if self.stop.get() => return self.break_item(),
            ParseError::UnrecognizedEof { location, expected } => (TextRange::new(location, location), None, expected),
            // The grammar's start rule takes every token, no action fails, and the stream has no errors of its own.
            ParseError::ExtraToken { .. } | ParseError::InvalidToken { .. } | ParseError::User { .. } => return,
        };
        self.note(SyntaxError { range, kind: ErrorKind::Unexpected(found, TokenSet::named(&expected)) });
    }

    fn note(&self, error: SyntaxError) {
        self.broken.set(true);
        if self.deaf.get() {
            return;
        }
        let mut errors = self.errors.borrow_mut();
        errors.push(error);
        if errors.len() >= Shared::MAX_FOUND {
            self.give_up();
        }
    }

    /// Ends the parse. What it still finds comes from its sudden end.
    fn give_up(&self) {
        self.stop.set(true);
        self.deaf.set(true);
    }

    /// Notes that the item at hand has an error, which is told elsewhere.
    pub(crate) fn break_item(&self) {
        self.broken.set(true);
    }

    /// Was there an error since this was last asked?
    pub(crate) fn take_broken(&self) -> bool {
        self.broken.replace(false)
    }

    /// Was there any error?
    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.borrow().is_empty()
    }

    /// The errors.
    pub(crate) fn into_errors(self) -> Vec<SyntaxError> {
        self.errors.into_inner()
    }
}

/// The diagnostics for `errors`: in the order of the text, one a line, at most [`MAX_ERRORS`]. `missing` are the
/// brackets that were put in. There is always one at least: only a text that does not parse comes here.
pub(crate) fn diagnostics(
    mut errors: Vec<SyntaxError>,
    source: &str,
    base: Pos,
    missing: &[(u32, Token)],
) -> Diagnostics {
    errors.sort_by_key(|error| error.range.start);
    let mut told = tell(errors, source, base, missing);
    if told.is_empty() {
        // Each of them was taken for an echo. That must not pass for a text without errors.
        let end = source.len() as u32;
        told.push(diagnostic(TextRange::new(end, end), ErrorText::new("this text does not parse to its end"), base));
    }
    told.into_iter().collect()
}

/// Tells those of the sorted `errors` that are worth telling.
fn tell(errors: Vec<SyntaxError>, source: &str, base: Pos, missing: &[(u32, Token)]) -> Vec<Diagnostic> {
    let mut walk = Walk::new(source, missing);
    let mut told: Vec<(u32, Diagnostic)> = Vec::new();
    let mut was_astray = false;
    for error in errors {
        let context = walk.context(error.range.start);
        let range = error.range;
        // The attributes that this brace closes had an error, and were given up.
        let closes_attributes = matches!(error.kind, ErrorKind::Unexpected(Some(Token::DictClose), expected)
            if expected.ends_block());
        let Told { range, line, error_text, outside, astray } = match error.kind {
            ErrorKind::Told(error_text) => {
                Told { range, line: context.line, error_text, outside: false, astray: false }
            }
            ErrorKind::Unexpected(found, expected) => {
                // Brackets that were put in have no text. They stand at the end of the file, or where an item begins.
                let found = found.filter(|_| !range.is_empty());
                wording::unexpected(found, range, expected, &context, source)
            }
        };
        // Blaming the line before may bring two errors out of order by one line.
        let is_same_line = told.iter().rev().take(2).any(|(other, _)| *other == line);
        // Recovery took a brace for the end of the item.
        let is_inside = outside && (context.n_open > 0 || range.is_empty() && !told.is_empty());
        if is_same_line || is_inside || closes_attributes || (astray && was_astray) {
            continue;
        }
        was_astray |= astray;
        let diagnostic = diagnostic(range, error_text, base);
        if told.len() == MAX_ERRORS {
            let message = format!("too many errors: the first {MAX_ERRORS} are shown");
            told.push((line, Diagnostic::error("syntax", diagnostic.location, message)));
            break;
        }
        told.push((line, diagnostic));
    }
    told.into_iter().map(|(_, diagnostic)| diagnostic).collect()
}

fn diagnostic(range: TextRange, error_text: ErrorText, base: Pos) -> Diagnostic {
    let span =
        |range: TextRange| Span::new(Pos(base.0.saturating_add(range.start)), Pos(base.0.saturating_add(range.end)));
    let mut diagnostic = Diagnostic::error("syntax", span(range), error_text.message);
    if let Some((range, text)) = error_text.label {
        diagnostic = diagnostic.label(span(range), text);
    }
    if let Some(help) = error_text.help {
        diagnostic = diagnostic.help(help);
    }
    diagnostic
}

/// Reads the tokens once more, to tell what stands round each error.
struct Walk<'s> {
    source: &'s str,
    lexer: logos::Lexer<'s, Token>,
    next: Option<(Token, TextRange)>,
    missing: &'s [(u32, Token)],
    context: Context,
}

impl<'s> Walk<'s> {
    fn new(source: &'s str, missing: &'s [(u32, Token)]) -> Walk<'s> {
        let context = Context::default();
        let mut walk = Walk { source, lexer: Token::lexer(source), next: None, missing, context };
        walk.next = walk.read();
        walk
    }

    fn read(&mut self) -> Option<(Token, TextRange)> {
        loop {
            let result = self.lexer.next()?;
            let span = self.lexer.span();
            if let Ok(token) = result {
                return Some((token, TextRange::new(span.start as u32, span.end as u32)));
            }
        }
    }

    /// What stands round `at`; calls come with growing offsets.
    fn context(&mut self, at: u32) -> Context {
        while let Some((token, range)) = self.next
            && range.start < at
        {
            self.next = self.read();
            self.put_in(range.start);
            self.context.step(token, range, self.source);
        }
        self.put_in(at);
        let mut context = self.context;
        context.look(at, self.source);
        context
    }

    /// Puts in the brackets that are missing up to `at`.
    fn put_in(&mut self, at: u32) {
        while let Some((&(start, bracket), rest)) = self.missing.split_first()
            && start <= at
        {
            self.missing = rest;
            self.context.brace(bracket);
        }
    }
}
