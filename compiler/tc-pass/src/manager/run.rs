//! The run itself.

use super::apply::{Outcome, merge, module_pass, one_func};
use super::guard::{catch_outside, disown};
use super::{Instrument, OpCounts, PassAt, PassRecord, Report, Settings};
use crate::analyses::Analyses;
use crate::limits::cancelled;
use crate::pass::{FuncPass, PassInfo, PassKind};
use crate::pipeline::{Pipeline, Planned};
use crate::remarks;
use std::mem::take;
use tc_ir::{Func, Module, Opcode};
use tc_support::clock::Instant;
use tc_support::parallel::Pool;
use tc_support::workers::workers;
use tc_support::{Diagnostic, Diagnostics, Fault, Location, Severity};

type Instruments<'m> = [Box<dyn Instrument + 'm>];

pub(super) fn run(
    settings: &Settings<'_>,
    instruments: &mut Instruments<'_>,
    pipeline: &Pipeline,
    module: &mut Module,
) -> Report {
    let mut run = Run {
        settings,
        report: Report { diagnostics: Diagnostics::new(), records: Vec::new(), failed: None, steps: 0 },
        pool: None,
        analyses: Analyses::default(),
        warned: Vec::new(),
        begin: Instant::now(),
        n_ops: 0,
    };
    if settings.options.verify {
        for item in &mut module.items {
            run.report.diagnostics.append(tc_ir::verify::verify_edited(item));
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
            module.spoiled_by = Some(at.name);
            break;
        }
    }
    run.report
}

struct Run<'r> {
    settings: &'r Settings<'r>,
    report: Report,
    pool: Option<Pool>,
    /// What is known of the functions of the module.
    analyses: Analyses,
    /// Item keywords that a warning has said the module has none of.
    warned: Vec<&'static str>,
    begin: Instant,
    /// The ops of the module, where they are counted.
    n_ops: usize,
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
        let limits = &self.settings.options.limits;
        if limits.is_cancelled() {
            self.report(cancelled(planned.span).into(), at);
            return false;
        }
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
            PassKind::Module(pass) => {
                let analyses = take(&mut self.analyses);
                let left = self.steps_left();
                let mut outcome = module_pass(self.settings, planned.info, &**pass, module, analyses, left);
                note_place(&mut outcome.diagnostics, at, None);
                (1, outcome)
            }
        };
        self.analyses = outcome.analyses;
        let time = start.elapsed().saturating_sub(outcome.verify_time);
        let mut found = outcome.diagnostics;
        self.report.steps += outcome.steps;
        if !found.has_errors() && limits.steps.is_some_and(|steps| self.report.steps > steps) {
            let mut used_up: Diagnostics = limits.used_up(planned.span).into();
            note_place(&mut used_up, at, None);
            found.append(used_up);
        }
        let good = !found.has_errors();
        self.disown_bugs(planned.info, &mut found);
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
            failed = self.after(instruments, (at, planned.info), module, &record);
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
        (at, info): (&PassAt<'_>, &PassInfo),
        module: &Module,
        record: &PassRecord,
    ) -> Option<Diagnostics> {
        instruments.iter_mut().find_map(|instrument| {
            let mut found = instrument.after_pass(at, module, record);
            self.disown_bugs(info, &mut found);
            note_place(&mut found, at, None);
            let wrong = found.has_errors().then(|| found.clone());
            self.report.diagnostics.append(found);
            wrong
        })
    }

    /// Makes the bugs that were found at the pass `info` those of its author, where tc does not have it.
    fn disown_bugs(&self, info: &PassInfo, found: &mut Diagnostics) {
        if self.settings.table.is_foreign(info) {
            found.iter_mut().filter(|one| one.fault == Fault::Bug).for_each(|one| disown(info, one));
        }
    }

    /// How many steps the limit of the run leaves.
    fn steps_left(&self) -> u64 {
        self.settings.options.limits.steps.map_or(u64::MAX, |steps| steps.saturating_sub(self.report.steps))
    }

    fn count(&self, module: &Module) -> usize {
        if self.settings.options.count_ops { module.items.iter().map(tc_ir::walk::n_ops).sum() } else { 0 }
    }

    /// Takes in diagnostics; returns whether none is an error.
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
        let items = module.items.iter_mut().filter(|item| item.header.opcode == opcode);
        let funcs: Vec<(&mut Func, Analyses)> = items
            .map(|func| {
                let analyses = self.analyses.take(func.version());
                (func, analyses)
            })
            .collect();
        let (settings, left) = (self.settings, self.steps_left());
        let one = |func: &mut Func, analyses: Analyses| {
            let mut outcome = one_func(settings, info, pass, func, analyses, left);
            note_place(&mut outcome.diagnostics, at, Some(func.symbol()));
            outcome
        };
        // Later passes may have more functions to work on, so the pool is not bounded by how many there are now.
        let threads = workers(settings.options.threads, usize::MAX);
        if self.pool.is_none() && threads > 1 && funcs.len() > 1 {
            // Without threads to be had the functions run one after another, to the same effect.
            // The name is that by which a host's panic hook knows threads of the compiler (`tc::guard`).
            self.pool = Pool::new(threads, "tc", || {});
        }
        let outcomes: Vec<Outcome> = match &self.pool {
            Some(pool) if funcs.len() > 1 => {
                let one = |(func, analyses)| catch_outside(info.name, || one(func, analyses));
                pool.map(funcs, one)
            }
            _ => funcs.into_iter().map(|(func, analyses)| one(func, analyses)).collect(),
        };
        let mut all = merge(outcomes);
        // What is known of the items that the pass was not given stays known.
        all.analyses.merge(take(&mut self.analyses));
        all
    }
}

/// Tells every error which pass it stopped.
fn note_place(found: &mut Diagnostics, at: &PassAt<'_>, symbol: Option<&str>) {
    for diagnostic in found.iter_mut().filter(|diagnostic| diagnostic.severity == Severity::Error) {
        let on = symbol.map_or(String::new(), |symbol| format!(", on `@{symbol}`"));
        diagnostic.notes.push(format!("while running pass {} of {}, `{}`{on}", at.number, at.total, at.name));
    }
}
