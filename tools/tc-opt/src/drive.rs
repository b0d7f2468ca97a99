//! The tool itself: reads, runs, writes.

use crate::args::{Args, Emit, VerifyEach};
use crate::output::{Out, write_whole};
use crate::{BUG, CALL, FINE, INPUT, expect, help, split};
use std::cell::RefCell;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use tc::ir::print::PrintOptions;
use tc::ir::{Module, print};
use tc::pass::instruments::{DumpDir, PrintIr, PrintPoints, Select};
use tc::pass::{PassRecord, Pipeline, parse_pipeline, report};
use tc::passes::schedule::Trace;
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
    let tool = Tool { args, stdout: RefCell::new(stdout), stderr: RefCell::new(stderr), colour };
    tool.run(stdin).unwrap_or_else(|status| status)
}

struct Tool<'t, 'w> {
    args: &'t Args,
    stdout: RefCell<&'t mut Out<'w>>,
    stderr: RefCell<&'t mut Out<'w>>,
    colour: bool,
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
        let trace = Trace::default();
        let mut options = self.run_options(job.compiler);
        if self.args.trace_schedule {
            options.extensions.push(Arc::new(trace.clone()));
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
