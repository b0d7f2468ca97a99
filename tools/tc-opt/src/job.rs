//! One text, from parsing to its output.

use crate::args::{Args, Emit, LintLevel, ShowAccess, VerifyEach};
use crate::debug::reproduce::Failed;
use crate::expect::Seen;
use crate::show::{self, Shown};
use crate::sink::Sink;
use crate::space::{self, Answer, Ask};
use crate::{BUG, FINE, INPUT, expect, explain, inputs};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use tc::debug::Stage;
use tc::ir::print::PrintOptions;
use tc::ir::{Module, print};
use tc::pass::{PassRecord, Pipeline};
use tc::passes::schedule::{Explain, Trace};
use tc::perf::MachineCode;
use tc::report::access;
use tc::report::instruments::{PrintIr, PrintPoints};
use tc::report::machine_code;
use tc::report::page::Emitted;
use tc::report::recorder::Recorder;
use tc::report::tables;
use tc::support::{Diagnostic, Diagnostics, FileId, Location, Severity, Sources, suggest};
use tc::target::Machine;
use tc::{Compiler, Via};
use tc_cli::{Tell, status_of};

/// What is the same for all texts.
pub(crate) struct RunConfig<'p> {
    pub(crate) args: &'p Args,
    pub(crate) compiler: &'p Compiler,
    pub(crate) pipeline: &'p Pipeline,
    pub(crate) points: &'p PrintPoints,
    /// The files that the pipeline points into.
    pub(crate) sources: &'p Sources,
    /// The command line, for pages.
    pub(crate) command: String,
    /// The folder for files that the caller did not name.
    pub(crate) temporary: Option<&'p Path>,
    /// How diagnostics are reported.
    pub(crate) tell: Tell,
}

impl RunConfig<'_> {
    /// Does what is shown tell numbers of ops?
    fn counts_ops(&self) -> bool {
        let show = &self.args.show;
        show.timing
            || show.report.is_some()
            || show.chrome_trace.is_some()
            || show.print_ir_after_change
            || show.print_changed.is_some()
    }
}

/// One text on its way.
pub(crate) struct Job<'j, 'i> {
    pub(crate) config: &'j RunConfig<'j>,
    pub(crate) sink: &'j Sink<'j, 'i>,
    /// What its file is called in messages.
    pub(crate) name: &'j str,
    /// The number of its first line in the file.
    pub(crate) first_line: u32,
    /// The folder of its own that it has in a dump, if it is not the only text.
    pub(crate) folder: Option<String>,
}

/// What came of one text.
pub(crate) struct Done {
    /// What is to be written; nothing if it failed.
    pub(crate) output: Option<String>,
    pub(crate) status: u8,
    /// What the folder, the page and the trace show of it.
    pub(crate) shown: Shown,
    /// What was found, for expectations.
    pub(crate) seen: Vec<Seen>,
    /// Was the call at fault? The reason was reported.
    pub(crate) refused: bool,
}

/// The diagnostics, and the output if there is one. The error is a status whose reason was reported.
type Compiled = Result<(Diagnostics, Option<String>), u8>;

impl Job<'_, '_> {
    /// Works on `text`. What is wrong is reported, a panic too: other texts are still worked on.
    pub(crate) fn guarded(&self, text: &str) -> Done {
        catch_unwind(AssertUnwindSafe(|| self.run(text))).unwrap_or_else(|_| {
            let found = Diagnostic::bug("panic", Location::None, format!("tc panicked on a text of `{}`", self.name));
            self.sink.tell(&found.into(), &Sources::new());
            Done { output: None, status: BUG, shown: Shown::default(), seen: Vec::new(), refused: false }
        })
    }

    fn run(&self, text: &str) -> Done {
        let mut shown = Shown::of(self.name(), self.folder.clone());
        let mut seen = Vec::new();
        let worked = self.work(text, &mut shown, &mut seen);
        let refused = worked.is_err();
        let (output, status) = worked.unwrap_or_else(|status| (None, status));
        Done { output, status, shown, seen, refused }
    }

    /// What the text is called on pages: the name of its file, and its number if there are several.
    fn name(&self) -> String {
        let file = self.name;
        self.folder.as_ref().map_or(file.to_string(), |part| format!("{file}, text {part}"))
    }

    fn work(&self, text: &str, shown: &mut Shown, seen: &mut Vec<Seen>) -> Result<(Option<String>, u8), u8> {
        let Job { config, sink, name, .. } = self;
        let mut module = Module::new(config.compiler.registry.clone());
        module.sources = config.sources.clone();
        let Ok(file) = module.sources.add_part(*name, text, self.first_line) else {
            return Err(sink.refuse(&format!("`{name}` is too large: a file may have 2 GiB")));
        };
        let all_members = Cell::new(true);
        let compiled = self.compile(&mut module, file, &all_members, shown);
        shown.sources = module.sources.clone();
        let (found, output) = compiled?;
        shown.found = found.clone();
        if !config.args.input.verify_diagnostics {
            sink.tell(&found, &module.sources);
            let status = if all_members.get() { FINE } else { INPUT };
            return Ok((output, status_of(&found).max(status)));
        }
        if config.args.input.update {
            *seen = expect::seen(&found, &module.sources, file);
            let status = status_of(&found);
            if status == BUG {
                sink.tell(&found, &module.sources);
            }
            return Ok((None, status));
        }
        let wrong = expect::compare(&found, &module.sources, file);
        sink.tell(&wrong, &module.sources);
        let status = if status_of(&found) == BUG {
            BUG
        } else if wrong.is_empty() {
            FINE
        } else {
            INPUT
        };
        Ok((output.filter(|_| status == FINE), status))
    }

    /// Reads `file`, runs the passes, and writes the program down.
    fn compile(&self, module: &mut Module, file: FileId, all_members: &Cell<bool>, shown: &mut Shown) -> Compiled {
        let Job { config: RunConfig { args, compiler, .. }, sink, .. } = self;
        let options = tc::syntax::ParseOptions { allow_unknown_ops: args.input.allow_unknown_ops };
        let mut found = shown.phase("parse", || inputs::parse(module, file, &options));
        if found.has_errors() {
            return Ok((found, None));
        }
        if args.space.is_asked() {
            return self.space(module, found, all_members);
        }
        found.append(tc::ir::symbols::verify_symbols(module));
        if found.has_errors() {
            return Ok((found, None));
        }
        let trace = Trace::default();
        let mut options = compiler.run_options();
        options.verify = args.run.verify_each != VerifyEach::None;
        options.count_ops = self.config.counts_ops();
        if args.show.trace_schedule {
            options.extensions.push(Arc::new(trace.clone()));
        }
        let explanation = Explain::default();
        if args.show.explain_bounds.is_some() {
            options.extensions.push(Arc::new(explanation.clone()));
        }
        let mut recorder = self.recorder()?;
        let mut manager = tc::pass::Manager::new(&compiler.passes, options);
        if let Some(recorder) = &mut recorder {
            found.append(recorder.parsed(module));
            manager.instrument(recorder);
        }
        if *self.config.points != PrintPoints::default() {
            let print = Box::new(|module: &Module| self.text(module));
            manager.instrument(PrintIr::new(self.config.points.clone(), print, |text| sink.print(text)));
        }
        if args.run.verify_each == VerifyEach::Semantics {
            manager.instrument(tc::SemanticsCheck::within(compiler.step_limit));
        }
        shown.passes_begin();
        let report = manager.run(self.config.pipeline, module);
        drop(manager);
        if let Some(recorder) = &recorder {
            found.append(show::index(recorder, &shown.name, &self.config.command));
        }
        shown.passes_ended(&report.records, recorder);
        if let Ok(text) = trace.0.lock() {
            sink.print(&text);
        }
        self.tell_records(&report.records);
        found.append(report.diagnostics);
        if found.has_errors() {
            if let Some(idx) = report.failed {
                self.reproduce(&mut found, module, file, Stage::Pass(idx));
            }
            return Ok((found, None));
        }
        if let Some(stage) = &args.show.explain_bounds {
            let text = self.explanation(&explanation, stage, module)?;
            return Ok((found, Some(text)));
        }
        if let Some(how) = args.show.access {
            return Ok(self.speed(module, found, how));
        }
        if let Some(level) = args.show.lint {
            return Ok(self.lint(module, found, level));
        }
        let (mut found, output) = self.emit(module, found, shown);
        if output.is_none() {
            self.reproduce(&mut found, module, file, Stage::Emit);
        }
        Ok((found, output))
    }

    /// Writes a reproducer of what failed at `stage`, if one is wanted.
    fn reproduce(&self, found: &mut Diagnostics, module: &Module, file: FileId, stage: Stage) {
        let RunConfig { args, compiler, pipeline, temporary, .. } = self.config;
        let source = module.sources.file(file);
        let (text, name, first_line) = (source.text.as_str(), source.name.as_str(), self.first_line);
        let part = self.folder.as_deref();
        let temporary = *temporary;
        Failed { args, compiler, pipeline, text, name, first_line, part, temporary, stage }.reproduce(found);
    }

    /// The program as it is asked for.
    fn emit(&self, module: &Module, mut found: Diagnostics, shown: &mut Shown) -> (Diagnostics, Option<String>) {
        let RunConfig { args, compiler, .. } = self.config;
        let emitted = shown.phase("emit", || {
            Ok::<_, tc::Failure>(match args.run.emit {
                Emit::Tir => ("", self.text(module), Vec::new()),
                Emit::Cuda => compiler
                    .emit_cuda_with(module, &tc::cuda::EmitOptions { line_directives: args.show.locations })
                    .map(|cuda| ("CUDA C++", cuda.source, cuda.manifests))?,
                Emit::Mlir => compiler
                    .emit_mlir(module, &tc::mlir::EmitOptions { locations: args.show.locations })
                    .map(|mlir| ("MLIR", mlir.text, mlir.manifests))?,
                Emit::Tvmscript => ("TVMScript", compiler.emit_tvmscript(module)?, Vec::new()),
                Emit::Ptx => compiler.emit_ptx(module, args.run.via()).map(|ptx| ("PTX", ptx.text, ptx.manifests))?,
                Emit::Llvm => ("LLVM IR", compiler.emit_llvm(module)?, Vec::new()),
                Emit::Bundle => return Err(not_here(module)),
            })
        });
        match emitted {
            Ok((language, text, manifests)) => {
                if args.show.report.is_some() && args.run.emit != Emit::Tir {
                    let machine_code = shown.phase("assemble", || self.machine_code(module));
                    let assembled = machine_code.resources.clone().unwrap_or(Ok(Vec::new()));
                    let known = assembled.as_deref().unwrap_or_default();
                    let speed = compiler.performance(module, &self.machine(), known).unwrap_or_default();
                    let held = tc::report::held_buffers(module);
                    let text = text.clone();
                    shown.emitted(Emitted { language, text, manifests, assembled, speed, held, machine_code });
                }
                (found, Some(text))
            }
            Err(failure) => {
                found.append(failure.diagnostics);
                (found, None)
            }
        }
    }

    /// The GPU whose speed is told.
    fn machine(&self) -> Machine {
        let RunConfig { args, compiler, .. } = self.config;
        args.show.machine.unwrap_or_else(|| Machine::of(&compiler.target))
    }

    /// What the kernels say of their speed.
    fn speed(&self, module: &Module, mut found: Diagnostics, how: ShowAccess) -> (Diagnostics, Option<String>) {
        let RunConfig { args, compiler, .. } = self.config;
        let is_json = how == ShowAccess::Json || args.show.json;
        match compiler.performance(module, &self.machine(), &[]) {
            Ok(kernels) if is_json => (found, Some(format!("{:#}\n", access::document(&kernels, &module.sources)))),
            Ok(kernels) => (found, Some(access::text(&kernels, &module.sources))),
            Err(failure) => {
                found.append(failure.diagnostics);
                (found, None)
            }
        }
    }

    /// The lint of the machine code. What was not looked at is told like a finding.
    fn lint(&self, module: &Module, mut found: Diagnostics, level: LintLevel) -> (Diagnostics, Option<String>) {
        let RunConfig { args, compiler, .. } = self.config;
        let code = match compiler.machine_code(module, args.run.via()) {
            Ok(code) => code,
            Err(failure) => {
                found.append(failure.diagnostics);
                return (found, None);
            }
        };
        let mut all = code.diagnostics();
        for why in code.not_looked_at() {
            let message = format!("machine code was not looked at: {why}");
            let help = "`scripts/install-nvrtc` puts NVIDIA's compiler and `nvdisasm` below `target/cuda`; `TC_CUDA_HOME` names a toolkit";
            all.push(Diagnostic::warning("not-looked-at", Location::None, message).help(help));
        }
        if level == LintLevel::Deny {
            let warnings = all.iter_mut().filter(|one| one.severity == Severity::Warning);
            warnings.for_each(|one| one.severity = Severity::Error);
        }
        found.append(all);
        let sources = &module.sources;
        let json = || format!("{:#}\n", machine_code::document(&code, sources));
        (found, Some(if args.show.json { json() } else { machine_code::text(&code, sources) }))
    }

    /// What an assembler made of the kernels that were emitted; that it was not asked is said in the place of it.
    fn machine_code(&self, module: &Module) -> MachineCode {
        let RunConfig { args, compiler, .. } = self.config;
        let via = match args.run.emit {
            Emit::Tir | Emit::Llvm | Emit::Bundle | Emit::Tvmscript => return MachineCode::default(),
            Emit::Cuda => Via::Cuda,
            Emit::Ptx => args.run.via(),
            Emit::Mlir => Via::Mlir,
        };
        compiler.machine_code(module, via).unwrap_or_else(|why| {
            MachineCode::not_made(why.diagnostics.iter().next().map_or_else(String::new, |first| first.message.clone()))
        })
    }

    /// Why stages compute what they do.
    fn explanation(&self, Explain(explained): &Explain, stage: &str, module: &Module) -> Result<String, u8> {
        let all = explained.lock().map_or(Vec::new(), |all| all.clone());
        let text = if self.config.args.show.json {
            explain::document(&all, stage, &module.sources).map(|document| format!("{document:#}\n"))
        } else {
            explain::text(&all, stage, &module.sources)
        };
        text.ok_or_else(|| {
            if all.is_empty() {
                return self.sink.refuse("nothing was scheduled: `--explain-bounds` wants a pipeline with `schedule`");
            }
            let help =
                suggest::did_you_mean(stage, explain::names(&all)).map_or(String::new(), |help| format!("; {help}"));
            self.sink.refuse(&format!("there is no stage `{}`{help}", suggest::shorten(stage)))
        })
    }

    /// Answers what is asked about a space.
    fn space(&self, module: &Module, mut found: Diagnostics, all_members: &Cell<bool>) -> Compiled {
        found.append(tc::ir::symbols::verify_module(module));
        if found.has_errors() {
            return Ok((found, None));
        }
        let RunConfig { args, compiler, .. } = self.config;
        let mut module = module.clone();
        if let Err(failure) = compiler.inline_calls(&mut module) {
            found.append(failure.diagnostics);
            return Ok((found, None));
        }
        let ask = Ask {
            module: &module,
            defines: &args.space.defines,
            target: &compiler.target,
            threads: args.run.threads,
            limit: args.space.space_limit,
            json: args.show.json,
        };
        let answer = if let Some(name) = &args.space.list_space {
            ask.list(name)
        } else if let Some(name) = &args.space.list_space_points {
            ask.points(name, &mut |line| {
                self.sink.print(line);
                if self.sink.is_lost() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        } else {
            let name = args.space.member_of.as_deref().unwrap_or("");
            ask.members(name, args.space.member.as_deref()).map(|(answer, all)| {
                all_members.set(all);
                answer
            })
        };
        match answer {
            Ok(Answer { text, found: more }) => {
                found.append(more);
                Ok((found, Some(text)))
            }
            Err(space::Refused::Call(message)) => Err(self.sink.refuse(&message)),
            Err(space::Refused::Input(more)) => {
                found.append(more);
                Ok((found, None))
            }
        }
    }

    /// Tells time and statistics, where asked for.
    fn tell_records(&self, records: &[PassRecord]) {
        let show = &self.config.args.show;
        let mut text = String::new();
        if show.timing {
            let json = || format!("{}\n", tables::timing_json(records));
            text += &if show.json { json() } else { tables::timing_text(records) };
        }
        if show.stats {
            let json = || format!("{}\n", tables::stats_json(records));
            text += &if show.json { json() } else { tables::stats_text(records) };
        }
        self.sink.note(&text);
    }

    /// What keeps the program after each pass, where a folder or a page is asked for. Each of several texts has a folder
    /// of its own.
    fn recorder(&self) -> Result<Option<Recorder<'_>>, u8> {
        let folder = show::dump_folder(self.config.args);
        if folder.is_none() && self.config.args.show.report.is_none() {
            return Ok(None);
        }
        let recorder = Recorder::new(Box::new(|module| self.text(module)));
        let Some(mut folder) = folder else { return Ok(Some(recorder)) };
        folder.extend(&self.folder);
        let failed = |error| self.sink.refuse(&format!("cannot dump into `{}`: {error}", folder.display()));
        recorder.dump_into(&folder).map(Some).map_err(failed)
    }

    fn text(&self, module: &Module) -> String {
        let show = &self.config.args.show;
        let options = PrintOptions { generic: show.generic, locations: show.locations, ..PrintOptions::default() };
        print::print_module(module, &options)
    }
}

/// A bundle is of several runs, and `bundle.rs` makes it.
fn not_here(module: &Module) -> tc::Failure {
    let found = Diagnostic::bug("emitter", Location::None, "a bundle is made of a text, not of one run");
    tc::Failure { diagnostics: found.into(), sources: module.sources.clone() }
}
