//! A program against the definition of its operator.

use crate::cell;
use crate::define::{CellList, Definition, Evaluation, Signature, flat, is_sound, show};
use crate::diagnostic::{DiagnosticKind, SimDiagnostic, SimDiagnostics};
use crate::domain::Domain;
use crate::field::{self, FieldReport};
use crate::inputs::{self, Fill, SplitMix, exact_integers};
use crate::limits::Limits;
use crate::run::{Arg, Execution, RunOptions, program_named};
use crate::sample::{Sampling, USUAL_COST};
use crate::tensor::{Tensor, show_index, unravel};
use crate::tolerance::{Tolerance, distance, same, with_callees};
use crate::{Result, Sizes};
use std::fmt;
use std::time::Duration;
use tc_ir::Module;
use tc_support::clock::Instant;
use tc_support::{Diagnostic, counted};

/// All cells of an operator may cost so many times [`CheckOptions::sample_above`], where the program is at fault in one.
const WHOLE_COST: u64 = 4;

/// How two functions are compared.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Values of symbols, and of integer parameters; those not given have their defaults.
    pub sizes: Sizes,
    /// Where inputs come from.
    pub seed: u64,
    /// Sets of small integers that are tried.
    pub integer_inputs: u32,
    /// Sets of reals that are tried.
    pub real_inputs: u32,
    /// What one run may cost.
    pub limits: Limits,
    /// Steps past which a launch is run by some of its blocks only.
    pub sample_above: u64,
    /// A sample costs up to so many times [`sample_above`](CheckOptions::sample_above) before it has fewer blocks than usual.
    pub sample_cost: u64,
    /// All on one core.
    pub serial: bool,
    /// Compared in the field as well, if all is right on numbers.
    pub in_field: bool,
}

impl Default for CheckOptions {
    fn default() -> CheckOptions {
        CheckOptions {
            sizes: Sizes::new(),
            seed: 0,
            integer_inputs: 1,
            real_inputs: 1,
            limits: Limits::default(),
            sample_above: 200_000_000,
            sample_cost: USUAL_COST,
            serial: false,
            in_field: true,
        }
    }
}

/// A cell where two functions differ.
#[derive(Clone, PartialEq, Debug)]
pub struct Difference {
    /// The output.
    pub buffer: String,
    /// The cell.
    pub index: Vec<u64>,
    /// What is expected there.
    pub expected: String,
    /// What is there.
    pub found: String,
    /// The difference that would be allowed.
    pub allowed: f64,
    /// "integers" or "reals": what the inputs were.
    pub inputs: &'static str,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { buffer, index, expected, found, allowed, inputs } = self;
        write!(f, "`{buffer}{}` is {found}, expected {expected} (inputs: {inputs}", show_index(index))?;
        if *allowed > 0.0 { write!(f, "; {allowed:.1e} allowed)") } else { write!(f, "; nothing allowed)") }
    }
}

/// What a comparison with the definition gave.
#[derive(Clone, Default, Debug)]
pub struct CheckReport {
    /// Cells compared, over all inputs.
    pub cells: u64,
    /// Sets of inputs tried.
    pub inputs: u32,
    /// The greatest absolute difference.
    pub max_abs_err: f64,
    /// The greatest difference relative to what is expected, where that is not 0.
    pub max_rel_err: f64,
    /// Of the cells that differ, the greatest difference that was allowed, and the greatest number that was expected.
    pub loosest: (f64, f64),
    /// Cells that differ by more than is allowed.
    pub n_different: u64,
    /// The first of them.
    pub difference: Option<Difference>,
    /// Races found.
    pub races: u64,
    /// Races found in which every order gives the same values.
    pub same_value_races: u64,
    /// All that was found.
    pub diagnostics: SimDiagnostics,
    /// Where the definition itself is at fault on some input: what the program does there says nothing of it.
    pub undefined: Option<Box<Diagnostic>>,
    /// Only some blocks were run, or only some cells compared.
    pub sampled: bool,
    /// Factors are rounded to tf32, by design: so much more was allowed.
    pub in_tf32: bool,
    /// What comparing in the field gave.
    pub field: FieldReport,
    /// Steps done on numbers, the definition's included.
    pub steps: u64,
    /// The time it took.
    pub wall_time: Duration,
}

impl CheckReport {
    /// Nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.difference.is_none() && !self.diagnostics.has_errors()
    }

    /// Adds what running at other sizes gave.
    pub fn merge(&mut self, other: CheckReport, limits: Limits) {
        self.cells += other.cells;
        self.inputs += other.inputs;
        self.max_abs_err = self.max_abs_err.max(other.max_abs_err);
        self.max_rel_err = self.max_rel_err.max(other.max_rel_err);
        self.loosest = (self.loosest.0.max(other.loosest.0), self.loosest.1.max(other.loosest.1));
        self.n_different += other.n_different;
        self.difference = self.difference.take().or(other.difference);
        self.races += other.races;
        self.same_value_races += other.same_value_races;
        self.diagnostics.merge(other.diagnostics, limits.diagnostics);
        self.undefined = self.undefined.take().or(other.undefined);
        self.sampled |= other.sampled;
        self.in_tf32 |= other.in_tf32;
        self.field.merge(other.field);
        self.steps += other.steps;
        self.wall_time += other.wall_time;
    }

    /// Why nothing can be said of the program: its operator is at fault on inputs that were tried. A race, or a cell that
    /// differs, says something in any case.
    pub fn at_fault(&self) -> Option<Box<Diagnostic>> {
        let why = self.undefined.as_deref().filter(|_| self.races == 0 && self.difference.is_none())?;
        let text = format!("the operator is at fault: {}", why.message);
        Some(Box::new(Diagnostic::error(why.code, why.location.clone(), text)))
    }

    /// What is wrong, as diagnostics; remarks included.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.diagnostics_at(|found| found)
    }

    /// The same, each where `place` moves it to.
    pub fn diagnostics_at(&self, place: impl Fn(Diagnostic) -> Diagnostic) -> Vec<Diagnostic> {
        let mut list = self.diagnostics.with_counts_at(place);
        if let Some(difference) = &self.difference {
            let text = format!("the program does not compute the operator: {difference}");
            let differ = if self.n_different == 1 { "differs" } else { "differ" };
            let note = format!("{} of {} {differ}", counted(self.n_different, "cell"), self.cells);
            list.push(Diagnostic::error("wrong-result", tc_support::Location::None, text).note(note));
        }
        list
    }
}

/// The inputs of one round.
pub(crate) struct Round {
    pub(crate) fill: Fill,
    pub(crate) seed: u64,
}

impl Round {
    /// Integers first, whose sums are exact, then reals.
    pub(crate) fn all(options: &CheckOptions, tolerance: Tolerance) -> Vec<Round> {
        let integers = exact_integers(tolerance.n_terms, tolerance.bits);
        let fills = std::iter::repeat_n(integers, options.integer_inputs as usize)
            .chain(std::iter::repeat_n(Fill::Reals, options.real_inputs as usize));
        let mut seeds = SplitMix::new(options.seed);
        fills.map(|fill| Round { fill, seed: seeds.next() }).collect()
    }

    pub(crate) fn is_integers(&self) -> bool {
        self.fill != Fill::Reals
    }

    pub(crate) fn name(&self) -> &'static str {
        if self.is_integers() { "integers" } else { "reals" }
    }

    pub(crate) fn inputs(&self, signatures: &[Signature]) -> Vec<Tensor> {
        signatures
            .iter()
            .zip(0..)
            .map(|(signature, stream)| inputs::fill(signature, self.seed, stream, self.fill))
            .collect()
    }
}

impl CheckOptions {
    pub(crate) fn run_options(&self, round: &Round) -> RunOptions {
        RunOptions {
            sizes: self.sizes.clone(),
            limits: self.limits,
            descending: !round.is_integers(),
            serial: self.serial,
        }
    }

    /// Steps that evaluating some cells of the definition may take: as many as a program that is not sampled, less where
    /// samples may cost less than is usual.
    fn cells_cost(&self) -> u64 {
        self.sample_above.saturating_mul(self.sample_cost) / USUAL_COST
    }

    pub(crate) fn sampling(&self) -> Option<Sampling> {
        Some(Sampling { most_cost: self.sample_cost, ..Sampling::new(self.sample_above, self.seed) })
    }
}

/// Runs program `@program` of `module` and compares what it writes with operator `@operator` of `definition`.
///
/// The program's parameters are the operator's, then its results. The two modules may be the same.
pub fn check_against_definition(
    (definition, operator): (&Module, &str),
    (module, program): (&Module, &str),
    options: &CheckOptions,
) -> Result<CheckReport> {
    let start = Instant::now();
    let mut defined = Definition::new(definition, operator, &options.sizes, options.limits)?;
    let func = program_named(module, program)?;
    let (inputs, outputs) = (defined.inputs(), defined.outputs());
    if func.params().len() != inputs.len() + outputs.len() {
        let n = inputs.len() + outputs.len();
        let text = format!(
            "`@{program}` takes {}, and `@{operator}` has {}",
            counted(func.params().len(), "argument"),
            counted(n, "tensor")
        );
        return Err(Box::new(Diagnostic::error("signature", func.location(func.header.loc), text)));
    }
    let expected = with_callees(definition, defined.func());
    let tolerance = Tolerance::of(&expected, &with_callees(module, func), defined.n_terms());
    let mut report = CheckReport { in_tf32: tolerance.in_tf32, ..CheckReport::default() };
    let mut sampling = options.sampling();
    for round in Round::all(options, tolerance) {
        let tensors = round.inputs(&inputs);
        let args: Vec<Arg> =
            tensors.iter().cloned().map(Arg::Input).chain(outputs.iter().map(|_| Arg::Output)).collect();
        let mut execution =
            Execution::of(module, func, &args, &options.run_options(&round), Domain::Numbers, sampling.clone())?;
        if let Some(sampling) = &mut sampling {
            sampling.before = Some(execution.sample.clone());
        }
        let diagnostics = std::mem::take(&mut execution.diagnostics);
        report.add_run(diagnostics, execution.steps, execution.sampled, options);
        if execution.aborted {
            report.undefined = fault_of_operator((definition, operator), &tensors, &report.diagnostics, options)?;
            break;
        }
        let cells = match cells_to_compare(&defined, &execution, options) {
            Some(cells) => Some(defined.affordable(&tensors, cells, options.cells_cost())?),
            None => None,
        };
        report.sampled |= cells.is_some();
        if cells.is_some() {
            report.undefined = fault_of_operator((definition, operator), &tensors, &report.diagnostics, options)?;
            if report.undefined.is_some() {
                break;
            }
        }
        let evaluation = defined.evaluate_with(&tensors, cells.as_deref(), Domain::numbers(!round.is_integers()))?;
        report.steps += evaluation.steps;
        if !is_sound(&evaluation.diagnostics) {
            report.undefined = evaluation.diagnostics.fault();
            report.diagnostics.merge(evaluation.diagnostics, options.limits.diagnostics);
            break;
        }
        let mut comparison = Comparison { round: &round, tolerance, cells: cells.as_deref(), tensors: &tensors };
        comparison.compare(&mut defined, &execution, &evaluation, &mut report)?;
    }
    if options.in_field && report.is_ok() && report.undefined.is_none() {
        report.field = field::compare((definition, operator), (module, program), None, options)?;
    }
    report.wall_time = start.elapsed();
    Ok(report)
}

/// What is wrong with the operator on these inputs, in whichever cell, as far as that is found at a moderate cost: a program
/// with these `diagnostics` may have met it in a cell for which the operator is not asked.
pub fn fault_of_operator(
    (definition, operator): (&Module, &str),
    inputs: &[Tensor],
    diagnostics: &SimDiagnostics,
    options: &CheckOptions,
) -> Result<Option<Box<Diagnostic>>> {
    // A guard of a copy keeps from the buffer what the operator reads outside of a tensor.
    let may_be_its = |kind| {
        use DiagnosticKind::{Arithmetic, OutOfBounds, Poison, Uninitialised};
        matches!(kind, OutOfBounds | Arithmetic | Poison | Uninitialised)
    };
    if !diagnostics.iter().any(|found| may_be_its(found.kind)) {
        return Ok(None);
    }
    let steps = options.sample_above.saturating_mul(WHOLE_COST).min(options.limits.steps);
    let limits = Limits { steps, ..options.limits };
    let mut whole = Definition::new(definition, operator, &options.sizes, limits)?;
    Ok(whole.evaluate_with(inputs, None, Domain::Numbers)?.diagnostics.fault())
}

/// The cells that the program wrote and the definition is asked for; `None` for all.
pub(crate) fn cells_to_compare(
    defined: &Definition<'_>,
    execution: &Execution,
    options: &CheckOptions,
) -> Option<Vec<CellList>> {
    let outputs = defined.outputs();
    let n_inputs = defined.inputs().len();
    let total: u64 = outputs.iter().map(|output| output.shape.iter().product::<u64>()).sum();
    let is_costly = defined.estimate() > options.sample_above.saturating_mul(2);
    if !execution.sampled && !is_costly {
        return None;
    }
    // As many cells as the budget allows, evenly spread where there are too many.
    let per_cell = (defined.estimate() / total.max(1)).max(1);
    let most = (options.cells_cost() / per_cell).clamp(16, 1 << 20);
    let of = |(nth, output): (usize, &Signature)| {
        let Some(global) = execution.param(n_inputs + nth) else { return Vec::new() };
        let written: Vec<u64> =
            (0..global.n_elements()).filter(|&idx| execution.is_done(global, idx)).map(|idx| idx as u64).collect();
        let step = (written.len() as u64).div_ceil(most).max(1) as usize;
        written.into_iter().step_by(step).map(|idx| unravel(idx, &output.shape)).collect()
    };
    Some(outputs.iter().enumerate().map(of).collect())
}

struct Comparison<'a> {
    round: &'a Round,
    tolerance: Tolerance,
    cells: Option<&'a [CellList]>,
    tensors: &'a [Tensor],
}

impl Comparison<'_> {
    fn compare(
        &mut self,
        defined: &mut Definition<'_>,
        execution: &Execution,
        evaluation: &Evaluation,
        report: &mut CheckReport,
    ) -> Result<()> {
        let n_inputs = defined.inputs().len();
        let mut with_mags = None;
        for (nth, output) in defined.outputs().into_iter().enumerate() {
            let Some(global) = execution.param(n_inputs + nth) else { continue };
            if global.n_elements() as u64 != output.shape.iter().product::<u64>() || global.elem != output.elem {
                let text =
                    format!("result `{}` of the program has another type than that of the operator", output.name);
                return Err(Box::new(Diagnostic::error("signature", tc_support::Location::None, text)));
            }
            let list = self.cells.map(|cells| &cells[nth]);
            for (position, &expected) in evaluation.values[nth].iter().enumerate() {
                let flat = list.map_or(position, |list| flat(&list[position], &output.shape));
                let found = global.value(flat);
                report.cells += 1;
                if same(output.elem, expected, found) {
                    continue;
                }
                if evaluation.mags.is_empty() && with_mags.is_none() && output.elem.is_float() {
                    with_mags = Some(defined.magnitudes(self.tensors, self.cells)?);
                }
                let mags = with_mags.as_ref().unwrap_or(evaluation);
                let mag = mags.mags.get(nth).map_or(0.0, |mags| mags[position]);
                let allowed = self.tolerance.allowed(output.elem, expected, mag, self.round.is_integers());
                report.add_error(
                    distance(output.elem, expected, found),
                    cell::number_of(output.elem, expected),
                    allowed,
                    || Difference {
                        buffer: output.name.clone(),
                        index: unravel(flat as u64, &output.shape),
                        expected: show(output.elem, expected),
                        found: show(output.elem, found),
                        allowed,
                        inputs: self.round.name(),
                    },
                );
            }
        }
        Ok(())
    }
}

impl CheckReport {
    pub(crate) fn add_run(&mut self, diagnostics: SimDiagnostics, steps: u64, sampled: bool, options: &CheckOptions) {
        self.inputs += 1;
        self.races += diagnostics.count(DiagnosticKind::Race);
        self.same_value_races += diagnostics.count(DiagnosticKind::SameValueRace);
        self.diagnostics.merge(diagnostics, options.limits.diagnostics);
        self.steps += steps;
        self.sampled |= sampled;
    }

    pub(crate) fn add_error(&mut self, error: f64, expected: f64, allowed: f64, describe: impl FnOnce() -> Difference) {
        self.max_abs_err = self.max_abs_err.max(error);
        if expected != 0.0 && !expected.is_nan() {
            self.max_rel_err = self.max_rel_err.max(error / expected.abs());
        }
        self.loosest = (self.loosest.0.max(allowed), self.loosest.1.max(expected.abs()));
        if error > allowed {
            self.n_different += 1;
            if self.difference.is_none() {
                self.difference = Some(describe());
            }
        }
    }
}

/// Diagnostics of `after` of kinds that `before` has none of.
pub(crate) fn new_diagnostics(before: &SimDiagnostics, after: &SimDiagnostics) -> Vec<SimDiagnostic> {
    let is_new = |found: &&SimDiagnostic| found.kind.is_error() && before.count(found.kind) == 0;
    after.iter().filter(is_new).cloned().collect()
}
