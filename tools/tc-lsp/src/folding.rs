//! Folding: blocks of several lines, and comments of several lines.

use crate::analysis::lexemes_of;
use crate::capability::{Cx, Handler, Refusal};
use crate::documents::Snapshot;
use lsp_types::request::FoldingRangeRequest;
use lsp_types::{
    FoldingRange, FoldingRangeKind, FoldingRangeParams, FoldingRangeProviderCapability, ServerCapabilities,
};
use tc::syntax::lexemes::LexemeKind;

/// `textDocument/foldingRange`.
pub(crate) struct Folding;

impl Handler for Folding {
    type Request = FoldingRangeRequest;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.folding_range_provider = Some(FoldingRangeProviderCapability::Simple(true));
    }

    fn handle(cx: &Cx<'_>, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>, Refusal> {
        let snapshot = cx.document(&params.text_document.uri)?;
        let index = snapshot.index(cx.compiler());
        let line = |offset: u32| snapshot.lines.line(offset);
        // The line of the closing brace stays.
        let blocks = index.folds.iter().map(|fold| (line(fold.range.start), line(fold.range.end).saturating_sub(1)));
        let blocks = blocks.filter(|(first, last)| last > first).map(|lines| fold(lines, None));
        let comments = comments(snapshot).into_iter().map(|lines| fold(lines, Some(FoldingRangeKind::Comment)));
        let mut all: Vec<FoldingRange> = blocks.chain(comments).collect();
        all.sort_by_key(|fold| (fold.start_line, fold.end_line));
        all.dedup_by_key(|fold| (fold.start_line, fold.end_line));
        Ok(Some(all))
    }
}

fn fold((start_line, end_line): (u32, u32), kind: Option<FoldingRangeKind>) -> FoldingRange {
    FoldingRange { start_line, end_line, kind, ..FoldingRange::default() }
}

/// The first and last lines of comments that have lines of their own, one after another.
fn comments(snapshot: &Snapshot) -> Vec<(u32, u32)> {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    let mut code_line = None;
    for lexeme in lexemes_of(&snapshot.text) {
        let line = snapshot.lines.line(lexeme.range.start);
        if lexeme.kind != LexemeKind::Comment {
            code_line = Some(line);
            continue;
        }
        if code_line == Some(line) {
            continue;
        }
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == line => *last = line,
            _ => runs.push((line, line)),
        }
    }
    runs.retain(|(first, last)| last > first);
    runs
}
