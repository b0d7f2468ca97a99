//! Hover: what a name stands for, its type and extent, why a stage computes what it does, where a loop comes from; what a row
//! does and takes.

use crate::capability::{Cx, Handler, Lane, Refusal};
use crate::documents::Snapshot;
use crate::facts::facts_of;
use crate::index::{DefIdx, DefKind, Mention, What};
use crate::rows;
use crate::stages::{self, Line};
use lsp_types::request::HoverRequest;
use lsp_types::{
    Hover, HoverContents, HoverParams, HoverProviderCapability, MarkupContent, MarkupKind, ServerCapabilities,
};
use tc::support::Location;

/// A definition is shown with so many of its lines.
const MAX_LINES: usize = 6;

/// `textDocument/hover`.
pub(crate) struct Hovers;

impl Handler for Hovers {
    type Request = HoverRequest;
    const LANE: Lane = Lane::Facts;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.hover_provider = Some(HoverProviderCapability::Simple(true));
    }

    fn handle(cx: &Cx<'_>, params: HoverParams) -> Result<Option<Hover>, Refusal> {
        let at = params.text_document_position_params;
        let snapshot = cx.document(&at.text_document.uri)?;
        let index = &snapshot.analysis(cx.compiler()).index;
        let Some(mention) = index.at_word(&snapshot.text, snapshot.offset(at.position)) else { return Ok(None) };
        let text = match mention.what {
            What::Definition(def) | What::Use(def) => Some(of_definition(cx, snapshot, def, mention)),
            What::Row(row) => Some(rows::page(cx.compiler(), row)),
            What::Elsewhere => rows::of_library(mention.range.of(&snapshot.text)),
            What::ItemKeyword => rows::of_item(cx.compiler(), mention.range.of(&snapshot.text)),
            What::Key | What::Word | What::Type => None,
        };
        Ok(text.map(|value| Hover {
            contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
            range: Some(snapshot.range(mention.range)),
        }))
    }
}

fn of_definition(cx: &Cx<'_>, snapshot: &Snapshot, def: DefIdx, mention: Mention) -> String {
    let analysis = snapshot.analysis(cx.compiler());
    let definition = &analysis.index.defs[def];
    let mut facts = vec![shown(snapshot, def, cx)];
    if let Some((func, value)) = analysis.value(def, &snapshot.text) {
        facts.extend(stages::type_line(func, value));
    }
    if let Some(extent) = definition.extent {
        facts.push(format!("extent: `{}`", extent.of(&snapshot.text)));
    }
    facts.extend(of_schedules(cx, snapshot, def, mention));
    facts.join("\n\n")
}

/// The lines of the definition, as code.
fn shown(snapshot: &Snapshot, def: DefIdx, cx: &Cx<'_>) -> String {
    let index = &snapshot.analysis(cx.compiler()).index;
    let definition = &index.defs[def];
    let whole = match definition.kind {
        // The head of an item, without its block.
        DefKind::Item => {
            let item = &index.items[definition.item];
            tc::syntax::tree::TextRange::new(item.range.start, item.block.start)
        }
        _ => definition.whole,
    };
    let text = whole.of(&snapshot.text).trim_end();
    let text = match definition.kind {
        DefKind::Loop => text.split('{').next().unwrap_or(text).trim_end(),
        _ => text,
    };
    let lines: Vec<&str> = text.lines().take(MAX_LINES).collect();
    let more = if text.lines().count() > MAX_LINES { "\n…" } else { "" };
    format!("```tir\n{}{more}\n```", lines.join("\n"))
}

/// What the schedules say of a stage or a loop: the one around the mention, else none.
fn of_schedules(cx: &Cx<'_>, snapshot: &Snapshot, def: DefIdx, mention: Mention) -> Vec<String> {
    let analysis = snapshot.analysis(cx.compiler());
    let index = &analysis.index;
    let definition = &index.defs[def];
    let Some(here) = index.item_at(mention.range.start) else { return Vec::new() };
    let name = definition.name.of(&snapshot.text);
    let mut told = Vec::new();
    for unit in snapshot.facts(cx.compiler()).of_schedule(here) {
        let Some(facts) = facts_of(snapshot, cx.compiler(), unit) else { return told };
        let line: Line<'_> = &|location| match location {
            Location::Span(span) => Some(snapshot.lines.line(unit.pos_to_file(span.start)?) + 1),
            _ => None,
        };
        let is_it = |location: &Location| match location {
            Location::Span(span) => unit
                .pos_to_file(span.start)
                .is_some_and(|at| definition.whole.start <= at && at <= definition.whole.end),
            _ => false,
        };
        match definition.kind {
            DefKind::SplitAxis => told.extend(stages::of_loop(&facts.stages, name, &is_it, line)),
            DefKind::Axis => told.extend(stages::of_axis(&facts.stages, name, stage_name(snapshot, cx, def))),
            DefKind::Tensor | DefKind::Stage | DefKind::Param => {
                told.extend(stages::of_stage(&facts.stages, name, line));
            }
            _ => {}
        }
    }
    told
}

/// The name of the stage that an axis belongs to.
fn stage_name<'s>(snapshot: &'s Snapshot, cx: &Cx<'_>, axis: DefIdx) -> &'s str {
    let index = &snapshot.analysis(cx.compiler()).index;
    index.defs[axis].of.map_or("", |stage| index.defs[stage].name.of(&snapshot.text))
}
