//! Code lenses: what can be started at a schedule or a program.

use crate::capability::{Cx, Handler, Refusal};
use crate::commands::{CHECK, SHOW_BOUNDS, SHOW_PROGRAM};
use crate::documents::Snapshot;
use crate::index::{Index, ItemIdx};
use lsp_types::request::CodeLensRequest;
use lsp_types::{CodeLens, CodeLensOptions, CodeLensParams, Command, ServerCapabilities};
use serde_json::json;
use tc::ir::opdef::SymbolTable;

/// `textDocument/codeLens`.
pub(crate) struct Lenses;

impl Handler for Lenses {
    type Request = CodeLensRequest;

    fn announce(capabilities: &mut ServerCapabilities) {
        capabilities.code_lens_provider = Some(CodeLensOptions { resolve_provider: Some(false) });
    }

    fn handle(cx: &Cx<'_>, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>, Refusal> {
        let snapshot = cx.document(&params.text_document.uri)?;
        Ok(Some(of_file(snapshot, snapshot.index(cx.compiler()))))
    }
}

/// The lenses of a file, from its start on.
pub(crate) fn of_file(snapshot: &Snapshot, index: &Index) -> Vec<CodeLens> {
    let mut lenses = Vec::new();
    for (idx, item) in index.items.iter().enumerate() {
        match item.table {
            Some(SymbolTable::Schedules) => {
                for &target in &item.targets {
                    of_schedule(snapshot, index, (target, idx), &mut lenses);
                }
            }
            _ if item.keyword.of(&snapshot.text) == "tir.func" => {
                lenses.push(lens(snapshot, index, ("check this program", CHECK), (idx, None)));
            }
            _ => {}
        }
    }
    lenses
}

fn of_schedule(snapshot: &Snapshot, index: &Index, (target, schedule): (ItemIdx, ItemIdx), lenses: &mut Vec<CodeLens>) {
    let is_operator = index.items[target].keyword.of(&snapshot.text) == "te.func";
    let titles = [("check this schedule", CHECK), ("show the program", SHOW_PROGRAM), ("bounds", SHOW_BOUNDS)];
    // The loops of a program are as they are written: there are no bounds to infer.
    for (title, command) in titles.into_iter().filter(|(_, command)| is_operator || *command != SHOW_BOUNDS) {
        lenses.push(lens(snapshot, index, (title, command), (target, Some(schedule))));
    }
}

fn lens(
    snapshot: &Snapshot,
    index: &Index,
    (title, command): (&str, &str),
    (func, schedule): (ItemIdx, Option<ItemIdx>),
) -> CodeLens {
    let name = |item: ItemIdx| index.defs[index.items[item].def].name.of(&snapshot.text);
    let of_several = schedule.is_some_and(|schedule| index.items[schedule].targets.len() > 1);
    let title = if of_several { format!("{title} (@{})", name(func)) } else { title.to_string() };
    let arguments = json!({
        "uri": snapshot.uri.as_str(),
        "func": name(func),
        "schedule": schedule.map(name),
    });
    let item = &index.items[schedule.unwrap_or(func)];
    let range = snapshot.range(index.defs[item.def].name);
    let command = Command { title, command: command.to_string(), arguments: Some(vec![arguments]) };
    CodeLens { range, command: Some(command), data: None }
}
