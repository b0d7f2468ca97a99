//! From TVMScript to programs.
//!
//! Ruff's parser reads the Python text, and nothing of it runs: `T` is a vocabulary, not a module. A function becomes a
//! `tir.func` statement by statement. Integers of 32 and 64 bits that number elements (variables of loops, what is
//! computed of them, sizes) become `index`; those of data keep their types, and the two mix as in C. An error is reported
//! at its place in the Python text, and what depends on it is left out without a further word.

mod annotations;
mod assign;
mod block;
mod buffer;
mod call;
mod expr;
mod gpu;
mod header;
mod loops;
mod number;
mod scan;
mod state;

use ruff_python_ast::token::TokenKind;
use ruff_python_ast::{Stmt, StmtFunctionDef, StmtImportFrom};
use ruff_python_parser::{Mode, lexer, parse_module};
use ruff_text_size::{Ranged, TextRange, TextSize};
use state::{Reader, Vocabulary, span};
use std::sync::Arc;
use tc_ir::{Module, Registry};
use tc_support::{Diagnostic, Diagnostics, FileId, Pos};

/// The most tokens of one statement, which bounds how deep its syntax tree is.
const MAX_TOKENS: usize = 10_000;
/// How deep blocks and expressions may go.
const MAX_DEPTH: u32 = 256;

/// Reads a TVMScript text into a module of its own. `name` is what messages call it.
pub fn import_module(name: &str, text: &str, registry: &Arc<Registry>) -> (Module, Diagnostics) {
    let mut module = Module::new(registry.clone());
    match module.sources.add(name, text) {
        Ok(file) => {
            let found = import_file(&mut module, file);
            (module, found)
        }
        Err(_) => {
            let text = format!("`{name}` is too large: all files together may have 2 GiB");
            (module, Diagnostic::error("too-large", tc_support::Location::None, text).into())
        }
    }
}

/// Reads a file of `module.sources`, TVMScript, and adds its functions to the module. Functions with errors are left out;
/// all errors are reported, in the order of the text.
pub fn import_file(module: &mut Module, file: FileId) -> Diagnostics {
    let file = module.sources.file(file).clone();
    let (text, base) = (file.text.as_str(), file.start());
    if let Some(found) = too_deep(text, base) {
        return found.into();
    }
    let parsed = match parse_module(text) {
        Ok(parsed) => parsed,
        Err(error) => {
            let text = format!("this is no Python: {}", lower_first(&error.error.to_string()));
            return Diagnostic::error("syntax", span(base, error.location), text).into();
        }
    };
    let mut items = Items { module, text, base, words: Vocabulary::default(), found: Diagnostics::new(), any: false };
    items.body(&parsed.syntax().body);
    if !items.any && !items.found.has_errors() {
        let text = "there is no function here: a `@T.prim_func` becomes a program";
        items.found.push(Diagnostic::error("no-program", span(base, TextRange::empty(0.into())), text));
    }
    items.found
}

/// A statement that is too long, or nested too deep, to walk its tree.
fn too_deep(source: &str, base: Pos) -> Option<Diagnostic> {
    let mut lexer = lexer::lex(source, Mode::Module);
    let (mut n_tokens, mut depth, mut n_lines) = (0, 0u32, 0);
    loop {
        let kind = lexer.next_token();
        n_tokens += 1;
        match kind {
            TokenKind::EndOfFile => return None,
            TokenKind::Newline => (n_tokens, n_lines) = (0, n_lines + 1),
            TokenKind::NonLogicalNewline => n_lines += 1,
            TokenKind::Indent => depth += 1,
            TokenKind::Dedent => depth = depth.saturating_sub(1),
            _ => {}
        }
        if n_tokens > MAX_TOKENS || depth > MAX_DEPTH {
            let text = if depth > MAX_DEPTH {
                format!("blocks may be nested {MAX_DEPTH} deep")
            } else {
                format!("a statement may have {MAX_TOKENS} words and signs")
            };
            let line: usize = source.split_inclusive('\n').take(n_lines).map(str::len).sum();
            let start = TextSize::try_from(line.min(source.len())).unwrap_or_default();
            return Some(Diagnostic::error("too-deep", span(base, TextRange::empty(start)), text));
        }
    }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_lowercase().chain(chars).collect())
}

/// The functions of a file.
struct Items<'m, 'a> {
    module: &'m mut Module,
    text: &'a str,
    base: Pos,
    words: Vocabulary,
    found: Diagnostics,
    /// Was there a function?
    any: bool,
}

impl Items<'_, '_> {
    fn body(&mut self, body: &[Stmt]) {
        for stmt in body {
            match stmt {
                Stmt::ImportFrom(import) => self.import_from(import),
                Stmt::Import(_) | Stmt::Pass(_) => {}
                Stmt::ClassDef(class) => self.body(&class.body),
                Stmt::FunctionDef(function) => self.function(function),
                Stmt::Expr(expr) if expr.value.is_string_literal_expr() || expr.value.is_ellipsis_literal_expr() => {}
                other => {
                    let text = "outside of functions there are imports and classes only";
                    self.found.push(Diagnostic::error("no-counterpart", span(self.base, other.range()), text));
                }
            }
        }
    }

    /// `from tvm.script import tirx as T`
    fn import_from(&mut self, import: &StmtImportFrom) {
        for alias in &import.names {
            if let ("tir" | "tirx", Some(name)) = (alias.name.as_str(), &alias.asname) {
                self.words.tir = name.as_str().to_string();
            }
        }
    }

    fn function(&mut self, function: &StmtFunctionDef) {
        self.any = true;
        let reader = Reader::new(self.module.registry.clone(), self.text, self.base, &self.words, function);
        let (func, found) = reader.read(function);
        self.found.append(found);
        self.module.items.extend(func);
    }
}
