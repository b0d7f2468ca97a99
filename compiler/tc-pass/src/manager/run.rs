//! The run itself.

use super::forms::{Checked, check_established, check_required};
use super::{Instrument, OpCounts, PassAt, PassRecord, Report, Settings};
use crate::pass::{FuncPass, ModulePass, PassCx, PassInfo, PassKind, Stats};
use crate::pipeline::{Pipeline, Planned};
use crate::remarks;
use rayon::prelude::*;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};
use tc_ir::func::StepsUsedUp;
use tc_ir::{Func, Module, Opcode};
use tc_support::workers::workers;
use tc_support::{Diagnostic, Diagnostics, Fault, Location, Severity};

/// The stack of a worker: passes recurse over expressions, which may be deep.
const STACK: usize = 64 << 20;

type Instruments<'m> = [Box<dyn Instrument + 'm>];

pub(super) fn run(
    settings: &Settings<'_>,
    instruments: &mut Instruments<'_>,
    pipeline: &Pipeline,
    module: &mut Module,
) -> Report {
    let mut run = Run {
        settings,
        report: Report { diagnostics: Diagnostics::new(), records: Vec::new(), failed: None },
        pool: None,
        warned: Vec::new(),
        begin: Instant::now(),
        n_ops: 0,
    };
    if settings.options.verify {
        for item in &module.items {
            run.report.diagnostics.append(tc_ir::verify::verify(item));
        }
        if run.report.diagnostics.has_errors() {
            return run.report;
        }
    }
    run.n_ops = run.count(module);
    for (idx, planned) in pipeline.passes.iter().enumerate() {
        let at = PassAt::new(pipeline, idx);
        if !run.step(instruments, &at, planned, module) {
            run.report.failed = Some(idx);
            break;
        }
    }
    run.report
}

struct Run<'r> {
    settings: &'r Settings<'r>,
    report: Report,
    pool: Option<rayon::ThreadPool>,
    /// Item keywords that a warning has said the module has none of.
    warned: Vec<&'static str>,
    begin: Instant,
    /// The ops of the module, where they are counted.
    n_ops: usize,
}

/// What a pass did to one item or to the module.
struct Outcome {
    diagnostics: Diagnostics,
    stats: Stats,
    changed: bool,
    verify_time: Duration,
}

impl Run<'_> {
    /// Runs one pass; returns whether the run can go on.
    fn step(
        &mut self,
        instruments: &mut Instruments<'_>,
        at: &PassAt<'_>,
        planned: &Planned,
        module: &mut Module,
    ) -> bool {
        for instrument in instruments.iter_mut() {
            let found = instrument.before_pass(at, module);
            if !self.report(found, at) {
                return false;
            }
        }
        let start = Instant::now();
        let (n_items, outcome) = match &planned.pass {
            PassKind::Func(opcode, pass) => {
                let n_items = module.items.iter().filter(|item| item.header.opcode == *opcode).count();
                if n_items == 0 {
                    self.warn_no_match(planned, module);
                }
                (n_items, self.func_pass(planned.info, *opcode, &**pass, module, at))
            }
            PassKind::Module(pass) => (1, module_pass(self.settings, planned.info, &**pass, module, at)),
        };
        let time = start.elapsed().saturating_sub(outcome.verify_time);
        let good = !outcome.diagnostics.has_errors();
        let mut found = outcome.diagnostics;
        // What is wrong with the pipeline, and nowhere in the program, is shown where the pass is named.
        let placeless = |one: &&mut Diagnostic| one.fault == Fault::PassAssumption && one.location == Location::None;
        found.iter_mut().filter(placeless).for_each(|one| one.location = planned.span.into());
        remarks::settle(&mut found, self.settings.options.remarks.of_pass(at.name));
        found.iter_mut().filter(|one| one.pass.is_none()).for_each(|one| one.pass = Some(at.name));
        let before = self.n_ops;
        if outcome.changed {
            self.n_ops = self.count(module);
        }
        let record = PassRecord {
            name: at.name,
            anchor: at.anchor,
            n_items,
            changed: outcome.changed,
            stats: outcome.stats,
            start: start.duration_since(self.begin),
            time,
            verify_time: outcome.verify_time,
            ops: self.settings.options.count_ops.then_some(OpCounts { before, after: self.n_ops }),
        };
        let mut failed = (!good).then(|| found.clone());
        self.report.diagnostics.append(found);
        if good {
            failed = self.after(instruments, at, module, &record);
        }
        if let Some(found) = &failed {
            instruments.iter_mut().for_each(|instrument| instrument.pass_failed(at, module, found));
        }
        self.report.records.push(record);
        failed.is_none()
    }

    /// Lets instruments look after a pass; returns what the one found that ends the run.
    fn after(
        &mut self,
        instruments: &mut Instruments<'_>,
        at: &PassAt<'_>,
        module: &Module,
        record: &PassRecord,
    ) -> Option<Diagnostics> {
        instruments.iter_mut().find_map(|instrument| {
            let mut found = instrument.after_pass(at, module, record);
            note_place(&mut found, at, None);
            let wrong = found.has_errors().then(|| found.clone());
            self.report.diagnostics.append(found);
            wrong
        })
    }

    fn count(&self, module: &Module) -> usize {
        if self.settings.options.count_ops { module.items.iter().map(tc_ir::walk::n_ops).sum() } else { 0 }
    }

    /// Takes in findings; returns whether none is an error.
    fn report(&mut self, mut found: Diagnostics, at: &PassAt<'_>) -> bool {
        note_place(&mut found, at, None);
        let good = !found.has_errors();
        self.report.diagnostics.append(found);
        good
    }

    fn warn_no_match(&mut self, planned: &Planned, module: &Module) {
        let anchor = planned.info.anchor;
        if self.warned.contains(&anchor) {
            return;
        }
        self.warned.push(anchor);
        let mut present: Vec<&str> = Vec::new();
        for keyword in module.items.iter().filter_map(|item| item.item_row().item).map(|item| item.keyword) {
            if !present.contains(&keyword) {
                present.push(keyword);
            }
        }
        let held = match &present[..] {
            [] => "the module is empty".to_string(),
            present => format!("the module holds `{}`", present.join("`, `")),
        };
        let message = format!("`{}` ran on nothing: there is no `{anchor}`", planned.info.name);
        self.report.diagnostics.push(Diagnostic::warning("no-match", planned.span, message).note(held));
    }

    /// Runs a pass on every item of a row, several at a time.
    fn func_pass(
        &mut self,
        info: &PassInfo,
        opcode: Opcode,
        pass: &dyn FuncPass,
        module: &mut Module,
        at: &PassAt<'_>,
    ) -> Outcome {
        let mut funcs: Vec<&mut Func> = module.items.iter_mut().filter(|item| item.header.opcode == opcode).collect();
        let settings = self.settings;
        let one = |func: &mut Func| {
            let mut outcome = one_func(settings, info, pass, func);
            note_place(&mut outcome.diagnostics, at, Some(func.symbol()));
            outcome
        };
        // Later passes may have more functions to work on, so the pool is not bounded by how many there are now.
        let threads = workers(settings.options.threads, usize::MAX);
        if self.pool.is_none() && threads > 1 && funcs.len() > 1 {
            // Without threads to be had the functions run one after another, to the same effect.
            self.pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .stack_size(STACK)
                // The name by which a host's panic hook knows threads of the compiler (`tc::guard`).
                .thread_name(|_| "tc".to_string())
                .build()
                .ok();
        }
        let outcomes: Vec<Outcome> = match &self.pool {
            Some(pool) if funcs.len() > 1 => {
                pool.install(|| funcs.into_par_iter().map(|func| catch_outside(|| one(func))).collect())
            }
            _ => funcs.iter_mut().map(|func| one(func)).collect(),
        };
        merge(outcomes)
    }
}

/// A panic outside of a pass must not take the pool down: it becomes a finding as well.
fn catch_outside(run: impl FnOnce() -> Outcome) -> Outcome {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|payload| Outcome {
        diagnostics: panicked(&*payload, Location::None).into(),
        stats: Stats::default(),
        changed: true,
        verify_time: Duration::ZERO,
    })
}

fn merge(outcomes: Vec<Outcome>) -> Outcome {
    let mut all = Outcome {
        diagnostics: Diagnostics::new(),
        stats: Stats::default(),
        changed: false,
        verify_time: Duration::ZERO,
    };
    for outcome in outcomes {
        all.diagnostics.append(outcome.diagnostics);
        all.stats.merge(&outcome.stats);
        all.changed |= outcome.changed;
        // The functions ran side by side; the longest check is the one that was waited for.
        all.verify_time = all.verify_time.max(outcome.verify_time);
    }
    all
}

/// What `info` is lent.
fn context(settings: &Settings<'_>, info: &PassInfo) -> PassCx {
    PassCx::new(settings.options.extensions.clone()).with_remarks(settings.options.remarks.of_pass(info.name))
}

fn one_func(settings: &Settings<'_>, info: &PassInfo, pass: &dyn FuncPass, func: &mut Func) -> Outcome {
    let start = Instant::now();
    let missing = check_required(settings.table, info, Checked::Func(func));
    let mut verify_time = start.elapsed();
    let mut cx = context(settings, info);
    if missing.has_errors() {
        return Outcome { diagnostics: missing, stats: cx.stats, changed: false, verify_time };
    }
    let at = func.location(func.header.loc);
    func.limit_steps(Some(steps_for(func)));
    let changed = guarded(&mut cx, at, |cx| pass.run(func, cx));
    func.limit_steps(None);
    if !cx.diagnostics.has_errors() {
        let start = Instant::now();
        if changed && settings.options.verify {
            cx.diagnostics.append(broken(info, func));
        }
        if !cx.diagnostics.has_errors() {
            cx.diagnostics.append(check_established(info, func));
        }
        verify_time += start.elapsed();
    }
    Outcome { diagnostics: cx.diagnostics, stats: cx.stats, changed, verify_time }
}

fn module_pass(
    settings: &Settings<'_>,
    info: &PassInfo,
    pass: &dyn ModulePass,
    module: &mut Module,
    at: &PassAt<'_>,
) -> Outcome {
    let start = Instant::now();
    let mut missing = check_required(settings.table, info, Checked::Module(module));
    let mut verify_time = start.elapsed();
    let mut cx = context(settings, info);
    if missing.has_errors() {
        note_place(&mut missing, at, None);
        return Outcome { diagnostics: missing, stats: cx.stats, changed: false, verify_time };
    }
    let before: Vec<(Opcode, String)> =
        module.items.iter().map(|item| (item.header.opcode, item.symbol().to_string())).collect();
    for item in &mut module.items {
        item.limit_steps(Some(steps_for(item)));
    }
    let changed = guarded(&mut cx, Location::None, |cx| pass.run(module, cx));
    for item in &mut module.items {
        item.limit_steps(None);
    }
    if !cx.diagnostics.has_errors() {
        let start = Instant::now();
        for item in module.items.iter().filter(|_| changed && settings.options.verify) {
            cx.diagnostics.append(broken(info, item));
        }
        // What the pass established it established of the items that it made.
        let is_old = |item: &Func| {
            before.iter().any(|(opcode, symbol)| *opcode == item.header.opcode && symbol == item.symbol())
        };
        if !cx.diagnostics.has_errors() && !info.establishes.is_empty() {
            for item in module.items.iter().filter(|item| !is_old(item)) {
                cx.diagnostics.append(check_established(info, item));
            }
        }
        verify_time += start.elapsed();
    }
    note_place(&mut cx.diagnostics, at, None);
    Outcome { diagnostics: cx.diagnostics, stats: cx.stats, changed, verify_time }
}

/// How many steps a pass may do on a function, beside those for each op that there is.
const STEPS: u64 = 1 << 22;
/// How many more for each op.
const STEPS_AN_OP: u64 = 64;

/// How many steps a pass may do on `func`: what ends is far below, and what does not is ended before memory is full.
fn steps_for(func: &Func) -> u64 {
    STEPS + STEPS_AN_OP * func.n_op_ids() as u64
}

fn too_many_steps(place: Location) -> Diagnostic {
    let text = format!("the pass was ended after {STEPS} steps and {STEPS_AN_OP} for each op of its input");
    let help = "make the function smaller: unroll or copy less of it, or divide it into several";
    Diagnostic::error("pass-steps", place, text).help(help)
}

/// Runs `pass`; a panic becomes a finding at `place`, and so does a pass that does too many steps.
fn guarded(cx: &mut PassCx, place: Location, pass: impl FnOnce(&mut PassCx) -> bool) -> bool {
    match catch_unwind(AssertUnwindSafe(|| pass(cx))) {
        Ok(changed) => changed,
        Err(payload) => {
            cx.report(if payload.is::<StepsUsedUp>() { too_many_steps(place) } else { panicked(&*payload, place) });
            true
        }
    }
}

fn panicked(payload: &(dyn Any + Send), place: Location) -> Diagnostic {
    let text = payload.downcast_ref::<&str>().map(|text| text.to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "no message".to_string());
    Diagnostic::bug("pass-panicked", place, format!("the pass panicked: {text}"))
}

/// What the verifier has to say of a function that a pass has changed: all of it is the pass's fault.
fn broken(info: &PassInfo, func: &Func) -> Diagnostics {
    let mut found = tc_ir::verify::verify(func);
    for diagnostic in found.iter_mut().filter(|diagnostic| diagnostic.is_error()) {
        diagnostic.fault = Fault::Bug;
        diagnostic.message = format!("`{}` broke `@{}`: {}", info.name, func.symbol(), diagnostic.message);
    }
    found
}

/// Tells every error which pass it stopped.
fn note_place(found: &mut Diagnostics, at: &PassAt<'_>, symbol: Option<&str>) {
    for diagnostic in found.iter_mut().filter(|diagnostic| diagnostic.severity == Severity::Error) {
        let on = symbol.map_or(String::new(), |symbol| format!(", on `@{symbol}`"));
        diagnostic.notes.push(format!("while running pass {} of {}, `{}`{on}", at.number, at.total, at.name));
    }
}
