//! Commands: a check on the simulator, the program of a schedule, its bounds.
//!
//! A command takes an object: `uri`, `func`, and of a schedule `schedule`. It gives back an object too, so that a client can
//! show it in its own manner.

use crate::capability::{Cx, Handler, Lane, Refusal};
use crate::diagnostics::all;
use crate::documents::Snapshot;
use crate::facts::{Unit, UnitFacts, facts_of, limited};
use crate::server::Event;
use crate::stages;
use lsp_types::notification::{Progress, ShowMessage};
use lsp_types::request::{ExecuteCommand, Request, ShowDocument, WorkDoneProgressCreate};
use lsp_types::{
    ExecuteCommandOptions, ExecuteCommandParams, MessageType, ProgressParams, ProgressParamsValue, ProgressToken,
    ServerCapabilities, ShowMessageParams, Uri, WorkDoneProgress, WorkDoneProgressBegin, WorkDoneProgressEnd,
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;
use tc::run::cases::{Choice, to_check};
use tc::run::{CheckOptions, Checked, Machine, check};
use tc::support::{Diagnostic, Location, counted};

/// Checks a schedule or a program on the simulator.
pub(crate) const CHECK: &str = "tc.check";
/// Shows the program that a schedule makes.
pub(crate) const SHOW_PROGRAM: &str = "tc.showProgram";
/// Shows why the stages of a schedule compute what they do.
pub(crate) const SHOW_BOUNDS: &str = "tc.showBounds";

/// Steps of one run on the simulator: larger cases are sampled.
const MAX_STEPS: u64 = 2_000_000_000;

/// `workspace/executeCommand`.
pub(crate) struct Commands;

/// What a command is about.
#[derive(Deserialize)]
struct About {
    uri: Uri,
    func: String,
    schedule: Option<String>,
}

impl Handler for Commands {
    type Request = ExecuteCommand;
    const LANE: Lane = Lane::Task;

    fn announce(capabilities: &mut ServerCapabilities) {
        let commands = [CHECK, SHOW_PROGRAM, SHOW_BOUNDS].map(str::to_string).to_vec();
        capabilities.execute_command_provider =
            Some(ExecuteCommandOptions { commands, ..ExecuteCommandOptions::default() });
    }

    fn handle(cx: &Cx<'_>, params: ExecuteCommandParams) -> Result<Option<Value>, Refusal> {
        let run = match params.command.as_str() {
            CHECK => run_check,
            SHOW_PROGRAM => show_program,
            SHOW_BOUNDS => show_bounds,
            other => return Err(Refusal::params(format!("there is no command `{other}`"))),
        };
        let about = params.arguments.into_iter().next().unwrap_or_default();
        let about: About = serde_json::from_value(about).map_err(|_| {
            let takes = "an object with `uri`, `func` and, of a schedule, `schedule`";
            Refusal::params(format!("`{}` takes {takes}", params.command))
        })?;
        let snapshot = cx.document(&about.uri)?;
        let name = |text: &str| text.trim_start_matches('@').to_string();
        let names = (name(&about.func), about.schedule.as_deref().map(name));
        let units = &snapshot.facts(cx.compiler()).units;
        let unit = units.iter().find(|unit| unit.names == names);
        let unit = unit.ok_or_else(|| Refusal::failed("the file has no such schedule or program"))?;
        let facts = facts_of(snapshot, cx.compiler(), unit).ok_or_else(Refusal::outdated)?;
        run(cx, snapshot, unit, &facts).map(Some)
    }
}

/// `f @s`, or `f`.
fn title(unit: &Unit) -> String {
    match &unit.names {
        (func, Some(schedule)) => format!("{func} @{schedule}"),
        (func, None) => func.clone(),
    }
}

// Texts.

fn show_program(cx: &Cx<'_>, _: &Arc<Snapshot>, unit: &Unit, facts: &UnitFacts) -> Result<Value, Refusal> {
    let Some(text) = &facts.program else { return Err(refused(facts)) };
    show(cx, &format!("{}.tir", title(unit)), text)
}

fn show_bounds(cx: &Cx<'_>, snapshot: &Arc<Snapshot>, unit: &Unit, facts: &UnitFacts) -> Result<Value, Refusal> {
    if facts.stages.is_empty() {
        return Err(refused(facts));
    }
    let line = |location: &Location| match location {
        Location::Span(span) => Some(snapshot.lines.line(unit.pos_to_file(span.start)?) + 1),
        _ => None,
    };
    let of_stage = |stage: &tc::schedule::explain::StageWhy| {
        let text = stages::of_stage(&facts.stages, &stage.name, &line).unwrap_or_default();
        format!("## `{}`\n\n{text}\n", stage.name)
    };
    let all: Vec<String> = facts.stages.iter().map(of_stage).collect();
    show(cx, &format!("{} bounds.md", title(unit)), &format!("# {}\n\n{}", title(unit), all.join("\n")))
}

/// There is nothing to show, because of the first error.
fn refused(facts: &UnitFacts) -> Refusal {
    let first = facts.found.iter().find(|one| one.is_error()).map(|one| format!(": {}", one.message));
    Refusal::failed(format!("there is no program yet{}", first.unwrap_or_default()))
}

/// Gives back a text, and lets a client that cannot show it open a file with it.
fn show(cx: &Cx<'_>, title: &str, text: &str) -> Result<Value, Refusal> {
    let mut uri = None;
    if cx.outbox.client.shows_documents && !cx.world.settings.virtual_documents {
        let path = write_temporary(title, text)
            .map_err(|error| Refusal::failed(format!("a temporary file cannot be written: {error}")))?;
        let address = format!("file://{}", encoded(&path.to_string_lossy()));
        cx.outbox.send(Event::Ask(ShowDocument::METHOD, json!({"uri": address, "takeFocus": true})));
        uri = Some(address);
    }
    Ok(json!({"title": title, "text": text, "uri": uri}))
}

fn write_temporary(title: &str, text: &str) -> std::io::Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("tc-lsp-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let name: String = title.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
    let path = folder.join(name);
    std::fs::write(&path, text)?;
    Ok(path)
}

/// A path as a part of an address.
fn encoded(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'.' | b'_' | b'-' | b'~');
    let path = path.replace('\\', "/");
    let shown = |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let text: String = path.bytes().map(shown).collect();
    if text.starts_with('/') { text } else { format!("/{text}") }
}

// Checks.

fn run_check(cx: &Cx<'_>, snapshot: &Arc<Snapshot>, unit: &Unit, facts: &UnitFacts) -> Result<Value, Refusal> {
    let progress = Shown::begin(cx, format!("checking {}", title(unit)));
    let (ok, message, found) = match checked(cx, snapshot, unit) {
        Ok(checked) => {
            let message = summary(&checked);
            (checked.ok, message, checked.diagnostics.into_iter().collect::<Vec<Diagnostic>>())
        }
        Err(found) => {
            let first = found.iter().find(|one| one.is_error()).map_or("", |one| one.message.as_str());
            (false, format!("not checked: {first}"), found)
        }
    };
    drop(progress);
    if cx.cancel.is_cancelled() {
        return Err(Refusal::outdated());
    }
    facts.set_checked(found);
    if let Some(found) = all(snapshot, cx.world) {
        cx.outbox.send(Event::Publish(snapshot.clone(), found.into_iter().map(|found| found.shown).collect()));
    }
    let message = format!("{}: {message}", title(unit));
    let typ = if ok { MessageType::INFO } else { MessageType::ERROR };
    cx.outbox.notify::<ShowMessage>(ShowMessageParams { typ, message: message.clone() });
    Ok(json!({"ok": ok, "message": message}))
}

fn checked(cx: &Cx<'_>, snapshot: &Snapshot, unit: &Unit) -> Result<Checked, Vec<Diagnostic>> {
    let compiler = limited(cx.compiler(), cx.cancel);
    let failed = |failure: tc::Failure| failure.diagnostics.into_iter().collect::<Vec<Diagnostic>>();
    let module = compiler.load(snapshot.name(), &unit.text).map_err(failed)?.module;
    let choice = Choice { func: Some(&unit.names.0), schedule: unit.names.1.as_deref() };
    let cases = to_check(&module, choice).map_err(|refused| match refused {
        tc::run::Refused::Call(found) | tc::run::Refused::Input(found) => vec![*found],
    })?;
    let Some(case) = cases.first() else { return Err(Vec::new()) };
    let mut options = CheckOptions::default();
    options.limits.steps = MAX_STEPS;
    check(&compiler, &module, case, &mut Machine::Simulator, &options).map_err(failed)
}

fn summary(checked: &Checked) -> String {
    if !checked.ok {
        let first = checked.diagnostics.iter().find(|one| one.is_error());
        return first.map_or("wrong".to_string(), |one| one.message.clone());
    }
    let cells = checked
        .cells
        .map_or("nothing to compare with".to_string(), |cells| format!("{} right", counted(cells, "cell")));
    let inputs = counted(checked.inputs, "set");
    let sampled = if checked.sampled { ", a part of the blocks" } else { "" };
    format!("{cells}, {inputs} of inputs{sampled}; no races, no access out of bounds")
}

/// Progress that a client shows; it ends when this is dropped.
struct Shown<'s, 'c> {
    cx: &'s Cx<'c>,
    token: Option<ProgressToken>,
}

impl<'s, 'c> Shown<'s, 'c> {
    fn begin(cx: &'s Cx<'c>, title: String) -> Shown<'s, 'c> {
        if !cx.outbox.client.shows_progress {
            return Shown { cx, token: None };
        }
        let token = ProgressToken::String(format!("tc-progress-{}", cx.id));
        cx.outbox.send(Event::Ask(WorkDoneProgressCreate::METHOD, json!({"token": token})));
        let shown = Shown { cx, token: Some(token) };
        let begin = WorkDoneProgressBegin { title, ..WorkDoneProgressBegin::default() };
        shown.tell(WorkDoneProgress::Begin(begin));
        shown
    }

    fn tell(&self, progress: WorkDoneProgress) {
        let Some(token) = self.token.clone() else { return };
        let value = ProgressParamsValue::WorkDone(progress);
        self.cx.outbox.notify::<Progress>(ProgressParams { token, value });
    }
}

impl Drop for Shown<'_, '_> {
    fn drop(&mut self) {
        self.tell(WorkDoneProgress::End(WorkDoneProgressEnd::default()));
    }
}
