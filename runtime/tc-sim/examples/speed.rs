//! How fast the simulator runs: `cargo run --release -p tirc-sim --example speed`.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

use std::time::Instant;
use tc_sim::{Arg, CheckOptions, Definition, Limits, RunOptions, Sizes, Tensor, check_against_definition, run};

const CONV1D: &str = "te.func @conv1d(A: f32[16384], W: f32[32]) -> f32[16415] {
  compute B[i: 16415] = sum[r: 32](if_then_else(0 <= i - r && i - r < 16384, A[i - r], 0.0) * W[r])
  return B
}";

fn plain(threads: u32) -> String {
    format!(
        "tir.func @conv1d(A: f32[16384], W: f32[32], B: f32[16415]) {{
           for bx in 0..{} bind(blockIdx.x) {{
             for tx in 0..{threads} bind(threadIdx.x) {{
               let i = bx * {threads} + tx
               if likely(i < 16415) {{
                 B[i] = 0.0
                 for r in 0..32 {{
                   B[i] = B[i] + if_then_else(0 <= i - r && i - r < 16384, A[i - r], 0.0) * W[r]
                 }}
               }}
             }}
           }}
         }}",
        16415u32.div_ceil(threads)
    )
}

fn shared(attributes: &str, barrier: &str) -> String {
    format!(
        "tir.func @conv1d(A: f32[16384], W: f32[32], B: f32[16415]) attributes {{noalias{attributes}}} {{
           for bx in 0..513 bind(blockIdx.x) {{
             alloc BL: f32[1] in local
             alloc WS: f32[8] in shared
             for tx in 0..32 bind(threadIdx.x) {{
               let i = bx * 32 + tx
               BL[0] = 0.0
               for ro in 0..4 {{
                 {barrier}
                 for ax0 in 0..8 {{
                   WS[ax0] = W[ro * 8 + ax0]
                 }}
                 {barrier}
                 for ri in 0..8 {{
                   if likely(i < 16415) {{
                     let k = i - ro * 8 - ri
                     BL[0] = BL[0] + if_then_else(0 <= k && k < 16384, A[k], 0.0) * WS[ri]
                   }}
                 }}
               }}
               if likely(i < 16415) {{
                 B[i] = BL[0]
               }}
             }}
           }}
         }}"
    )
}

/// One block of a product on tensor cores: 128 x 128, 2304 terms, by eight warps of 2 x 4 tiles.
fn tensor_cores(attributes: &str, barrier: &str) -> String {
    format!(
        "tir.func @matmul(A: f16[128, 2304], B: f16[2304, 128], C: f32[128, 128]) attributes {{noalias{attributes}}} {{
           alloc AS: f16[128, 16] in shared
           alloc BS: f16[16, 128] in shared
           alloc AF: wmma.fragment<matrix_a, 16, 16, 16, f16, row_major>[2] in wmma.matrix_a
           alloc BF: wmma.fragment<matrix_b, 16, 16, 16, f16, row_major>[4] in wmma.matrix_b
           alloc CF: wmma.fragment<accumulator, 16, 16, 16, f32>[8] in wmma.accumulator
           for ty in 0..4 bind(threadIdx.y) {{
             for tz in 0..2 bind(threadIdx.z) {{
               for tx in 0..32 bind(threadIdx.x) {{
                 let t = (tz * 4 + ty) * 32 + tx
                 for n in 0..8 {{
                   wmma.fill(&CF[n], 0.0)
                 }}
                 for k in 0..144 {{
                   {barrier}
                   for v in 0..8 {{
                     AS[v * 16 + t / 16, t % 16] = A[v * 16 + t / 16, k * 16 + t % 16]
                     BS[v * 2 + t / 128, t % 128] = B[k * 16 + v * 2 + t / 128, t % 128]
                   }}
                   {barrier}
                   for i in 0..2 {{
                     wmma.load(&AF[i], &AS[ty * 32 + i * 16, 0], stride = 16, layout = row_major)
                   }}
                   for j in 0..4 {{
                     wmma.load(&BF[j], &BS[0, tz * 64 + j * 16], stride = 128, layout = row_major)
                   }}
                   for i in 0..2 {{
                     for j in 0..4 {{
                       wmma.mma(&CF[i * 4 + j], &AF[i], &BF[j])
                     }}
                   }}
                 }}
                 for i in 0..2 {{
                   for j in 0..4 {{
                     wmma.store(&C[ty * 32 + i * 16, tz * 64 + j * 16], &CF[i * 4 + j], stride = 128, layout = row_major)
                   }}
                 }}
               }}
             }}
           }}
         }}"
    )
}

fn parse(text: &str) -> tc_ir::Module {
    let options = tc_syntax::ParseOptions::default();
    let (module, found) = tc_syntax::parse_module("speed.tir", text, &tc_dialects::shared_registry(), &options);
    assert!(found.is_empty(), "{found:?}");
    module
}

fn main() {
    let definition = parse(CONV1D);
    let programs = [
        ("1 thread a block", plain(1)),
        ("64 threads a block", plain(64)),
        ("shared memory, phased", shared("", "")),
        ("shared memory, threaded", shared(", threaded", "gpu.barrier(shared)")),
    ];
    for (name, text) in &programs {
        let module = parse(text);
        let random = |n: u64| Tensor::from_f64s(tc_ir::Elem::F32, &[n], &vec![0.5; n as usize]).expect("it fits");
        let args = [Arg::Input(random(16384)), Arg::Input(random(32)), Arg::Output];
        let start = Instant::now();
        let report = run(&module, "conv1d", &args, &RunOptions::default()).expect("it runs");
        let ran = start.elapsed();
        assert!(!report.diagnostics.has_errors(), "{:?}", report.diagnostics);
        let report_check =
            check_against_definition((&definition, "conv1d"), (&module, "conv1d"), &CheckOptions::default());
        let checked = report_check.expect("it runs").wall_time;
        let rate = report.steps as f64 / ran.as_secs_f64() / 1e6;
        println!("{name:24} run {ran:8.1?} ({rate:5.0} M lane-ops/s), checked on two inputs in {checked:8.1?}");
    }
    for (name, text) in
        [("phased", tensor_cores("", "")), ("threaded", tensor_cores(", threaded", "gpu.barrier(shared)"))]
    {
        let ones = |shape: [u64; 2]| {
            let values = vec![1.0; (shape[0] * shape[1]) as usize];
            Arg::Input(Tensor::from_f64s(tc_ir::Elem::F16, &shape, &values).expect("it fits"))
        };
        let start = Instant::now();
        let args = [ones([128, 2304]), ones([2304, 128]), Arg::Output];
        let report = run(&parse(&text), "matmul", &args, &RunOptions::default()).expect("it runs");
        let took = start.elapsed();
        assert!(!report.diagnostics.has_errors(), "{:?}", report.diagnostics);
        let sums = report.outputs[2].as_ref().expect("a buffer").to_f64s();
        assert!(sums.iter().all(|&sum| sum == 2304.0));
        println!("a block of 128 x 128 x 2304 on tensor cores, {name}: {took:.1?}");
    }
    // A matrix product, where every op is done by 256 threads at a time.
    let n = 256;
    let text = format!(
        "te.func @matmul(A: f32[{n}, {n}], B: f32[{n}, {n}]) -> f32[{n}, {n}] {{
           compute C[i: {n}, j: {n}] = sum[k: {n}](A[i, k] * B[k, j])
           return C
         }}"
    );
    let module = parse(&text);
    let mut matmul = Definition::new(&module, "matmul", &Sizes::new(), Limits::default()).expect("it compiles");
    let ones = Tensor::from_f64s(tc_ir::Elem::F32, &[n, n], &vec![1.0; (n * n) as usize]).expect("it fits");
    let start = Instant::now();
    let evaluation = matmul.evaluate(&[ones.clone(), ones]).expect("it runs");
    let took = start.elapsed();
    let rate = evaluation.steps as f64 / took.as_secs_f64() / 1e6;
    println!("definition of a product of {n}³: {took:.1?} ({rate:.0} M lane-ops/s)");
}
