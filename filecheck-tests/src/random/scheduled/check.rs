//! One case: directives are tried one after the other, and what they made of the program is run.

use super::{Scheduled, Tally, directives};
use crate::random::check::Failure;
use crate::random::programs::check::fault;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tc::Compiler;
use tc::debug::shape;
use tc::ir::Module;
use tc::pass::Manager;
use tc::sim::{CheckOptions, Limits, agree};
use tc::support::{Diagnostics, Fault, Location, render};

/// How many directives are drawn.
const DRAWN: usize = 24;

/// Runs `case`; what is refused leaves it and is counted.
pub fn settle(compiler: &Compiler, case: &mut Scheduled, tally: &mut Tally) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(|| attempt(compiler, case, tally))).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Failure { key: format!("panic: {}", shape(&text)), text: format!("a panic: {text}") })
    })
}

fn attempt(compiler: &Compiler, case: &mut Scheduled, tally: &mut Tally) -> Result<(), Failure> {
    tally.cases += 1;
    let before = parse(compiler, &case.program)?;
    if fault(&before).is_some() {
        tally.at_fault += 1;
        case.more = None;
        return Ok(());
    }
    let mut after =
        scheduled(compiler, case)?.map_err(|code| Failure { key: format!("refused: {code}"), text: case.text() })?;
    if let Some(mut rng) = case.more.take() {
        let n = 1 + rng.below(DRAWN);
        for nth in 0..n {
            let Some(func) = after.function("f") else { break };
            let Some((name, line)) = directives::draw(func, &mut rng, nth) else { continue };
            case.lines.push(line);
            let count = tally.directives.entry(name.to_string()).or_default();
            match scheduled(compiler, case)? {
                Ok(module) => {
                    count.0 += 1;
                    after = module;
                }
                Err(code) => {
                    *count.1.entry(code).or_default() += 1;
                    case.lines.pop();
                }
            }
        }
    }
    means_the_same(&before, &after, "schedule", tally)?;
    let has_launch = after
        .function("f")
        .is_some_and(|func| tc::ir::walk::all_ops(func).any(|op| tc::dialects::algebra::is_launch(func, op)));
    let pipeline =
        if has_launch { "cuda" } else { "module(tir.func(loop-partition,simplify,vectorize-loop,unroll-loop))" };
    match run(compiler, after.clone(), pipeline)? {
        Ok(kernels) => {
            tally.kernels += 1;
            means_the_same(&before, &kernels, "cuda", tally)
        }
        Err(code) => {
            *tally.left.entry(format!("{pipeline}: {code}")).or_default() += 1;
            Ok(())
        }
    }
}

fn parse(compiler: &Compiler, text: &str) -> Result<Module, Failure> {
    let read = compiler.parse("case.tir", text);
    read.map(|read| read.module).map_err(|failure| Failure { key: "parse".to_string(), text: failure.text() })
}

/// The module after the schedule, or the code with which it is refused.
fn scheduled(compiler: &Compiler, case: &Scheduled) -> Result<Result<Module, String>, Failure> {
    let read = match compiler.parse("case.tir", &case.text()) {
        Ok(read) => read.module,
        // What the verifier refuses names no thing of the right kind.
        Err(failure) => {
            let code = failure.diagnostics.iter().find(|found| found.is_error()).map_or("", |found| found.code);
            return Ok(Err(code.to_string()));
        }
    };
    run(compiler, read, "schedule")
}

fn run(compiler: &Compiler, mut module: Module, pipeline: &str) -> Result<Result<Module, String>, Failure> {
    let planned = compiler.pipeline(pipeline, &mut module);
    let planned =
        planned.map_err(|failure| Failure { key: "pipeline".to_string(), text: format!("{pipeline}: {failure}") })?;
    let mut options = compiler.run_options();
    options.threads = 1;
    let report = Manager::new(&compiler.passes, options).run(&planned, &mut module);
    let errors: Diagnostics = report.diagnostics.iter().filter(|one| one.is_error()).cloned().collect();
    let shown = || render::text(&errors, &module.sources, false);
    if let Some(bug) = errors.iter().find(|one| one.fault == Fault::Bug) {
        return Err(Failure { key: format!("{pipeline}: {}: {}", bug.code, shape(&bug.message)), text: shown() });
    }
    match errors.iter().next() {
        None => Ok(Ok(module)),
        Some(first) if pipeline == "schedule" && !matches!(first.location, Location::Span(_)) => {
            Err(Failure { key: format!("{}: says nowhere", first.code), text: shown() })
        }
        Some(first) => Ok(Err(first.code.to_string())),
    }
}

/// The program means what it meant.
fn means_the_same(before: &Module, after: &Module, when: &str, tally: &mut Tally) -> Result<(), Failure> {
    let limits = Limits { steps: 64_000_000, memory: 256 << 20, ..Limits::default() };
    let options = CheckOptions { limits, serial: true, ..CheckOptions::default() };
    match agree(before, after, "f", &options) {
        Ok(report) if report.fault_before.is_some() => {
            *tally.left.entry("at fault on some input".to_string()).or_default() += 1;
            Ok(())
        }
        Ok(report) if report.agrees() => Ok(()),
        Ok(report) => {
            let key = match (&report.difference, report.new_diagnostics.first()) {
                (None, Some(found)) => format!("{when}: {}", found.kind.code()),
                _ => format!("{when}: other values"),
            };
            let program = after.function("f").map_or(String::new(), ToString::to_string);
            Err(Failure { key, text: format!("`@f` means something else after `{when}`: {report}\n{program}") })
        }
        Err(why) => {
            *tally.left.entry(format!("{when}: not compared: {}", shape(&why.message))).or_default() += 1;
            Ok(())
        }
    }
}
