//! `tc-tune import`: a log as records on the standard output.

use crate::args::TaskArgs;
use crate::autotvm;
use crate::drive::{choose, fail, file};
use std::path::Path;
use tc::Compiler;
use tc::support::{Diagnostic, Diagnostics, Location, Sources};
use tc::target::Target;
use tc_cli::{FINE, INPUT, Session};

pub(crate) fn import(session: &Session<'_>, args: &TaskArgs, log: &Path, device: &str) -> Result<u8, u8> {
    let file = file(session, args)?;
    let text = session.load(file)?;
    let mut compiler = Compiler::new();
    if let Some(name) = &args.target {
        compiler.target = Target::parse(name).map_err(|wrong| session.refuse_with(&wrong))?;
    }
    let parsed = compiler.parse(&tc_cli::file_name(file), &text).map_err(|failure| fail(session, &failure))?;
    let task = choose(&compiler, &parsed.module, args).map_err(|wrong| session.refuse_with(&wrong))?;
    let space = task.space().map_err(|failure| fail(session, &failure))?;
    let identity = task.identity(&space).map_err(|failure| fail(session, &failure))?;
    let names: Vec<String> = space.params().iter().map(|param| param.name.clone()).collect();
    let lines = std::fs::read_to_string(log).map_err(|error| {
        let text = format!("cannot read {}: {error}", log.display());
        session.refuse_with(&Diagnostic::error("records", Location::None, text))
    })?;
    let (mut out, mut warnings) = (String::new(), Diagnostics::new());
    for (nth, line) in lines.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match autotvm::record(line, nth, &identity, &names, device) {
            Ok(record) => out.push_str(&record.line()),
            Err(why) => {
                let text = format!("line {} of {} is passed over: {why}", nth + 1, log.display());
                warnings.push(Diagnostic::warning("records", Location::None, text));
            }
        }
    }
    session.tell(&warnings, &Sources::new());
    session.print(&out);
    Ok(if out.is_empty() { INPUT } else { FINE })
}
