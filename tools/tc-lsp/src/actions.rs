//! Code actions: the changes that the compiler tried against an error and found to help. For an editor without code lenses
//! also what those start.

use crate::capability::{Cx, Handler, Lane, Refusal};
use crate::diagnostics::{Found, all};
use crate::documents::Snapshot;
use crate::facts::Unit;
use crate::lens;
use lsp_types::request::CodeActionRequest;
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOptions, CodeActionOrCommand, CodeActionParams, CodeActionProviderCapability,
    Range, ServerCapabilities, TextEdit, WorkspaceEdit,
};
use tc::fixes::{TextChange, text_changes};
use tc::support::{Fix, Pos};
use tc::syntax::tree::TextRange;

/// `textDocument/codeAction`.
pub(crate) struct Actions;

impl Handler for Actions {
    type Request = CodeActionRequest;
    const LANE: Lane = Lane::Facts;

    fn announce(capabilities: &mut ServerCapabilities) {
        let kinds = Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::EMPTY]);
        let options = CodeActionOptions { code_action_kinds: kinds, ..CodeActionOptions::default() };
        capabilities.code_action_provider = Some(CodeActionProviderCapability::Options(options));
    }

    fn handle(cx: &Cx<'_>, params: CodeActionParams) -> Result<Option<Vec<CodeActionOrCommand>>, Refusal> {
        let only = params.context.only;
        let wants = |kind: CodeActionKind| {
            only.as_ref().is_none_or(|only| only.iter().any(|asked| kind.as_str().starts_with(asked.as_str())))
        };
        let snapshot = cx.document(&params.text_document.uri)?;
        let mut actions = Vec::new();
        if wants(CodeActionKind::QUICKFIX) {
            let found = all(snapshot, cx.world).ok_or_else(Refusal::outdated)?;
            let asked = params.range;
            let meets = |range: Range| range.start <= asked.end && asked.start <= range.end;
            let here = found.iter().filter(|one| meets(one.shown.range));
            actions.extend(here.flat_map(|one| of_diagnostic(cx, snapshot, one)));
        }
        if !cx.outbox.client.shows_lenses && wants(CodeActionKind::EMPTY) {
            actions.extend(of_lenses(cx, snapshot, params.range));
        }
        Ok(Some(actions))
    }
}

/// What the lenses of the lines of `asked` start.
fn of_lenses(cx: &Cx<'_>, snapshot: &Snapshot, asked: Range) -> impl Iterator<Item = CodeActionOrCommand> {
    let lines = asked.start.line..=asked.end.line;
    let lenses = lens::of_file(snapshot, snapshot.index(cx.compiler())).into_iter();
    let here = lenses.filter(move |lens| lines.contains(&lens.range.start.line));
    here.filter_map(|lens| lens.command).map(|command| {
        CodeActionOrCommand::CodeAction(CodeAction {
            title: command.title.clone(),
            kind: Some(CodeActionKind::EMPTY),
            command: Some(command),
            ..CodeAction::default()
        })
    })
}

fn of_diagnostic(cx: &Cx<'_>, snapshot: &Snapshot, found: &Found) -> Vec<CodeActionOrCommand> {
    let fixes = &found.origin.fixes;
    let is_only = fixes.len() == 1;
    let action = |fix: &Fix| {
        Some(CodeActionOrCommand::CodeAction(CodeAction {
            title: fix.title.clone(),
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![found.shown.clone()]),
            edit: Some(edit(cx, snapshot, found, fix)?),
            is_preferred: Some(is_only),
            ..CodeAction::default()
        }))
    };
    fixes.iter().filter_map(action).collect()
}

/// The edit of the file; nothing where the fix is not of its text.
fn edit(cx: &Cx<'_>, snapshot: &Snapshot, found: &Found, fix: &Fix) -> Option<WorkspaceEdit> {
    let changes = match found.unit {
        None => text_changes(fix, &snapshot.analysis(cx.compiler()).module.sources)?,
        Some(unit) => {
            let unit = snapshot.facts(cx.compiler()).units.get(unit)?;
            let mut sources = tc::support::Sources::new();
            sources.add(snapshot.name(), unit.text.as_str()).ok()?;
            text_changes(fix, &sources)?
        }
    };
    let unit = found.unit.and_then(|unit| snapshot.facts(cx.compiler()).units.get(unit));
    let edits: Option<Vec<TextEdit>> = changes.into_iter().map(|change| in_file(cx, snapshot, unit, change)).collect();
    Some(snapshot.edit(edits?))
}

fn in_file(cx: &Cx<'_>, snapshot: &Snapshot, unit: Option<&Unit>, change: TextChange) -> Option<TextEdit> {
    let to_file = |pos: Pos| match unit {
        Some(unit) => unit.pos_to_file(pos),
        None => snapshot.analysis(cx.compiler()).offset(pos),
    };
    let range = TextRange::new(to_file(change.span.start)?, to_file(change.span.end)?);
    Some(TextEdit { range: snapshot.range(range), new_text: change.text })
}
