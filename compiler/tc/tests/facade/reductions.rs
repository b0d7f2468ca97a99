//! Reductions across threads, from the program to the GPU: what it computes is what the simulator computed before any
//! pass. Where there is no GPU the kernels are compiled for three targets and no more; with the variable `TC_REQUIRE_GPU`
//! set the test fails instead.

use tc::Compiler;
use tc::ir::Elem;
use tc::runtime::device::{Code, Device, Program, RunOptions};
use tc::runtime::{Array, CudaDevice, DType, nvrtc};
use tc::sim::{Arg, Tensor};
use tc::target::Target;

/// The type, what a thread brings, and the combiner.
const COMBINERS: &[(Elem, &[&str], &str)] = &[
    (Elem::F32, &["V"], "yield a0 + b0"),
    (Elem::F64, &["V"], "yield max(a0, b0)"),
    (Elem::F16, &["V"], "yield min(a0, b0)"),
    (Elem::BF16, &["V", "cast<bf16>(t % 7)"], "let keep = a0 >= b0\nyield select(keep, a0, b0), select(keep, a1, b1)"),
    (Elem::I8, &["V"], "yield b0"),
    (Elem::U16, &["V"], "yield a0 ^ b0"),
    (Elem::I64, &["V"], "yield a0 + b0"),
    (Elem::F8E4M3, &["V"], "yield max(a0, b0)"),
    (Elem::U32, &["V * 2u32 + 1u32", "V"], "yield a0 * b0, a1 * b0 + b1"),
];

/// Blocks, and the coordinates that are reduced.
const BLOCKS: &[([u64; 2], &str)] = &[
    ([7, 1], "threadIdx.x"),
    ([16, 6], "threadIdx.x"),
    ([16, 5], "threadIdx.x"),
    ([32, 4], "threadIdx.y"),
    ([64, 3], "threadIdx.x"),
    ([100, 1], "threadIdx.x"),
    ([96, 2], "threadIdx.x"),
    ([48, 2], "threadIdx.x"),
    ([9, 11], "threadIdx.y"),
    ([20, 7], "threadIdx.x, threadIdx.y"),
    ([1024, 1], "threadIdx.x"),
];

const BLOCKS_OF_THREADS: u64 = 5;
const ROUNDS: u64 = 3;

fn text(&(elem, values, combine): &(Elem, &[&str], &str), &([x, y], axes): &([u64; 2], &str)) -> String {
    let names = |prefix: &str| (0..values.len()).map(|nth| format!("{prefix}{nth}")).collect::<Vec<String>>();
    let typed = |names: Vec<String>, ty: &str| {
        names.into_iter().map(|name| format!("{name}: {ty}")).collect::<Vec<String>>().join(", ")
    };
    let (elem, n) = (elem.name(), x * y);
    let shaped = format!("{elem}[{BLOCKS_OF_THREADS}, {ROUNDS}, {n}]");
    let values: Vec<String> = values.iter().map(|value| value.replace('V', "v")).collect();
    let stores: Vec<String> = (0..values.len()).map(|nth| format!("C{nth}[bx, k, t] = s{nth}")).collect();
    format!(
        "tir.func @f(A: {shaped}, {}) attributes {{noalias}} {{
           for bx in 0..{BLOCKS_OF_THREADS} bind(blockIdx.x) {{
             for ty in 0..{y} bind(threadIdx.y) {{
               for tx in 0..{x} bind(threadIdx.x) {{
                 let t = ty * {x} + tx
                 for k in 0..{ROUNDS} {{
                   let v = A[bx, k, t]
                   {} = gpu.all_reduce({}, axes = [{axes}]) ({}, {}) {{
                     {combine}
                   }}
                   {}
                 }}
               }}
             }}
           }}
         }}",
        typed(names("C"), &shaped),
        names("s").join(", "),
        values.join(", "),
        typed(names("a"), elem),
        typed(names("b"), elem),
        stores.join("\n")
    )
}

fn device() -> Option<CudaDevice> {
    let device = CudaDevice::open(0);
    assert!(device.is_ok() || std::env::var_os("TC_REQUIRE_GPU").is_none(), "{:?}", device.err());
    device.ok()
}

/// Small integers in no order, which all types hold, and of which no sum is rounded.
fn input(elem: Elem, n: u64) -> Tensor {
    let shape = [BLOCKS_OF_THREADS, ROUNDS, n];
    let low = if elem.int_range().is_some_and(|(min, _)| min == 0) { 0.0 } else { -4.0 };
    let values: Vec<f64> =
        (0..shape.iter().product()).map(|nth: u64| ((nth * nth + 7 * nth) % 9) as f64 + low).collect();
    Tensor::from_f64s(elem, &shape, &values).expect("it fits")
}

#[test]
fn reductions_across_threads_give_what_the_simulator_does() {
    let mut device = device();
    let own = device.as_ref().and_then(|device| device.target());
    for (nth, block) in BLOCKS.iter().enumerate() {
        for (which, combiner) in COMBINERS.iter().enumerate() {
            let text = text(combiner, block);
            let n_results = combiner.1.len();
            if let (Some(device), Some(target)) = (&mut device, own) {
                let compiler = Compiler { target, ..Compiler::new() };
                let a = input(combiner.0, block.0.iter().product());
                let mut args = vec![Arg::Input(a.clone())];
                args.resize(1 + n_results, Arg::Output);
                let module = compiler.parse("f.tir", &text).unwrap_or_else(|why| panic!("{why}")).module;
                let want = tc::sim::run(&module, "f", &args, &tc::sim::RunOptions::default()).expect("it runs");
                assert!(!want.diagnostics.has_errors(), "{:#?}", want.diagnostics);
                let program = compiler.compile_to_cuda("f.tir", &text, "cuda").unwrap_or_else(|why| panic!("{why}"));
                let dtype = DType::parse(combiner.0.name()).expect("memory holds it");
                // The host's buffers have one dimension by then.
                let flat = [a.shape.iter().product()];
                let mut arrays = vec![Array::from_bytes(dtype, &flat, a.data.clone()).expect("of this size")];
                arrays.resize_with(1 + n_results, || Array::zeros(dtype, &flat).expect("a small array"));
                let manifest = program.manifests.first().expect("one function").clone();
                let program = Program { manifest, target, code: Code::Cuda(program.source) };
                device.run(&program, &mut arrays, &RunOptions::default()).expect("the program runs");
                for (nth, (want, have)) in want.outputs.iter().zip(&arrays).enumerate().skip(1) {
                    let want = want.as_ref().expect("a buffer").to_f64s();
                    let have = Tensor::new(combiner.0, a.shape.clone(), have.bytes().to_vec()).expect("of this size");
                    assert_eq!(have.to_f64s(), want, "result {nth} of\n{text}");
                }
            } else {
                // A target each: all of them, for every block and for every combiner.
                let target = Target::parse(["sm_70", "sm_80", "sm_90"][(nth + which) % 3]).expect("a target");
                let compiler = Compiler { target, ..Compiler::new() };
                let source =
                    compiler.compile_to_cuda("f.tir", &text, "cuda").unwrap_or_else(|why| panic!("{why}")).source;
                let compiled = nvrtc::compile(&source, "f.cu", &target, &nvrtc::Options::default());
                assert!(compiled.is_ok(), "{}: {:?}\n{source}", target.name, compiled.err());
            }
        }
    }
}
