//! The definition of an operator as the judge of results that come from elsewhere, such as a GPU; and programs that
//! implement no operator, which are run for what is found on the way.

use crate::Result;
use crate::agree::Params;
use crate::cell;
use crate::check::{CheckOptions, CheckReport, Difference, Round};
use crate::define::{CellList, Definition, Signature, flat, is_sound, show};
use crate::diagnostic::{DiagnosticKind, SimDiagnostics};
use crate::domain::Domain;
use crate::inputs::SplitMix;
use crate::run::{Execution, program_named};
use crate::tensor::{Tensor, unravel};
use crate::tolerance::{Tolerance, distance, same, with_callees};
use tc_ir::Module;
use tc_support::clock::Instant;
use tc_support::{Diagnostic, Location};

/// The inputs of one comparison.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The inputs, in the order of the operator's parameters.
    pub inputs: Vec<Tensor>,
    /// "integers", "reals", or "given": what they are made of.
    pub name: &'static str,
}

impl Trial {
    /// Inputs that the caller brings.
    pub fn given(inputs: Vec<Tensor>) -> Trial {
        Trial { inputs, name: "given" }
    }

    /// Sums of them are exact, so that every order of evaluation gives the same.
    fn is_exact(&self) -> bool {
        self.name == "integers"
    }
}

/// A judge of results.
pub struct Oracle<'m> {
    defined: Definition<'m>,
    tolerance: Tolerance,
    options: CheckOptions,
    cells: Option<Vec<CellList>>,
    report: CheckReport,
    start: Instant,
}

impl<'m> Oracle<'m> {
    /// The operator `@operator` of `definition` as the judge of `@program` of `module`, whose ops say how far rounding
    /// may carry.
    pub fn new(
        (definition, operator): (&'m Module, &str),
        (module, program): (&Module, &str),
        options: &CheckOptions,
    ) -> Result<Oracle<'m>> {
        let defined = Definition::new(definition, operator, &options.sizes, options.limits)?;
        let func = program_named(module, program)?;
        let expected = with_callees(definition, defined.func());
        let tolerance = Tolerance::of(&expected, &with_callees(module, func), defined.n_terms());
        let cells = cells_to_judge(&defined, options);
        let report = CheckReport { sampled: cells.is_some(), in_tf32: tolerance.in_tf32, ..CheckReport::default() };
        Ok(Oracle { defined, tolerance, options: options.clone(), cells, report, start: Instant::now() })
    }

    /// The tensors that the operator takes.
    pub fn inputs(&self) -> Vec<Signature> {
        self.defined.inputs()
    }

    /// The tensors that it gives.
    pub fn outputs(&self) -> Vec<Signature> {
        self.defined.outputs()
    }

    /// The inputs to try.
    pub fn trials(&self) -> Vec<Trial> {
        let inputs = self.defined.inputs();
        let rounds = Round::all(&self.options, self.tolerance);
        rounds.iter().map(|round| Trial { inputs: round.inputs(&inputs), name: round.name() }).collect()
    }

    /// Compares `outputs`, which came of the inputs of `trial`.
    pub fn judge(&mut self, trial: &Trial, outputs: &[Tensor]) -> Result<()> {
        self.report.inputs += 1;
        if let Some(cells) = self.cells.take() {
            self.cells = Some(self.defined.affordable(&trial.inputs, cells, self.options.sample_above)?);
        }
        let evaluation =
            self.defined.evaluate_with(&trial.inputs, self.cells.as_deref(), Domain::numbers(!trial.is_exact()))?;
        self.report.steps += evaluation.steps;
        if !is_sound(&evaluation.diagnostics) {
            self.report.undefined = evaluation.diagnostics.fault();
            self.report.diagnostics.merge(evaluation.diagnostics, self.options.limits.diagnostics);
            return Ok(());
        }
        let mut with_mags = None;
        for (nth, (output, found)) in self.defined.outputs().into_iter().zip(outputs).enumerate() {
            if found.elem != output.elem || found.len() as u64 != output.shape.iter().product::<u64>() {
                let text =
                    format!("result `{}` of the program has another type than that of the operator", output.name);
                return Err(Box::new(Diagnostic::error("signature", Location::None, text)));
            }
            for (position, &expected) in evaluation.values[nth].iter().enumerate() {
                let flat = self.cells.as_ref().map_or(position, |cells| flat(&cells[nth][position], &output.shape));
                let value = found.cell(flat);
                self.report.cells += 1;
                if same(output.elem, expected, value) {
                    continue;
                }
                if evaluation.mags.is_empty() && with_mags.is_none() && output.elem.is_float() {
                    with_mags = Some(self.defined.magnitudes(&trial.inputs, self.cells.as_deref())?);
                }
                let mags = with_mags.as_ref().unwrap_or(&evaluation);
                let mag = mags.mags.get(nth).map_or(0.0, |mags| mags[position]);
                let allowed = self.tolerance.allowed(output.elem, expected, mag, trial.is_exact());
                let error = distance(output.elem, expected, value);
                self.report.add_error(error, cell::number_of(output.elem, expected), allowed, || Difference {
                    buffer: output.name.clone(),
                    index: unravel(flat as u64, &output.shape),
                    expected: show(output.elem, expected),
                    found: show(output.elem, value),
                    allowed,
                    inputs: trial.name,
                });
            }
        }
        Ok(())
    }

    /// Adds what was found while the results came about.
    pub fn add_diagnostics(&mut self, diagnostics: SimDiagnostics) {
        self.report.races += diagnostics.count(DiagnosticKind::Race);
        self.report.same_value_races += diagnostics.count(DiagnosticKind::SameValueRace);
        self.report.diagnostics.merge(diagnostics, self.options.limits.diagnostics);
    }

    /// What the comparisons gave.
    pub fn finish(mut self) -> CheckReport {
        self.report.wall_time = self.start.elapsed();
        self.report
    }
}

/// The cells that the definition is asked for; `None` for all, where that does not cost too much. Otherwise the
/// corners of each result, and random cells.
pub(crate) fn cells_to_judge(defined: &Definition<'_>, options: &CheckOptions) -> Option<Vec<CellList>> {
    if defined.estimate() <= options.sample_above.saturating_mul(2) {
        return None;
    }
    let outputs = defined.outputs();
    let n_cells = |output: &Signature| output.shape.iter().product::<u64>();
    let total = outputs.iter().map(n_cells).fold(0, u64::saturating_add).max(1);
    let per_cell = (defined.estimate() / total).max(1);
    let most = (options.sample_above / per_cell).clamp(16, 1 << 20);
    let mut random = SplitMix::new(options.seed);
    let mut pick = |output: &Signature| {
        let all = n_cells(output);
        if all <= most {
            return (0..all).map(|flat| unravel(flat, &output.shape)).collect();
        }
        let mut cells: CellList = corners(&output.shape);
        cells.extend((cells.len() as u64..most).map(|_| unravel(random.below(all), &output.shape)));
        cells.sort_unstable();
        cells.dedup();
        cells
    };
    Some(outputs.iter().map(&mut pick).collect())
}

/// The cells with the least and the greatest index in each dimension, of the first eight dimensions.
fn corners(shape: &[u64]) -> CellList {
    let n_dims = shape.len().min(8);
    let corner = |bits: u32| {
        let at = |(dim, &extent): (usize, &u64)| {
            if dim < n_dims && bits >> dim & 1 == 1 { extent.saturating_sub(1) } else { 0 }
        };
        shape.iter().enumerate().map(at).collect()
    };
    (0..1u32 << n_dims).map(corner).collect()
}

/// A parameter of a program, and what becomes of it.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Name, type and extents; a scalar has none.
    pub signature: Signature,
    /// The value that a scalar has where none is given.
    pub scalar: Option<Tensor>,
    /// It is read before it is written, or never written.
    pub is_input: bool,
    /// It is written.
    pub is_output: bool,
    /// Where its elements lie, if not one after another.
    pub places: Option<Places>,
}

/// Where the elements of a buffer lie whose strides leave space between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    pub(crate) at: Vec<usize>,
    /// All cells, those between elements included.
    pub(crate) n_cells: u64,
}

impl Places {
    /// The cells that an array takes that is laid out so.
    pub fn n_cells(&self) -> u64 {
        self.n_cells
    }

    /// The elements of `tensor` where they lie; between them there are zeros.
    pub fn lay_out(&self, tensor: &Tensor) -> Tensor {
        let mut cells = vec![0; self.n_cells as usize];
        self.at.iter().zip(tensor.cells()).for_each(|(&place, cell)| cells[place] = cell);
        Tensor::from_cells(tensor.elem, vec![self.n_cells], cells.into_iter())
    }

    /// The elements of an array that is laid out so.
    pub fn take_out(&self, tensor: &Tensor) -> Tensor {
        let cells = self.at.iter().filter(|&&place| place < tensor.len()).map(|&place| tensor.cell(place));
        Tensor::from_cells(tensor.elem, vec![self.at.len() as u64], cells)
    }
}

/// The parameters of program `@program`, told by what it does: it is run once to see which of the buffers that it
/// writes it reads before.
pub fn parameters(module: &Module, program: &str, options: &CheckOptions) -> Result<Vec<Parameter>> {
    let params = Params::of(module, program_named(module, program)?, options)?;
    let parameter = |param: crate::agree::Param| Parameter {
        signature: param.signature,
        scalar: param.scalar,
        is_input: param.is_input,
        is_output: param.written,
        places: param.places,
    };
    Ok(params.list.into_iter().map(parameter).collect())
}

/// Runs program `@program`, which implements no operator, for what is found on the way: its results are compared with
/// nothing.
pub fn exercise(module: &Module, program: &str, options: &CheckOptions) -> Result<CheckReport> {
    let start = Instant::now();
    let func = program_named(module, program)?;
    let params = Params::of(module, func, options)?;
    let funcs = with_callees(module, func);
    let tolerance = Tolerance::of(&funcs, &funcs, params.n_terms);
    let mut report = CheckReport::default();
    for round in Round::all(options, tolerance) {
        let run_options = options.run_options(&round);
        let mut run =
            Execution::of(module, func, &params.args(&round), &run_options, Domain::Numbers, options.sampling())?;
        report.add_run(std::mem::take(&mut run.diagnostics), run.steps, run.sampled, options);
        if run.aborted {
            break;
        }
    }
    report.wall_time = start.elapsed();
    Ok(report)
}
