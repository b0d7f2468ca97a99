//! Two versions of a function: do they mean the same?

use crate::cell;
use crate::check::{CheckOptions, Difference, Round, check_against_definition, new_diagnostics};
use crate::define::{Definition, Signature, show};
use crate::diagnostic::{DiagnosticKind, SimDiagnostic};
use crate::domain::Domain;
use crate::inputs::Fill;
use crate::memory::Global;
use crate::oracle::{Places, cells_to_judge};
use crate::run::{Arg, Execution, RunOptions, check_memory, program_named, shape_of, work};
use crate::tensor::{Tensor, unravel};
use crate::tolerance::{Tolerance, distance, same, with_callees};
use crate::{Result, Sizes};
use std::fmt;
use std::sync::atomic::Ordering::Relaxed;
use tc_dialects::te;
use tc_ir::{Elem, Func, Module, Value, keys};
use tc_support::{Diagnostic, counted};

/// What comparing two versions gave.
#[derive(Clone, Debug, Default)]
pub struct AgreeReport {
    /// Cells compared, over all inputs.
    pub cells: u64,
    /// Sets of inputs tried.
    pub inputs: u32,
    /// Only some blocks were run.
    pub sampled: bool,
    /// Factors are rounded to tf32, by design: so much more was allowed.
    pub in_tf32: bool,
    /// The first cell where they differ.
    pub difference: Option<Difference>,
    /// Diagnostics of the second version, of kinds that the first has none of.
    pub new_diagnostics: Vec<SimDiagnostic>,
    /// The first version does what is an error: what the second does there says nothing of what came between.
    pub fault_before: Option<Box<Diagnostic>>,
}

impl AgreeReport {
    /// Nothing speaks against it.
    pub fn agrees(&self) -> bool {
        self.difference.is_none() && self.new_diagnostics.is_empty()
    }

    /// Adds what comparing at other sizes gave.
    pub fn merge(&mut self, other: AgreeReport) {
        self.cells += other.cells;
        self.inputs += other.inputs;
        self.sampled |= other.sampled;
        self.in_tf32 |= other.in_tf32;
        self.difference = self.difference.take().or(other.difference);
        self.new_diagnostics.extend(other.new_diagnostics);
        self.fault_before = self.fault_before.take().or(other.fault_before);
    }
}

impl fmt::Display for AgreeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(difference) = &self.difference {
            return write!(f, "disagreed: {difference}");
        }
        if let Some(found) = self.new_diagnostics.first() {
            return write!(f, "a new diagnostic: {}", found.diagnostic.message);
        }
        write!(f, "agreed on {} of {}", counted(self.cells, "cell"), counted(self.inputs, "input"))?;
        if self.sampled {
            write!(f, ", blocks sampled")?;
        }
        if self.in_tf32 { write!(f, ", as far as tf32 tells") } else { Ok(()) }
    }
}

/// Runs `@name` of both modules on the same inputs and compares all outputs.
///
/// Each may be an operator or a program at any stage. On integers whose sums are exact the outputs must be equal
/// (zeros of either sign are), on reals within the bound that [`crate::tolerance`] states. An operator that is at fault
/// on the inputs, by what it reads or computes, is compared with no program: that is an error, which says so.
pub fn agree(before: &Module, after: &Module, name: &str, options: &CheckOptions) -> Result<AgreeReport> {
    let is_operator = |module: &Module| module.function(name).is_some_and(|func| func.header.opcode == te::FUNC);
    match (is_operator(before), is_operator(after)) {
        (true, true) => operators(before, after, name, options),
        (true, false) => {
            let numbers = CheckOptions { in_field: false, ..options.clone() };
            let report = check_against_definition((before, name), (after, name), &numbers)?;
            if let Some(why) = report.at_fault() {
                return Err(why);
            }
            let errors = report.diagnostics.iter().filter(|found| found.kind.is_error());
            Ok(AgreeReport {
                cells: report.cells,
                inputs: report.inputs,
                sampled: report.sampled,
                in_tf32: report.in_tf32,
                difference: report.difference.clone(),
                new_diagnostics: errors.cloned().collect(),
                fault_before: None,
            })
        }
        _ => programs(before, after, name, options),
    }
}

fn operators(before: &Module, after: &Module, name: &str, options: &CheckOptions) -> Result<AgreeReport> {
    let mut first = Definition::new(before, name, &options.sizes, options.limits)?;
    let mut second = Definition::new(after, name, &options.sizes, options.limits)?;
    let (inputs, outputs) = (first.inputs(), first.outputs());
    let shapes =
        |list: Vec<Signature>| list.into_iter().map(|signature| (signature.elem, signature.shape)).collect::<Vec<_>>();
    if (shapes(second.inputs()), shapes(second.outputs())) != (shapes(inputs.clone()), shapes(outputs.clone())) {
        return Err(signature_changed(second.func()));
    }
    let (expected, found) = (with_callees(before, first.func()), with_callees(after, second.func()));
    let tolerance = Tolerance::of(&expected, &found, first.n_terms().max(second.n_terms()));
    // This is asked around every pass: it may cost a part of what a check may.
    let less = CheckOptions { sample_above: options.sample_above / 8, ..options.clone() };
    let mut cells = cells_to_judge(&first, &less);
    let mut report = AgreeReport { sampled: cells.is_some(), in_tf32: tolerance.in_tf32, ..AgreeReport::default() };
    for round in Round::all(options, tolerance) {
        let tensors = round.inputs(&inputs);
        if let Some(list) = cells.take() {
            let list = first.affordable(&tensors, list, less.sample_above)?;
            cells = Some(second.affordable(&tensors, list, less.sample_above)?);
        }
        let one = first.evaluate_with(&tensors, cells.as_deref(), Domain::numbers(!round.is_integers()))?;
        let other = second.evaluate_with(&tensors, cells.as_deref(), Domain::Numbers)?;
        report.new_diagnostics.extend(new_diagnostics(&one.diagnostics, &other.diagnostics));
        report.fault_before = report.fault_before.take().or_else(|| one.diagnostics.fault());
        report.inputs += 1;
        let differs = one.values.iter().zip(&other.values).zip(&outputs).any(|((one, other), output)| {
            one.iter().zip(other).any(|(&expected, &found)| !same(output.elem, expected, found))
        });
        let with_mags = match differs && one.mags.is_empty() {
            true => Some(first.magnitudes(&tensors, cells.as_deref())?),
            false => None,
        };
        let mags = &with_mags.as_ref().unwrap_or(&one).mags;
        for (nth, output) in outputs.iter().enumerate() {
            let at = |position: usize| match &cells {
                Some(cells) => cells[nth][position].clone(),
                None => unravel(position as u64, &output.shape),
            };
            let pairs = one.values[nth].iter().copied().zip(other.values[nth].iter().copied()).enumerate();
            let mag = |position: usize| mags.get(nth).map_or(0.0, |mags| mags[position]);
            compare(&mut report, (output, &at), pairs, mag, (tolerance, &round));
        }
    }
    Ok(report)
}

fn signature_changed(func: &Func) -> Box<Diagnostic> {
    let text = format!("`@{}` has changed what it takes or gives", func.symbol());
    Box::new(Diagnostic::error("signature", func.location(func.header.loc), text))
}

fn compare(
    report: &mut AgreeReport,
    (output, index_of): (&Signature, &dyn Fn(usize) -> Vec<u64>),
    pairs: impl Iterator<Item = (usize, (u64, u64))>,
    mag: impl Fn(usize) -> f64,
    (tolerance, round): (Tolerance, &Round),
) {
    for (position, (expected, found)) in pairs {
        report.cells += 1;
        if report.difference.is_some() || same(output.elem, expected, found) {
            continue;
        }
        let allowed = tolerance.allowed(output.elem, expected, mag(position), round.is_integers());
        if distance(output.elem, expected, found) > allowed {
            report.difference = Some(Difference {
                buffer: output.name.clone(),
                index: index_of(position),
                expected: show(output.elem, expected),
                found: show(output.elem, found),
                allowed,
                inputs: round.name(),
            });
        }
    }
}

fn programs(before: &Module, after: &Module, name: &str, options: &CheckOptions) -> Result<AgreeReport> {
    let (first, second) = (program_named(before, name)?, program_named(after, name)?);
    if first.params().len() != second.params().len() {
        return Err(signature_changed(second));
    }
    let params = Params::of(before, first, options)?;
    let tolerance = Tolerance::of(&with_callees(before, first), &with_callees(after, second), params.n_terms);
    let mut report = AgreeReport { in_tf32: tolerance.in_tf32, ..AgreeReport::default() };
    for round in Round::all(options, tolerance) {
        let args = params.args(&round);
        let run_options = options.run_options(&round);
        let one = Execution::of(before, first, &args, &run_options, Domain::Numbers, options.sampling())?;
        let other = Execution::of(
            after,
            second,
            &params.args_of(&args, second),
            &run_options,
            Domain::Numbers,
            options.sampling(),
        )?;
        // Space between elements is never written; lost elements are looked for one by one.
        let is_space = |found: &SimDiagnostic| {
            let has_space =
                |param: &Param| param.places.is_some() && Some(&param.signature.name) == found.buffer.as_ref();
            found.kind == DiagnosticKind::Unwritten && params.list.iter().any(has_space)
        };
        let found = new_diagnostics(&one.diagnostics, &other.diagnostics).into_iter().filter(|found| !is_space(found));
        report.new_diagnostics.extend(found);
        report.fault_before = report.fault_before.take().or_else(|| one.diagnostics.fault());
        report.inputs += 1;
        report.sampled |= one.sampled || other.sampled;
        if one.aborted || other.aborted {
            let limit = one.diagnostics.limit().or_else(|| other.diagnostics.limit());
            return Err(limit.unwrap_or_else(|| signature_changed(second)));
        }
        compare_runs(&mut report, &params, (&one, &other), (tolerance, &round), || {
            Execution::of(before, first, &args, &run_options, Domain::Magnitudes, options.sampling())
        })?;
    }
    Ok(report)
}

fn compare_runs(
    report: &mut AgreeReport,
    params: &Params,
    (one, other): (&Execution, &Execution),
    (tolerance, round): (Tolerance, &Round),
    run_with_mags: impl Fn() -> Result<Execution>,
) -> Result<()> {
    let mut with_mags = None;
    for (nth, param) in params.list.iter().enumerate().filter(|(_, param)| param.written) {
        let (Some(first), Some(second)) = (one.param(nth), other.param(nth)) else { continue };
        let as_long = first.n_elements() == second.n_elements() || first.cells.len() == second.cells.len();
        if !as_long || first.elem != second.elem {
            let text = format!("parameter `{}` has changed its type", param.signature.name);
            return Err(Box::new(Diagnostic::error("signature", tc_support::Location::None, text)));
        }
        let pairs = || {
            let both = |&idx: &usize| one.is_done(first, idx) && other.is_done(second, counterpart(first, second, idx));
            let values = |idx: usize| (idx, (first.value(idx), second.value(counterpart(first, second, idx))));
            (0..first.n_elements()).filter(both).map(values)
        };
        let differs = pairs().any(|(_, (a, b))| !same(param.signature.elem, a, b));
        if differs && with_mags.is_none() {
            let run = run_with_mags()?;
            // Without magnitudes it is unknown how far apart is too far.
            if let Some(limit) = run.diagnostics.limit() {
                return Err(limit);
            }
            with_mags = Some(run);
        }
        let with_mags = with_mags.as_ref().and_then(|execution| execution.param(nth));
        let mag = |idx: usize| match with_mags.and_then(|global| Some((global, global.mags.as_ref()?))) {
            None => 0.0,
            // Magnitudes make a run dearer, so of a launch that is sampled it may have run other blocks.
            Some((global, _)) if !global.is_written(idx) => f64::INFINITY,
            Some((global, plane)) => f64::from_bits(plane[global.place(idx)].load(Relaxed)),
        };
        let index_of = |idx: usize| unravel(idx as u64, &param.signature.shape);
        compare(report, (&param.signature, &index_of), pairs(), mag, (tolerance, round));
        // Of a launch that is sampled, either version may have run blocks that the other has not.
        let is_lost = |&idx: &usize| first.is_written(idx) && !second.is_written(counterpart(first, second, idx));
        if !one.sampled && !other.sampled && report.difference.is_none() {
            report.difference = (0..first.n_elements()).find(is_lost).map(|idx| Difference {
                buffer: param.signature.name.clone(),
                index: index_of(idx),
                expected: show(first.elem, first.value(idx)),
                found: "not written".to_string(),
                allowed: 0.0,
                inputs: round.name(),
            });
        }
    }
    Ok(())
}

/// The element of `second` that is element `idx` of `first`: where strides were flattened away, an element of the
/// second lies where its cell lay in the first.
fn counterpart(first: &Global, second: &Global, idx: usize) -> usize {
    let was_flattened = first.places.is_some() && second.places.is_none() && first.cells.len() == second.cells.len();
    if was_flattened { first.place(idx) } else { idx }
}

/// What a program takes and fills, told by what it does.
pub(crate) struct Params {
    pub(crate) list: Vec<Param>,
    pub(crate) n_terms: u64,
}

pub(crate) struct Param {
    pub(crate) signature: Signature,
    pub(crate) written: bool,
    /// It is read before it is written, or never written.
    pub(crate) is_input: bool,
    /// The value of a scalar.
    pub(crate) scalar: Option<Tensor>,
    /// Where the elements lie, if not one after another.
    pub(crate) places: Option<Places>,
}

impl Params {
    /// Looks at the program, and runs it once to see which of the buffers that it writes and reads it reads before.
    pub(crate) fn of(module: &Module, func: &Func, options: &CheckOptions) -> Result<Params> {
        let mut scalars = std::collections::BTreeMap::new();
        let mut list = Vec::new();
        for (nth, &param) in func.params().iter().enumerate() {
            let name = func.value_text(param).to_string();
            let scalar = func.value_scalar(param).map(|scalar| scalar_value(scalar.elem, &name, &options.sizes));
            if let Some(value) = &scalar {
                scalars.insert(nth, value.cell(0));
            }
            let elem = scalar.as_ref().map_or(Elem::F32, |tensor| tensor.elem);
            list.push(Param {
                signature: Signature { name, elem, shape: Vec::new() },
                written: false,
                is_input: true,
                scalar,
                places: None,
            });
        }
        let request =
            crate::compile::function::Request { sizes: &options.sizes, scalars: &scalars, domain: Domain::Numbers };
        let program = crate::compile::function::compile(module, func, request)?;
        check_memory(&program, &options.run_options(&Round { fill: Fill::Reals, seed: 0 }), Domain::Numbers)?;
        let mut in_doubt = false;
        for info in &program.globals {
            let Some(param) = info.param else { continue };
            let decl = &program.declarations.list[info.decl];
            list[param].signature = Signature { name: decl.name.clone(), elem: decl.elem, shape: shape_of(decl) };
            list[param].written = info.written;
            list[param].is_input = !info.written;
            list[param].places = decl.places().map(|at| Places { at, n_cells: decl.cells as u64 });
            in_doubt |= info.written && info.read;
        }
        let n_terms = program.kernels.iter().map(|kernel| work(kernel).rounds).max().unwrap_or(1);
        let mut params = Params { list, n_terms };
        if in_doubt {
            let round = Round { fill: Fill::Integers { max: 2, keep: 1 << 16 }, seed: options.seed };
            let trial = RunOptions { serial: true, ..options.run_options(&round) };
            let sampling = crate::sample::Sampling::new(options.sample_above / 16, options.seed);
            let execution = Execution::of(module, func, &params.args(&round), &trial, Domain::Numbers, Some(sampling))?;
            for found in execution.diagnostics.iter().filter(|found| found.kind == DiagnosticKind::Uninitialised) {
                for param in params.list.iter_mut().filter(|param| Some(&param.signature.name) == found.buffer.as_ref())
                {
                    param.is_input = true;
                }
            }
        }
        Ok(params)
    }

    pub(crate) fn args(&self, round: &Round) -> Vec<Arg> {
        let of = |(param, stream): (&Param, u64)| match &param.scalar {
            Some(value) => Arg::Input(value.clone()),
            None if param.is_input => Arg::Input(crate::inputs::fill(&param.signature, round.seed, stream, round.fill)),
            None => Arg::Output,
        };
        self.list.iter().zip(0..).map(of).collect()
    }

    /// The arguments `args` for another version, which may address by one index what had strides.
    fn args_of(&self, args: &[Arg], func: &Func) -> Vec<Arg> {
        let of = |((arg, param), &value): ((&Arg, &Param), &Value)| match (arg, &param.places) {
            (Arg::Input(tensor), Some(places)) if func.buffer_attr(value, keys::STRIDES).is_none() => {
                Arg::Input(places.lay_out(tensor))
            }
            _ => arg.clone(),
        };
        args.iter().zip(&self.list).zip(func.params()).map(of).collect()
    }
}

/// A scalar argument: as given by name, or a small number.
fn scalar_value(elem: Elem, name: &str, sizes: &Sizes) -> Tensor {
    let value = sizes.get(name).copied().unwrap_or(if elem == Elem::Bool { 1 } else { 3 });
    let cell = if elem.is_float() { cell::of_float(elem, value as f64) } else { cell::of_int(value.into()) };
    Tensor::from_cells(elem, Vec::new(), std::iter::once(cell))
}
