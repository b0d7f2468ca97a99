//! The law: what holds of every file of the corpus, at every stage of its pipeline.
//!
//! - `print(parse(print(m))) == print(m)`, byte for byte, in the pretty and in the generic form.
//! - `p(parse(print(m)))` prints the same as `p(m)`: for each pass of the pipeline, and for every other pass over
//!   functions.
//! - A pass that says that it changed nothing changed nothing.
//! - No pass changes what a program computes, as far as the simulator can tell.
//! - One, two and eight threads give the same program, the same diagnostics and the same CUDA text.
//! - What fails fails again from its reproducer (`reproduces`).

use crate::Outcome;
use crate::exec::Case;
use clap::Parser;
use similar::TextDiff;
use tc::ir::Module;
use tc::ir::print::{PrintOptions, print_module};
use tc::pass::{Manager, PassKind, Pipeline, Planned, parse_pipeline};
use tc::sim::{CheckOptions, Limits};
use tc::support::{Diagnostics, Fault, Sources, Span, render};
use tc::syntax::{ParseOptions, parse_module};
use tc::{Compiler, SemanticsCheck};
use tc_opt::Args;

/// Checks the law for every text and every `tc-opt` line of a file.
pub fn check(case: &Case) -> Outcome {
    for command in case.runs.iter().flatten().filter(|command| command.tool == "tc-opt") {
        let args = std::iter::once("tc-opt").chain(command.args.iter().map(String::as_str));
        // A line that shows a wrong call has nothing to say about programs.
        let Ok(args) = Args::try_parse_from(args) else { continue };
        let Ok(target) = tc::target::Target::parse(&args.run.target) else { continue };
        let compiler = Compiler { target, ..Compiler::new() };
        let reader = Reader { compiler: &compiler, allow_unknown_ops: args.input.allow_unknown_ops };
        let texts = if args.input.split_input_file {
            case.text.split("// -----\n").map(str::to_string).collect()
        } else {
            vec![case.text.clone()]
        };
        for text in &texts {
            one_text(&reader, text, args.run.pass_pipeline.as_deref())?;
            crate::reproduces::check(&compiler, &args, text)?;
        }
    }
    Ok(())
}

fn one_text(reader: &Reader<'_>, text: &str, pipeline: Option<&str>) -> Outcome {
    // What does not parse is a test of its errors.
    let Ok(module) = reader.read(text) else { return Ok(()) };
    reader.round_trip(&module, "the file as parsed")?;
    let compiler = reader.compiler;
    let parse =
        || parse_pipeline(pipeline.unwrap_or("module()"), &compiler.passes, &compiler.registry, &mut Sources::new());
    let Ok(planned) = parse() else { return Ok(()) };
    reader.all_passes(&module, "the file as parsed")?;
    let mut at_stage = module.clone();
    for step in planned.passes {
        let stage = format!("after `{}`", step.info.name);
        let Some(next) = reader.commutes(&at_stage, Pipeline { passes: vec![step] }, &stage)? else { break };
        at_stage = next;
        reader.round_trip(&at_stage, &stage)?;
        reader.all_passes(&at_stage, &stage)?;
    }
    match parse() {
        Ok(pipeline) => reader.any_number_of_threads(&module, &pipeline),
        Err(_) => Ok(()),
    }
}

struct Reader<'r> {
    compiler: &'r Compiler,
    allow_unknown_ops: bool,
}

/// What came of running a pass.
struct Ran {
    module: Module,
    found: Diagnostics,
    changed: bool,
}

impl Reader<'_> {
    fn read(&self, text: &str) -> Result<Module, String> {
        let options = ParseOptions { allow_unknown_ops: self.allow_unknown_ops };
        let (module, mut found) = parse_module("<printed>", text, &self.compiler.registry, &options);
        if !found.has_errors() {
            found.append(tc::ir::symbols::verify_symbols(&module));
        }
        if found.has_errors() { Err(render::text(&found, &module.sources, false)) } else { Ok(module) }
    }

    fn round_trip(&self, module: &Module, stage: &str) -> Outcome {
        for generic in [false, true] {
            let text = print(module, generic);
            let what = if generic { "the generic form" } else { "the text" };
            let again = self.read(&text).map_err(|why| format!("{what} of {stage} does not parse:\n{why}"))?;
            same(&text, &print(&again, generic), &format!("{what} of {stage} prints otherwise once parsed"))?;
            // The generic form says all, so the pretty one follows from it. (Not so the other way round: a literal
            // that is shared prints at each of its uses.)
            if generic {
                same(&print(module, false), &print(&again, false), &format!("{what} of {stage} is another program"))?;
            }
        }
        Ok(())
    }

    /// Runs passes; `executed` asks the simulator for its opinion.
    fn run(&self, mut module: Module, pipeline: &Pipeline, threads: usize, executed: bool) -> Ran {
        let mut options = self.compiler.run_options();
        options.threads = threads;
        let mut manager = Manager::new(&self.compiler.passes, options);
        if executed {
            manager.instrument(SemanticsCheck::new(check_options()));
        }
        let report = manager.run(pipeline, &mut module);
        drop(manager);
        let changed = report.records.iter().any(|record| record.changed);
        Ran { module, found: report.diagnostics, changed }
    }

    /// Runs a pass on the module and on its text; returns the module after it, or none if the pass refuses both.
    fn commutes(&self, module: &Module, pass: Pipeline, stage: &str) -> Result<Option<Module>, String> {
        let text = print(module, false);
        let again = self.read(&text).map_err(|why| format!("what is printed before {stage} does not parse:\n{why}"))?;
        let direct = self.run(module.clone(), &pass, 1, true);
        let by_text = self.run(again, &pass, 1, false);
        for ran in [&direct, &by_text] {
            if ran.found.iter().any(|one| one.is_error() && one.fault == Fault::Bug) {
                let shown = render::text(&ran.found, &ran.module.sources, false);
                return Err(format!("a bug {stage}:\n{shown}\nthe program before it was:\n{text}"));
            }
        }
        // The simulator is asked of the program alone, and has found that it was at fault before the pass.
        if direct.found.iter().any(|one| one.is_error() && one.code == "semantics") && !by_text.found.has_errors() {
            return Ok(None);
        }
        if direct.found.has_errors() || by_text.found.has_errors() {
            let shown = [&direct, &by_text].map(|ran| render::text(&ran.found, &ran.module.sources, false));
            let both = direct.found.has_errors() && by_text.found.has_errors();
            let why = format!("{stage}: only one of program and text is refused\n{}\n{}", shown[0], shown[1]);
            return if both { Ok(None) } else { Err(why) };
        }
        let printed = print(&direct.module, false);
        same(
            &printed,
            &print(&by_text.module, false),
            &format!("{stage}: the program and its text give different ones"),
        )?;
        if !direct.changed {
            same(&text, &printed, &format!("{stage}: the pass says that it changed nothing"))?;
        }
        Ok(Some(direct.module))
    }

    /// Every pass over functions, with its default options, whatever the file asks for.
    fn all_passes(&self, module: &Module, stage: &str) -> Outcome {
        for info in self.compiler.passes.passes() {
            let Ok(pass @ PassKind::Func(opcode, _)) = (info.make)(&[]) else { continue };
            if !module.items.iter().any(|item| item.header.opcode == opcode) {
                continue;
            }
            let planned = Planned { info, pass, options: Vec::new(), span: Span::default() };
            self.commutes(module, Pipeline { passes: vec![planned] }, &format!("{stage}, then `{}`", info.name))?;
        }
        Ok(())
    }

    fn any_number_of_threads(&self, module: &Module, pipeline: &Pipeline) -> Outcome {
        let shown = |threads| {
            let ran = self.run(module.clone(), pipeline, threads, false);
            let found = render::text(&ran.found, &ran.module.sources, false);
            // What a failing pass leaves behind is no program, and may not even print.
            if ran.found.has_errors() {
                return found;
            }
            let cuda = self.compiler.emit_cuda(&ran.module).map_or_else(|failure| failure.text(), |cuda| cuda.source);
            print(&ran.module, false) + &found + &cuda
        };
        let one = shown(1);
        for threads in [1, 2, 8] {
            same(&one, &shown(threads), &format!("{threads} threads give another result than one"))?;
        }
        Ok(())
    }
}

/// What the simulator may do for one comparison: tests are many, and their programs small.
fn check_options() -> CheckOptions {
    let limits = Limits { steps: 50_000_000, ..Limits::default() };
    CheckOptions { limits, sample_above: 500_000, ..CheckOptions::default() }
}

fn print(module: &Module, generic: bool) -> String {
    print_module(module, &PrintOptions { generic, ..PrintOptions::default() })
}

fn same(want: &str, got: &str, what: &str) -> Outcome {
    if want == got {
        return Ok(());
    }
    let diff = TextDiff::from_lines(want, got).unified_diff().header("first", "second").to_string();
    Err(format!("{what}\n{diff}"))
}
