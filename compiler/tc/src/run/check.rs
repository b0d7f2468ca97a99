//! A case against the definition of its operator, on the simulator or on another device.
//!
//! Inputs are small integers first, whose sums are exact, so that results are compared bit for bit; then reals, whose
//! results may differ by what rounding explains. On the simulator they are compared in exact arithmetic at last
//! ([`tc_sim::field`]), where a schedule gives what its operator does bit for bit. Where the definition or the program costs too much, some blocks are
//! run and some cells are compared; which, the seed decides.

use super::arrays::{reshaped, to_tensor};
use super::build::{Built, Define};
use super::cases::Case;
use super::guarded_on;
use super::origin::{Origins, blame_compiler, is_of_compiler, is_of_passes};
use super::verified::{Right, Verified};
use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::semantics::show_sizes;
use std::time::Duration;
use tc_ir::Module;
use tc_runtime::{Array, Device, Program, RunOptions};
use tc_sim::{
    Arg, CheckReport, DiagnosticKind, FieldVerdict, Limits, Oracle, Parameter, Signature, SimDiagnostics, Sizes,
    Tensor, Trial,
};
use tc_support::clock::Instant;
use tc_support::{Diagnostic, Diagnostics, Location, Severity, Sources, counted};
use tc_target::Param;

/// Where a case runs.
pub enum Machine<'d> {
    /// The simulator, which sees every access.
    Simulator,
    /// A GPU: results are compared, and accesses are not seen.
    Device(&'d mut dyn Device),
}

impl Machine<'_> {
    /// Is it a GPU?
    pub fn is_device(&self) -> bool {
        matches!(self, Machine::Device(_))
    }
}

/// How a case is checked.
#[derive(Clone, Default, Debug)]
pub struct CheckOptions {
    /// Where inputs come from that are not given.
    pub seed: u64,
    /// Values of sizes and of parameters of schedules.
    pub defines: Vec<Define>,
    /// Inputs by name. Without any, integers and reals are drawn.
    pub inputs: Vec<(String, Array)>,
    /// What one run on the simulator may cost.
    pub limits: Limits,
    /// How many cases share the time: the more, the fewer blocks are run of each that is too large to be run as a whole. One
    /// where it is 0.
    pub n_cases: usize,
}

/// What a kind of diagnostics came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// None.
    Clean,
    /// So many races in which every order gives the same values.
    SameValue(u64),
    /// So many.
    Found(u64),
}

/// What checking a case gave.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Nothing is wrong.
    pub ok: bool,
    /// The point of the schedule's space that was checked.
    pub point: Vec<Define>,
    /// Cells compared for each set of inputs; `None` where there is no operator to compare with.
    pub cells: Option<u64>,
    /// Sets of inputs.
    pub inputs: u32,
    /// Not all blocks were run, or not all cells compared.
    pub sampled: bool,
    /// Factors are rounded to tf32, by design: so much more was allowed.
    pub in_tf32: bool,
    /// What comparing in exact arithmetic came to; `None` where there was nothing to compare.
    pub field: Option<FieldVerdict>,
    /// The greatest absolute difference from the definition.
    pub max_abs_err: f64,
    /// The greatest relative one, where the definition gives something else than 0.
    pub max_rel_err: f64,
    /// Races, what threads do not do together, and cells of outstanding copies that are accessed; `None` where accesses are not seen.
    pub races: Option<Verdict>,
    /// Accesses out of bounds, misaligned, or of what no thread wrote; `None` where accesses are not seen.
    pub bounds: Option<Verdict>,
    /// What was found.
    pub diagnostics: Diagnostics,
    /// The files that it points into.
    pub sources: Sources,
    /// How long it took, building included.
    pub time: Duration,
}

/// Builds `case` of `module`, runs it on `machine` and compares what comes out with the definition.
///
/// What is wrong with the program is data; a [`Failure`] says that there was nothing to check.
pub fn check(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    machine: &mut Machine<'_>,
    options: &CheckOptions,
) -> Result<Checked, Failure> {
    check_after(compiler, module, case, machine, (options, &mut Verified::default()))
}

/// [`check`] on a device after others of the same operator, as a tuner checks thousands: a program whose results are, in all
/// cells, those of one that was found right is right. One whose results differ is judged by the definition, as any other.
pub fn check_after(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    machine: &mut Machine<'_>,
    (options, verified): (&CheckOptions, &mut Verified),
) -> Result<Checked, Failure> {
    guarded_on(machine, ("checking", &module.sources), |machine| {
        check_on(compiler, module, case, machine, (options, verified))
    })
}

fn check_on(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    machine: &mut Machine<'_>,
    (options, verified): (&CheckOptions, &mut Verified),
) -> Result<Checked, Failure> {
    let start = Instant::now();
    let (mut built, given) =
        compiler.build_for(module, case, (&options.defines, &options.inputs), machine.is_device())?;
    let given: Sizes = given.into_iter().collect();
    let tc_sim::Plan { trials, unreached } = match options.inputs.is_empty() {
        true => tc_sim::plan(&built.module, &built.name, &given),
        false => tc_sim::Plan { trials: vec![given], unreached: Vec::new() },
    };
    let mut report = CheckReport::default();
    let mut with = String::new();
    let usual = tc_sim::CheckOptions::default();
    for sizes in trials {
        with = built.module.function(&built.name).map_or(String::new(), |func| show_sizes(func, &sizes));
        built.sizes = sizes.clone();
        let implemented = case.definition.filter(|&operator| operator != case.func);
        let sizes = match implemented {
            Some(operator) => tc_sim::sizes_of_operator(&module.items[operator], &module.items[case.func], &sizes),
            None => sizes,
        };
        let job = Job {
            compiler,
            built: &built,
            definition: case.definition.map(|operator| (module, module.items[operator].symbol())),
            unscheduled: (case.schedule.is_some() && case.definition.is_none()).then_some(module),
            options,
            sim: tc_sim::CheckOptions {
                sizes,
                seed: options.seed,
                limits: options.limits,
                sample_above: usual.sample_above.min(options.limits.steps / 4),
                sample_cost: (usual.sample_cost / options.n_cases.max(1) as u64).max(1),
                ..usual.clone()
            },
        };
        let here = match machine {
            Machine::Simulator if options.inputs.is_empty() => job.simulate(),
            Machine::Simulator => job.simulate_given(),
            Machine::Device(device) => job.launch(&mut **device, verified),
        };
        let here = here.map_err(|diagnostics| Failure { diagnostics, sources: built.module.sources.clone() })?;
        report.merge(here, options.limits);
        if !report.is_ok() {
            break;
        }
    }
    if report.inputs == 0 && report.is_ok() {
        let func = &module.items[case.func];
        let text = format!("no sizes were found for which the facts of `@{}` hold", func.symbol());
        let wrong = Diagnostic::error("size", func.location(func.header.loc), text).help("give them, `-D n=…`");
        return Err(Failure { diagnostics: wrong.into(), sources: module.sources.clone() });
    }
    let is_compared = case.definition.is_some() || (case.schedule.is_some() && !machine.is_device());
    let mut checked = summary(&report, is_compared, !machine.is_device());
    let worth_telling = |found: &Diagnostic| found.severity != Severity::Remark;
    checked.diagnostics = built.remarks.iter().filter(|found| worth_telling(found)).cloned().collect();
    let item = &module.items[case.schedule.unwrap_or(case.func)];
    let blamed = !report.is_ok()
        && report.undefined.is_none()
        && (is_of_compiler(module, case)
            // The program as written is tried on drawn inputs: on others it may be wrong as well.
            || options.inputs.is_empty() && is_of_passes((module, case), &built, options.limits));
    for found in diagnostics(&report, &built.origins, &item.location(item.header.loc), &with) {
        checked.diagnostics.push(if blamed { blame_compiler(found) } else { found });
    }
    for found in in_field(&report, case, &item.location(item.header.loc)) {
        checked.ok &= !found.is_error();
        let blamed = found.is_error() && is_of_compiler(module, case);
        checked.diagnostics.push(if blamed { blame_compiler(found) } else { found });
    }
    if checked.ok && report.field.verdict != FieldVerdict::Equal {
        loose(&report, &item.location(item.header.loc)).into_iter().for_each(|found| checked.diagnostics.push(found));
    }
    if checked.ok {
        not_tried(&unreached).for_each(|warning| checked.diagnostics.push(warning));
    }
    checked.point = built.point;
    checked.sources = built.module.sources;
    checked.time = start.elapsed();
    Ok(checked)
}

/// A check that allows this share of the greatest result says little.
const LOOSE: f64 = 0.25;

/// A warning of a check that allows differences about as great as the results.
fn loose(report: &CheckReport, at: &Location) -> Option<Diagnostic> {
    let (allowed, expected) = report.loosest;
    let text = format!(
        "this check tells little: differences up to {allowed:.1e} are allowed of results up to {expected:.1e}, as the rounding of \
         intermediate results may cause them"
    );
    let help =
        "state in the operator where the program rounds, so that the exact check decides; or check at smaller sizes";
    (allowed > LOOSE * expected).then(|| Diagnostic::warning("loose-check", at.clone(), text).help(help))
}

/// Branches that were not checked are told, so many of them.
const MAX_TOLD: usize = 8;

/// Warnings of branches that were not checked.
fn not_tried(branches: &[tc_sim::Unreached]) -> impl Iterator<Item = Diagnostic> {
    let more = branches.len().saturating_sub(MAX_TOLD);
    branches.iter().take(MAX_TOLD).enumerate().map(move |(nth, branch)| {
        let text = "no size that was tried comes to this branch: it is not checked";
        let given = branch.sizes.iter().flatten().map(|(name, value)| format!("-D {name}={value}"));
        let given = given.collect::<Vec<_>>().join(" ");
        let given = if given.is_empty() { "-D NAME=VALUE" } else { &given };
        let warning = Diagnostic::warning("unreached", branch.location.clone(), text)
            .help(format!("check it by sizes that do: `{given}`"));
        match more {
            1.. if nth == 0 => warning.note(format!("nor to {}", counted(branches.len() - 1, "other"))),
            _ => warning,
        }
    })
}

fn summary(report: &CheckReport, compared: bool, sees_accesses: bool) -> Checked {
    let count = |kinds: &[DiagnosticKind]| kinds.iter().map(|&kind| report.diagnostics.count(kind)).sum::<u64>();
    let races = match (
        count(&[
            DiagnosticKind::Race,
            DiagnosticKind::CopyOutstanding,
            DiagnosticKind::DivergentBarrier,
            DiagnosticKind::DivergentShuffle,
            DiagnosticKind::DivergentWarp,
            DiagnosticKind::ProductOutstanding,
            DiagnosticKind::MissingFence,
            DiagnosticKind::Mbarrier,
            DiagnosticKind::Deadlock,
        ]),
        report.same_value_races,
    ) {
        (0, 0) => Verdict::Clean,
        (0, n) => Verdict::SameValue(n),
        (n, _) => Verdict::Found(n),
    };
    let bounds = match count(&[DiagnosticKind::OutOfBounds, DiagnosticKind::Uninitialised, DiagnosticKind::Misaligned])
    {
        0 => Verdict::Clean,
        n => Verdict::Found(n),
    };
    // A run that was ended did not see all accesses.
    let ended = report.diagnostics.count(DiagnosticKind::Limit) > 0;
    let seen =
        |verdict: Verdict| Some(verdict).filter(|&verdict| sees_accesses && !(ended && verdict == Verdict::Clean));
    Checked {
        ok: report.is_ok(),
        point: Vec::new(),
        cells: compared.then(|| report.cells / u64::from(report.inputs.max(1))),
        inputs: report.inputs,
        sampled: report.sampled,
        in_tf32: report.in_tf32,
        field: Some(report.field.verdict).filter(|&verdict| verdict != FieldVerdict::NotRun),
        max_abs_err: report.max_abs_err,
        max_rel_err: report.max_rel_err,
        races: seen(races),
        bounds: seen(bounds),
        diagnostics: Diagnostics::new(),
        sources: Sources::new(),
        time: Duration::ZERO,
    }
}

/// What comparing in exact arithmetic says against the case. A schedule changes nothing but the order of sums, so a
/// difference is an error; a program of the author's may round elsewhere on purpose.
fn in_field(report: &CheckReport, case: &Case, at: &Location) -> Vec<Diagnostic> {
    if let Some(found) = report.field.difference() {
        let severity = if case.schedule.is_some() { Severity::Error } else { Severity::Warning };
        return vec![Diagnostic { severity, location: at.clone(), ..found }];
    }
    report.field.undecided().into_iter().map(|found| Diagnostic { location: at.clone(), ..found }).collect()
}

/// Diagnostics from the cause to what follows of it: without a barrier threads read what no thread wrote yet, and compute
/// something else.
const CAUSES_FIRST: [DiagnosticKind; 11] = [
    DiagnosticKind::DivergentBarrier,
    DiagnosticKind::DivergentShuffle,
    DiagnosticKind::DivergentWarp,
    DiagnosticKind::Mbarrier,
    DiagnosticKind::MissingFence,
    DiagnosticKind::ProductOutstanding,
    DiagnosticKind::CopyOutstanding,
    DiagnosticKind::OutOfBounds,
    DiagnosticKind::Misaligned,
    DiagnosticKind::Race,
    DiagnosticKind::Deadlock,
];

/// What was found, the worst first. A race in which nothing can go wrong is still worth a warning, and so is a copy that
/// no thread waits for; remarks are not repeated here. What a directive made is shown there (`origins`), what has no place
/// of its own `at` the program; `with` tells the sizes that it was run at.
fn diagnostics(report: &CheckReport, origins: &Origins, at: &Location, with: &str) -> Diagnostics {
    let mut list = report.diagnostics_at(|found| origins.at_directive(found));
    for found in &mut list {
        let is_suspicious = [DiagnosticKind::SameValueRace, DiagnosticKind::NotAwaited];
        if is_suspicious.iter().any(|kind| found.code == kind.code()) {
            found.severity = Severity::Warning;
        }
        if found.location == Location::None {
            found.location = at.clone();
        }
        if !with.is_empty() {
            found.notes.push(format!("found{with}"));
        }
    }
    list.retain(|found| found.severity != Severity::Remark);
    let rank = |found: &Diagnostic| CAUSES_FIRST.iter().position(|kind| kind.code() == found.code);
    list.sort_by_key(|found| (std::cmp::Reverse(found.severity), rank(found).unwrap_or(CAUSES_FIRST.len())));
    list.into_iter().collect()
}

/// The results of a run, with what was found on the way.
pub(super) type Results = Result<(Vec<Option<Tensor>>, SimDiagnostics), Diagnostics>;

struct Job<'j> {
    compiler: &'j Compiler,
    built: &'j Built,
    definition: Option<(&'j Module, &'j str)>,
    /// The program without the schedule, where that is all that there is to compare with.
    unscheduled: Option<&'j Module>,
    options: &'j CheckOptions,
    sim: tc_sim::CheckOptions,
}

impl Job<'_> {
    fn program(&self) -> (&Module, &str) {
        (&self.built.module, &self.built.name)
    }

    fn simulate(&self) -> Result<CheckReport, Diagnostics> {
        let (module, name) = self.program();
        let report = match self.definition {
            Some(definition) => tc_sim::check_against_definition(definition, (module, name), &self.sim),
            None => tc_sim::exercise(module, name, &self.sim),
        };
        let mut report = report.map_err(Diagnostics::from)?;
        if let Some(before) = self.unscheduled {
            let agreed = tc_sim::agree(before, module, name, &self.sim).map_err(Diagnostics::from)?;
            report.cells += agreed.cells;
            report.difference = report.difference.or(agreed.difference);
            report.undefined = report.undefined.or(agreed.fault_before);
        }
        Ok(report)
    }

    /// On the simulator, with the inputs that the caller brought.
    fn simulate_given(&self) -> Result<CheckReport, Diagnostics> {
        let Some(mut oracle) = self.oracle()? else { return self.simulate() };
        let trial = Trial::given(self.fill_up(&oracle)?);
        let n_inputs = trial.inputs.len();
        let (results, diagnostics) = run_on_simulator(self.built, &args(&trial.inputs, &oracle.outputs()), &self.sim)?;
        let mut undefined = None;
        if !diagnostics.has_errors() {
            oracle.judge(&trial, &results_of(results, n_inputs)).map_err(Diagnostics::from)?;
        } else if let Some(definition) = self.definition {
            let found = tc_sim::fault_of_operator(definition, &trial.inputs, &diagnostics, &self.sim);
            undefined = found.map_err(Diagnostics::from)?;
        }
        oracle.add_diagnostics(diagnostics);
        let mut report = oracle.finish();
        report.undefined = report.undefined.or(undefined);
        if let Some(definition) = self.definition.filter(|_| report.is_ok()) {
            let compared = tc_sim::field::compare(definition, self.program(), Some(&trial.inputs), &self.sim);
            report.field = compared.map_err(Diagnostics::from)?;
        }
        Ok(report)
    }

    fn launch(&self, device: &mut dyn Device, verified: &mut Verified) -> Result<CheckReport, Diagnostics> {
        let program = self.compiler.program(self.built).map_err(|failure| failure.diagnostics)?;
        let run = |device: &mut dyn Device, inputs: &[Tensor], outputs: &[Signature]| {
            let results = run_on_device(device, &program, &args(inputs, outputs), outputs)?;
            Ok::<_, Diagnostics>(results_of(results, inputs.len()))
        };
        let is_drawn = self.options.inputs.is_empty();
        let key = (self.built.name.as_str(), &self.sim.sizes, self.options.seed);
        if let Some(right) = verified.get(key).filter(|_| is_drawn) {
            let mut run = |inputs: &[Tensor]| run(device, inputs, &right.outputs);
            if let Some(report) = right.compare(&mut run)? {
                return Ok(report);
            }
        }
        let Some(mut oracle) = self.oracle()? else { return self.launch_alone(device, &program) };
        let trials = if is_drawn { oracle.trials() } else { vec![Trial::given(self.fill_up(&oracle)?)] };
        let mut ran = Vec::new();
        let outputs = oracle.outputs();
        for trial in trials {
            let results = run(device, &trial.inputs, &outputs)?;
            oracle.judge(&trial, &results).map_err(Diagnostics::from)?;
            ran.push((trial.inputs, results));
        }
        let report = oracle.finish();
        if is_drawn && report.is_ok() {
            verified.add(key, Right::new(ran, outputs, &report));
        }
        Ok(report)
    }

    /// A program that implements no operator: all that can be said is that it ran.
    fn launch_alone(&self, device: &mut dyn Device, program: &Program) -> Result<CheckReport, Diagnostics> {
        let (module, name) = self.program();
        let parameters = tc_sim::parameters(module, name, &self.sim).map_err(Diagnostics::from)?;
        let (args, outputs) = arguments(&parameters, &self.options.inputs, self.options.seed)?;
        run_on_device(device, program, &args, &outputs)?;
        Ok(CheckReport { inputs: 1, ..CheckReport::default() })
    }

    fn oracle(&self) -> Result<Option<Oracle<'_>>, Diagnostics> {
        let of = |definition| Oracle::new(definition, self.program(), &self.sim).map_err(Diagnostics::from);
        self.definition.map(of).transpose()
    }

    /// The inputs that the caller brought, and for the others reals.
    fn fill_up(&self, oracle: &Oracle<'_>) -> Result<Vec<Tensor>, Diagnostics> {
        let of = |(stream, signature): (usize, &Signature)| {
            input(signature, &self.options.inputs, (self.options.seed, stream as u64))
        };
        oracle.inputs().iter().enumerate().map(of).collect()
    }
}

fn args(inputs: &[Tensor], outputs: &[Signature]) -> Vec<Arg> {
    inputs.iter().cloned().map(Arg::Input).chain(outputs.iter().map(|_| Arg::Output)).collect()
}

/// The tensors after the inputs.
fn results_of(results: Vec<Option<Tensor>>, n_inputs: usize) -> Vec<Tensor> {
    results.into_iter().skip(n_inputs).flatten().collect()
}

/// The array that `given` has for `signature`, or one drawn from a seed.
pub(super) fn input(
    signature: &Signature,
    given: &[(String, Array)],
    (seed, stream): (u64, u64),
) -> Result<Tensor, Diagnostics> {
    if let Some((_, array)) = given.iter().find(|(name, _)| *name == signature.name) {
        return to_tensor(array, signature).map_err(Diagnostics::from);
    }
    let dtype = signature.elem.dtype();
    let mut array = Array::zeros(dtype, &signature.shape).map_err(Diagnostics::from)?;
    tc_runtime::random::fill(&mut array, seed, stream, tc_runtime::Fill::Uniform);
    to_tensor(&array, signature).map_err(Diagnostics::from)
}

/// Arguments for a program that implements no operator, and the signatures of the ones without contents.
pub(super) fn arguments(
    parameters: &[Parameter],
    given: &[(String, Array)],
    seed: u64,
) -> Result<(Vec<Arg>, Vec<Signature>), Diagnostics> {
    let mut outputs = Vec::new();
    let mut args = Vec::new();
    for (stream, parameter) in parameters.iter().enumerate() {
        let signature = &parameter.signature;
        let is_given = given.iter().any(|(name, _)| *name == signature.name);
        args.push(match &parameter.scalar {
            Some(value) if !is_given => Arg::Input(value.clone()),
            None if !parameter.is_input && !is_given => {
                outputs.push(signature.clone());
                Arg::Output
            }
            _ => Arg::Input(input(signature, given, (seed, stream as u64))?),
        });
    }
    Ok((args, outputs))
}

pub(super) fn run_on_simulator(built: &Built, args: &[Arg], options: &tc_sim::CheckOptions) -> Results {
    let options = tc_sim::RunOptions { sizes: built.sizes.clone(), limits: options.limits, ..Default::default() };
    let report = tc_sim::run(&built.module, &built.name, args, &options).map_err(Diagnostics::from)?;
    Ok((report.outputs, report.diagnostics))
}

/// Runs `program` on `device`; `outputs` are the signatures of the arguments without contents, in order.
pub(super) fn run_on_device(
    device: &mut dyn Device,
    program: &Program,
    args: &[Arg],
    outputs: &[Signature],
) -> Result<Vec<Option<Tensor>>, Diagnostics> {
    let (mut arrays, signatures) = device_arrays(program, args, outputs)?;
    device.run(program, &mut arrays, &RunOptions::default()).map_err(Diagnostics::from)?;
    let tensor = |((param, array), (elem, shape)): ((&Param, &Array), (tc_ir::Elem, Vec<u64>))| match param {
        Param::Scalar(_) => Ok(None),
        Param::Buffer(_) => Tensor::new(elem, shape, array.bytes().to_vec()).map(Some).map_err(Diagnostics::from),
    };
    program.manifest.params.iter().zip(&arrays).zip(signatures).map(tensor).collect()
}

type Shapes = Vec<(tc_ir::Elem, Vec<u64>)>;

/// The arguments as the kernels take them, and the element types and shapes that they have for the program.
pub(super) fn device_arrays(
    program: &Program,
    args: &[Arg],
    outputs: &[Signature],
) -> Result<(Vec<Array>, Shapes), Diagnostics> {
    let params = &program.manifest.params;
    if params.len() != args.len() {
        let text =
            format!("`{}` takes {}, not {}", program.manifest.function, counted(params.len(), "argument"), args.len());
        return Err(Diagnostic::error("signature", Location::None, text).into());
    }
    let mut outputs = outputs.iter();
    let (mut arrays, mut shapes) = (Vec::new(), Vec::new());
    for (param, arg) in params.iter().zip(args) {
        let shape: &[u64] = match param {
            Param::Buffer(buffer) => &buffer.shape,
            Param::Scalar(_) => &[],
        };
        match (arg, outputs.as_slice().first()) {
            (Arg::Input(tensor), _) => {
                arrays.push(reshaped(tensor, param.dtype(), shape).map_err(Diagnostics::from)?);
                shapes.push((tensor.elem, tensor.shape.clone()));
            }
            (Arg::Output, Some(signature)) => {
                outputs.next();
                arrays.push(Array::zeros(param.dtype(), shape).map_err(Diagnostics::from)?);
                shapes.push((signature.elem, signature.shape.clone()));
            }
            (Arg::Output, None) => {
                let text = format!("nothing says what `{}` is", param.name());
                return Err(Diagnostic::bug("signature", Location::None, text).into());
            }
        }
    }
    Ok((arrays, shapes))
}
