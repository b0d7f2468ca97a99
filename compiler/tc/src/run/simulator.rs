//! The simulator as a device: what runs on a GPU runs here too, with everything that is found on the way.

use super::arrays::{to_array, to_tensor};
use super::build::Built;
use std::sync::Arc;
use tc_ir::Module;
use tc_runtime::check::check_args;
use tc_runtime::{
    Array, BenchOptions, BenchReport, Code, Device, KernelReport, L2, Program, RunOptions, RunReport, Timing,
};
use tc_sim::{Arg, Limits, Parameter, Signature, Sizes};
use tc_support::clock::Instant;
use tc_support::{Diagnostic, Location};
use tc_target::{Access, Buffer, KernelManifest, Param, Scalar, Target};

/// What the simulator runs: a function of a module.
#[derive(Debug)]
pub struct SimCode {
    module: Module,
    name: String,
    sizes: Sizes,
    signatures: Vec<Signature>,
}

/// The device that every machine has.
#[derive(Clone, Copy, Default, Debug)]
pub struct Simulator {
    /// What one run may cost.
    pub limits: Limits,
}

impl Simulator {
    /// `built` as a program of this device. Its manifest has no kernels: the simulator knows them from the program.
    pub fn program(&self, built: &Built, target: Target) -> Result<Program, Box<Diagnostic>> {
        let options = tc_sim::CheckOptions { sizes: built.sizes.clone(), limits: self.limits, ..Default::default() };
        let parameters = tc_sim::parameters(&built.module, &built.name, &options)?;
        let params = parameters.iter().map(param).collect::<Result<_, _>>()?;
        let manifest = KernelManifest {
            function: built.name.clone(),
            target: target.name.to_string(),
            params,
            temporaries: Vec::new(),
            maps: Vec::new(),
            kernels: Vec::new(),
            sizes: Vec::new(),
            formulas: Vec::new(),
            facts: Vec::new(),
        };
        let code = SimCode {
            module: built.module.clone(),
            name: built.name.clone(),
            sizes: built.sizes.clone(),
            signatures: parameters.into_iter().map(|parameter| parameter.signature).collect(),
        };
        Ok(Program { manifest, target, code: Code::Foreign(Arc::new(code)) })
    }

    fn execute(&self, program: &Program, args: &[Array]) -> Result<tc_sim::RunReport, Box<Diagnostic>> {
        check_args(&program.manifest, args).map_err(Box::new)?;
        let code = match &program.code {
            Code::Foreign(code) => code.downcast_ref::<SimCode>(),
            _ => None,
        };
        let Some(code) = code else {
            let text = format!("the simulator does not run {}", program.code.kind());
            return Err(Box::new(Diagnostic::error("wrong-code", Location::None, text)));
        };
        let arg = |(nth, array): (usize, &Array)| {
            let is_output = matches!(&program.manifest.params[nth], Param::Buffer(buffer) if !buffer.access.reads());
            if is_output { Ok(Arg::Output) } else { to_tensor(array, &code.signatures[nth]).map(Arg::Input) }
        };
        let args: Vec<Arg> = args.iter().enumerate().map(arg).collect::<Result<_, _>>()?;
        let options = tc_sim::RunOptions { sizes: code.sizes.clone(), limits: self.limits, ..Default::default() };
        tc_sim::run(&code.module, &code.name, &args, &options)
    }
}

fn param(parameter: &Parameter) -> Result<Param, Box<Diagnostic>> {
    let Signature { name, elem, shape } = &parameter.signature;
    if parameter.scalar.is_some() {
        return Ok(Param::Scalar(Scalar { name: name.clone(), dtype: elem.dtype() }));
    }
    let access = match (parameter.is_input, parameter.is_output) {
        (true, true) => Access::ReadWrite,
        (false, true) => Access::Write,
        (_, false) => Access::Read,
    };
    Buffer::new(name.clone(), elem.dtype(), shape.clone(), access).map(Param::Buffer).map_err(Box::new)
}

/// The kernels of `program` by name: the simulator knows of no registers.
fn reports(program: &Program) -> Vec<KernelReport> {
    let kernels = program.manifest.kernels.iter();
    kernels.map(|kernel| KernelReport { name: kernel.name.clone(), ..Default::default() }).collect()
}

impl Device for Simulator {
    fn name(&self) -> String {
        "sim".to_string()
    }

    fn target(&self) -> Option<Target> {
        None
    }

    fn run(&mut self, program: &Program, args: &mut [Array], _: &RunOptions) -> Result<RunReport, Diagnostic> {
        let report = self.execute(program, args).map_err(|wrong| *wrong)?;
        for ((param, arg), output) in program.manifest.params.iter().zip(args).zip(&report.outputs) {
            if let (Param::Buffer(buffer), Some(tensor)) = (param, output)
                && buffer.access.writes()
            {
                *arg = to_array(tensor).map_err(|wrong| *wrong)?;
            }
        }
        let kernels = reports(program);
        Ok(RunReport { kernels, diagnostics: report.diagnostics.with_counts().collect() })
    }

    fn bench(&mut self, program: &Program, args: &[Array], options: &BenchOptions) -> Result<BenchReport, Diagnostic> {
        let start = Instant::now();
        let mut samples = Vec::new();
        while samples.len() < options.repetitions.max(1)
            && (samples.is_empty() || start.elapsed().as_secs_f64() < options.max_seconds)
        {
            let before = Instant::now();
            self.execute(program, args).map_err(|wrong| *wrong)?;
            samples.push(before.elapsed().as_secs_f64() * 1e6);
        }
        let timing = Timing::from_samples(samples, 1, L2::Kept)
            .ok_or_else(|| Diagnostic::error("bench", Location::None, "no samples were taken"))?;
        Ok(BenchReport { timing, clocks: None, kernels: reports(program) })
    }
}
