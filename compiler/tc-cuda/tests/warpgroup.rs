//! Bulk copies and products of a warpgroup on a GPU, against sums by their definition, bit for bit: factors are small
//! integers, whose sums every type holds. Where there is no GPU that has them the kernels are compiled and no more; with the
//! variable `TC_REQUIRE_GPU` set the test fails instead.

use tc_cuda::{CudaProgram, EmitOptions, emit};
use tc_ir::Module;
use tc_runtime::device::{Code, Device, Program, RunOptions};
use tc_runtime::{Array, CudaDevice, DType, nvrtc};
use tc_syntax::{ParseOptions, parse_module};
use tc_target::{Feature, Target};

/// How a factor lies in memory.
#[derive(Clone, Copy)]
enum Lies {
    /// Steps of the reduction side by side.
    AlongK,
    /// Rows or columns of the result side by side.
    Across,
}

use Lies::{Across, AlongK};

/// A product: what it is called in its file, the extents m, n, k, how factors lie, and how many rows or columns of each
/// there are in memory.
struct Case {
    name: &'static str,
    extents: [usize; 3],
    lie: [Lies; 2],
    held: [usize; 2],
}

const fn case(name: &'static str, extents: [usize; 3], lie: [Lies; 2]) -> Case {
    Case { name, extents, lie, held: [64, 64] }
}

const TYPES: &[Case] = &[
    case("kk", [64, 64, 64], [AlongK, AlongK]),
    case("mn", [64, 64, 64], [Across, Across]),
    case("half", [64, 64, 64], [AlongK, AlongK]),
    case("tf", [64, 64, 32], [AlongK, AlongK]),
    case("int", [64, 64, 128], [AlongK, AlongK]),
    case("uint", [64, 32, 128], [AlongK, AlongK]),
    case("e4", [64, 64, 128], [AlongK, AlongK]),
    case("e5", [64, 64, 128], [AlongK, AlongK]),
];

const ROLES: &[Case] = &[Case { name: "f", extents: [256, 256, 256], lie: [AlongK, Across], held: [256, 256] }];

fn target() -> Target {
    Target::parse("sm_90a").expect("a target")
}

fn module(text: &str) -> Module {
    let (module, found) = parse_module("test.tir", text, &tc_dialects::shared_registry(), &ParseOptions::default());
    assert!(found.is_empty(), "it parses");
    module
}

/// The first GPU that has bulk copies and products of warpgroups, if there is one.
fn device() -> Option<CudaDevice> {
    match CudaDevice::open(0) {
        Ok(device) if device.target().is_some_and(|target| target.has(Feature::Wgmma)) => Some(device),
        other => {
            assert!(std::env::var_os("TC_REQUIRE_GPU").is_none(), "{:?}", other.err());
            None
        }
    }
}

/// Small integers, none of them negative where the type has no sign.
fn numbers(dtype: DType, n: usize, seed: usize) -> Vec<f64> {
    let least = if dtype == DType::U8 { 0 } else { -2 };
    (0..n).map(|nth| ((nth * 7 + nth / 5 * 3 + nth / 64 * 11 + seed) % 5) as f64 + f64::from(least)).collect()
}

impl Case {
    fn element(&self, side: usize, values: &[f64], mn: usize, k: usize) -> f64 {
        match self.lie[side] {
            AlongK => values[mn * self.extents[2] + k],
            Across => values[k * self.held[side] + mn],
        }
    }

    fn check(&self, device: &mut CudaDevice, program: CudaProgram) {
        let dtypes: Vec<DType> = program.manifest.params.iter().map(tc_target::Param::dtype).collect();
        let [m, n, k] = self.extents;
        let factors = [0, 1].map(|side| numbers(dtypes[side], self.held[side] * k, side));
        let mut wanted = Vec::with_capacity(m * n);
        for row in 0..m {
            for column in 0..n {
                let product = |at| self.element(0, &factors[0], row, at) * self.element(1, &factors[1], column, at);
                wanted.push((0..k).map(product).sum::<f64>());
            }
        }
        let array = |dtype, values: &[f64]| Array::from_f64s(dtype, &[values.len() as u64], values).expect("small");
        let mut args: Vec<Array> = (0..2).map(|side| array(dtypes[side], &factors[side])).collect();
        args.push(Array::zeros(dtypes[2], &[(m * n) as u64]).expect("small"));
        let program = Program { manifest: program.manifest, target: target(), code: Code::Cuda(program.source) };
        device.run(&program, &mut args, &RunOptions { poison: true }).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        assert_eq!(args[2].to_f64s(), wanted, "{}", self.name);
    }
}

#[test]
fn products_of_warpgroups_are_sums_of_products() {
    let mut device = device();
    let types = include_str!("../../../filecheck-tests/emit-cuda/warpgroup-types.tir");
    let roles = include_str!("../../../filecheck-tests/emit-cuda/warpgroup-roles.tir");
    for (text, cases) in [(types, TYPES), (roles, ROLES)] {
        let module = module(text);
        for case in cases {
            let program = emit(&module, case.name, &target(), &EmitOptions::default()).expect("it is written");
            match &mut device {
                Some(device) => case.check(device, program),
                None => {
                    let options = nvrtc::Options { output: nvrtc::Output::Cubin, ..Default::default() };
                    let made = nvrtc::compile(&program.source, "test.cu", &target(), &options).expect("it compiles");
                    // The assembler tells here of products that it makes wait for one another.
                    assert!(made.log.is_empty(), "{}: {}", case.name, made.log);
                }
            }
        }
    }
}
