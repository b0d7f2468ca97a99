//! Operators whose sizes stay open, from text to kernels: they compute what the operator says at every size, compile, and
//! their manifests say how each size is launched.

use tc::Compiler;
use tc::run::cases::to_check;
use tc::run::{CheckOptions, Choice, Machine};
use tc::runtime::{Array, DType, nvrtc};
use tc::target::Target;

const ADD: &str = "te.func @add<n: 1..1048576>(A: f32[n], B: f32[n]) -> f32[n] {
  compute C[i: n] = A[i] + B[i]
  return C
}
schedule @threads for @add {
  io, ii = split(C.i, factor = 32)
  bind(io, blockIdx.x)
  bind(ii, threadIdx.x)
}";

const MATMUL: &str = "te.func @mm<n: 1..4096, m: 1..4096, l: 1..4096>(A: f32[n, l], B: f32[l, m]) -> f32[n, m] {
  compute C[i: n, j: m] = sum[k: l](A[i, k] * B[k, j])
  return C
}
schedule @naive for @mm {
  by, i = split(C.i, factor = 16)
  bx, j = split(C.j, factor = 16)
  reorder(by, bx, i, j)
  bind(by, blockIdx.y)
  bind(bx, blockIdx.x)
  bind(i, threadIdx.y)
  bind(j, threadIdx.x)
}
schedule @fused for @mm {
  ij = fuse(C.i, C.j)
  bx, tx = split(ij, factor = 64)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
schedule @tiled for @mm {
  CL = cache_write(C, local)
  AS = cache_read(A, shared, [CL])
  BS = cache_read(B, shared, [CL])
  by, i = split(C.i, factor = 16)
  bx, j = split(C.j, factor = 16)
  reorder(by, bx, i, j)
  bind(by, blockIdx.y)
  bind(bx, blockIdx.x)
  bind(i, threadIdx.y)
  bind(j, threadIdx.x)
  compute_at(CL, j)
  ko, ki = split(CL.k, factor = 8)
  reorder(ko, ki)
  compute_at(AS, ko)
  compute_at(BS, ko)
  ao, ai = split(AS.ax0, factor = 16)
  ap, aj = split(AS.ax1, factor = 16)
  bind(ai, threadIdx.y)
  bind(aj, threadIdx.x)
  bo, bi = split(BS.ax0, factor = 16)
  bp, bj = split(BS.ax1, factor = 16)
  bind(bi, threadIdx.y)
  bind(bj, threadIdx.x)
}";

const ROWS: &str = "te.func @rows<n: 1..65536, m: 1..65536>(A: f32[n, m]) -> f32[n] {
  compute S[i: n] = sum[k: m](A[i, k])
  return S
}
schedule @a_thread_each for @rows {
  io, ii = split(S.i, factor = 32)
  bind(io, blockIdx.x)
  bind(ii, threadIdx.x)
}
schedule @across_threads for @rows {
  ko, ki = split(S.k, factor = 32)
  bind(S.i, blockIdx.x)
  bind(ki, threadIdx.x)
}
schedule @in_parts for @rows {
  ko, ki = split(S.k, factor = 32)
  SF = rfactor(S, ki)
  bind(S.i, blockIdx.x)
  bind(S.ki, threadIdx.x)
  compute_at(SF, S.ki)
}";

const BLUR: &str = "te.func @blur<n: 3..5000, m: 1..100>(A: f32[n, m]) -> f32[n - 2, m] {
  compute T[i: n, j: m] = A[i, j] * 2.0
  compute B[i: n - 2, j: m] = sum[r: 3](T[i + r, j])
  return B
}
schedule @inlined for @blur {
  inline(T)
  ij = fuse(B.i, B.j)
  bx, tx = split(ij, factor = 64)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
schedule @two_kernels for @blur {
  ij = fuse(T.i, T.j)
  b, t = split(ij, factor = 64)
  bind(b, blockIdx.x)
  bind(t, threadIdx.x)
  bx, tx = split(B.i, factor = 32)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}
schedule @shared for @blur {
  set_scope(T, shared)
  bx, tx = split(B.i, factor = 32)
  bind(bx, blockIdx.x)
  reorder(B.j, bx, tx)
  bind(B.j, blockIdx.y)
  bind(tx, threadIdx.x)
  compute_at(T, bx)
  to, ti = split(T.i, factor = 32)
  bind(ti, threadIdx.x)
}";

/// A size without a range: its kernel counts in 64 bits.
const RELU: &str = "te.func @relu<n>(A: f32[n * 4]) -> f32[n * 4] {
  compute B[i: n * 4] = max(A[i], 0.0)
  return B
}
schedule @threads for @relu {
  bx, tx = split(B.i, factor = 128)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}";

const CONV2D: &str = include_str!("../../../../examples/conv2d_hwcn.tir");

const ALL: [(&str, &str); 5] = [("add", ADD), ("mm", MATMUL), ("rows", ROWS), ("blur", BLUR), ("relu", RELU)];

#[test]
fn a_convolution_stays_open_in_its_batch() {
    let compiler = Compiler { symbolic: true, ..Compiler::new() };
    let module = compiler.parse("conv2d_hwcn.tir", CONV2D).expect("a module").module;
    let choice = Choice { func: Some("conv2d_hwcn_sym"), schedule: Some("tutorial") };
    let case = to_check(&module, choice).expect("the schedule is there")[0];
    let sizes = [("size", 2), ("ic", 8), ("oc", 64), ("kernel", 3), ("pad", 1), ("stride", 1)];
    let defines: Vec<(String, i64)> = sizes.iter().map(|&(name, value)| (name.to_string(), value)).collect();
    let options = CheckOptions { defines: defines.clone(), ..CheckOptions::default() };
    let checked = tc::check(&compiler, &module, &case, &mut Machine::Simulator, &options);
    let checked = checked.unwrap_or_else(|why| panic!("{why}"));
    assert!(checked.ok && checked.inputs >= 8, "{} inputs: {:?}", checked.inputs, checked.diagnostics);
    let built = compiler.build(&module, &case, &defines, true).expect("it can be built");
    let program = compiler.program(&built).expect("it is emitted");
    let grid = program.manifest.formula(&tc::target::Slot::Grid { kernel: 0, dim: 0 }).map(ToString::to_string);
    assert_eq!(grid.as_deref(), Some("(batch + 63) / 64"));
    assert!(program.manifest.kernels[0].static_shared >= 2 * 8 * 64 * 4);
}

#[test]
fn programs_for_all_sizes_compute_the_operator_at_those_that_are_tried() {
    let compiler = Compiler::new();
    let mut n_cases = 0;
    for (name, text) in ALL {
        let module = compiler.parse(name, text).expect("a module").module;
        for case in to_check(&module, Choice::default()).expect("there are schedules") {
            let checked = tc::check(&compiler, &module, &case, &mut Machine::Simulator, &CheckOptions::default())
                .unwrap_or_else(|why| panic!("{}: {why}", case.name(&module)));
            assert!(checked.ok, "{}: {:?}", case.name(&module), checked.diagnostics);
            // Integers and reals, at several sizes.
            assert!(checked.inputs >= 8, "{}: {} inputs", case.name(&module), checked.inputs);
            n_cases += 1;
        }
    }
    assert_eq!(n_cases, 11);
}

#[test]
fn their_kernels_compile() {
    let mut n_kernels = 0;
    for name in ["sm_70", "sm_80", "sm_90"] {
        let target = Target::parse(name).expect("one of the targets");
        let compiler = Compiler { target, ..Compiler::new() };
        for (file, text) in ALL {
            let module = compiler.parse(file, text).expect("a module").module;
            for case in to_check(&module, Choice::default()).expect("there are schedules") {
                let built = compiler.build(&module, &case, &[], true).expect("it can be built");
                let program = tc::cuda::emit(&built.module, &built.name, &target, &tc::cuda::EmitOptions::default());
                let program = program.unwrap_or_else(|why| panic!("{}: {why:?}", case.name(&module)));
                let compiled = nvrtc::compile(&program.source, file, &target, &nvrtc::Options::default());
                assert!(
                    compiled.is_ok(),
                    "{} for {name}: {:?}\n{}",
                    case.name(&module),
                    compiled.err(),
                    program.source
                );
                n_kernels += program.manifest.kernels.len();
            }
        }
    }
    assert_eq!(n_kernels, 3 * 12);
}

#[test]
fn a_manifest_says_how_each_size_is_launched() {
    let compiler = Compiler::new();
    let emitted = compiler.compile_to_cuda("add.tir", ADD, "cuda").expect("it compiles");
    let mut manifest = emitted.manifests.into_iter().next().expect("one function");
    assert_eq!(manifest.kernels[0].args, ["A", "B", "C", "n"]);
    for (n, blocks) in [(1, 1), (32, 1), (33, 2), (1000, 32), (1_048_575, 32768)] {
        manifest.set_sizes(&[("n".to_string(), n)]).expect("within the range");
        assert_eq!(manifest.kernels[0].grid, [blocks, 1, 1], "n = {n}");
        assert_eq!(manifest.buffer("C").expect("there").bytes, 4 * n as u64);
        let again = tc::target::KernelManifest::from_json(&manifest.to_json());
        assert_eq!(again, Ok(manifest.clone()));
    }
    assert!(manifest.set_sizes(&[("n".to_string(), 0)]).is_err());
    assert!(manifest.set_sizes(&[("n".to_string(), 1 << 20)]).is_err());
}

#[test]
fn a_fact_is_kept_for_the_launch() {
    let text = ADD.replace("-> f32[n] {", "-> f32[n] where n % 32 == 0 {");
    let emitted = Compiler::new().compile_to_cuda("add.tir", &text, "cuda").expect("it compiles");
    assert!(!emitted.source.contains("if ("), "{}", emitted.source);
    let mut manifest = emitted.manifests.into_iter().next().expect("one function");
    let wrong = manifest.set_sizes(&[("n".to_string(), 33)]).expect_err("no multiple of 32");
    assert_eq!(wrong.message, "`n % 32 == 0` does not hold with n = 33");
}

#[test]
fn shapes_of_arrays_say_what_sizes_are() {
    let compiler = Compiler::new();
    let module = compiler.parse("add.tir", ADD).expect("a module").module;
    let case = to_check(&module, Choice::default()).expect("a schedule")[0];
    let array = |n: u64| Array::zeros(DType::F32, &[n]).expect("small");
    let options = |b: u64| CheckOptions {
        inputs: vec![("A".to_string(), array(37)), ("B".to_string(), array(b))],
        ..CheckOptions::default()
    };
    let evaluate = |b: u64| tc::run::evaluate(&compiler, &module, &case, &mut Machine::Simulator, &options(b));
    let evaluated = evaluate(37).expect("the shapes agree");
    let result = evaluated.arguments.iter().find(|argument| argument.name == "C").expect("a result");
    assert_eq!(result.array.shape(), [37]);
    let wrong = evaluate(38).expect_err("two lengths");
    assert!(wrong.to_string().contains("`B` must be `f32[37]`, not `f32[38]`"), "{wrong}");
}
