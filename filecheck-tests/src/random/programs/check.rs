//! One case through its passes: after each the program means the same, and its text is as good as it.

use super::Programs;
use super::tally::Tally;
use crate::random::check::{Failure, emits};
use crate::random::passes::{Pass, text};
use std::panic::{AssertUnwindSafe, catch_unwind};
use tc::debug::shape;
use tc::ir::Module;
use tc::pass::Manager;
use tc::sim::{CheckOptions, Limits, agree, probe, sizes_to_try};
use tc::support::{Diagnostic, Diagnostics, Fault, Location, render};
use tc::{Compiler, SemanticsCheck};

/// What came of running a case.
#[derive(Debug)]
pub enum End {
    /// The simulator finds it at fault before any pass.
    AtFault(String),
    /// All is right; what was counted on the way.
    Passed(Box<Tally>),
    /// The compiler is wrong, or the generator.
    Failed(Failure),
}

/// Without these nothing is emitted.
const FOR_KERNELS: &[&str] = &["verify-memory", "verify-gpu-limits", "thread-sync", "split-host-device"];
/// Numbers of threads that give the same bytes.
const THREADS: [usize; 2] = [2, 8];
/// Sets of sizes at which the program is held to what it was before all passes.
const MOST_SIZES: usize = 3;

/// Runs `case`; passes that refuse it leave the case and are counted.
pub fn settle(compiler: &Compiler, case: &mut Programs, tally: &mut Tally) -> Result<(), Failure> {
    tally.cases += 1;
    let (end, taken) = run_keeping(compiler, case);
    case.passes = taken;
    match end {
        End::AtFault(what) => *tally.at_fault.entry(what).or_default() += 1,
        End::Passed(counted) => {
            crate::random::run::Counts::add(tally, &counted);
            for &what in &case.made {
                *tally.made.entry(what).or_default() += 1;
            }
        }
        End::Failed(failure) => return Err(failure),
    }
    Ok(())
}

/// Runs `case`. Passes that refuse the program are left out.
pub fn run(compiler: &Compiler, case: &Programs) -> End {
    run_keeping(compiler, case).0
}

/// [`run`], and the passes that took the program, the one that failed included.
fn run_keeping(compiler: &Compiler, case: &Programs) -> (End, Vec<Pass>) {
    let mut taken = Vec::new();
    let end = catch_unwind(AssertUnwindSafe(|| attempt(compiler, case, &mut taken))).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Failure { key: format!("panic: {}", shape(&text)), text: format!("a panic: {text}") })
    });
    (end.unwrap_or_else(End::Failed), taken)
}

/// What is wrong with a program before any pass; nothing if it means something.
pub fn fault(module: &Module) -> Option<String> {
    module.items.iter().find_map(|func| match probe(module, func.symbol(), &options()) {
        Ok(found) => found
            .iter()
            .find(|diagnostic| diagnostic.kind.is_error())
            .map(|diagnostic| diagnostic.kind.code().to_string()),
        Err(why) => Some(format!("cannot be run: {}", shape(&why.message))),
    })
}

fn attempt(compiler: &Compiler, case: &Programs, taken: &mut Vec<Pass>) -> Result<End, Failure> {
    let before = compiler.parse("case.tir", &case.text).map_err(|failure| {
        let first = failure.diagnostics.iter().find(|found| found.is_error());
        let about = first.map_or(String::new(), |found| format!("{}: {}", found.code, shape(&found.message)));
        Failure { key: format!("parse: {about}"), text: failure.text() }
    })?;
    let before = before.module;
    if let Some(what) = fault(&before) {
        return Ok(End::AtFault(what));
    }
    let mut tally = Tally { through: 1, ..Tally::default() };
    let mut module = before.clone();
    for pass in &case.passes {
        taken.push(pass.clone());
        match step(compiler, &module, pass, &mut tally)? {
            Ok(next) => module = next,
            Err(code) => {
                taken.pop();
                *tally.refused.entry(format!("{}: {code}", pass.name)).or_default() += 1;
            }
        }
    }
    agrees_with(&before, &module, &mut tally)?;
    let printed = print(compiler, &module)?;
    for threads in THREADS {
        let (other, _) = run_passes(compiler, before.clone(), &text(taken), threads, false)?;
        if print(compiler, &other)? != printed {
            let text = format!("{threads} threads give another program than one");
            return Err(Failure { key: "threads".to_string(), text });
        }
    }
    let has = |name: &&str| taken.iter().any(|pass| pass.name == *name);
    if FOR_KERNELS.iter().all(has) {
        match emits(compiler, &module, &mut tally.not_mlir) {
            Ok(()) => tally.emitted += 1,
            // What was put in behind the passes that the emitter needs may take their form away, and a pass that was
            // refused leaves its own out.
            Err(failure) if failure.key == "emit: form" && taken.len() < case.passes.len() => {
                *tally.refused.entry("emit: form".to_string()).or_default() += 1;
            }
            Err(failure) if failure.key == "emit: form" && taken.iter().any(|pass| pass.added) => {
                *tally.refused.entry("emit: form".to_string()).or_default() += 1;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(End::Passed(Box::new(tally)))
}

/// The program after `pass`, or the code with which it is refused.
fn step(
    compiler: &Compiler,
    module: &Module,
    pass: &Pass,
    tally: &mut Tally,
) -> Result<Result<Module, &'static str>, Failure> {
    let name = &pass.name;
    let printed = print(compiler, module)?;
    let again = compiler
        .parse("printed.tir", &printed)
        .map_err(|failure| Failure { key: format!("text before {name}: does not parse"), text: failure.text() })?;
    let law = |what: &str| Failure { key: format!("{name}: {what}"), text: format!("`{name}`: {what}\n{printed}") };
    if print(compiler, &again.module)? != printed {
        return Err(law("the program before it prints otherwise once parsed"));
    }
    let pipeline = text(std::slice::from_ref(pass));
    let (direct, found) = run_passes(compiler, module.clone(), &pipeline, 1, true)?;
    let (by_text, found_by_text) = run_passes(compiler, again.module, &pipeline, 1, false)?;
    if let Some(code) = refused(name, &found.0, &direct)? {
        return if found_by_text.0.has_errors() { Ok(Err(code)) } else { Err(law("only the program is refused")) };
    }
    if refused(name, &found_by_text.0, &by_text)?.is_some() {
        return Err(law("only the text is refused"));
    }
    let after = print(compiler, &direct)?;
    if after != print(compiler, &by_text)? {
        return Err(law("the program and its text give different ones"));
    }
    if !found.1 && after != printed {
        return Err(law("it says that it changed nothing"));
    }
    let count = tally.passes.entry(name.clone()).or_default();
    *count = (count.0 + 1, count.1 + u64::from(found.1));
    let uncompared = |one: &&Diagnostic| one.code == "semantics" && one.message.contains("could not be compared");
    for one in found.0.iter().filter(uncompared) {
        *tally.uncompared.entry(shape(&one.message)).or_default() += 1;
    }
    Ok(Ok(direct))
}

/// Runs passes: the module after them, what was found, and whether anything changed.
fn run_passes(
    compiler: &Compiler,
    mut module: Module,
    pipeline: &str,
    threads: usize,
    executed: bool,
) -> Result<(Module, (Diagnostics, bool)), Failure> {
    let planned = compiler.pipeline(pipeline, &mut module);
    let planned =
        planned.map_err(|failure| Failure { key: "pipeline".to_string(), text: format!("{pipeline}: {failure}") })?;
    let mut run_options = compiler.run_options();
    run_options.threads = threads;
    let mut manager = Manager::new(&compiler.passes, run_options);
    if executed {
        manager.instrument(SemanticsCheck::new(options()));
    }
    let report = manager.run(&planned, &mut module);
    drop(manager);
    let changed = report.records.iter().any(|record| record.changed);
    Ok((module, (report.diagnostics, changed)))
}

/// The code with which a pass refuses a program, if it does. A refusal says where, in a message for the author.
fn refused(name: &str, found: &Diagnostics, module: &Module) -> Result<Option<&'static str>, Failure> {
    let errors: Diagnostics = found.iter().filter(|one| one.is_error()).cloned().collect();
    let shown = || render::text(&errors, &module.sources, false);
    if let Some(bug) = errors.iter().find(|one| one.fault == Fault::Bug) {
        return Err(Failure { key: format!("{name}: {}: {}", bug.code, shape(&bug.message)), text: shown() });
    }
    let Some(first) = errors.iter().next() else { return Ok(None) };
    if first.fault == Fault::Input && !matches!(first.location, Location::Span(_)) {
        return Err(Failure { key: format!("{name}: {}: says nowhere", first.code), text: shown() });
    }
    Ok(Some(first.code))
}

/// After all passes a program means what it meant before all of them.
fn agrees_with(before: &Module, after: &Module, tally: &mut Tally) -> Result<(), Failure> {
    for func in &before.items {
        let name = func.symbol();
        if after.function(name).is_none() {
            continue;
        }
        for sizes in sizes_to_try(before, name, &options().sizes).into_iter().take(MOST_SIZES) {
            let options = CheckOptions { sizes, ..options() };
            match agree(before, after, name, &options) {
                Ok(report) if report.agrees() => {}
                Ok(report) => {
                    let text = format!("`@{name}` means something else after all passes: {report}");
                    return Err(Failure { key: "all passes".to_string(), text });
                }
                Err(why) => *tally.uncompared.entry(format!("all passes: {}", shape(&why.message))).or_default() += 1,
            }
        }
    }
    Ok(())
}

fn print(compiler: &Compiler, module: &Module) -> Result<String, Failure> {
    compiler.print(module).map_err(|failure| Failure { key: "print".to_string(), text: failure.text() })
}

/// What the simulator may do for one comparison.
pub(super) fn options() -> CheckOptions {
    let limits = Limits { steps: 64_000_000, memory: 256 << 20, ..Limits::default() };
    CheckOptions { limits, serial: true, ..CheckOptions::default() }
}
