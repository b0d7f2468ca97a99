//! One case through the whole compiler: what is refused is dropped, what is accepted has to be right.

use super::Case;
use super::passes;
use super::run::Counts;
use super::schedules;
use super::tally::Tally;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tc::debug::shape;
use tc::ir::Module;
use tc::pass::Manager;
use tc::sim::{CheckOptions, DiagnosticKind, Limits, check_against_definition};
use tc::support::{Diagnostic, Diagnostics, Fault, Location, Sources, render};
use tc::{Compiler, SemanticsCheck};

/// What is wrong with a case.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What stays the same while the case shrinks: the pass, the code and the shape of the message.
    pub key: String,
    /// All that is to be told.
    pub text: String,
}

/// Where something was refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// At a directive, by its number.
    Directive(usize),
    /// By a pass, by its number.
    Pass(usize),
}

/// What came of running a case as it stands.
#[derive(Debug)]
pub enum End {
    /// All is right; what was counted on the way.
    Passed(Box<Tally>),
    /// The compiler refuses something, with a message for the author.
    Refused(Place, &'static str),
    /// The compiler is wrong, or the generator.
    Failed(Failure),
}

/// Passes of `cuda` that may refuse what the schedule asks for, and the code of the refusal.
const MAY_REFUSE: &[(&str, &str)] = &[
    ("verify-memory", "host-access"),
    ("verify-memory", "launch-in-loop"),
    ("verify-gpu-limits", ""),
    // What threads share under a condition is not always told from what is a thread's own.
    ("thread-sync", "divergent-sync"),
];
/// Without these nothing is emitted.
const FOR_KERNELS: &[&str] = &["verify-memory", "verify-gpu-limits", "thread-sync", "split-host-device"];

/// Runs `case`; what the compiler refuses leaves the case and is counted.
pub fn settle(compiler: &Compiler, case: &mut Case, tally: &mut Tally) -> Result<(), Failure> {
    tally.cases += 1;
    // Whether the schedule is accepted is found out before anything is executed.
    loop {
        let mut short = case.clone();
        short.passes.retain(|pass| pass.name == "schedule");
        let End::Refused(Place::Directive(at), code) = run(compiler, &short, false) else { break };
        let kind = case.schedule.directives[at].kind.clone();
        *tally.directives.entry(kind).or_default().refused.entry(code.to_string()).or_default() += 1;
        case.schedule = case.schedule.refuse(at);
    }
    loop {
        match run(compiler, case, true) {
            End::Passed(counted) => {
                tally.add(&counted);
                for shape in &case.operator.shapes {
                    *tally.shapes.entry(shape).or_default() += 1;
                }
                for directive in &case.schedule.directives {
                    tally.directives.entry(directive.kind.clone()).or_default().applied += 1;
                }
                if case.choice.is_some() {
                    tally.directives.entry("dispatch".to_string()).or_default().applied += 1;
                }
                return Ok(());
            }
            End::Failed(failure) => return Err(failure),
            End::Refused(Place::Directive(at), code) => {
                let kind = case.schedule.directives[at].kind.clone();
                *tally.directives.entry(kind).or_default().refused.entry(code.to_string()).or_default() += 1;
                case.schedule = case.schedule.refuse(at);
            }
            End::Refused(Place::Pass(at), code) => {
                let gone = case.passes[at].clone();
                match gone.name.as_str() {
                    // There is no kernel, or none that can be launched: what makes kernels has nothing to do.
                    "verify-memory" => {
                        let end = case.passes.iter().position(|pass| pass.name == "thread-sync" && !pass.added);
                        case.passes.truncate(end.unwrap_or(at));
                        case.passes.remove(at);
                    }
                    "thread-sync" => case.passes.truncate(at),
                    // Sizes that may not stay open are fixed.
                    "schedule" => {
                        case.passes[at].text = gone.name.clone();
                        if case.choice.is_some() {
                            passes::choose(&mut case.passes[at]);
                        }
                    }
                    "hoist-alloc" if !gone.added => case.passes.truncate(at),
                    _ => {
                        case.passes.remove(at);
                    }
                }
                let added = if gone.added { "added " } else { "" };
                *tally.refused_passes.entry(format!("{added}{}: {code}", gone.name)).or_default() += 1;
            }
        }
    }
}

/// Runs `case` as it stands; `executed` compares what programs mean, and emits.
pub fn run(compiler: &Compiler, case: &Case, executed: bool) -> End {
    catch_unwind(AssertUnwindSafe(|| attempt(compiler, case, executed))).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
        End::Failed(Failure { key: format!("panic: {}", shape(&text)), text: format!("a panic: {text}") })
    })
}

fn attempt(compiler: &Compiler, case: &Case, executed: bool) -> End {
    let text = case.text();
    let before = match compiler.parse("case.tir", &text) {
        Ok(parsed) => parsed.module,
        Err(failure) => return refused(case, &failure.diagnostics, &failure.sources, "parse", 0),
    };
    let mut module = before.clone();
    let pipeline = match compiler.pipeline(&passes::text(&case.passes), &mut module) {
        Ok(pipeline) => pipeline,
        Err(failure) => return refused(case, &failure.diagnostics, &failure.sources, "pipeline", 0),
    };
    let mut manager = Manager::new(&compiler.passes, compiler.run_options());
    if executed {
        manager.instrument(SemanticsCheck::new(options()));
    }
    let report = manager.run(&pipeline, &mut module);
    drop(manager);
    if !report.is_ok() {
        let at = report.failed.unwrap_or(0);
        let name = case.passes.get(at).map_or("verify", |pass| &*pass.name);
        return refused(case, &report.diagnostics, &module.sources, name, at);
    }
    let mut tally = Tally::default();
    for record in &report.records {
        let count = tally.passes.entry(record.name.to_string()).or_default();
        *count = (count.0 + 1, count.1 + u64::from(record.changed));
    }
    let uncompared = |found: &&Diagnostic| found.code == "semantics" && found.message.contains("could not be compared");
    for found in report.diagnostics.iter().filter(uncompared) {
        *tally.uncompared.entry(shape(&found.message)).or_default() += 1;
    }
    if !executed {
        return End::Passed(Box::new(tally));
    }
    match final_checks(compiler, case, &before, &module, &mut tally) {
        Ok(()) => End::Passed(Box::new(tally)),
        Err(failure) => match case.passes.iter().rposition(|pass| pass.added) {
            // What was put in behind the passes that the emitter needs may take their form away.
            Some(added) if failure.key == "emit: form" => End::Refused(Place::Pass(added), "emitted form"),
            _ => End::Failed(failure),
        },
    }
}

/// What holds of the program that all passes made of the operator.
fn final_checks(
    compiler: &Compiler,
    case: &Case,
    before: &Module,
    after: &Module,
    tally: &mut Tally,
) -> Result<(), Failure> {
    let fail = |step: &str, text: String| Failure { key: format!("{step}: {}", shape(&text)), text };
    let report = match check_against_definition((before, "op"), (after, "op"), &options()) {
        Ok(report) => report,
        // A loop around a launch that is left to the CUDA compiler to unroll.
        Err(why) if why.code == "unsupported" => {
            *tally.uncompared.entry(format!("definition: {}", why.message)).or_default() += 1;
            return Ok(());
        }
        Err(why) => return Err(fail("definition", why.message.clone())),
    };
    tally.cells += report.cells;
    if report.diagnostics.count(DiagnosticKind::Limit) > 0 {
        *tally.uncompared.entry("definition: running it costs too much".to_string()).or_default() += 1;
    } else if report.at_fault().is_some() {
        *tally.uncompared.entry("definition: the operator is at fault".to_string()).or_default() += 1;
    } else if !report.is_ok() {
        let found: Diagnostics = report.diagnostics().into_iter().collect();
        let first = found.iter().find(|found| found.is_error()).map_or("", |found| found.code);
        let text = render::text(&found, &after.sources, false);
        return Err(Failure { key: format!("definition: {first}"), text });
    }
    if let Some(found) = report.field.difference() {
        let text = render::text(&found.into(), &after.sources, false);
        return Err(Failure { key: "definition: not-equal".to_string(), text });
    }
    if report.field.undecided().is_some() {
        *tally.uncompared.entry("definition: not decided in exact arithmetic".to_string()).or_default() += 1;
    }
    let printed = compiler.print(after).map_err(|failure| fail("print", failure.text()))?;
    let again = compiler.parse("printed.tir", &printed).map_err(|failure| fail("print", failure.text()))?;
    if compiler.print(&again.module).map_err(|failure| fail("print", failure.text()))? != printed {
        return Err(fail("print", "the program prints otherwise once parsed".to_string()));
    }
    if FOR_KERNELS.iter().all(|name| case.passes.iter().any(|pass| pass.name == *name)) {
        emits(compiler, after, &mut tally.not_mlir)?;
        tally.emitted += 1;
    }
    Ok(())
}

/// Programs that both emitters refuse by right: launches that the host would have to count, and buffers in `shared.dyn`
/// that no pass of the pipeline merged.
const REFUSED: [&str; 2] = ["host-loop", "dynamic-shared"];

/// Both emitters take the program; what only MLIR's refuses is counted, and so is what both refuse by right.
pub(super) fn emits(compiler: &Compiler, after: &Module, not_mlir: &mut BTreeMap<String, u64>) -> Result<(), Failure> {
    let cuda = match compiler.emit_cuda(after) {
        Ok(cuda) => cuda,
        Err(failure) => match failure.diagnostics.iter().find(|found| found.is_error()) {
            Some(error) if REFUSED.contains(&error.code) => {
                *not_mlir.entry(shape(&error.message)).or_default() += 1;
                return Ok(());
            }
            error => {
                let code = error.map_or("", |error| error.code);
                return Err(Failure { key: format!("emit: {code}"), text: failure.text() });
            }
        },
    };
    if cuda.source.is_empty() {
        let text = "no text came out".to_string();
        return Err(Failure { key: format!("emit: {}", shape(&text)), text });
    }
    match compiler.emit_mlir(after, &tc::mlir::EmitOptions::default()) {
        Ok(mlir) if mlir.manifests == cuda.manifests => Ok(()),
        Ok(_) => {
            let text = "kernels are not launched as those in CUDA are".to_string();
            Err(Failure { key: format!("mlir: {}", shape(&text)), text })
        }
        // Each way has a few things that it does not write.
        Err(failure) => match failure.diagnostics.iter().find(|found| found.is_error()) {
            Some(error) if error.code == "no-emitter" => {
                *not_mlir.entry(shape(&error.message)).or_default() += 1;
                Ok(())
            }
            error => {
                let key = format!("mlir: {}", error.map_or("", |error| error.code));
                Err(Failure { key, text: failure.text() })
            }
        },
    }
}

/// An error of step `at`: whose is it?
fn refused(case: &Case, found: &Diagnostics, sources: &Sources, name: &str, at: usize) -> End {
    let fail = |error: &Diagnostic| {
        let key = format!("{name}: {}: {}", error.code, shape(&error.message));
        End::Failed(Failure { key, text: render::text(&errors(found), sources, false) })
    };
    let Some(error) = found.iter().find(|found| found.is_error()) else {
        return End::Failed(Failure { key: format!("{name}: no error"), text: "failed without an error".to_string() });
    };
    if error.fault == Fault::Bug {
        return fail(error);
    }
    if matches!(name, "schedule" | "parse" | "verify") {
        let places = std::iter::once(&error.location).chain(error.labels.iter().map(|label| &label.location));
        let directive = places.filter_map(|place| directive_at(case, place, sources)).next();
        // An axis of an open size starts at 0.
        let is_open = case.passes.get(at).is_some_and(|pass| pass.text.contains("symbolic"));
        return match directive {
            Some(at) => End::Refused(Place::Directive(at), error.code),
            None if name == "schedule" && is_open && error.code == "extent" => {
                End::Refused(Place::Pass(at), error.code)
            }
            None => fail(error),
        };
    }
    // What a pass cannot do for a directive is the schedule's wish.
    if schedules::is_asked_of(name, error.code) {
        let asked = schedules::who_asked(&case.schedule, name, error.code);
        return asked.map_or_else(|| fail(error), |at| End::Refused(Place::Directive(at), error.code));
    }
    let Some(pass) = case.passes.get(at) else { return fail(error) };
    if pass.added {
        return End::Refused(Place::Pass(at), error.code);
    }
    let may = MAY_REFUSE.iter().any(|&(pass, code)| pass == name && (code.is_empty() || code == error.code));
    if may && name != "thread-sync" {
        return End::Refused(Place::Pass(at), error.code);
    }
    // What stands before may have made of the program what the pass does not take.
    if let Some(added) = case.passes[..at].iter().rposition(|pass| pass.added) {
        return End::Refused(Place::Pass(added), error.code);
    }
    // Without launches that stand for themselves there is no telling what outlives one.
    let may = may || (error.code == "alloc-scope" && !case.passes.iter().any(|pass| pass.name == "verify-memory"));
    if may { End::Refused(Place::Pass(at), error.code) } else { fail(error) }
}

fn errors(found: &Diagnostics) -> Diagnostics {
    found.iter().filter(|found| found.is_error()).cloned().collect()
}

/// The directive that stands at a place.
fn directive_at(case: &Case, place: &Location, sources: &Sources) -> Option<usize> {
    let Location::Span(span) = place else { return None };
    let (file, at) = sources.line_col(span.start)?;
    let line = usize::try_from(at.line).ok().filter(|_| file.name == "case.tir")?;
    let nth = line.checked_sub(case.first_directive_line())?;
    (nth < case.schedule.directives.len()).then_some(nth)
}

/// What the simulator may do for one comparison.
fn options() -> CheckOptions {
    let limits = Limits { steps: 5_000_000, memory: 256 << 20, ..Limits::default() };
    CheckOptions { limits, serial: true, ..CheckOptions::default() }
}
