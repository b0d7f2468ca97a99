//! `--reduce`: a text made small.

use super::best::Best;
use super::work_dir::WorkDir;
use super::{attempt, head};
use crate::args::Args;
use std::time::Duration;
use tc::Compiler;
use tc::debug::reduce::{self, NotReduced, Size};
use tc::debug::{Command, Limits, Reduced, Reproducer};
use tc::support::workers::workers;
use tc::support::{Diagnostic, Location, Sources, counted};
use tc_cli::{FINE, INPUT, Interrupt, Session};

/// Makes `text` small; returns the status. `name` is what messages call it.
pub(crate) fn run(args: &Args, compiler: &Compiler, session: &Session<'_>, text: &str) -> Result<u8, u8> {
    let command = args.debug.reduce.as_deref().unwrap_or_default();
    let mode = Reduction { args, compiler, session, interrupt: session.interrupt() };
    let run = if command.is_empty() { Some(mode.failing_run(text)?) } else { None };
    if run.is_none() && Reproducer::is_one(text) {
        head::read(&args.file_name(), text, session)?;
    }
    let best = Best::new(args, session, &mode.interrupt)?;
    let started = match run {
        Some(run) => mode.by_failure(run, &best),
        None => mode.by_command(text, &best, command),
    };
    best.clear_line();
    if let (Err(NotReduced::Ask(_)), Some(status)) = (&started, mode.interrupt.status()) {
        session.refuse("interrupted: nothing was reduced yet");
        return Err(status);
    }
    let reduced = started.map_err(|why| refuse(session, why, command))?;
    session.note(&summary(&reduced, args.show.json, command.is_empty()));
    best.hand_over(&reduced.text)?;
    match (&reduced.stopped, mode.interrupt.status()) {
        (None, _) => Ok(FINE),
        (Some(_), Some(status)) => {
            session.refuse("interrupted: what is written is the best so far");
            Err(status)
        }
        (Some(why), None) => Err(session.refuse(&format!("stopped early: {why}"))),
    }
}

struct Reduction<'r, 'i> {
    args: &'r Args,
    compiler: &'r Compiler,
    session: &'r Session<'i>,
    interrupt: Interrupt,
}

impl Reduction<'_, '_> {
    /// While a command says yes.
    fn by_command(&self, text: &str, best: &Best<'_, '_>, command: &str) -> Result<Reduced, NotReduced> {
        let args = self.args;
        let failed = |error| NotReduced::Ask(format!("cannot make a folder for candidates: {error}"));
        let folder = WorkDir::new(self.session.temporary.as_deref(), "candidates").map_err(failed)?;
        let command = Command::new(command, folder.path(), limit(args)).until(self.interrupt.flag());
        let ask = |text: &str| {
            command.ask(text).map(|asked| asked.is_yes()).map_err(|error| format!("cannot run the command: {error}"))
        };
        let options = reduce::Options {
            threads: threads(args),
            registry: self.compiler.registry.clone(),
            allow_unknown_ops: args.input.allow_unknown_ops,
            watch: &mut |progress, text| best.see(progress, text),
        };
        let mut reduced = reduce::reduce(text, options, &ask)?;
        if reduced.text != text
            && self.interrupt.status().is_none()
            && let Some(anew) = self.told_anew(&reduced.text)
            && ask(&anew) == Ok(true)
        {
            reduced.text = anew;
        }
        Ok(reduced)
    }

    /// A reproducer that the command made small with what its head says of the failure, as it is now; none if it says
    /// nothing, or the same.
    fn told_anew(&self, text: &str) -> Option<String> {
        let small = Reproducer::is_one(text).then(|| Reproducer::parse("reduced", text).ok()).flatten()?;
        let was = small.fails.clone()?;
        let fails = self.compiler.failure_within(&small, limit(self.args));
        (fails.as_ref() != Some(&was)).then(|| Reproducer { fails, ..small }.to_string())
    }

    /// The run of the head of `text`, or of the pipeline.
    fn failing_run(&self, text: &str) -> Result<Reproducer, u8> {
        let Reduction { args, compiler, session, .. } = self;
        if !Reproducer::is_one(text) {
            return Ok(Reproducer { name: args.file_name(), ..attempt(args, compiler, text) });
        }
        if args.run.pass_pipeline.is_none() || args.debug.run_reproducer {
            return head::read_and_check(&args.file_name(), text, compiler, session);
        }
        head::read(&args.file_name(), text, session)?;
        Ok(Reproducer { name: args.file_name(), ..attempt(args, compiler, text) })
    }

    /// While `run` fails in the same way.
    fn by_failure(&self, run: Reproducer, best: &Best<'_, '_>) -> Result<Reduced, NotReduced> {
        let Reduction { args, compiler, .. } = self;
        // What the passes before the one that fails make of the program need not be made again for each candidate.
        let run = compiler.narrowed(&run).unwrap_or(run);
        let limits = Limits { threads: threads(args), time: limit(args) };
        compiler.reduce_watched(&run, &limits, &mut |progress, text| best.see(progress, text))
    }
}

fn threads(args: &Args) -> usize {
    workers(args.run.threads, usize::MAX)
}

fn limit(args: &Args) -> Duration {
    Duration::from_secs(args.debug.command_timeout)
}

fn refuse(session: &Session<'_>, why: NotReduced, command: &str) -> u8 {
    match why {
        NotReduced::NotInteresting if command.is_empty() => session.refuse(
            "nothing to reduce: the run does not fail; name a failing `--pass-pipeline`, a reproducer, or a COMMAND",
        ),
        NotReduced::NotInteresting => {
            session.refuse(&format!("nothing to reduce: `{command}` does not end with status 0 for the input itself"))
        }
        NotReduced::Head(text) => {
            session.tell(&Diagnostic::error("reproducer", Location::None, text.trim_end()).into(), &Sources::new());
            INPUT
        }
        NotReduced::Ask(why) => session.refuse(&why),
    }
}

/// What was reached, on the standard error.
fn summary(reduced: &Reduced, json: bool, by_failure: bool) -> String {
    let Reduced { before, after, asked, time, .. } = reduced;
    if json {
        let size = |size: &Size| serde_json::json!({"ops": size.ops, "lines": size.lines, "passes": size.passes});
        let document = serde_json::json!({"reduced": {
            "before": size(before), "after": size(after), "candidates": asked, "seconds": time.as_secs_f64(),
        }});
        return format!("{document}\n");
    }
    let mut parts = Vec::new();
    if let (Some(before), Some(after)) = (before.ops, after.ops) {
        parts.push(format!("{} to {after}", counted(before, "op")));
    }
    parts.push(format!("{} to {}", counted(before.lines, "line"), after.lines));
    if before.passes > 0 {
        parts.push(format!("{} to {}", counted(before.passes, "pass"), after.passes));
    }
    let runs = if by_failure { "runs" } else { "runs of the command" };
    format!("reduced {}: {asked} {runs} in {:.1} s\n", parts.join(", "), time.as_secs_f64())
}
