//! `--reduce`: a text made small.

use super::attempt;
use super::work_dir::WorkDir;
use crate::args::Args;
use std::path::PathBuf;
use std::time::Duration;
use tc::Compiler;
use tc::debug::reduce::{self, NotReduced, Size};
use tc::debug::{Command, Limits, Reduced, Reproducer};
use tc_cli::{FINE, INPUT, Session, write_whole};

/// Makes `text` small; returns the status. `name` is what messages call it.
pub(crate) fn run(args: &Args, compiler: &Compiler, session: &Session<'_>, text: &str) -> Result<u8, u8> {
    let command = args.debug.reduce.as_deref().unwrap_or_default();
    let best = Best::new(args, session)?;
    let started = if command.is_empty() {
        by_failure(args, compiler, session, text, &best)
    } else {
        by_command(args, compiler, session, text, &best, command)
    };
    best.clear_line();
    let reduced = started.map_err(|why| refuse(session, why, command))?;
    session.note(&summary(&reduced, args.show.json, command.is_empty()));
    if best.is_file {
        best.write(&reduced.text).map_err(|why| session.refuse(&why))?;
    } else {
        session.print(&reduced.text);
    }
    match &reduced.stopped {
        None => Ok(FINE),
        Some(why) => Err(session.refuse(&format!("stopped early: {why}"))),
    }
}

/// While a command says yes.
fn by_command(
    args: &Args,
    compiler: &Compiler,
    session: &Session<'_>,
    text: &str,
    best: &Best<'_, '_>,
    command: &str,
) -> Result<Reduced, NotReduced> {
    let failed = |error| NotReduced::Ask(format!("cannot make a folder for candidates: {error}"));
    let folder = WorkDir::new(session.temporary.as_deref(), "candidates").map_err(failed)?;
    let command = Command::new(command, folder.path(), limit(args));
    let ask = |text: &str| {
        command.ask(text).map(|asked| asked.is_yes()).map_err(|error| format!("cannot run the command: {error}"))
    };
    let options = reduce::Options {
        threads: threads(args),
        registry: compiler.registry.clone(),
        allow_unknown_ops: args.input.allow_unknown_ops,
        watch: &mut |progress, text| best.see(progress, text),
    };
    reduce::reduce(text, options, &ask)
}

/// While the run of the pipeline fails in the same way.
fn by_failure(
    args: &Args,
    compiler: &Compiler,
    session: &Session<'_>,
    text: &str,
    best: &Best<'_, '_>,
) -> Result<Reduced, NotReduced> {
    let head = Reproducer::is_one(text) && (args.run.pass_pipeline.is_none() || args.debug.run_reproducer);
    let run = if head {
        let wrong = |(found, sources): (Box<_>, _)| {
            NotReduced::Head(session.tell.text(&tc::support::Diagnostics::from(found), &sources))
        };
        Reproducer::parse(&args.file_name(), text).map_err(wrong)?
    } else {
        Reproducer { name: args.file_name(), ..attempt(args, compiler, text) }
    };
    // What the passes before the one that fails make of the program need not be made again for each candidate.
    let run = compiler.narrowed(&run).unwrap_or(run);
    let limits = Limits { threads: threads(args), time: limit(args) };
    compiler.reduce_watched(&run, &limits, &mut |progress, text| best.see(progress, text))
}

fn threads(args: &Args) -> usize {
    match args.run.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        n => n,
    }
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
            session.note(&text);
            INPUT
        }
        NotReduced::Ask(why) => session.refuse(&why),
    }
}

/// The best text so far: where it is kept, and what is shown of it.
struct Best<'b, 'i> {
    session: &'b Session<'i>,
    path: PathBuf,
    /// Is it the file that the caller named?
    is_file: bool,
    _folder: Option<WorkDir>,
}

impl<'b, 'i> Best<'b, 'i> {
    fn new(args: &Args, session: &'b Session<'i>) -> Result<Best<'b, 'i>, u8> {
        let named = args.input.output.clone().filter(|path| path.as_os_str() != "-");
        if let Some(path) = named {
            return Ok(Best { session, path, is_file: true, _folder: None });
        }
        let failed = |error| session.refuse(&format!("cannot make a folder for the best text: {error}"));
        let folder = WorkDir::new(session.temporary.as_deref(), "reduce").map_err(failed)?;
        let path = folder.path().join("best.tir");
        if session.progress {
            session.note(&format!("the best so far is in {}\n", path.display()));
        }
        Ok(Best { session, path, is_file: false, _folder: Some(folder) })
    }

    /// Hears of progress: a better text is written down at once, so that nothing that ends the tool loses it.
    fn see(&self, progress: &reduce::Progress, text: &str) -> Result<(), String> {
        if self.session.progress {
            let Size { ops, lines, .. } = progress.size;
            let size = ops.map_or(format!("{lines} lines"), |ops| format!("{ops} ops"));
            let what = progress.what;
            self.session.note(&format!("\r\x1b[K{size}, {} candidates, trying {what}", progress.asked));
        }
        if progress.better { self.write(text) } else { Ok(()) }
    }

    fn write(&self, text: &str) -> Result<(), String> {
        write_whole(&self.path, text).map_err(|error| format!("cannot write `{}`: {error}", self.path.display()))
    }

    fn clear_line(&self) {
        if self.session.progress {
            self.session.note("\r\x1b[K");
        }
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
        parts.push(format!("{before} ops to {after}"));
    }
    parts.push(format!("{} lines to {}", before.lines, after.lines));
    if before.passes > 0 {
        parts.push(format!("{} passes to {}", before.passes, after.passes));
    }
    let runs = if by_failure { "runs" } else { "runs of the command" };
    format!("reduced {}: {asked} {runs} in {:.1} s\n", parts.join(", "), time.as_secs_f64())
}
