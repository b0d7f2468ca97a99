//! One pass on one function, or on the module: what is checked before it, and what is done after it.

use super::Settings;
use super::forms::{Checked, check_established, check_required};
use super::guard::{Guard, limit, unlimit};
use crate::analyses::Analyses;
use crate::pass::{FuncPass, ModulePass, PassCx, PassInfo, Stats};
use rustc_hash::{FxHashMap, FxHashSet};
use std::time::Duration;
use tc_ir::func::Version;
use tc_ir::opdef::Context;
use tc_ir::{Func, Module, text_order};
use tc_support::clock::Instant;
use tc_support::{Diagnostic, Diagnostics, Fault, Location};

/// What a pass did to one item or to the module.
pub(super) struct Outcome {
    pub(super) diagnostics: Diagnostics,
    pub(super) stats: Stats,
    pub(super) changed: bool,
    pub(super) verify_time: Duration,
    pub(super) analyses: Analyses,
    /// How many edits were made.
    pub(super) steps: u64,
}

impl Outcome {
    /// Nothing yet.
    pub(super) fn new() -> Outcome {
        Outcome {
            diagnostics: Diagnostics::new(),
            stats: Stats::default(),
            changed: false,
            verify_time: Duration::ZERO,
            analyses: Analyses::default(),
            steps: 0,
        }
    }
}

/// The outcome of a pass on several items.
pub(super) fn merge(outcomes: Vec<Outcome>) -> Outcome {
    let mut all = Outcome::new();
    for outcome in outcomes {
        all.diagnostics.append(outcome.diagnostics);
        all.stats.merge(&outcome.stats);
        all.changed |= outcome.changed;
        // The functions ran side by side; the longest check is the one that was waited for.
        all.verify_time = all.verify_time.max(outcome.verify_time);
        all.analyses.merge(outcome.analyses);
        all.steps += outcome.steps;
    }
    all
}

/// What `info` is lent, and the time that checks took; the outcome where something keeps it from running.
fn begin(
    settings: &Settings<'_>,
    info: &PassInfo,
    on: Checked<'_>,
    mut analyses: Analyses,
) -> Result<(PassCx, Duration), Outcome> {
    let start = Instant::now();
    let missing = check_required(settings.table, info, on, &mut analyses);
    let verify_time = start.elapsed();
    if missing.has_errors() {
        return Err(Outcome { diagnostics: missing, verify_time, analyses, ..Outcome::new() });
    }
    let cx = PassCx::new(settings.options.extensions.clone())
        .with_remarks(settings.options.remarks.of_pass(info.name))
        .with_analyses(analyses);
    Ok((cx, verify_time))
}

/// Runs `pass` on `func`, with all checks around it.
pub(super) fn one_func(
    settings: &Settings<'_>,
    info: &PassInfo,
    pass: &dyn FuncPass,
    func: &mut Func,
    analyses: Analyses,
    left: u64,
) -> Outcome {
    let (mut cx, mut verify_time) = match begin(settings, info, Checked::Func(func), analyses) {
        Ok(begun) => begun,
        Err(kept) => return kept,
    };
    let (at, before, n_edits) = (func.location(func.header.loc), func.version(), func.n_edits());
    let limits = &settings.options.limits;
    let guard = Guard { info, limits, is_last: limit(func, left, limits) };
    let said = guard.run(&mut cx, at, |cx| pass.run(func, cx));
    unlimit(func);
    // A pass that puts back what it began with counts none.
    let steps = func.n_edits().saturating_sub(n_edits);
    let changed = func.version() != before;
    if !cx.diagnostics.has_errors() {
        verify_time += after_edit(settings, info, func, said, before, &mut cx);
    }
    Outcome { diagnostics: cx.diagnostics, stats: cx.stats, changed, verify_time, analyses: cx.analyses, steps }
}

/// What is done to a function after a pass, which was given it at the version `before` and said whether it changed it;
/// returns the time that checks took.
fn after_edit(
    settings: &Settings<'_>,
    info: &PassInfo,
    func: &mut Func,
    said: bool,
    before: Version,
    cx: &mut PassCx,
) -> Duration {
    if func.version() != before {
        if !said {
            cx.report(denied(info, func));
            return Duration::ZERO;
        }
        if func.context() == Context::Tir {
            text_order::settle(func);
        }
        if let Some(analysis) = cx.analyses.after_edit(before, func, info.preserves) {
            cx.report(not_preserved(info, func, analysis));
        }
    }
    let start = Instant::now();
    if settings.options.verify && func.version() != before {
        cx.diagnostics.append(broken(info, func));
    }
    if !cx.diagnostics.has_errors() {
        cx.diagnostics.append(check_established(info, func, &mut cx.analyses));
    }
    start.elapsed()
}

/// Runs `pass` on `module`, with all checks around it.
pub(super) fn module_pass(
    settings: &Settings<'_>,
    info: &PassInfo,
    pass: &dyn ModulePass,
    module: &mut Module,
    analyses: Analyses,
    left: u64,
) -> Outcome {
    let (mut cx, mut verify_time) = match begin(settings, info, Checked::Module(module), analyses) {
        Ok(begun) => begun,
        Err(kept) => return kept,
    };
    let versions = |module: &Module| -> Vec<Version> { module.items.iter().map(Func::version).collect() };
    let before = versions(module);
    let n_edits: FxHashMap<u64, u64> =
        module.items.iter().map(|item| (item.version().lineage(), item.n_edits())).collect();
    let limits = &settings.options.limits;
    let mut is_last = false;
    for item in &mut module.items {
        is_last |= limit(item, left, limits);
    }
    let said = Guard { info, limits, is_last }.run(&mut cx, Location::None, |cx| pass.run(module, cx));
    module.items.iter_mut().for_each(unlimit);
    // What made an item counts as well.
    let steps_of = |item: &Func| {
        let before = n_edits.get(&item.version().lineage()).copied().unwrap_or(0);
        item.n_edits().saturating_sub(before)
    };
    let steps = module.items.iter().map(steps_of).sum();
    let changed = versions(module) != before;
    if changed && !cx.diagnostics.has_errors() {
        verify_time += after_module_edit(settings, info, module, said, &before, &mut cx);
    }
    Outcome { diagnostics: cx.diagnostics, stats: cx.stats, changed, verify_time, analyses: cx.analyses, steps }
}

/// What is done to the items of a module after a pass over it; as [`after_edit`].
fn after_module_edit(
    settings: &Settings<'_>,
    info: &PassInfo,
    module: &mut Module,
    said: bool,
    before: &[Version],
    cx: &mut PassCx,
) -> Duration {
    let mut checked = Duration::ZERO;
    let known: FxHashSet<Version> = before.iter().copied().collect();
    let old: FxHashSet<u64> = before.iter().map(|version| version.lineage()).collect();
    if !said {
        let of = module.items.iter().find(|item| !known.contains(&item.version()));
        cx.report(of.map_or_else(|| denied_module(info), |item| denied(info, item)));
        return checked;
    }
    for item in module.items.iter_mut().filter(|item| !known.contains(&item.version())) {
        let version = item.version();
        // What the pass established it established of the items that it made.
        let is_new = !old.contains(&version.lineage());
        if item.context() == Context::Tir {
            text_order::settle(item);
        }
        cx.analyses.after_edit(version, item, &[]);
        let start = Instant::now();
        if settings.options.verify {
            cx.diagnostics.append(broken(info, item));
        }
        if is_new && !cx.diagnostics.has_errors() {
            cx.diagnostics.append(check_established(info, item, &mut cx.analyses));
        }
        checked += start.elapsed();
    }
    cx.analyses.retain(module.items.iter());
    checked
}

fn denied(info: &PassInfo, func: &Func) -> Diagnostic {
    let text = format!("`{}` said that it left `@{}` unchanged, and edited it", info.name, func.symbol());
    Diagnostic::bug("edit-denied", func.location(func.header.loc), text).help("return true from `run` after any edit")
}

fn denied_module(info: &PassInfo) -> Diagnostic {
    let text = format!("`{}` said that it left the module unchanged, and moved or removed items", info.name);
    Diagnostic::bug("edit-denied", Location::None, text).help("return true from `run` after any edit")
}

fn not_preserved(info: &PassInfo, func: &Func, analysis: &str) -> Diagnostic {
    let text = format!(
        "`{}` is declared to preserve the analysis `{analysis}`, and did not of `@{}`",
        info.name,
        func.symbol()
    );
    Diagnostic::bug("analysis-not-preserved", func.location(func.header.loc), text)
}

/// What the verifier has to say of a function that a pass has changed: all of it is the pass's fault.
fn broken(info: &PassInfo, func: &mut Func) -> Diagnostics {
    let mut found = tc_ir::verify::verify_edited(func);
    for diagnostic in found.iter_mut().filter(|diagnostic| diagnostic.is_error()) {
        diagnostic.fault = Fault::Bug;
        diagnostic.message = format!("`{}` broke `@{}`: {}", info.name, func.symbol(), diagnostic.message);
    }
    found
}
