//! A program against its operator, in exact arithmetic.

use super::element::Element;
use super::literals::evaluated;
use crate::Result;
use crate::cell::Cell;
use crate::check::{CheckOptions, Round, cells_to_compare};
use crate::define::{Definition, is_sound};
use crate::diagnostic::{DiagnosticKind, SimDiagnostics};
use crate::domain::Domain;
use crate::inputs::{Fill, SplitMix};
use crate::run::{Arg, Execution, program_named};
use crate::sample::Sampling;
use crate::tensor::{Tensor, show_index, unravel};
use crate::tolerance::{same, with_callees};
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Module};
use tc_support::{Diagnostic, counted};

/// What a comparison in the field came to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum FieldVerdict {
    /// There was none: nothing computes with floats, something else was wrong before, or it would cost too much.
    #[default]
    NotRun,
    /// All cells are the same, bit for bit.
    Equal,
    /// Some cells differ, and what they depend on is not decided.
    Undecided,
    /// Some cells differ.
    Different,
}

/// What a comparison in the field gave.
#[derive(Clone, Default, Debug)]
pub struct FieldReport {
    /// What it came to.
    pub verdict: FieldVerdict,
    /// Cells compared.
    pub cells: u64,
    /// Cells that differ.
    pub n_different: u64,
    /// Cells that differ and are not decided.
    pub n_undecided: u64,
    /// The first cell that differs, of those that are decided if there is one: `B[1, 2]`.
    pub first: Option<String>,
    /// The ops that are not decided, if cells are not decided because of them.
    pub undecided: Vec<Diagnostic>,
}

impl FieldReport {
    /// Adds what running at other sizes gave.
    pub fn merge(&mut self, other: FieldReport) {
        if self.verdict < other.verdict {
            self.first = other.first;
        }
        self.verdict = self.verdict.max(other.verdict);
        self.cells += other.cells;
        self.n_different += other.n_different;
        self.n_undecided += other.n_undecided;
        for found in other.undecided {
            if !self.undecided.contains(&found) {
                self.undecided.push(found);
            }
        }
    }

    /// That the program is not the operator, if it is not.
    pub fn difference(&self) -> Option<Diagnostic> {
        let first = self.first.as_ref().filter(|_| self.verdict == FieldVerdict::Different)?;
        let text = format!("in exact arithmetic `{first}` is not what the operator says");
        let differ = if self.n_different == 1 { "differs" } else { "differ" };
        let cells = counted(self.n_different, "cell");
        let note = format!("{cells} of {} {differ}, whatever the order of sums", self.cells);
        let why = "a term is missing, wrong or there twice, or a rounding is at another place";
        Some(Diagnostic::error("not-equal", tc_support::Location::None, text).note(note).note(why))
    }

    /// That nothing can be said of some cells, and of which ops that comes, if it is so.
    pub fn undecided(&self) -> Option<Diagnostic> {
        let first = self.first.as_ref().filter(|_| self.verdict == FieldVerdict::Undecided)?;
        let text = format!("whether `{first}` is what the operator says is not decided in exact arithmetic");
        let found = Diagnostic::warning("not-decided", tc_support::Location::None, text);
        let are = if self.n_undecided == 1 { "is" } else { "are" };
        let found = found.note(format!("{} of {} {are} not decided", counted(self.n_undecided, "cell"), self.cells));
        let ops = self.undecided.iter().take(MAX_TOLD);
        Some(ops.fold(found, |found, op| found.label(op.location.clone(), op.message.clone())))
    }

    /// Nothing is said of the cells that differ, because of `why`.
    fn doubt(&mut self, why: Diagnostic) {
        self.n_undecided += std::mem::take(&mut self.n_different);
        self.verdict = self.verdict.min(FieldVerdict::Undecided);
        self.undecided.push(why);
    }

    fn add(&mut self, expected: (Cell, bool), found: (Cell, bool), elem: Elem, place: impl FnOnce() -> String) {
        self.cells += 1;
        let ((expected, expected_in_doubt), (found, found_in_doubt)) = (expected, found);
        let (is_same, is_tainted) = match elem.is_float() {
            true => {
                let [expected, found] = [expected, found].map(Element::decode);
                // How an operator rounds in a narrow type is not part of what it says.
                (expected.same(found), expected.tainted || expected.narrow || found.tainted)
            }
            false => (same(elem, expected, found), false),
        };
        let verdict = match is_same {
            true => FieldVerdict::Equal,
            false if is_tainted || expected_in_doubt || found_in_doubt => FieldVerdict::Undecided,
            false => FieldVerdict::Different,
        };
        self.n_undecided += u64::from(verdict == FieldVerdict::Undecided);
        self.n_different += u64::from(verdict == FieldVerdict::Different);
        if verdict > self.verdict.max(FieldVerdict::Equal) {
            self.first = Some(place());
        }
        self.verdict = self.verdict.max(verdict);
    }
}

/// Runs program `@program` of `module` and operator `@operator` of `definition` in the field, on `inputs` or on reals
/// drawn from the options' seed, and compares all results.
pub fn compare(
    (definition, operator): (&Module, &str),
    (module, program): (&Module, &str),
    inputs: Option<&[Tensor]>,
    options: &CheckOptions,
) -> Result<FieldReport> {
    let compared = run((definition, operator), (module, program), inputs, options);
    match compared {
        // What runs beside each float takes memory.
        Err(why) if why.code == "limit" => Ok(FieldReport::default()),
        compared => compared,
    }
}

fn run(
    (definition, operator): (&Module, &str),
    (module, program): (&Module, &str),
    inputs: Option<&[Tensor]>,
    options: &CheckOptions,
) -> Result<FieldReport> {
    let mut defined = Definition::new(definition, operator, &options.sizes, options.limits)?;
    let func = program_named(module, program)?;
    let mut report = FieldReport::default();
    if !computes_floats(definition, operator) && !computes_floats(module, program) {
        return Ok(report);
    }
    let round = Round { fill: Fill::Reals, seed: SplitMix::new(options.seed ^ SEED).next() };
    let signatures = defined.inputs();
    let tensors = inputs.map_or_else(|| round.inputs(&signatures), <[Tensor]>::to_vec);
    let outputs = defined.outputs();
    let args = tensors.iter().cloned().map(Arg::Input).chain(outputs.iter().map(|_| Arg::Output)).collect::<Vec<_>>();
    let run_options = options.run_options(&round);
    let sampling = options.sampling().map(|sampling| Sampling { weight: WEIGHT, ..sampling });
    let execution = Execution::of(module, func, &args, &run_options, Domain::Field, sampling)?;
    if execution.aborted {
        return Ok(report);
    }
    let cells = cells_to_compare(&defined, &execution, options);
    let evaluation = defined.evaluate_with(&tensors, cells.as_deref(), Domain::Field)?;
    if !is_sound(&evaluation.diagnostics) {
        return Ok(report);
    }
    let in_doubt = |diagnostics: &SimDiagnostics| diagnostics.count(DiagnosticKind::UndecidedChoice) > 0;
    let doubts = (in_doubt(&evaluation.diagnostics), in_doubt(&execution.diagnostics));
    for (nth, output) in outputs.iter().enumerate() {
        let Some(global) = execution.param(signatures.len() + nth) else { continue };
        for (position, &expected) in evaluation.values[nth].iter().enumerate() {
            let flat = match &cells {
                Some(cells) => crate::define::flat(&cells[nth][position], &output.shape),
                None => position,
            };
            let found = global.value(flat);
            report.add((expected, doubts.0), (found, doubts.1), output.elem, || {
                format!("{}{}", output.name, show_index(&unravel(flat as u64, &output.shape)))
            });
        }
    }
    let literal = (report.n_different > 0).then(|| evaluated(definition, (module, program))).flatten();
    if let Some(literal) = literal {
        report.doubt(literal);
    }
    if report.n_undecided > 0 {
        let diagnostics = evaluation.diagnostics.iter().chain(execution.diagnostics.iter());
        let undecided = |kind| matches!(kind, DiagnosticKind::Undecided | DiagnosticKind::UndecidedChoice);
        let found = diagnostics.filter(|found| undecided(found.kind)).map(|found| found.diagnostic.clone());
        report.undecided.extend(found);
    }
    Ok(report)
}

/// Is there a float in the function, or in one that it calls?
fn computes_floats(module: &Module, name: &str) -> bool {
    let Some(func) = module.function(name) else { return false };
    with_callees(module, func).into_iter().any(|func| {
        let mut values = all_ops(func).flat_map(|op| func.results(op).collect::<Vec<_>>());
        values.any(|value| func.value_scalar(value).is_some_and(|scalar| scalar.elem.is_float()))
    })
}

/// Ops that are named for what is not decided.
const MAX_TOLD: usize = 3;

/// What a step in the field costs, in steps on numbers, where it multiplies matrices.
const WEIGHT: u64 = 8;

/// So that these inputs are no others'.
const SEED: u64 = 0x6669_656c_6473_2121;
