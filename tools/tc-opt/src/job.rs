//! One text, from parsing to its output.

use crate::args::{Args, Emit, VerifyEach};
use crate::sink::Sink;
use crate::space::{self, Ask};
use crate::{BUG, FINE, INPUT, expect, explain};
use std::cell::Cell;
use std::sync::Arc;
use tc::Compiler;
use tc::ir::print::PrintOptions;
use tc::ir::{Module, print};
use tc::pass::instruments::{DumpDir, PrintIr, PrintPoints};
use tc::pass::{PassRecord, Pipeline, report};
use tc::passes::schedule::{Explain, Trace};
use tc::support::{Diagnostics, FileId, Sources, suggest};
use tc_cli::status_of;

/// What is the same for all texts.
pub(crate) struct Plan<'p> {
    pub(crate) args: &'p Args,
    pub(crate) compiler: &'p Compiler,
    pub(crate) pipeline: &'p Pipeline,
    pub(crate) points: &'p PrintPoints,
    /// The files that the pipeline points into.
    pub(crate) sources: &'p Sources,
}

/// One text on its way.
pub(crate) struct Job<'j, 'i> {
    pub(crate) plan: &'j Plan<'j>,
    pub(crate) sink: &'j Sink<'j, 'i>,
    /// The folder of its own that it has in a dump, if it is not the only text.
    pub(crate) folder: Option<String>,
}

/// What came of one text.
pub(crate) struct Done {
    /// What is to be written; nothing if it failed.
    pub(crate) output: Option<String>,
    pub(crate) status: u8,
}

/// The findings, and the output if there is one. The error is a status whose reason was told.
type Compiled = Result<(Diagnostics, Option<String>), u8>;

impl Job<'_, '_> {
    /// Works on `text`. What is wrong is told.
    pub(crate) fn run(&self, text: &str) -> Done {
        self.work(text).unwrap_or_else(|status| Done { output: None, status })
    }

    fn work(&self, text: &str) -> Result<Done, u8> {
        let Job { plan, sink, .. } = self;
        let mut module = Module::new(plan.compiler.registry.clone());
        module.sources = plan.sources.clone();
        let name = plan.args.file_name();
        let Ok(file) = module.sources.add(&name, text) else {
            return Err(sink.refuse(&format!("`{name}` is too large: a file may have 2 GiB")));
        };
        let all_members = Cell::new(true);
        let (found, output) = self.compile(&mut module, file, &all_members)?;
        if !plan.args.input.verify_diagnostics {
            sink.tell(&found, &module.sources);
            let status = if all_members.get() { FINE } else { INPUT };
            return Ok(Done { output, status: status_of(&found).max(status) });
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
        Ok(Done { output: output.filter(|_| status == FINE), status })
    }

    /// Reads `file`, runs the passes, and writes the program down.
    fn compile(&self, module: &mut Module, file: FileId, all_members: &Cell<bool>) -> Compiled {
        let Job { plan: Plan { args, compiler, .. }, sink, .. } = self;
        let options = tc::syntax::ParseOptions { allow_unknown_ops: args.input.allow_unknown_ops };
        let mut found = tc::syntax::parse_file(module, file, &options);
        if found.has_errors() {
            return Ok((found, None));
        }
        if args.space.is_asked() {
            return self.space(module, found, all_members);
        }
        let trace = Trace::default();
        let mut options = compiler.run_options();
        options.verify = args.run.verify_each != VerifyEach::None;
        if args.show.trace_schedule {
            options.extensions.push(Arc::new(trace.clone()));
        }
        let explanation = Explain::default();
        if args.show.explain_bounds.is_some() {
            options.extensions.push(Arc::new(explanation.clone()));
        }
        let mut manager = tc::pass::Manager::new(&compiler.passes, options);
        if let Some(mut dump) = self.dump()? {
            found.append(dump.parsed(module));
            manager.instrument(dump);
        }
        if *self.plan.points != PrintPoints::default() {
            let print = Box::new(|module: &Module| self.text(module));
            manager.instrument(PrintIr::new(self.plan.points.clone(), print, |text| sink.print(text)));
        }
        if args.run.verify_each == VerifyEach::Semantics {
            manager.instrument(tc::SemanticsCheck::new(tc::sim::CheckOptions::default()));
        }
        let report = manager.run(self.plan.pipeline, module);
        drop(manager);
        if let Ok(text) = trace.0.lock() {
            sink.print(&text);
        }
        self.tell_records(&report.records);
        found.append(report.diagnostics);
        if found.has_errors() {
            return Ok((found, None));
        }
        if let Some(stage) = &args.show.explain_bounds {
            let text = self.explanation(&explanation, stage, module)?;
            return Ok((found, Some(text)));
        }
        Ok(self.emit(module, found))
    }

    /// The program as it is asked for.
    fn emit(&self, module: &Module, mut found: Diagnostics) -> (Diagnostics, Option<String>) {
        match self.plan.args.run.emit {
            Emit::Tir => (found, Some(self.text(module))),
            Emit::Cuda => match self.plan.compiler.emit_cuda(module) {
                Ok(cuda) => (found, Some(cuda.source)),
                Err(failure) => {
                    found.append(failure.diagnostics);
                    (found, None)
                }
            },
        }
    }

    /// Why stages compute what they do.
    fn explanation(&self, Explain(explained): &Explain, stage: &str, module: &Module) -> Result<String, u8> {
        let all = explained.lock().map_or(Vec::new(), |all| all.clone());
        let text = if self.plan.args.show.json {
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
        module.items.iter().for_each(|item| found.append(tc::ir::verify::verify(item)));
        if found.has_errors() {
            return Ok((found, None));
        }
        let Plan { args, compiler, .. } = self.plan;
        let ask = Ask {
            module,
            defines: &args.space.defines,
            target: &compiler.target,
            threads: args.run.threads,
            limit: args.space.space_limit,
            json: args.show.json,
        };
        let answer = if let Some(name) = &args.space.list_space {
            ask.list(name)
        } else if let Some(name) = &args.space.list_space_points {
            ask.points(name, &mut |line| self.sink.print(line)).map(|()| String::new())
        } else {
            let name = args.space.member_of.as_deref().unwrap_or("");
            ask.members(name, args.space.member.as_deref()).map(|(text, all)| {
                all_members.set(all);
                text
            })
        };
        match answer {
            Ok(text) => Ok((found, Some(text))),
            Err(space::Refused::Call(message)) => Err(self.sink.refuse(&message)),
            Err(space::Refused::Input(more)) => {
                found.append(more);
                Ok((found, None))
            }
        }
    }

    /// Tells time and statistics, where asked for.
    fn tell_records(&self, records: &[PassRecord]) {
        let show = &self.plan.args.show;
        let mut text = String::new();
        if show.timing {
            let json = || format!("{}\n", report::timing_json(records));
            text += &if show.json { json() } else { report::timing_text(records) };
        }
        if show.stats {
            let json = || format!("{}\n", report::stats_json(records));
            text += &if show.json { json() } else { report::stats_text(records) };
        }
        self.sink.note(&text);
    }

    /// Where the program after each pass is written; each of several texts has a folder of its own.
    fn dump(&self) -> Result<Option<DumpDir<'_>>, u8> {
        let folder = self.plan.args.show.dump_dir.clone().or_else(DumpDir::folder_of_environment);
        let Some(mut folder) = folder else { return Ok(None) };
        folder.extend(&self.folder);
        let failed = |error| self.sink.refuse(&format!("cannot dump into `{}`: {error}", folder.display()));
        DumpDir::new(&folder, Box::new(|module| self.text(module))).map(Some).map_err(failed)
    }

    fn text(&self, module: &Module) -> String {
        let show = &self.plan.args.show;
        let options = PrintOptions { generic: show.generic, locations: show.locations, ..PrintOptions::default() };
        print::print_module(module, &options)
    }
}
