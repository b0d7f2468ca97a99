//! The tool itself: reads, runs, writes.

use crate::args::{Args, Emit, VerifyEach};
use crate::output::{Out, write_whole};
use crate::space::{self, Ask};
use crate::{BUG, CALL, FINE, INPUT, expect, explain, help, split};
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use tc::ir::print::PrintOptions;
use tc::ir::{Module, print};
use tc::pass::instruments::{DumpDir, PrintIr, PrintPoints, Select};
use tc::pass::{PassRecord, Pipeline, parse_pipeline, report};
use tc::passes::schedule::{Explain, Trace};
use tc::support::{Diagnostic, Diagnostics, Fault, FileId, Sources, render, suggest};
use tc::{Compiler, LoadError};

/// Runs the tool; returns the exit status.
pub(crate) fn drive<'w>(
    args: &Args,
    stdin: &mut (dyn Read + Send),
    stdout: &mut Out<'w>,
    stderr: &mut Out<'w>,
    colour: bool,
) -> u8 {
    let (stdout, stderr) = (RefCell::new(stdout), RefCell::new(stderr));
    let tool = Tool { args, stdout, stderr, colour, no_member: Cell::new(false) };
    tool.run(stdin).unwrap_or_else(|status| status)
}

struct Tool<'t, 'w> {
    args: &'t Args,
    stdout: RefCell<&'t mut Out<'w>>,
    stderr: RefCell<&'t mut Out<'w>>,
    colour: bool,
    /// Was a schedule no point of the space that it was asked to be one of?
    no_member: Cell<bool>,
}

/// What came of one text.
struct Done {
    /// What is to be written; nothing if it failed.
    output: Option<String>,
    status: u8,
}

impl Tool<'_, '_> {
    fn run(&self, stdin: &mut (dyn Read + Send)) -> Result<u8, u8> {
        let args = self.args;
        let compiler = self.compiler()?;
        if args.list_passes {
            self.print(&help::list(&compiler.passes));
            return Ok(FINE);
        }
        if let Some(name) = &args.help_pass {
            let page = help::page(&compiler.passes, name).map_err(|message| self.refuse(&message))?;
            self.print(&page);
            return Ok(FINE);
        }
        let points = self.print_points(&compiler)?;
        let mut sources = Sources::new();
        let pipeline = self.pipeline(&compiler, &mut sources)?;
        if args.dump_pass_pipeline {
            self.print(&format!("{pipeline}\n"));
            return Ok(FINE);
        }
        let text = self.read(stdin)?;
        let texts = if args.split_input_file {
            let too_many = |n| self.refuse(&format!("`{}` holds too many texts: {n}", args.file_name()));
            split::split(&text).map_err(too_many)?
        } else {
            vec![text]
        };
        let mut status = FINE;
        let mut outputs = Vec::new();
        for (nth, text) in texts.iter().enumerate() {
            let job = Job { compiler: &compiler, pipeline: &pipeline, points: &points, nth, alone: texts.len() == 1 };
            let done = self.one(&job, sources.clone(), text)?;
            status = status.max(done.status);
            outputs.extend(done.output);
        }
        if self.no_member.get() {
            status = status.max(INPUT);
        }
        self.write(&outputs.join(&format!("{}\n", split::MARKER)), status)
    }

    /// Hands over the result: to a file only if all went well.
    fn write(&self, text: &str, status: u8) -> Result<u8, u8> {
        match &self.args.output {
            Some(path) if path.as_os_str() != "-" => {
                if status == FINE {
                    let failed = |error| self.refuse(&format!("cannot write `{}`: {error}", path.display()));
                    write_whole(path, text).map_err(failed)?;
                }
            }
            _ => self.print(text),
        }
        Ok(status)
    }

    fn print(&self, text: &str) {
        self.stdout.borrow_mut().write(text);
    }

    /// Tells what is wrong with the call; returns the status for it.
    fn refuse(&self, message: &str) -> u8 {
        self.tell(&Diagnostic::error("call", tc::support::Location::None, message).into(), &Sources::new());
        CALL
    }

    fn tell(&self, found: &Diagnostics, sources: &Sources) {
        let text = if self.args.json {
            found.iter().map(|one| render::json(one, sources).to_string() + "\n").collect()
        } else {
            render::text(found, sources, self.colour)
        };
        self.stderr.borrow_mut().write(&text);
    }

    fn compiler(&self) -> Result<Compiler, u8> {
        let mut compiler = Compiler::new();
        compiler.threads = self.args.threads;
        compiler.target = tc::target::Target::parse(&self.args.target).map_err(|wrong| {
            self.tell(&wrong.into(), &Sources::new());
            CALL
        })?;
        Ok(compiler)
    }

    /// Around which passes the program is printed.
    fn print_points(&self, compiler: &Compiler) -> Result<PrintPoints, u8> {
        let args = self.args;
        let select = |names: &[String], all: bool| {
            if all || names.iter().any(String::is_empty) {
                return Ok(Select::All);
            }
            for name in names {
                if compiler.passes.pass(name).is_none() {
                    let passes = compiler.passes.passes().iter().map(|info| info.name);
                    let help = suggest::nearest(name, passes)
                        .map_or(String::new(), |near| format!(": did you mean `{near}`?"));
                    return Err(self.refuse(&format!("unknown pass `{}`{help}", suggest::shorten(name))));
                }
            }
            Ok(if names.is_empty() { Select::None } else { Select::Named(names.to_vec()) })
        };
        Ok(PrintPoints {
            before: select(&args.print_ir_before, args.print_ir_before_all)?,
            after: select(&args.print_ir_after, args.print_ir_after_all)?,
            after_change: args.print_ir_after_change,
        })
    }

    fn pipeline(&self, compiler: &Compiler, sources: &mut Sources) -> Result<Pipeline, u8> {
        let Some(text) = &self.args.pass_pipeline else { return Ok(Pipeline::default()) };
        parse_pipeline(text, &compiler.passes, &compiler.registry, sources).map_err(|found| {
            self.tell(&found, sources);
            CALL
        })
    }

    fn read(&self, stdin: &mut (dyn Read + Send)) -> Result<String, u8> {
        let name = self.args.file_name();
        let loaded = match &self.args.file {
            Some(file) if file != "-" => tc::load(Path::new(file)),
            _ => {
                let mut bytes = Vec::new();
                let read = stdin.read_to_end(&mut bytes).map_err(LoadError::Io);
                read.and_then(|_| tc::decode(&name, bytes))
            }
        };
        loaded.map_err(|error| match error {
            LoadError::Io(error) => self.refuse(&format!("cannot read `{name}`: {error}")),
            LoadError::Text(found, sources) => {
                self.tell(&(*found).into(), &sources);
                INPUT
            }
        })
    }

    /// Works on one text.
    fn one(&self, job: &Job<'_>, sources: Sources, text: &str) -> Result<Done, u8> {
        let mut module = Module::new(job.compiler.registry.clone());
        module.sources = sources;
        let Ok(file) = module.sources.add(self.args.file_name(), text) else {
            return Err(self.refuse(&format!("`{}` is too large: a file may have 2 GiB", self.args.file_name())));
        };
        let (found, output) = self.compile(job, &mut module, file)?;
        if !self.args.verify_diagnostics {
            self.tell(&found, &module.sources);
            return Ok(Done { output, status: status_of(&found) });
        }
        let wrong = expect::compare(&found, &module.sources, file);
        self.tell(&wrong, &module.sources);
        let status = if status_of(&found) == BUG {
            BUG
        } else if wrong.is_empty() {
            FINE
        } else {
            INPUT
        };
        Ok(Done { output: output.filter(|_| status == FINE), status })
    }

    /// Reads `file`, runs the passes, and writes the program down.
    fn compile(&self, job: &Job<'_>, module: &mut Module, file: FileId) -> Result<(Diagnostics, Option<String>), u8> {
        let options = tc::syntax::ParseOptions { allow_unknown_ops: self.args.allow_unknown_ops };
        let mut found = tc::syntax::parse_file(module, file, &options);
        if found.has_errors() {
            return Ok((found, None));
        }
        if self.args.asks_about_space() {
            return self.space(job.compiler, module, found);
        }
        let trace = Trace::default();
        let mut options = self.run_options(job.compiler);
        if self.args.trace_schedule {
            options.extensions.push(Arc::new(trace.clone()));
        }
        let explanation = Explain::default();
        if self.args.explain_bounds.is_some() {
            options.extensions.push(Arc::new(explanation.clone()));
        }
        let mut manager = tc::pass::Manager::new(&job.compiler.passes, options);
        if let Some(mut dump) = self.dump(job)? {
            found.append(dump.parsed(module));
            manager.instrument(dump);
        }
        let print = || Box::new(|module: &Module| self.text(module));
        if *job.points != PrintPoints::default() {
            manager.instrument(PrintIr::new(job.points.clone(), print(), |text| self.print(text)));
        }
        if self.args.verify_each == VerifyEach::Semantics {
            manager.instrument(tc::SemanticsCheck::new(tc::sim::CheckOptions::default()));
        }
        let report = manager.run(job.pipeline, module);
        drop(manager);
        if let Ok(text) = trace.0.lock() {
            self.print(&text);
        }
        self.tell_records(&report.records);
        found.append(report.diagnostics);
        if found.has_errors() {
            return Ok((found, None));
        }
        if let Some(stage) = &self.args.explain_bounds {
            let text = self.explanation(&explanation, stage, module)?;
            return Ok((found, Some(text)));
        }
        Ok(match self.args.emit {
            Emit::Tir => (found, Some(self.text(module))),
            Emit::Cuda => match job.compiler.emit_cuda(module) {
                Ok(cuda) => (found, Some(cuda.source)),
                Err(failure) => {
                    found.append(failure.diagnostics);
                    (found, None)
                }
            },
        })
    }

    /// Why stages compute what they do.
    fn explanation(&self, Explain(explained): &Explain, stage: &str, module: &Module) -> Result<String, u8> {
        let all = explained.lock().map_or(Vec::new(), |all| all.clone());
        let text = if self.args.json {
            explain::document(&all, stage, &module.sources).map(|document| format!("{document:#}\n"))
        } else {
            explain::text(&all, stage, &module.sources)
        };
        text.ok_or_else(|| {
            if all.is_empty() {
                return self.refuse("nothing was scheduled: `--explain-bounds` wants a pipeline with `schedule`");
            }
            let help =
                suggest::did_you_mean(stage, explain::names(&all)).map_or(String::new(), |help| format!("; {help}"));
            self.refuse(&format!("there is no stage `{}`{help}", suggest::shorten(stage)))
        })
    }

    /// Answers what is asked about a space.
    fn space(
        &self,
        compiler: &Compiler,
        module: &Module,
        mut found: Diagnostics,
    ) -> Result<(Diagnostics, Option<String>), u8> {
        module.items.iter().for_each(|item| found.append(tc::ir::verify::verify(item)));
        if found.has_errors() {
            return Ok((found, None));
        }
        let args = self.args;
        let ask = Ask {
            module,
            defines: &args.defines,
            target: &compiler.target,
            threads: args.threads,
            limit: args.space_limit,
            json: args.json,
        };
        let answer = if let Some(name) = &args.list_space {
            ask.list(name)
        } else if let Some(name) = &args.list_space_points {
            ask.points(name, &mut |line| self.print(line)).map(|()| String::new())
        } else {
            let name = args.member_of.as_deref().unwrap_or("");
            ask.members(name, args.member.as_deref()).map(|(text, all)| {
                self.no_member.set(!all);
                text
            })
        };
        match answer {
            Ok(text) => Ok((found, Some(text))),
            Err(space::Refused::Call(message)) => Err(self.refuse(&message)),
            Err(space::Refused::Input(more)) => {
                found.append(more);
                Ok((found, None))
            }
        }
    }

    /// Tells time and statistics, where asked for.
    fn tell_records(&self, records: &[PassRecord]) {
        let mut text = String::new();
        if self.args.timing {
            let json = || format!("{}\n", report::timing_json(records));
            text += &if self.args.json { json() } else { report::timing_text(records) };
        }
        if self.args.stats {
            let json = || format!("{}\n", report::stats_json(records));
            text += &if self.args.json { json() } else { report::stats_text(records) };
        }
        self.stderr.borrow_mut().write(&text);
    }

    fn run_options(&self, compiler: &Compiler) -> tc::pass::RunOptions {
        let mut options = compiler.run_options();
        options.verify = self.args.verify_each != VerifyEach::None;
        options
    }

    /// Where the program after each pass is written; each text of a split file has a folder of its own.
    fn dump(&self, job: &Job<'_>) -> Result<Option<DumpDir<'_>>, u8> {
        let folder = self.args.dump_dir.clone().or_else(DumpDir::folder_of_environment);
        let Some(mut folder) = folder else { return Ok(None) };
        if !job.alone {
            folder.push(format!("{:02}", job.nth));
        }
        let failed = |error| self.refuse(&format!("cannot dump into `{}`: {error}", folder.display()));
        DumpDir::new(&folder, Box::new(|module| self.text(module))).map(Some).map_err(failed)
    }

    fn text(&self, module: &Module) -> String {
        let options =
            PrintOptions { generic: self.args.generic, locations: self.args.locations, ..PrintOptions::default() };
        print::print_module(module, &options)
    }
}

/// What is the same for all texts of a file, and which of them it is.
struct Job<'j> {
    compiler: &'j Compiler,
    pipeline: &'j Pipeline,
    points: &'j PrintPoints,
    nth: usize,
    alone: bool,
}

/// The exit status that findings come to.
fn status_of(found: &Diagnostics) -> u8 {
    let status = |one: &Diagnostic| match one.fault {
        _ if !one.is_error() => FINE,
        Fault::Input => INPUT,
        // Passes in an order in which they do not work were asked for by the caller.
        Fault::PassAssumption => CALL,
        Fault::Bug => BUG,
    };
    found.iter().map(status).max().unwrap_or(FINE)
}
