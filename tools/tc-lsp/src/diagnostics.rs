//! Diagnostics: those of the text, and those of each schedule.

use crate::analysis::Analysis;
use crate::documents::{Snapshot, World};
use crate::facts::{Unit, facts_of};
use crate::index::Index;
use crate::server::{Event, Outbox};
use lsp_types::{DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, Range};
use std::sync::Arc;
use tc::support::{Diagnostic, Fault, Location as Place, Pos, Severity};
use tc::syntax::tree::TextRange;

/// More diagnostics of a text are not shown.
const MAX_SHOWN: usize = 1000;

/// A diagnostic of the compiler, with where it is in the text.
pub(crate) struct Found {
    pub(crate) shown: lsp_types::Diagnostic,
    pub(crate) origin: Diagnostic,
    /// The number of the unit that it is of; none for those of the text.
    pub(crate) unit: Option<usize>,
}

/// From positions of the compiler to bytes of the text.
type ToText<'t> = &'t dyn Fn(Pos) -> Option<u32>;

/// Sends the diagnostics of a version: first what the text says, with what is known of its schedules already, then all.
pub(crate) fn publish(snapshot: &Arc<Snapshot>, world: &World, outbox: &Outbox) {
    if snapshot.cancel.is_cancelled() {
        return;
    }
    let send = |found: Vec<Found>| {
        let shown = found.into_iter().map(|found| found.shown).collect();
        outbox.send(Event::Publish(snapshot.clone(), shown));
    };
    let (first, complete) = known(snapshot, world);
    send(first);
    if !complete && let Some(found) = all(snapshot, world) {
        send(found);
    }
}

/// The diagnostics of the text, with those of schedules that are known, and whether these are all.
fn known(snapshot: &Snapshot, world: &World) -> (Vec<Found>, bool) {
    let analysis = snapshot.analysis(&world.compiler);
    let mut found = of_text(snapshot, analysis);
    let mut complete = true;
    for (nth, unit) in snapshot.facts(&world.compiler).units.iter().enumerate() {
        match snapshot.cache.get(&world.compiler, &unit.text) {
            Some(facts) => of_unit(snapshot, analysis, (nth, unit), facts.diagnostics(), &mut found),
            None => complete = false,
        }
    }
    (settled(found), complete)
}

/// All diagnostics; nothing where a newer version came first.
pub(crate) fn all(snapshot: &Snapshot, world: &World) -> Option<Vec<Found>> {
    let analysis = snapshot.analysis(&world.compiler);
    let mut found = of_text(snapshot, analysis);
    for (nth, unit) in snapshot.facts(&world.compiler).units.iter().enumerate() {
        let facts = facts_of(snapshot, &world.compiler, unit)?;
        of_unit(snapshot, analysis, (nth, unit), facts.diagnostics(), &mut found);
    }
    Some(settled(found))
}

/// In the order of the text, each once.
fn settled(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|one| (one.shown.range.start, one.shown.range.end));
    // A schedule of two operators may be wrong for both in the same way.
    found.dedup_by(|a, b| a.shown.range == b.shown.range && a.shown.message == b.shown.message);
    found.truncate(MAX_SHOWN);
    found
}

fn of_text(snapshot: &Snapshot, analysis: &Analysis) -> Vec<Found> {
    let to_text = |pos: Pos| analysis.offset(pos);
    let convert = |one: &Diagnostic| Found {
        shown: converted(snapshot, &analysis.index, one, (&to_text, Range::default())),
        origin: one.clone(),
        unit: None,
    };
    analysis.found.iter().map(convert).collect()
}

fn of_unit<'f>(
    snapshot: &Snapshot,
    analysis: &Analysis,
    (nth, unit): (usize, &Unit),
    of_unit: impl Iterator<Item = &'f Diagnostic>,
    found: &mut Vec<Found>,
) {
    let to_text = |pos: Pos| unit.pos_to_file(pos);
    let index = &analysis.index;
    // What has no place in the text, or one in a library, is told of the schedule.
    let item = unit.schedule.unwrap_or(unit.operator);
    let name = snapshot.range(index.defs[index.items[item].def].name);
    found.extend(of_unit.map(|one| Found {
        shown: converted(snapshot, index, one, (&to_text, name)),
        origin: one.clone(),
        unit: Some(nth),
    }));
}

fn converted(
    snapshot: &Snapshot,
    index: &Index,
    one: &Diagnostic,
    (to_text, elsewhere): (ToText<'_>, Range),
) -> lsp_types::Diagnostic {
    let range = place(snapshot, index, &one.location, to_text);
    let related = one.labels.iter().filter_map(|label| {
        let range = place(snapshot, index, &label.location, to_text)?;
        let message = if label.text.is_empty() { "here".to_string() } else { label.text.clone() };
        Some(DiagnosticRelatedInformation { location: Location { uri: snapshot.uri.clone(), range }, message })
    });
    let related: Vec<DiagnosticRelatedInformation> = related.collect();
    lsp_types::Diagnostic {
        range: range.unwrap_or(elsewhere),
        severity: Some(match one.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
            Severity::Remark => DiagnosticSeverity::INFORMATION,
        }),
        code: Some(NumberOrString::String(one.code.to_string())),
        source: Some("tc".to_string()),
        message: message(one),
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    }
}

fn message(one: &Diagnostic) -> String {
    let mut text = one.message.clone();
    if one.fault == Fault::Bug {
        text.insert_str(0, "internal error: ");
    }
    if let Place::Point { file, at } = &one.location {
        text.push_str(&format!("\nat {file}:{}:{}", at.line, at.col));
    }
    // Which pass it stopped is no matter where only one ran.
    let notes = one.notes.iter().filter(|note| !note.starts_with("while running pass"));
    notes.for_each(|note| text.push_str(&format!("\nnote: {note}")));
    if let Some(help) = &one.help {
        text.push_str(&format!("\nhelp: {help}"));
    }
    text
}

/// The range of a place; an op's is where it begins, and what is marked is its call.
fn place(snapshot: &Snapshot, index: &Index, location: &Place, to_text: ToText<'_>) -> Option<Range> {
    let Place::Span(span) = location else { return None };
    let start = to_text(span.start)?;
    let range = if span.end > span.start {
        TextRange::new(start, to_text(span.end).unwrap_or(start))
    } else {
        whole(snapshot, index, start)
    };
    Some(snapshot.range(range))
}

/// What begins at `start`: the head of an item, a call, a name; else a word.
pub(crate) fn whole(snapshot: &Snapshot, index: &Index, start: u32) -> TextRange {
    if let Some(item) = index.item_at(start).filter(|&item| index.items[item].range.start == start) {
        return index.items[item].keyword.to(index.defs[index.items[item].def].name);
    }
    if let Some(call) = index.call_at(start) {
        return call.range;
    }
    let rest = snapshot.text.get(start as usize..).unwrap_or("");
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$' | '@');
    let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
    let length = if length == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { length };
    TextRange::new(start, start + length as u32)
}
