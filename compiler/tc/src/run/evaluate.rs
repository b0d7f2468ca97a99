//! The results of a case on given inputs.

use super::arrays::{reshaped, to_array};
use super::build::{Built, Define, known, sizes_of};
use super::cases::Case;
use super::check::{CheckOptions, Machine, arguments, device_arrays, input, run_on_device, run_on_simulator};
use super::declared::Layouts;
use super::guarded_on;
use crate::compiler::Compiler;
use crate::failure::Failure;
use std::time::Duration;
use tc_ir::Module;
use tc_runtime::{Array, BenchOptions, BenchReport, Clocks, Device, KernelReport, Timing};
use tc_sim::{Arg, Definition, Signature, SimDiagnostics, Sizes, Tensor};
use tc_support::clock::Instant;
use tc_support::{Diagnostic, Diagnostics, Severity, Sources};

/// An argument of a case after it has run.
#[derive(Clone, Debug)]
pub struct Argument {
    /// The name.
    pub name: String,
    /// The caller brought it; the others were drawn from the seed, or are results.
    pub given: bool,
    /// It went in.
    pub is_input: bool,
    /// It came out.
    pub is_output: bool,
    /// What is in it at the end.
    pub array: Array,
}

/// What evaluating a case gave.
#[derive(Clone, Debug)]
pub struct Evaluated {
    /// Nothing is wrong.
    pub ok: bool,
    /// The point of the schedule's space that was taken.
    pub point: Vec<Define>,
    /// All arguments, in order.
    pub arguments: Vec<Argument>,
    /// What was found.
    pub diagnostics: Diagnostics,
    /// The files that it points into.
    pub sources: Sources,
    /// How long it took, building included.
    pub time: Duration,
}

/// Runs `case` of `module` on `machine` and returns what comes out.
pub fn evaluate(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    machine: &mut Machine<'_>,
    options: &CheckOptions,
) -> Result<Evaluated, Failure> {
    guarded_on(machine, ("evaluating", &module.sources), |machine| {
        evaluate_on(compiler, module, case, machine, options)
    })
}

fn evaluate_on(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    machine: &mut Machine<'_>,
    options: &CheckOptions,
) -> Result<Evaluated, Failure> {
    let start = Instant::now();
    let failed = |diagnostics| Failure { diagnostics, sources: module.sources.clone() };
    let mut evaluated = if case.is_definition() && !machine.is_device() {
        let mut evaluated = by_definition(module, case, options).map_err(failed)?;
        evaluated.sources = module.sources.clone();
        evaluated
    } else {
        let (built, defines) =
            compiler.build_for(module, case, (&options.defines, &options.inputs), machine.is_device())?;
        let options = &CheckOptions { defines, ..options.clone() };
        let failed = |diagnostics| Failure { diagnostics, sources: built.module.sources.clone() };
        let prepared = prepare(module, case, &built, options).map_err(failed)?;
        let (results, diagnostics) = match machine {
            Machine::Simulator => {
                run_on_simulator(&built, &prepared.args, &sim_options(&built, options)).map_err(failed)?
            }
            Machine::Device(device) => {
                let program = compiler.program(&built)?;
                let results =
                    run_on_device(&mut **device, &program, &prepared.args, &prepared.outputs).map_err(failed)?;
                (results, SimDiagnostics::default())
            }
        };
        let arguments = prepared.arguments(results, options).map_err(failed)?;
        let mut evaluated = finish(arguments, &diagnostics);
        evaluated.point = built.point;
        evaluated.sources = built.module.sources;
        evaluated
    };
    evaluated.time = start.elapsed();
    Ok(evaluated)
}

/// How long a case takes.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The point of the schedule's space that was taken.
    pub point: Vec<Define>,
    /// The time of one run, all kernels together.
    pub timing: Timing,
    /// The clocks under which it was measured, where the device tells them.
    pub clocks: Option<Clocks>,
    /// What the device knows of each kernel, in launch order.
    pub kernels: Vec<KernelReport>,
    /// What the kernels say of their speed, on the machine that the device is called after, or on that of the target.
    pub speed: Vec<tc_perf::KernelReport>,
}

/// Measures one run of `case` on `machine`, on inputs drawn from the seed where none are given.
pub fn bench(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    machine: &mut Machine<'_>,
    with: (&CheckOptions, &BenchOptions),
) -> Result<Measured, Failure> {
    guarded_on(machine, ("measuring", &module.sources), |machine| bench_on(compiler, module, case, machine, with))
}

fn bench_on(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    machine: &mut Machine<'_>,
    (options, how): (&CheckOptions, &BenchOptions),
) -> Result<Measured, Failure> {
    let (built, defines) =
        compiler.build_for(module, case, (&options.defines, &options.inputs), machine.is_device())?;
    let options = &CheckOptions { defines, ..options.clone() };
    let failed = |diagnostics| Failure { diagnostics, sources: built.module.sources.clone() };
    let prepared = prepare(module, case, &built, options).map_err(failed)?;
    let mut simulator = super::Simulator { limits: options.limits };
    let (device, program): (&mut dyn Device, _) = match machine {
        Machine::Device(device) => (&mut **device, compiler.program(&built)?),
        Machine::Simulator => {
            let program = simulator.program(&built, compiler.target).map_err(|wrong| failed(wrong.into()))?;
            (&mut simulator, program)
        }
    };
    let (arrays, _) = device_arrays(&program, &prepared.args, &prepared.outputs).map_err(failed)?;
    let measured = device.bench(&program, &arrays, how).map_err(|wrong| failed(wrong.into()))?;
    let BenchReport { timing, clocks, kernels } = measured;
    let of_name = tc_target::Machine::named(&device.name());
    let of_target = || tc_target::Machine::of(&compiler.target);
    let speed = compiler.performance_of(&built, &of_name.unwrap_or_else(of_target)).unwrap_or_default();
    Ok(Measured { point: built.point, timing, clocks, kernels, speed })
}

fn sim_options(built: &Built, options: &CheckOptions) -> tc_sim::CheckOptions {
    tc_sim::CheckOptions { sizes: built.sizes.clone(), limits: options.limits, ..tc_sim::CheckOptions::default() }
}

/// The arguments of a program before it runs.
struct Prepared {
    /// The arguments as the operator or the program declares them.
    signatures: Vec<Signature>,
    args: Vec<Arg>,
    /// What the arguments without contents are.
    outputs: Vec<Signature>,
    /// Which are written.
    written: Vec<bool>,
    /// How what is run takes arrays that do not lie dense.
    layouts: Layouts,
}

fn prepare(module: &Module, case: &Case, built: &Built, options: &CheckOptions) -> Result<Prepared, Diagnostics> {
    let Some(operator) = case.definition else {
        let sim = sim_options(built, options);
        let parameters = super::declared::parameters(module, case, &sim)?;
        let (args, outputs) = arguments(&parameters, &options.inputs, options.seed)?;
        let layouts = Layouts::between(&parameters, built, &sim)?;
        let outputs = layouts.outputs(&args, outputs);
        let args = layouts.lay_out(args);
        return Ok(Prepared {
            args,
            outputs,
            written: parameters.iter().map(|param| param.is_output).collect(),
            signatures: parameters.into_iter().map(|parameter| parameter.signature).collect(),
            layouts,
        });
    };
    let definition = define(module, case, operator, options)?;
    let (inputs, outputs) = (definition.inputs(), definition.outputs());
    let mut args = Vec::new();
    for (stream, signature) in inputs.iter().enumerate() {
        args.push(Arg::Input(input(signature, &options.inputs, (options.seed, stream as u64))?));
    }
    args.extend(outputs.iter().map(|_| Arg::Output));
    let signatures = inputs.iter().chain(&outputs).cloned().collect();
    let written = inputs.iter().map(|_| false).chain(outputs.iter().map(|_| true)).collect();
    Ok(Prepared { signatures, args, outputs, written, layouts: Layouts::default() })
}

impl Prepared {
    /// The arguments with what came out of the run, in the shapes that are declared.
    fn arguments(self, results: Vec<Option<Tensor>>, options: &CheckOptions) -> Result<Vec<Argument>, Diagnostics> {
        let mut arguments = Vec::new();
        let results = results.into_iter().chain(std::iter::repeat(None));
        for (nth, ((signature, arg), result)) in self.signatures.iter().zip(self.args).zip(results).enumerate() {
            let is_input = matches!(arg, Arg::Input(_));
            let Some(tensor) = result.or(match arg {
                Arg::Input(tensor) => Some(tensor),
                Arg::Output => None,
            }) else {
                continue;
            };
            let name = signature.name.clone();
            let given = options.inputs.iter().any(|(of, _)| *of == name);
            let tensor = self.layouts.take_out(nth, tensor);
            let array = reshaped(&tensor, signature.elem.dtype(), &signature.shape).map_err(Diagnostics::from)?;
            arguments.push(Argument { name, given, is_input, is_output: self.written[nth], array });
        }
        Ok(arguments)
    }
}

/// The operator `operator` with the sizes that the caller gave.
fn define<'m>(
    module: &'m Module,
    case: &Case,
    operator: usize,
    options: &CheckOptions,
) -> Result<Definition<'m>, Diagnostics> {
    let item = &module.items[operator];
    let shapes = sizes_of(item, &options.inputs, &options.defines);
    let sizes: Sizes = known(module, case, &options.defines).into_iter().chain(shapes).collect();
    Definition::new(module, item.symbol(), &sizes, options.limits).map_err(Diagnostics::from)
}

fn by_definition(module: &Module, case: &Case, options: &CheckOptions) -> Result<Evaluated, Diagnostics> {
    let mut definition = define(module, case, case.func, options)?;
    let signatures = definition.inputs();
    let mut inputs = Vec::new();
    for (stream, signature) in signatures.iter().enumerate() {
        inputs.push(input(signature, &options.inputs, (options.seed, stream as u64))?);
    }
    let evaluation = definition.evaluate(&inputs).map_err(Diagnostics::from)?;
    let mut arguments = Vec::new();
    let tensors = signatures.into_iter().zip(inputs).map(|pair| (pair, true));
    let results = definition.outputs().into_iter().zip(evaluation.tensors()).map(|pair| (pair, false));
    for ((signature, tensor), is_input) in tensors.chain(results) {
        let given = is_input && options.inputs.iter().any(|(of, _)| *of == signature.name);
        let array = to_array(&tensor).map_err(Diagnostics::from)?;
        arguments.push(Argument { name: signature.name, given, is_input, is_output: !is_input, array });
    }
    Ok(finish(arguments, &evaluation.diagnostics))
}

fn finish(arguments: Vec<Argument>, diagnostics: &SimDiagnostics) -> Evaluated {
    let worth_telling = |found: &Diagnostic| found.severity != Severity::Remark;
    Evaluated {
        ok: !diagnostics.has_errors(),
        point: Vec::new(),
        arguments,
        diagnostics: diagnostics.with_counts().filter(worth_telling).collect(),
        sources: Sources::new(),
        time: Duration::ZERO,
    }
}
