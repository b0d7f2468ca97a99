//! `--bisect`: the pass after which an answer changes.

use super::work_dir::WorkDir;
use crate::args::Args;
use std::path::Path;
use std::time::Duration;
use tc::debug::{Asked, Bisected, Command, bisect, replay};
use tc::ir::Module;
use tc::ir::print::{PrintOptions, print_module};
use tc::pass::{Manager, Pipeline, RunOptions};
use tc::report::dump;
use tc::support::{Diagnostic, Diagnostics, Fault, Location};
use tc::{Compiler, SemanticsCheck};
use tc_cli::{FINE, Session, status_of};

/// A pipeline over a program, and who is asked about it.
pub(crate) struct Bisection<'b, 'i> {
    pub(crate) args: &'b Args,
    pub(crate) compiler: &'b Compiler,
    pub(crate) session: &'b Session<'i>,
    pub(crate) pipeline: &'b Pipeline,
    /// The program as it was read.
    pub(crate) module: &'b Module,
}

impl Bisection<'_, '_> {
    /// Finds the pass and tells it; returns the status.
    pub(crate) fn run(&self) -> Result<u8, u8> {
        if self.pipeline.passes.is_empty() {
            return Err(self.session.refuse("nothing to search: `--bisect` wants a pipeline"));
        }
        if let Some(folder) = &self.args.show.dump_dir {
            dump::clear(folder).map_err(|error| self.cannot_dump(folder, &error))?;
        }
        let command = self.args.debug.bisect.as_deref().unwrap_or_default();
        if command.is_empty() { self.by_meaning() } else { self.by_command(command) }
    }

    /// By binary search, asking a command about the program after some of the passes.
    fn by_command(&self, command: &str) -> Result<u8, u8> {
        let session = self.session;
        let n = self.passes_that_run()?;
        let failed = |error| session.refuse(&format!("cannot run the command: {error}"));
        let interrupt = session.interrupt();
        let folder = WorkDir::new(session.temporary.as_deref(), "bisect").map_err(failed)?;
        let limit = Duration::from_secs(self.args.debug.command_timeout);
        let asking = Command::new(command, folder.path(), limit).until(interrupt.flag());
        let mut asked = 0;
        let found = bisect(n, |k| {
            asked += 1;
            let text = self.after(k)?;
            asking.ask(&text).map_err(|error| match interrupt.status() {
                Some(status) => {
                    session.refuse("interrupted: no pass was found yet");
                    status
                }
                None => failed(error),
            })
        })?;
        match found {
            Bisected::At { number, before, after } => {
                let what = format!("changes the answer of the command: {before} before it, {after} after it");
                self.tell(number, &what, Some((before, after)), asked)
            }
            Bisected::Same(answer) => Err(session.refuse(&format!(
                "nothing to find: the command answers the same before the first pass and after the last of {n} ({answer})"
            ))),
        }
    }

    /// One pass after the other, on the simulator.
    fn by_meaning(&self) -> Result<u8, u8> {
        let mut module = self.module.clone();
        let mut manager = Manager::new(&self.compiler.passes, self.compiler.run_options());
        manager.instrument(SemanticsCheck::within(self.compiler.step_limit));
        let report = manager.run(self.pipeline, &mut module);
        let wrong = report.diagnostics.iter().find(|one| one.is_error());
        match (wrong, report.failed) {
            (Some(wrong), Some(idx)) if wrong.code == "semantics" && wrong.fault == Fault::Bug => {
                let message = wrong.message.clone();
                self.tell(idx + 1, &format!("changes what the program means: {message}"), None, idx + 1)
            }
            (Some(_), _) => {
                self.session.tell(&report.diagnostics, &module.sources);
                Err(status_of(&report.diagnostics))
            }
            (None, _) => {
                // Remarks say what could not be compared.
                self.session.tell(&report.diagnostics, &module.sources);
                let text = "no pass changes what the program means, as far as it can be compared";
                let json = serde_json::json!({"pass": null});
                self.session.print(&if self.args.show.json { format!("{json}\n") } else { format!("{text}\n") });
                Ok(FINE)
            }
        }
    }

    /// How many passes run, until one fails. That one does is reported.
    fn passes_that_run(&self) -> Result<usize, u8> {
        let mut module = self.module.clone();
        let report = Manager::new(&self.compiler.passes, self.options()).run(self.pipeline, &mut module);
        if report.is_ok() {
            return Ok(self.pipeline.passes.len());
        }
        self.session.tell(&report.diagnostics, &module.sources);
        let Some(n) = report.failed.filter(|&n| n > 0) else { return Err(status_of(&report.diagnostics)) };
        let message = match n {
            1 => "only the pass before the one that fails is searched".to_string(),
            n => format!("only the {n} passes before the one that fails are searched"),
        };
        if self.args.show.json {
            let remark = Diagnostic::remark("bisect", Location::None, message);
            self.session.tell(&remark.into(), &module.sources);
        } else {
            self.session.note(&format!("{message}\n"));
        }
        Ok(n)
    }

    /// The text of the program after the first `k` passes.
    fn after(&self, k: usize) -> Result<String, u8> {
        let mut module = self.module.clone();
        let tell = |found: Diagnostics, module: &Module| {
            self.session.tell(&found, &module.sources);
            status_of(&found)
        };
        let divided = replay::divide(&self.compiler.passes, &module.registry, self.pipeline, k);
        let (first, _) = divided.map_err(|found| tell(found, &module))?;
        let report = Manager::new(&self.compiler.passes, self.options()).run(&first, &mut module);
        if !report.is_ok() {
            return Err(tell(report.diagnostics, &module));
        }
        let show = &self.args.show;
        let options = PrintOptions { generic: show.generic, locations: show.locations, ..PrintOptions::default() };
        Ok(print_module(&module, &options))
    }

    fn options(&self) -> RunOptions {
        RunOptions { verify: false, ..self.compiler.run_options() }
    }

    /// Tells the pass with this number, and writes the program before and after it where a folder is named.
    fn tell(&self, number: usize, what: &str, answers: Option<(Asked, Asked)>, asked: usize) -> Result<u8, u8> {
        let total = self.pipeline.passes.len();
        let planned = &self.pipeline.passes[number - 1];
        let name = planned.info.name;
        let text = if self.args.show.json {
            let (before, after) = answers.map(|(before, after)| (before.to_string(), after.to_string())).unzip();
            let document = serde_json::json!({
                "pass": name, "number": number, "total": total, "what": what,
                "before": before, "after": after, "asked": asked,
            });
            format!("{document}\n")
        } else {
            format!("pass {number} of {total}, `{name}`, {what}\n")
        };
        self.session.print(&text);
        if let Some(folder) = &self.args.show.dump_dir {
            self.dump(folder, number)?;
        }
        Ok(FINE)
    }

    fn dump(&self, folder: &Path, number: usize) -> Result<(), u8> {
        let width = self.pipeline.passes.len().to_string().len().max(2);
        for k in [number - 1, number] {
            let name = k.checked_sub(1).map_or("parse", |idx| self.pipeline.passes[idx].info.name);
            let text = self.after(k)?;
            dump::write(folder, &format!("{k:0width$}-{name}.tir"), &text)
                .map_err(|error| self.cannot_dump(folder, &error))?;
        }
        Ok(())
    }

    fn cannot_dump(&self, folder: &Path, error: &std::io::Error) -> u8 {
        self.session.refuse(&format!("cannot write into `{}`: {error}", folder.display()))
    }
}
