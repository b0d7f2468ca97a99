//! Inlay hints: extents of loops, buffers of stages with their bytes; and of what the pipeline makes, barriers and conflicts of
//! banks.

use crate::capability::{Cx, Handler, Lane, Refusal};
use crate::documents::Snapshot;
use crate::facts::{Unit, UnitFacts, facts_of};
use crate::index::{DefKind, ItemIdx};
use crate::kernel::Told;
use crate::stages;
use lsp_types::request::InlayHintRequest;
use lsp_types::{
    InlayHint, InlayHintKind, InlayHintLabel, InlayHintParams, InlayHintTooltip, OneOf, ServerCapabilities,
};
use tc::support::{Location, counted};
use tc::syntax::tree::TextRange;

/// `textDocument/inlayHint`.
pub(crate) struct Hints;

impl Handler for Hints {
    type Request = InlayHintRequest;
    const LANE: Lane = Lane::Facts;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.inlay_hint_provider = Some(OneOf::Left(true));
    }

    fn handle(cx: &Cx<'_>, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>, Refusal> {
        let snapshot = cx.document(&params.text_document.uri)?;
        let asked = snapshot.lines.text_range(&snapshot.text, params.range);
        let index = &snapshot.analysis(cx.compiler()).index;
        let mut hints = Hinted { cx, snapshot, asked, all: Vec::new() };
        let meets = |item: &ItemIdx| {
            let range = index.items[*item].range;
            range.start <= asked.end && asked.start <= range.end
        };
        for item in (0..index.items.len()).filter(meets) {
            hints.of_item(item);
        }
        for unit in &snapshot.facts(cx.compiler()).units {
            let of_program = unit.schedule.is_none();
            if meets(&unit.schedule.unwrap_or(unit.operator)) {
                let facts = facts_of(snapshot, cx.compiler(), unit).ok_or_else(Refusal::outdated)?;
                if !of_program {
                    hints.of_schedule(unit, &facts);
                }
                hints.of_kernel(unit, &facts)?;
            }
        }
        hints.all.retain(|(offset, _)| asked.start <= *offset && *offset <= asked.end);
        hints.all.sort_by_key(|(offset, _)| *offset);
        Ok(Some(hints.all.into_iter().map(|(_, hint)| hint).collect()))
    }
}

struct Hinted<'h, 'c> {
    cx: &'h Cx<'c>,
    snapshot: &'h Snapshot,
    asked: TextRange,
    all: Vec<(u32, InlayHint)>,
}

impl Hinted<'_, '_> {
    fn push(&mut self, offset: u32, label: String, tooltip: Option<String>) {
        let hint = InlayHint {
            position: self.snapshot.lines.position(&self.snapshot.text, offset),
            label: InlayHintLabel::String(label),
            kind: Some(InlayHintKind::TYPE),
            text_edits: None,
            tooltip: tooltip.map(InlayHintTooltip::String),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        };
        self.all.push((offset, hint));
    }

    /// Bytes of buffers and tensors.
    fn of_item(&mut self, item: ItemIdx) {
        if !self.cx.world.settings.hints.bytes {
            return;
        }
        let analysis = self.snapshot.analysis(self.cx.compiler());
        for def in analysis.index.items[item].defs.clone() {
            let definition = &analysis.index.defs[def];
            let name = definition.name;
            let is_seen = self.asked.start <= name.end && name.end <= self.asked.end;
            if !is_seen || !matches!(definition.kind, DefKind::Tensor | DefKind::Buffer) {
                continue;
            }
            let Some((func, value)) = analysis.value(def, &self.snapshot.text) else { continue };
            if let Some(bytes) = stages::bytes(func, value) {
                let shown = func.show_type(func.value_type(value));
                self.push(name.end, counted(bytes, "byte"), Some(format!("`{shown}`")));
            }
        }
    }

    /// Extents of loops, and the buffers of stages that directives make.
    fn of_schedule(&mut self, unit: &Unit, facts: &UnitFacts) {
        let Some(schedule) = unit.schedule else { return };
        let analysis = self.snapshot.analysis(self.cx.compiler());
        let wanted = self.cx.world.settings.hints;
        for def in analysis.index.items[schedule].defs.clone() {
            let definition = &analysis.index.defs[def];
            let name = definition.name.of(&self.snapshot.text);
            let whole = definition.whole;
            let is_it = |location: &Location| match location {
                Location::Span(span) => {
                    unit.pos_to_file(span.start).is_some_and(|at| whole.start <= at && at <= whole.end)
                }
                _ => false,
            };
            match definition.kind {
                DefKind::SplitAxis if wanted.extents => {
                    if let Some(found) = stages::find_loop(&facts.stages, name, &is_it) {
                        self.push(definition.name.end, found.extent.to_string(), Some(found.made.clone()));
                    }
                }
                DefKind::Stage if wanted.bytes => {
                    if let Some(stage) = facts.stages.iter().find(|stage| stage.name == name) {
                        self.push(definition.name.end, stages::buffer(stage), None);
                    }
                }
                _ => {}
            }
        }
    }

    /// What the pipeline makes: of a schedule at its name, of a program at its lines.
    fn of_kernel(&mut self, unit: &Unit, facts: &UnitFacts) -> Result<(), Refusal> {
        let wanted = self.cx.world.settings.hints;
        if !wanted.barriers && !wanted.conflicts {
            return Ok(());
        }
        let compiler = self.cx.compiler();
        let kernel = facts.kernel(self.snapshot, compiler, unit).ok_or_else(Refusal::outdated)?;
        if wanted.barriers && !kernel.barriers.is_empty() {
            match unit.schedule {
                Some(schedule) => {
                    let index = &self.snapshot.analysis(compiler).index;
                    let name = index.defs[index.items[schedule].def].name;
                    let lines: Vec<String> = kernel.barriers.iter().map(|told| self.line(unit, told)).collect();
                    self.push(name.end, counted(kernel.barriers.len(), "barrier"), Some(lines.join("\n")));
                }
                None => kernel.barriers.iter().for_each(|told| self.at_line(unit, told)),
            }
        }
        if wanted.conflicts {
            kernel.conflicts.iter().for_each(|told| self.at_line(unit, told));
        }
        Ok(())
    }

    fn line(&self, unit: &Unit, told: &Told) -> String {
        match unit.pos_to_file(told.at) {
            Some(at) => format!("line {}: {}", self.snapshot.lines.line(at) + 1, told.tooltip),
            None => told.tooltip.clone(),
        }
    }

    /// A hint at the end of the line.
    fn at_line(&mut self, unit: &Unit, told: &Told) {
        let Some(at) = unit.pos_to_file(told.at) else { return };
        let line = self.snapshot.lines.line_range(&self.snapshot.text, self.snapshot.lines.line(at));
        let is_told = |(offset, hint): &(u32, InlayHint)| {
            *offset == line.end && matches!(&hint.label, InlayHintLabel::String(label) if *label == told.label)
        };
        if !self.all.iter().any(is_told) {
            self.push(line.end, told.label.clone(), Some(told.tooltip.clone()));
        }
    }
}
