//! Running and checking as an embedder does: on the simulator, and on a device of one's own.

use tc::ir::Module;
use tc::run::{Case, CheckOptions, Choice, Machine, Simulator, Verdict, Verified, cases, check_after};
use tc::runtime::{
    Array, BenchOptions, BenchReport, Code, DType, Device, Element, Program, RunOptions, RunReport, Timing,
};
use tc::support::Diagnostic;
use tc::target::{Access, Param, Target};
use tc::{Compiler, check};

const DOUBLE: &str = "
te.func @double(A: f32[6, 4]) -> f32[6, 4] {
  compute B[i: 6, j: 4] = A[i, j] * 2.0
  return B
}

schedule @s for @double {
  bind(B.i, blockIdx.x)
  bind(B.j, threadIdx.x)
}
";

fn parse(text: &str) -> (Compiler, Module, Vec<Case>) {
    let compiler = Compiler::new();
    let module = compiler.parse("f.tir", text).expect("a good file").module;
    let cases = cases::to_check(&module, Choice::default()).expect("something to check");
    (compiler, module, cases)
}

/// A device that knows one kernel: it multiplies by a number.
struct Multiplier {
    by: f64,
    launches: usize,
}

impl Device for Multiplier {
    fn name(&self) -> String {
        "multiplier".to_string()
    }

    fn target(&self) -> Option<Target> {
        None
    }

    fn run(&mut self, program: &Program, args: &mut [Array], _: &RunOptions) -> Result<RunReport, Diagnostic> {
        let Code::Cuda(source) = &program.code else { panic!("CUDA is what a GPU takes") };
        assert!(source.contains("__global__") && program.manifest.kernels.len() == 1);
        let [Param::Buffer(input), Param::Buffer(output)] = &program.manifest.params[..] else { panic!("two buffers") };
        assert_eq!((input.access, output.access), (Access::Read, Access::Write));
        assert_eq!(args[0].shape(), input.shape, "the arrays have the shapes of the kernel's buffers");
        for idx in 0..args[0].len() {
            let value = args[0].get(idx).to_f64() * self.by;
            args[1].set(idx, Element::Float(value));
        }
        self.launches += 1;
        Ok(RunReport::default())
    }

    fn bench(&mut self, _: &Program, args: &[Array], _: &BenchOptions) -> Result<BenchReport, Diagnostic> {
        assert_eq!(args.len(), 2);
        let timing = Timing::from_samples(vec![3.0], 1, tc::runtime::L2::Kept).expect("a sample");
        Ok(BenchReport { timing, clocks: None, kernels: Vec::new() })
    }
}

#[test]
fn a_device_is_checked_against_the_definition() {
    let (compiler, module, cases) = parse(DOUBLE);
    let options = CheckOptions::default();
    let mut device = Multiplier { by: 2.0, launches: 0 };
    let checked = check(&compiler, &module, &cases[0], &mut Machine::Device(&mut device), &options).unwrap();
    assert!(checked.ok && checked.diagnostics.is_empty());
    assert_eq!((checked.cells, checked.inputs, checked.max_abs_err), (Some(24), 2, 0.0));
    assert_eq!((checked.races, checked.bounds), (None, None), "accesses are not seen");
    assert_eq!(device.launches, 2);
    let mut wrong = Multiplier { by: 2.0 + 1e-6, launches: 0 };
    let checked = check(&compiler, &module, &cases[0], &mut Machine::Device(&mut wrong), &options).unwrap();
    let found = checked.diagnostics.iter().next().unwrap();
    assert!(!checked.ok && found.code == "wrong-result", "{found:?}");
    assert!(checked.max_abs_err > 0.0);
}

#[test]
fn programs_after_one_that_is_right_are_compared_with_it_and_judged_where_they_differ() {
    let (compiler, module, cases) = parse(DOUBLE);
    let options = CheckOptions::default();
    let mut verified = Verified::default();
    let mut check = |by: f64| {
        let mut device = Multiplier { by, launches: 0 };
        let with = (&options, &mut verified);
        let checked = check_after(&compiler, &module, &cases[0], &mut Machine::Device(&mut device), with).unwrap();
        (checked.ok, checked.cells, checked.inputs, device.launches)
    };
    assert!(!check(3.0).0, "a first program that is wrong is no measure of others");
    assert_eq!(check(2.0), (true, Some(24), 2, 2));
    assert_eq!(check(2.0), (true, Some(24), 2, 2), "all cells of the same inputs");
    // The integers differ: one run, and then the two of the definition.
    let (ok, _, _, launches) = check(2.0 + 1e-6);
    assert!(!ok && launches == 3, "{launches}");
    assert!(check(2.0).0, "a wrong program changes nothing");
}

#[test]
fn a_device_evaluates_and_is_timed() {
    let (compiler, module, cases) = parse(DOUBLE);
    let input: Vec<f64> = (0..24).map(f64::from).collect();
    let input = Array::from_f64s(DType::F32, &[6, 4], &input).unwrap();
    let options = CheckOptions { inputs: vec![("A".to_string(), input)], ..CheckOptions::default() };
    let mut device = Multiplier { by: 2.0, launches: 0 };
    let mut machine = Machine::Device(&mut device);
    let evaluated = tc::run::evaluate(&compiler, &module, &cases[0], &mut machine, &options).unwrap();
    let [input, result] = &evaluated.arguments[..] else { panic!("two arguments") };
    assert!(input.given && input.is_input && result.is_output);
    assert_eq!((result.array.shape(), result.array.get(23)), (&[6, 4][..], Element::Float(46.0)));
    let how = BenchOptions::default();
    let measured = tc::run::bench(&compiler, &module, &cases[0], &mut machine, (&options, &how)).unwrap();
    assert_eq!(measured.timing.median_us, 3.0);
}

#[test]
fn the_simulator_is_a_device() {
    let (compiler, module, cases) = parse(DOUBLE);
    let built = compiler.build(&module, &cases[0], &[], false).unwrap();
    let mut simulator = Simulator::default();
    let program = simulator.program(&built, compiler.target).unwrap();
    let mut args = vec![Array::zeros(DType::F32, &[24]).unwrap(), Array::zeros(DType::F32, &[24]).unwrap()];
    args[0].set(5, Element::Float(1.5));
    let report = simulator.run(&program, &mut args, &RunOptions::default()).unwrap();
    assert_eq!((args[1].get(5), args[1].get(6)), (Element::Float(3.0), Element::Float(0.0)));
    assert!(report.diagnostics.is_empty());
    let timing =
        simulator.bench(&program, &args, &BenchOptions { repetitions: 5, ..Default::default() }).unwrap().timing;
    assert!(timing.n == 5 && timing.median_us > 0.0);
    let cuda = Program { code: Code::Cuda(String::new()), ..program };
    assert_eq!(simulator.run(&cuda, &mut args, &RunOptions::default()).unwrap_err().code, "wrong-code");
}

#[test]
fn a_race_is_found_and_told() {
    let text = "
tir.func @race(A: f32[64], B: f32[64]) attributes {threaded} {
  for tx in 0..64 bind(threadIdx.x) {
    alloc S: f32[64] in shared
    S[tx] = A[tx]
    B[tx] = S[63 - tx]
  }
}
";
    let (compiler, module, cases) = parse(text);
    let checked = check(&compiler, &module, &cases[0], &mut Machine::Simulator, &CheckOptions::default()).unwrap();
    assert!(!checked.ok && checked.cells.is_none());
    assert!(matches!(checked.races, Some(Verdict::Found(n)) if n > 0), "{:?}", checked.races);
    let race = checked.diagnostics.iter().next().unwrap();
    assert!(race.code == "race" && !race.labels.is_empty());
}

#[test]
fn a_gpu_is_not_given_what_binds_nothing() {
    let text = "
te.func @double(A: f32[4]) -> f32[4] {
  compute B[i: 4] = A[i] * 2.0
  return B
}
schedule @plain for @double {
}
";
    let (compiler, module, cases) = parse(text);
    let on_simulator = compiler.build(&module, &cases[0], &[], false);
    assert!(on_simulator.is_ok());
    let failure = compiler.build(&module, &cases[0], &[], true).unwrap_err();
    assert!(failure.text().contains("verify-memory"), "{failure}");
}
