//! The simulator as an oracle: does a pass keep what a program means, and does a program race?

use std::sync::Arc;
use tc_dialects::{te, tir};
use tc_ir::verify::has_flag;
use tc_ir::walk::all_ops;
use tc_ir::{Attr, AttrData, Func, Module, keys};
use tc_pass::{Instrument, PassAt, PassRecord};
use tc_passes::check_races::{Oracle, RaceOracle, Verdict};
use tc_sim::{
    AgreeReport, CheckOptions, DiagnosticKind, Limits, Sizes, agree, check_against_definition, probe, sizes_to_try,
};
use tc_support::{Diagnostic, Diagnostics, Location};

/// Around a pass a program that leaves sizes open is run at so many sets of sizes.
const MAX_SIZES: usize = 3;

/// Executes every function before and after each pass that changed something, on the same inputs. A pass that changed
/// what a function computes, or made it do what is an error, is a bug; where the function did what is an error before the
/// pass, and computes something else after it, the input is at fault.
///
/// What it compared it tells in remarks: "agreed on N cells of M inputs", which is no proof.
pub struct SemanticsCheck {
    options: CheckOptions,
    before: Option<Module>,
}

impl SemanticsCheck {
    /// Steps past which a launch is run by some of its blocks only: this is asked around every pass.
    const SAMPLE_ABOVE: u64 = 20_000_000;
    /// A run around a pass may take this part of the steps that a run may take: where even a few blocks cost more, as
    /// loops over large tiles do that all threads of a warp run, that is told soon.
    const SHARE_OF_STEPS: u64 = 16;

    /// Compares as `options` say, within what can be spent around every pass.
    pub fn new(options: CheckOptions) -> SemanticsCheck {
        let sample_above = options.sample_above.min(SemanticsCheck::SAMPLE_ABOVE);
        let limits = Limits { steps: options.limits.steps / SemanticsCheck::SHARE_OF_STEPS, ..options.limits };
        SemanticsCheck { options: CheckOptions { sample_above, limits, ..options }, before: None }
    }

    /// Compares within `steps` of the simulator for each run around a pass; without a number, within what is usual.
    pub fn within(steps: Option<u64>) -> SemanticsCheck {
        let mut check = SemanticsCheck::new(options_within(steps));
        if let Some(steps) = steps {
            check.options.limits.steps = steps;
        }
        check
    }

    /// Is `func` what it was, so that running it twice would tell nothing?
    fn is_unchanged(before: &Module, func: &Func) -> bool {
        let print = |func: &Func| tc_ir::print::print_func(func, &tc_ir::print::PrintOptions::default());
        let calls = tc_ir::walk::all_ops(func).any(|op| func.opcode(op) == tir::CALL);
        !calls && before.function(func.symbol()).is_some_and(|earlier| print(earlier) == print(func))
    }

    fn compare(&self, at: &PassAt<'_>, before: &Module, after: &Module, func: &Func) -> Option<Diagnostic> {
        if SemanticsCheck::is_unchanged(before, func) {
            return None;
        }
        let name = func.symbol();
        let place = func.location(func.header.loc);
        // A program that was made beside its operator is compared with that.
        let operator = match before.function(name).is_some_and(is_executed) {
            true => None,
            false => {
                let operator = implemented(func)?;
                before.function(operator).filter(|func| func.header.opcode == te::FUNC)?;
                Some(operator)
            }
        };
        let mut compared: tc_sim::Result<AgreeReport> = Ok(AgreeReport::default());
        let mut with = String::new();
        for sizes in sizes_to_try(after, name, &self.options.sizes).into_iter().take(MAX_SIZES) {
            with = show_sizes(func, &sizes);
            let options = CheckOptions { sizes, ..self.options.clone() };
            let here = match operator {
                None => agree(before, after, name, &options),
                Some(operator) => by_definition((before, operator), (after, name), &options),
            };
            compared = compared.and_then(|mut all| {
                all.merge(here?);
                Ok(all)
            });
            if !compared.as_ref().is_ok_and(AgreeReport::agrees) {
                break;
            }
        }
        Some(match compared {
            Ok(report) if report.inputs == 0 => {
                let text = format!(
                    "`{}`: `@{name}` could not be compared: no sizes were found for which its facts hold",
                    at.name
                );
                Diagnostic::warning("semantics", place, text).help("give the sizes: `-D n=…`")
            }
            Ok(report) if report.agrees() => {
                Diagnostic::remark("semantics", place, format!("`{}`: `@{name}` {report}", at.name))
            }
            Ok(report) if is_only_costly(&report) => {
                let message = format!("`{}`: `@{name}` could not be compared: running it costs too much", at.name);
                Diagnostic::remark("semantics", place, message)
            }
            Ok(AgreeReport { fault_before: Some(fault), .. }) => {
                let text = format!("`@{name}` is at fault before `{}`{with}: {}", at.name, fault.message);
                let location = if fault.location == Location::None { place } else { fault.location.clone() };
                let note = "what a program means that does this is not defined, so the pass is not judged";
                Diagnostic { code: "semantics", message: text, location, ..*fault }.note(note)
            }
            Ok(report) => {
                let mut diagnostic = Diagnostic::bug(
                    "semantics",
                    place,
                    format!("`{}` changed the meaning of `@{name}`{with}: {report}", at.name),
                );
                for found in report.new_diagnostics {
                    diagnostic.labels.extend(found.diagnostic.labels);
                }
                diagnostic
            }
            Err(why) => {
                let message = format!("`{}`: `@{name}` could not be compared: {}", at.name, why.message);
                Diagnostic::remark("semantics", place, message)
            }
        })
    }
}

impl Instrument for SemanticsCheck {
    fn before_pass(&mut self, _: &PassAt<'_>, module: &Module) -> Diagnostics {
        self.before = Some(module.clone());
        Diagnostics::new()
    }

    fn after_pass(&mut self, at: &PassAt<'_>, module: &Module, record: &PassRecord) -> Diagnostics {
        let before = self.before.take().filter(|_| record.changed);
        let Some(before) = before else { return Diagnostics::new() };
        // What reads the same and calls what reads the same means the same.
        let same = |func: &Func| {
            before
                .function(func.symbol())
                .is_some_and(|old| old.header.opcode == func.header.opcode && old.to_string() == func.to_string())
        };
        let kernels_same = module.items.iter().filter(|func| !is_executed(func)).all(same);
        let funcs = module.items.iter().filter(|func| is_executed(func));
        let changed = funcs.filter(|func| !same(func) || (!kernels_same && calls(func)));
        changed.filter_map(|func| self.compare(at, &before, module, func)).collect()
    }
}

fn calls(func: &Func) -> bool {
    all_ops(func).any(|op| func.opcode(op) == tir::CALL)
}

/// `func` against the definition of the operator that it implements.
fn by_definition(
    definition: (&Module, &str),
    program: (&Module, &str),
    options: &CheckOptions,
) -> tc_sim::Result<AgreeReport> {
    let report = check_against_definition(definition, program, options)?;
    if let Some(why) = report.at_fault() {
        return Err(why);
    }
    Ok(AgreeReport {
        cells: report.cells,
        inputs: report.inputs,
        sampled: report.sampled,
        in_tf32: report.in_tf32,
        difference: report.difference,
        new_diagnostics: report.diagnostics.iter().filter(|found| found.kind.is_error()).cloned().collect(),
        fault_before: None,
    })
}

/// ` with n = 33, m = 1`, of the sizes that `func` leaves open.
pub(crate) fn show_sizes(func: &Func, sizes: &Sizes) -> String {
    let symbols = func.header.symbols.iter().map(|symbol| func.text(symbol.name));
    let shown: Vec<String> = symbols.filter_map(|name| Some(format!("{name} = {}", sizes.get(name)?))).collect();
    if shown.is_empty() { String::new() } else { format!(" with {}", shown.join(", ")) }
}

/// Did running come to its limit, and is nothing else wrong? That says nothing of the pass.
fn is_only_costly(report: &AgreeReport) -> bool {
    report.difference.is_none() && report.new_diagnostics.iter().all(|found| found.kind == DiagnosticKind::Limit)
}

/// Is `func` an operator, or a program that is no kernel? Kernels are run by those that call them.
fn is_executed(func: &Func) -> bool {
    let opcode = func.header.opcode;
    opcode == te::FUNC || (opcode == tir::FUNC && !has_flag(func, func.header.attrs, keys::DEVICE))
}

/// The operator that `func` says it implements.
fn implemented(func: &Func) -> Option<&str> {
    let attr: Attr = func.entry(func.header.attrs, keys::IMPLEMENTS)?;
    match func.attr_data(attr) {
        AttrData::Symbol(name) => Some(name),
        _ => None,
    }
}

/// What a run on the simulator may cost, if someone says how many steps: then it is sampled before these are used up.
pub(crate) fn options_within(steps: Option<u64>) -> CheckOptions {
    let usual = CheckOptions::default();
    let Some(steps) = steps else { return usual };
    CheckOptions { limits: Limits { steps, ..usual.limits }, sample_above: usual.sample_above.min(steps / 4), ..usual }
}

/// The oracle that `check-races` asks where it cannot prove.
pub fn race_oracle(options: CheckOptions) -> Oracle {
    Oracle(Arc::new(Races { options }))
}

struct Races {
    options: CheckOptions,
}

impl RaceOracle for Races {
    fn races(&self, module: &Module, symbol: &str) -> Verdict {
        let found = match probe(module, symbol, &self.options) {
            Ok(found) => found,
            Err(why) => return Verdict::Unknown(why.message),
        };
        if found.count(DiagnosticKind::Limit) > 0 {
            return Verdict::Unknown("running it costs too much".to_string());
        }
        let of_kind = |kind: DiagnosticKind| -> Diagnostics {
            found.iter().filter(|found| found.kind == kind).map(|found| found.diagnostic.clone()).collect()
        };
        let races = of_kind(DiagnosticKind::Race);
        if !races.is_empty() {
            return Verdict::Race(races);
        }
        let same = of_kind(DiagnosticKind::SameValueRace);
        if same.is_empty() { Verdict::Clean } else { Verdict::SameValue(same) }
    }
}
