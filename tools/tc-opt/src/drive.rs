//! The modes of the tool, and its inputs.

use crate::args::Emit;
use crate::args::{Args, RunArgs, ShowChanged};
use crate::expect::Seen;
use crate::hand_over::{self, Results};
use crate::inputs::{self, Input, InputChunk};
use crate::job::{Done, Job, RunConfig};
use crate::sink::{Sink, Written};
use crate::{CALL, FINE, bundle, debug, help, help_json, parallel, paths, show, update};
use std::cell::Cell;
use std::ops::Range;
use std::time::Instant;
use tc::Compiler;
use tc::pass::{Pipeline, Remarks, parse_pipeline};
use tc::report::diff::Style;
use tc::report::instruments::{PrintChanged, PrintPoints, Select};
use tc::support::workers::workers;
use tc::support::{Sources, suggest};
use tc_cli::Session;

/// Runs the tool; returns the exit status.
pub(crate) fn drive(args: &Args, session: &Session<'_>) -> u8 {
    if let Err(wrong) = debug::refuse::check(args).and_then(|()| paths::check(args)) {
        return session.refuse(&wrong);
    }
    let told = Cell::new(false);
    let run = || {
        let told = &told;
        if !args.debug.run_reproducer {
            return Tool { args, session, read: None, told }.run();
        }
        let (read, status) = inputs::load(args, session);
        if status != FINE {
            return Err(status);
        }
        let Input { name, text, .. } = inputs::only(&read, "--run-reproducer", session)?;
        let args = debug::recorded(args, name, text, session)?;
        Tool { args: &args, session, read: Some(read), told }.run()
    };
    let status = run().unwrap_or_else(|status| status);
    if !told.get() {
        session.tell(&show::not_written(args).into_iter().collect(), &Sources::new());
    }
    status
}

/// Works on all parts, several at a time, and hands what came of them to `done`, in order.
fn run_parts(config: &RunConfig<'_>, session: &Session<'_>, parts: &[InputChunk<'_>], mut done: impl FnMut(Done)) {
    let job = |config, part: &InputChunk<'_>, sink: &Sink<'_, '_>| {
        Job { config, sink, name: part.name, first_line: part.first_line, folder: part.folder.clone() }
            .guarded(part.text)
    };
    if let [part] = parts {
        return done(job(config, part, &Sink::streaming(session)));
    }
    let (workers, threads) = parallel::shares(parts.len(), workers(config.args.run.threads, usize::MAX));
    let compiler = Compiler { threads, ..config.compiler.clone() };
    let config = RunConfig { compiler: &compiler, command: config.command.clone(), ..*config };
    let work = |nth: usize| {
        let sink = Sink::keeping(config.tell);
        let done = job(&config, &parts[nth], &sink);
        (done, sink.written())
    };
    parallel::in_order(parts.len(), workers, work, |(one, Written { out, err })| {
        session.print(&out);
        session.note(&err);
        done(one);
    });
}

struct Tool<'t, 'i> {
    args: &'t Args,
    session: &'t Session<'i>,
    /// The inputs, where they were read already.
    read: Option<Vec<Input>>,
    /// Was something compiled, so that the page, the trace and the folder tell of this run?
    told: &'t Cell<bool>,
}

impl Tool<'_, '_> {
    fn run(mut self) -> Result<u8, u8> {
        let (args, session, begin) = (self.args, self.session, Instant::now());
        let compiler = self.compiler()?;
        if args.answer.list_passes {
            let json = || format!("{:#}\n", help_json::list(&compiler.passes));
            session.print(&if args.show.json { json() } else { help::list(&compiler.passes) });
            return Ok(FINE);
        }
        if let Some(name) = &args.answer.help_pass {
            let page = help::page(&compiler.passes, name).map_err(|message| session.refuse(&message))?;
            let json = help_json::page(&compiler.passes, name).filter(|_| args.show.json);
            session.print(&json.map_or(page, |json| format!("{json:#}\n")));
            return Ok(FINE);
        }
        if args.show.lint.is_none()
            && let Some(wrong) = RunArgs::stray_via(args.run.emit, args.run.via)
        {
            return Err(session.refuse(wrong));
        }
        if let Some(wrong) = args.show.stray_speed(args.run.emit, &compiler.target) {
            return Err(session.refuse(&wrong));
        }
        if let (Some((name, value)), Some(_)) = (args.space.defines.first(), &args.run.pass_pipeline) {
            let wrong = format!(
                "`-D` gives values to a space, and a pipeline has them in an option: `schedule{{param=\"{name}={value}\"}}`, \
                 `cuda{{param=\"{name}={value}\"}}`"
            );
            return Err(session.refuse(&wrong));
        }
        if args.show.locations && matches!(args.run.emit, Emit::Ptx | Emit::Llvm) {
            let wrong = "`--locations` is for text that can name them: `--emit=tir`, `--emit=cuda` and `--emit=mlir`";
            return Err(session.refuse(wrong));
        }
        let points = self.print_points(&compiler)?;
        let mut sources = Sources::new();
        let pipeline = self.pipeline(&compiler, &mut sources)?;
        bundle::check(args).map_err(|wrong| session.refuse(&wrong))?;
        if args.answer.dump_pass_pipeline {
            let json = || format!("{:#}\n", help_json::expanded(&pipeline));
            session.print(&if args.show.json { json() } else { format!("{pipeline}\n") });
            return Ok(FINE);
        }
        hand_over::check(args).map_err(|wrong| session.refuse(wrong))?;
        let (inputs, unread) = match self.read.take() {
            Some(read) => (read, FINE),
            None => inputs::load(args, session),
        };
        if inputs.is_empty() {
            return Ok(unread);
        }
        if args.debug.reduce.is_some() || args.debug.bisect.is_some() {
            let flag = if args.debug.reduce.is_some() { "--reduce" } else { "--bisect" };
            if unread != FINE {
                return Ok(unread);
            }
            let Input { text, .. } = inputs::only(&inputs, flag, session)?;
            self.told.set(true);
            if let Some(done) = debug::mode(args, &compiler, session, (&pipeline, &sources), text) {
                return done;
            }
        }
        if args.run.emit == Emit::Bundle {
            if unread != FINE {
                return Ok(unread);
            }
            let input = inputs::only(&inputs, "--emit=bundle", session)?;
            self.told.set(true);
            return bundle::run(args, &compiler, session, input);
        }
        session.tell(&show::absent_passes(args, &pipeline).into_iter().collect(), &sources);
        let temporary = session.temporary.as_deref();
        let command = show::shell_words(&session.command);
        let tell = session.tell;
        let config = RunConfig {
            args,
            compiler: &compiler,
            pipeline: &pipeline,
            points: &points,
            sources: &sources,
            command,
            temporary,
            tell,
        };
        if args.input.update {
            let run = |name: &str, text: &str, parts: &[_]| self.diagnostics(&config, name, text, parts);
            let each =
                |input: &Input| update::update(session, args, input, &|text, parts| run(&input.name, text, parts));
            return Ok(inputs.iter().map(each).max().unwrap_or(FINE).max(unread));
        }
        let parts = inputs::parts(&inputs, args);
        if !args.space.is_asked() {
            show::prepare_dump(args, &parts).map_err(|wrong| session.refuse(&wrong))?;
        }
        self.told.set(true);
        let mut status = unread;
        let mut results: Vec<Results> = inputs.iter().map(|_| Results::default()).collect();
        let mut shown = Vec::new();
        let mut parts_done = parts.iter();
        run_parts(&config, session, &parts, |Done { output, status: one, shown: of_one, .. }| {
            status = status.max(one);
            if let Some(results) = parts_done.next().and_then(|part| results.get_mut(part.input)) {
                results.n_texts += 1;
                results.outputs.extend(output);
                results.status = results.status.max(one);
            }
            shown.push(of_one);
        });
        match show::finish(args, &config.command, (&compiler, &pipeline), begin, shown) {
            Ok(found) => session.tell(&found, &sources),
            Err(message) => status = status.max(session.refuse(&message)),
        }
        Ok(hand_over::hand_over(args, session, &inputs, &results, status))
    }

    /// What is found in the parts of a text, for `--update`.
    fn diagnostics(
        &self,
        config: &RunConfig<'_>,
        name: &str,
        text: &str,
        parts: &[(u32, Range<usize>)],
    ) -> Result<Vec<Vec<Seen>>, u8> {
        let part = |(first_line, range): &(u32, Range<usize>)| InputChunk {
            input: 0,
            name,
            first_line: *first_line,
            text: &text[range.clone()],
            folder: None,
        };
        let parts: Vec<InputChunk<'_>> = parts.iter().map(part).collect();
        let (mut seen, mut refused) = (Vec::new(), None);
        run_parts(config, self.session, &parts, |done| {
            if done.refused || !update::is_writable(done.status) {
                refused = refused.max(Some(done.status));
            }
            seen.push(done.seen);
        });
        refused.map_or(Ok(seen), Err)
    }

    fn compiler(&self) -> Result<Compiler, u8> {
        let mut compiler = Compiler::new();
        compiler.threads = self.args.run.threads;
        compiler.step_limit = self.args.run.step_limit;
        compiler.remarks = self.remarks(&compiler)?;
        compiler.target =
            tc::target::Target::parse(&self.args.run.target).map_err(|wrong| self.session.refuse_with(&wrong))?;
        Ok(compiler)
    }

    /// Refuses names of which one is no pass.
    fn check_passes(&self, compiler: &Compiler, names: &[String]) -> Result<(), u8> {
        let Some(name) = names.iter().find(|name| compiler.passes.pass(name).is_none()) else { return Ok(()) };
        let passes = compiler.passes.passes().map(|info| info.name);
        let help = suggest::nearest(name, passes).map_or(String::new(), |near| format!(": did you mean `{near}`?"));
        Err(self.session.refuse(&format!("unknown pass `{}`{help}", suggest::shorten(name))))
    }

    /// Which remarks are reported.
    fn remarks(&self, compiler: &Compiler) -> Result<Remarks, u8> {
        let names = &self.args.show.remarks;
        if names.is_empty() {
            return Ok(Remarks::Asked);
        }
        if names.iter().any(String::is_empty) {
            return Ok(Remarks::All);
        }
        self.check_passes(compiler, names)?;
        Ok(Remarks::Of(names.clone()))
    }

    /// Around which passes the program is printed.
    fn print_points(&self, compiler: &Compiler) -> Result<PrintPoints, u8> {
        let show = &self.args.show;
        let select = |names: &[String], all: bool| {
            if all || names.iter().any(String::is_empty) {
                return Ok::<Select, u8>(Select::All);
            }
            self.check_passes(compiler, names)?;
            Ok(if names.is_empty() { Select::None } else { Select::Named(names.to_vec()) })
        };
        Ok(PrintPoints {
            before: select(&show.print_ir_before, show.print_ir_before_all)?,
            after: select(&show.print_ir_after, show.print_ir_after_all)?,
            changed: match show.print_changed {
                Some(ShowChanged::Diff) if self.session.colour_out => PrintChanged::Diff(Style::Colour),
                Some(ShowChanged::Diff) => PrintChanged::Diff(Style::Plain),
                Some(ShowChanged::Ir) => PrintChanged::Ir,
                None if show.print_ir_after_change => PrintChanged::Ir,
                None => PrintChanged::No,
            },
            failure: show.print_ir_after_failure,
        })
    }

    fn pipeline(&self, compiler: &Compiler, sources: &mut Sources) -> Result<Pipeline, u8> {
        let Some(text) = &self.args.run.pass_pipeline else { return Ok(Pipeline::default()) };
        parse_pipeline(text, &compiler.passes, &compiler.registry, sources).map_err(|found| {
            self.session.tell(&found, sources);
            CALL
        })
    }
}
