//! Rename: a name and all its uses, where the new name is free.

use crate::capability::{Cx, Handler, Refusal};
use crate::documents::Snapshot;
use crate::index::{DefIdx, DefKind, Index, What};
use lsp_types::request::{PrepareRenameRequest, Rename};
use lsp_types::{
    OneOf, PrepareRenameResponse, RenameOptions, RenameParams, ServerCapabilities, TextDocumentPositionParams,
    TextEdit, WorkDoneProgressOptions, WorkspaceEdit,
};
use tc::syntax::lexemes::is_name;

/// `textDocument/prepareRename`.
pub(crate) struct Prepare;

impl Handler for Prepare {
    type Request = PrepareRenameRequest;

    fn handle(cx: &Cx<'_>, at: TextDocumentPositionParams) -> Result<Option<PrepareRenameResponse>, Refusal> {
        let snapshot = cx.document(&at.text_document.uri)?;
        let index = snapshot.index(cx.compiler());
        let found = index.def_at(snapshot.offset(at.position));
        Ok(found.map(|(_, range)| {
            let placeholder = range.of(&snapshot.text).to_string();
            PrepareRenameResponse::RangeWithPlaceholder { range: snapshot.range(range), placeholder }
        }))
    }
}

/// `textDocument/rename`.
pub(crate) struct Renames;

impl Handler for Renames {
    type Request = Rename;

    fn announce(capabilities: &mut ServerCapabilities) {
        let work_done_progress_options = WorkDoneProgressOptions::default();
        capabilities.rename_provider =
            Some(OneOf::Right(RenameOptions { prepare_provider: Some(true), work_done_progress_options }));
    }

    fn handle(cx: &Cx<'_>, params: RenameParams) -> Result<Option<WorkspaceEdit>, Refusal> {
        let at = &params.text_document_position;
        let snapshot = cx.document(&at.text_document.uri)?;
        let index = snapshot.index(cx.compiler());
        let found = index.def_at(snapshot.offset(at.position));
        let (def, _) = found.ok_or_else(|| Refusal::failed("there is no name here that this file defines"))?;
        let new = params.new_name.trim();
        let new = if index.defs[def].kind == DefKind::Item { new.strip_prefix('@').unwrap_or(new) } else { new };
        check(snapshot, index, def, new)?;
        let edit = |range| TextEdit { range: snapshot.range(range), new_text: new.to_string() };
        let edits = index.places(def).map(|mention| edit(mention.range)).collect();
        Ok(Some(snapshot.edit(edits)))
    }
}

/// Refuses a name that is none, or that means something else already.
fn check(snapshot: &Snapshot, index: &Index, def: DefIdx, new: &str) -> Result<(), Refusal> {
    if !is_name(new) {
        return Err(Refusal::failed(format!("`{new}` is no name: letters, digits and `_`, and no reserved word")));
    }
    let text = &snapshot.text;
    let is_new = |other: DefIdx| other != def && index.defs[other].name.of(text) == new;
    let taken = || Err(Refusal::failed(format!("the name `{new}` is taken")));
    let own = &index.defs[def];
    if own.kind == DefKind::Item {
        let item = &index.items[own.item];
        let same_table = index.items.iter().filter(|other| other.table == item.table);
        // Schedules of different operators may have one name.
        let meets = |targets: &[usize]| targets.is_empty() || targets.iter().any(|one| item.targets.contains(one));
        return if same_table.filter(|other| meets(&other.targets)).any(|other| is_new(other.def)) {
            taken()
        } else {
            Ok(())
        };
    }
    // In the item that defines it, and in those that use it: schedules name what operators define.
    let users = index.places(def).filter(|mention| matches!(mention.what, What::Use(_)));
    let mut items: Vec<usize> = users.filter_map(|mention| index.item_at(mention.range.start)).collect();
    items.push(own.item);
    items.sort_unstable();
    items.dedup();
    for item in items {
        let mut others = index.items[item].defs.clone().filter(|&other| index.defs[other].kind != DefKind::Item);
        let overlap = |other: DefIdx| {
            let (a, b) = (index.defs[other].scope, own.scope);
            item != own.item || (a.start <= b.end && b.start <= a.end)
        };
        if others.any(|other| is_new(other) && overlap(other)) {
            return taken();
        }
    }
    Ok(())
}
