//! From the command line to what is asked for, and what all verbs need.

use crate::args::{Args, StoreVerb, TaskArgs, Verb};
use crate::records::{self, Record};
use crate::task::{Identity, Task};
use crate::{BUG, FINE, INPUT, apply, compare, import, merge, model, replay, show, store, tuning, worker};
use std::ffi::OsStr;
use std::path::PathBuf;
use tc::support::{Diagnostic, Diagnostics, Sources};
use tc::target::Target;
use tc::{Compiler, Failure};
use tc_cli::Session;

/// Runs the tool; returns the exit status.
pub(crate) fn drive(args: &Args, session: &Session<'_>) -> u8 {
    let done = match &args.command {
        None => tuning::tune(args, session),
        Some(Verb::Show { records, top, html, svg }) => {
            let outputs = show::Outputs { html: html.as_deref(), svg: svg.as_deref() };
            show::show(session, args.json, (records, *top), &outputs)
        }
        Some(Verb::Apply { file, records, device }) => apply::apply(session, file, records, device.as_deref()),
        Some(Verb::Replay { file, records }) => replay::replay(session, file, records),
        Some(Verb::Merge { records, output }) => merge::merge(session, records, output.as_deref()),
        Some(Verb::Store { verb }) => match verb {
            StoreVerb::Put { store, records } => store::put(session, args.json, store, records),
            StoreVerb::Get { task, store, device, output } => {
                store::get(session, args.json, (store, device.as_deref()), task, output)
            }
            StoreVerb::List { store } => store::list(session, args.json, store),
        },
        Some(Verb::Diff { before, after }) => show::diff(session, before, after),
        Some(Verb::Import { task, log, device }) => import::import(session, task, log, device),
        Some(Verb::Compare { file, records, seeds, trials, batch, estimate }) => {
            let trials = trials.map(|trials| trials as usize);
            let (batch, estimate) = (*batch as usize, *estimate);
            let question = compare::Question { file, records, seeds: *seeds, trials, batch, estimate };
            compare::compare(session, args.json, &question)
        }
        Some(Verb::Model { file, records }) => model::model(session, args.json, file, records),
        Some(Verb::Worker { device }) => {
            let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
            worker::serve(*device, &mut input, &mut output).map(|()| FINE).map_err(|wrong| session.refuse_with(&wrong))
        }
    };
    done.unwrap_or_else(|status| status)
}

/// Tells why a file is at fault; returns the exit status.
pub(crate) fn fail(session: &Session<'_>, failure: &Failure) -> u8 {
    session.tell(&failure.diagnostics, &failure.sources);
    if failure.is_bug() { BUG } else { INPUT }
}

/// Reads records, and tells what was passed over.
pub(crate) fn load(session: &Session<'_>, paths: &[PathBuf]) -> Result<Vec<Record>, u8> {
    let mut all = Vec::new();
    for path in paths {
        let loaded = records::load(path).map_err(|wrong| session.refuse_with(&wrong))?;
        let warnings: Diagnostics = loaded.warnings.into_iter().collect();
        session.tell(&warnings, &Sources::new());
        all.extend(loaded.records);
    }
    Ok(all)
}

/// What the task that the command line names is known by, and the names of its parameters.
pub(crate) fn identified(session: &Session<'_>, args: &TaskArgs) -> Result<(Identity, Vec<String>), u8> {
    let file = file(session, args)?;
    let text = session.load(file)?;
    let mut compiler = Compiler::new();
    if let Some(name) = &args.target {
        compiler.target = Target::parse(name).map_err(|wrong| session.refuse_with(&wrong))?;
    }
    let parsed = compiler.load(&tc_cli::file_name(file), &text).map_err(|failure| fail(session, &failure))?;
    let task = choose(&compiler, &parsed.module, args).map_err(|wrong| session.refuse_with(&wrong))?;
    let space = task.space().map_err(|failure| fail(session, &failure))?;
    let identity = task.identity(&space).map_err(|failure| fail(session, &failure))?;
    Ok((identity, space.params().iter().map(|param| param.name.clone()).collect()))
}

/// The file that the command line names.
pub(crate) fn file<'a>(session: &Session<'_>, args: &'a TaskArgs) -> Result<&'a OsStr, u8> {
    let file = args.file.as_deref();
    file.ok_or_else(|| session.refuse("no file is named: `tc-tune FILE @SCHEDULE`, or a command of `tc-tune --help`"))
}

/// The task that the command line names.
pub(crate) fn choose<'t>(
    compiler: &'t Compiler,
    module: &'t tc::ir::Module,
    args: &TaskArgs,
) -> Result<Task<'t>, Diagnostic> {
    Task::choose(compiler, module, (args.func.as_deref(), args.schedule.as_deref()), args.defines.clone())
}
