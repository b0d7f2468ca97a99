//! Document symbols: the items, and in each what it makes.

use crate::capability::{Cx, Handler, Refusal};
use crate::documents::Snapshot;
use crate::index::{DefKind, Definition, Index, IndexItem};
use lsp_types::request::DocumentSymbolRequest;
use lsp_types::{DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, OneOf, ServerCapabilities, SymbolKind};
use tc::ir::opdef::SymbolTable;
use tc::syntax::tree::TextRange;

/// `textDocument/documentSymbol`.
pub(crate) struct DocumentSymbols;

impl Handler for DocumentSymbols {
    type Request = DocumentSymbolRequest;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.document_symbol_provider = Some(OneOf::Left(true));
    }

    fn handle(cx: &Cx<'_>, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>, Refusal> {
        let snapshot = cx.document(&params.text_document.uri)?;
        let index = snapshot.index(cx.compiler());
        let all = index.items.iter().map(|item| of_item(snapshot, index, item)).collect();
        Ok(Some(DocumentSymbolResponse::Nested(all)))
    }
}

fn of_item(snapshot: &Snapshot, index: &Index, item: &IndexItem) -> DocumentSymbol {
    let keyword = item.keyword.of(&snapshot.text);
    let name_of = |item: usize| format!("@{}", index.defs[index.items[item].def].name.of(&snapshot.text));
    let targets: Vec<String> = item.targets.iter().map(|&target| name_of(target)).collect();
    let detail = if targets.is_empty() { keyword.to_string() } else { format!("{keyword} for {}", targets.join(", ")) };
    let kind = match item.table {
        Some(SymbolTable::Schedules) => SymbolKind::EVENT,
        Some(SymbolTable::Intrinsics) => SymbolKind::INTERFACE,
        Some(SymbolTable::ScheduleFunctions) => SymbolKind::METHOD,
        Some(SymbolTable::Functions) | None => SymbolKind::FUNCTION,
    };
    let definitions = item.defs.clone().map(|def| &index.defs[def]);
    let children =
        definitions.filter_map(|def| Some(symbol(snapshot, def, of_definition(def.kind)?, None, Vec::new())));
    let children = children.collect();
    let whole = Definition { whole: item.range, ..index.defs[item.def].clone() };
    symbol(snapshot, &whole, kind, Some(detail), children)
}

/// The kind of what is worth a line.
fn of_definition(kind: DefKind) -> Option<SymbolKind> {
    match kind {
        DefKind::Param | DefKind::Size => Some(SymbolKind::CONSTANT),
        DefKind::Tensor | DefKind::Buffer => Some(SymbolKind::ARRAY),
        DefKind::Stage => Some(SymbolKind::FIELD),
        DefKind::Item | DefKind::Axis | DefKind::Loop | DefKind::Value | DefKind::SplitAxis => None,
    }
}

fn symbol(
    snapshot: &Snapshot,
    def: &Definition,
    kind: SymbolKind,
    detail: Option<String>,
    children: Vec<DocumentSymbol>,
) -> DocumentSymbol {
    let name = def.name.of(&snapshot.text);
    // The protocol wants the name inside of the whole, and not empty.
    let whole = TextRange::new(def.whole.start.min(def.name.start), def.whole.end.max(def.name.end));
    #[expect(deprecated, reason = "the field `deprecated` must be given and is deprecated itself")]
    DocumentSymbol {
        name: if name.is_empty() { "?".to_string() } else { name.to_string() },
        detail,
        kind,
        tags: None,
        deprecated: None,
        range: snapshot.range(whole),
        selection_range: snapshot.range(def.name),
        children: (!children.is_empty()).then_some(children),
    }
}
