//! Completion: from the rows (ops, directives and their keys), from the tables of words (scopes, launch coordinates, element
//! types), and from the names that can be seen: of the item, and in a schedule the stages of its operator with their axes.

use crate::analysis::lexemes_of;
use crate::capability::{Cx, Handler, Refusal};
use crate::documents::Snapshot;
use crate::index::{DefIdx, DefKind, Index};
use crate::rows;
use lsp_types::request::Completion;
use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionOptions, CompletionParams, CompletionResponse, Documentation,
    MarkupContent, MarkupKind, ServerCapabilities,
};
use std::collections::BTreeSet;
use tc::dialects::scope::Scope;
use tc::dialects::tir::Coordinate;
use tc::ir::opdef::{Context, ParamKind, SymbolTable};
use tc::ir::{Elem, OpDef, Opcode};
use tc::syntax::lexemes::{Lexeme, LexemeKind};

/// The words that begin statements or stand in them.
const WORDS_TE: &[&str] = &["compute", "let", "return", "where"];
const WORDS_TIR: &[&str] = &["for", "if", "else", "let", "alloc", "bind", "unroll", "vectorize", "serial", "carry"];
const WORDS_SCHED: &[&str] = &["if", "else"];

/// `textDocument/completion`.
pub(crate) struct Completions;

impl Handler for Completions {
    type Request = Completion;

    fn announce(capabilities: &mut ServerCapabilities) {
        let trigger_characters = Some(vec![".".to_string(), "@".to_string()]);
        capabilities.completion_provider =
            Some(CompletionOptions { trigger_characters, ..CompletionOptions::default() });
    }

    fn handle(cx: &Cx<'_>, params: CompletionParams) -> Result<Option<CompletionResponse>, Refusal> {
        let at = params.text_document_position;
        let snapshot = cx.document(&at.text_document.uri)?;
        let offset = snapshot.offset(at.position);
        let mut found = Found { cx, snapshot, offset, labels: BTreeSet::new(), items: Vec::new() };
        let before = Before::new(&snapshot.text, offset);
        if !before.is_free {
            found.complete(&before);
        }
        Ok(Some(CompletionResponse::Array(found.items)))
    }
}

/// What stands before the cursor.
struct Before<'t> {
    /// The word at the cursor up to its last dot: `B` of `B.i`.
    head: Option<&'t str>,
    /// A symbol is being written.
    is_symbol: bool,
    /// In a comment or a string, where nothing is completed.
    is_free: bool,
    /// The name of the innermost call that is open, and how many arguments are complete.
    call: Option<(&'t str, usize)>,
    /// A type or a scope is due: after `:`, after `in`.
    after: &'t str,
    /// The word that opens the item around, as far as it can be told without its tree.
    keyword: Option<&'t str>,
    /// Is the cursor in a block?
    in_block: bool,
}

impl<'t> Before<'t> {
    fn new(text: &'t str, offset: u32) -> Before<'t> {
        let lexemes = lexemes_of(text);
        let n = lexemes.iter().take_while(|lexeme| lexeme.range.start < offset).count();
        let lexemes = &lexemes[..n];
        let word_start = word_start(text, offset as usize);
        let word = &text[word_start..offset as usize];
        let is_free = lexemes.last().is_some_and(|last| match last.kind {
            LexemeKind::Comment => {
                offset <= last.range.end || !text[last.range.end as usize..offset as usize].contains('\n')
            }
            LexemeKind::Str => offset < last.range.end,
            _ => false,
        });
        let done = lexemes.iter().take_while(|lexeme| (lexeme.range.start as usize) < word_start).count();
        let done = &lexemes[..done];
        let after = done.last().map_or("", |lexeme| lexeme.range.of(text));
        let (keyword, in_block) = around(text, done);
        Before {
            head: word.rfind('.').map(|dot| &word[..dot]),
            is_symbol: word.starts_with('@'),
            is_free,
            call: open_call(text, done),
            after,
            keyword,
            in_block,
        }
    }
}

/// Where the word before the cursor begins.
fn word_start(text: &str, offset: usize) -> usize {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '@');
    let before = &text[..offset];
    before.rfind(|c: char| !is_part(c)).map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8))
}

/// The call whose parentheses are open at the end of `lexemes`, with the commas in it.
fn open_call<'t>(text: &'t str, lexemes: &[Lexeme]) -> Option<(&'t str, usize)> {
    let (mut depth, mut commas) = (0, 0);
    for (nth, lexeme) in lexemes.iter().enumerate().rev() {
        match (lexeme.kind, lexeme.range.of(text)) {
            (LexemeKind::Close, "}") | (LexemeKind::Open, "{") if depth == 0 => return None,
            (LexemeKind::Close, _) => depth += 1,
            (LexemeKind::Open, _) if depth > 0 => depth -= 1,
            (LexemeKind::Open, "(") => {
                let name = lexemes.get(nth.checked_sub(1)?)?;
                let is_name = matches!(name.kind, LexemeKind::Name | LexemeKind::Symbol);
                return is_name.then(|| (name.range.of(text), commas));
            }
            // A list is a part of an argument.
            (LexemeKind::Open, _) => commas = 0,
            (LexemeKind::Operator, ",") if depth == 0 => commas += 1,
            _ => {}
        }
    }
    None
}

/// The word that opens the item around the end of `lexemes`, and whether that is in its block.
fn around<'t>(text: &'t str, lexemes: &[Lexeme]) -> (Option<&'t str>, bool) {
    let is_head = |nth: usize| {
        let is_symbol = lexemes.get(nth + 1).is_some_and(|next| next.kind == LexemeKind::Symbol);
        let start = lexemes[nth].range.start as usize;
        lexemes[nth].kind == LexemeKind::Name && is_symbol && (start == 0 || text[..start].ends_with('\n'))
    };
    let Some(head) = (0..lexemes.len()).rev().find(|&nth| is_head(nth)) else { return (None, false) };
    let mut depth = 0_usize;
    for lexeme in &lexemes[head..] {
        match lexeme.range.of(text) {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    (Some(lexemes[head].range.of(text)), depth > 0)
}

struct Found<'f, 'c> {
    cx: &'f Cx<'c>,
    snapshot: &'f Snapshot,
    offset: u32,
    labels: BTreeSet<String>,
    items: Vec<CompletionItem>,
}

impl Found<'_, '_> {
    fn complete(&mut self, before: &Before<'_>) {
        let registry = &self.cx.compiler().registry;
        let context = before.keyword.and_then(|word| registry.item(word)).map(|(item, _)| item.context);
        if before.is_symbol {
            return self.symbols();
        }
        if let Some(head) = before.head {
            return self.after_dot(head);
        }
        if !before.in_block && before.call.is_none() && context.is_none_or(|_| !self.is_in_head()) {
            return self.item_keywords();
        }
        match before.after {
            ":" => return self.types(),
            "in" if context != Some(Context::Sched) => return self.words(Scope::ALL.map(Scope::name)),
            _ => {}
        }
        let context = context.unwrap_or(Context::Any);
        if let Some((name, nth)) = before.call
            && self.arguments(context, name, nth)
        {
            return;
        }
        self.names();
        if before.in_block {
            self.rows(context, before.call.is_some());
        }
    }

    /// Is the cursor in the head of an item that parses?
    fn is_in_head(&self) -> bool {
        let index = self.index();
        let item = index.item_at(self.offset).map(|item| &index.items[item]);
        item.is_some_and(|item| item.keyword.end < self.offset && self.offset < item.block.start)
    }

    fn index(&self) -> &Index {
        self.snapshot.index(self.cx.compiler())
    }

    fn push(&mut self, label: &str, kind: CompletionItemKind, detail: Option<String>, page: Option<String>) {
        if !self.labels.insert(label.to_string()) {
            return;
        }
        let documentation =
            page.map(|value| Documentation::MarkupContent(MarkupContent { kind: MarkupKind::Markdown, value }));
        self.items.push(CompletionItem {
            label: label.to_string(),
            kind: Some(kind),
            detail,
            documentation,
            ..CompletionItem::default()
        });
    }

    fn words<'w>(&mut self, words: impl IntoIterator<Item = &'w str>) {
        words.into_iter().for_each(|word| self.push(word, CompletionItemKind::ENUM_MEMBER, None, None));
    }

    fn item_keywords(&mut self) {
        let registry = self.cx.compiler().registry.clone();
        for keyword in registry.item_keywords() {
            let page = rows::of_item(self.cx.compiler(), keyword);
            self.push(keyword, CompletionItemKind::KEYWORD, None, page);
        }
    }

    fn types(&mut self) {
        for elem in Elem::ALL {
            self.push(elem.name(), CompletionItemKind::TYPE_PARAMETER, None, None);
        }
        let sched = self.cx.compiler().registry.clone();
        sched.type_names().for_each(|name| self.push(name, CompletionItemKind::TYPE_PARAMETER, None, None));
    }

    /// Items of the text, and those of the libraries.
    fn symbols(&mut self) {
        let text = &self.snapshot.text;
        let index = self.index();
        let own: Vec<(String, String)> = index
            .items
            .iter()
            .filter(|item| item.table != Some(SymbolTable::Schedules))
            .map(|item| (format!("@{}", index.defs[item.def].name.of(text)), item.keyword.of(text).to_string()))
            .collect();
        for (name, keyword) in own {
            self.symbol(&name, keyword);
        }
        for (keyword, name) in rows::library_names() {
            self.symbol(&format!("@{name}"), format!("{keyword} of the library"));
        }
    }

    /// The `@` is there already, and to a client it may or may not be a part of the word: so the whole symbol is replaced.
    fn symbol(&mut self, name: &str, detail: String) {
        let before = self.items.len();
        self.push(name, CompletionItemKind::FUNCTION, Some(detail), None);
        let start = word_start(&self.snapshot.text, self.offset as usize) as u32;
        let range = self.snapshot.range(tc::syntax::tree::TextRange::new(start, self.offset));
        if let Some(item) = self.items.get_mut(before) {
            let edit = lsp_types::TextEdit { range, new_text: name.to_string() };
            item.text_edit = Some(lsp_types::CompletionTextEdit::Edit(edit));
            item.filter_text = Some(name.to_string());
        }
    }

    /// The axes of a stage, the coordinates of a level, the ops of a dialect.
    fn after_dot(&mut self, head: &str) {
        let text = &self.snapshot.text;
        let index = self.index();
        let stage = self.stages().into_iter().find(|&stage| index.defs[stage].name.of(text) == head);
        if let Some(stage) = stage {
            let axes: Vec<(String, Option<String>)> = index
                .axes_of(stage)
                .map(|axis| &index.defs[axis])
                .map(|axis| (axis.name.of(text).to_string(), axis.extent.map(|extent| extent.of(text).to_string())))
                .collect();
            return axes
                .into_iter()
                .for_each(|(name, extent)| self.push(&name, CompletionItemKind::FIELD, extent, None));
        }
        let prefix = format!("{head}.");
        for coordinate in Coordinate::ALL {
            if let Some(rest) = coordinate.name().strip_prefix(&prefix) {
                self.push(rest, CompletionItemKind::ENUM_MEMBER, None, None);
            }
        }
        let registry = self.cx.compiler().registry.clone();
        for name in registry.names() {
            if let (Some(rest), Some(opcode)) = (name.strip_prefix(&prefix), registry.by_name(name)) {
                self.row(rest, opcode, registry.row(opcode));
            }
        }
    }

    /// The names that can be seen: stages and names of the item.
    fn names(&mut self) {
        let text = &self.snapshot.text;
        let index = self.index();
        let seen: Vec<DefIdx> = index.visible(self.offset).chain(self.stages()).collect();
        let shown: Vec<(String, CompletionItemKind, Option<String>)> = seen
            .into_iter()
            .map(|def| &index.defs[def])
            .filter(|def| !def.name.is_empty())
            .map(|def| {
                let detail = def.ty.or(def.extent).map(|detail| detail.of(text).to_string());
                (def.name.of(text).to_string(), kind_of(def.kind), detail)
            })
            .collect();
        shown.into_iter().for_each(|(name, kind, detail)| self.push(&name, kind, detail, None));
    }

    /// The stages of the operators of the schedule around the cursor, and those that its directives made before it.
    fn stages(&self) -> Vec<DefIdx> {
        let index = self.index();
        let Some(here) = index.item_at(self.offset) else { return Vec::new() };
        let made = index.visible(self.offset).filter(|&def| index.defs[def].kind == DefKind::Stage);
        made.chain(index.stages_of(here)).collect()
    }

    /// The keys of the row called `name`, and the words that may stand at argument `nth`. Is nothing else possible?
    fn arguments(&mut self, context: Context, name: &str, nth: usize) -> bool {
        let registry = self.cx.compiler().registry.clone();
        let opcode = registry.by_name(name).or_else(|| registry.by_short(context, name));
        let Some(row) = opcode.or_else(|| registry.by_short(Context::Any, name)).map(|opcode| registry.row(opcode))
        else {
            return false;
        };
        let positional = row.params.iter().filter(|param| !param.keyed).nth(nth);
        if let Some(param) = positional.filter(|param| param.kind == ParamKind::Word) {
            match param.name {
                "thread" => self.words(Coordinate::ALL.map(Coordinate::name).into_iter().chain(["vthread"])),
                "scope" => self.words(Scope::ALL.map(Scope::name)),
                _ => {}
            }
            return true;
        }
        for param in row.params.iter().filter(|param| param.keyed) {
            let label = format!("{} = ", param.name);
            self.push(&label, CompletionItemKind::PROPERTY, Some(rows::signature(row)), None);
        }
        false
    }

    /// Ops and directives by their short names, and the words of statements.
    fn rows(&mut self, context: Context, in_call: bool) {
        let registry = self.cx.compiler().registry.clone();
        for name in registry.short_names(context) {
            let opcode = registry.by_short(context, name).or_else(|| registry.by_short(Context::Any, name));
            let Some(opcode) = opcode else { continue };
            let row = registry.row(opcode);
            // A directive is a statement, and no argument of one.
            if !(in_call && context == Context::Sched && row.effect.unknown) {
                self.row(name, opcode, row);
            }
        }
        let words = match context {
            Context::Te => WORDS_TE,
            Context::Tir => WORDS_TIR,
            Context::Sched => WORDS_SCHED,
            Context::Any => &[],
        };
        for word in words.iter().filter(|_| !in_call) {
            self.push(word, CompletionItemKind::KEYWORD, None, None);
        }
    }

    fn row(&mut self, label: &str, opcode: Opcode, row: &OpDef) {
        let page = rows::page(self.cx.compiler(), opcode);
        self.push(label, CompletionItemKind::FUNCTION, Some(rows::signature(row)), Some(page));
    }
}

fn kind_of(kind: DefKind) -> CompletionItemKind {
    match kind {
        DefKind::Item => CompletionItemKind::FUNCTION,
        DefKind::Size | DefKind::Param => CompletionItemKind::CONSTANT,
        DefKind::Tensor | DefKind::Buffer | DefKind::Stage => CompletionItemKind::FIELD,
        DefKind::Axis | DefKind::Loop | DefKind::SplitAxis | DefKind::Value => CompletionItemKind::VARIABLE,
    }
}
