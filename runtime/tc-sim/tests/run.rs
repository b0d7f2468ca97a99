//! Programs that are right, run.

mod common;

use common::{floats, output, parse, run_f};
use tc_sim::{Arg, RunOptions, Sizes, run};

fn iota(n: usize) -> Vec<f64> {
    (0..n).map(|i| i as f64).collect()
}

#[test]
fn a_program_without_bound_axes_runs_as_one_thread() {
    let module = parse(
        "tir.func @f(A: f32[4], B: f32[4]) {
           for i in 0..4 {
             B[i] = A[3 - i] * 2.0
           }
         }",
    );
    let report = run_f(&module, &[floats(&iota(4)), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 1), [6.0, 4.0, 2.0, 0.0]);
}

#[test]
fn coordinates_start_where_their_loop_does() {
    let module = parse(
        "tir.func @f(B: f32[6]) {
           for b in 1..3 bind(blockIdx.x) {
             for t in 0..3 bind(threadIdx.x) {
               B[(b - 1) * 3 + t] = cast<f32>(b * 10 + t)
             }
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 0), [10.0, 11.0, 12.0, 20.0, 21.0, 22.0]);
}

#[test]
fn threads_diverge_and_meet_again() {
    let module = parse(
        "tir.func @f(B: i32[8], C: i32[8]) {
           for t in 0..8 bind(threadIdx.x) {
             let x = cast<i32>(t)
             r = if t % 2 == 0 { yield x * 10i32 } else { yield x }
             n, m = for k in 0..t carry(a = 0i32, b = 1i32) {
               yield b, a + b
             }
             B[t] = r
             C[t] = n + m * 0i32
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output, Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 0), [0.0, 1.0, 20.0, 3.0, 40.0, 5.0, 60.0, 7.0]);
    assert_eq!(output(&report, 1), [0.0, 1.0, 1.0, 2.0, 3.0, 5.0, 8.0, 13.0]);
}

#[test]
fn vectors_load_store_and_widen() {
    let module = parse(
        "tir.func @f(A: f32[16], B: f32[16]) {
           for t in 0..4 bind(threadIdx.x) {
             let v = A[ramp(t * 4, 1, 4)] * broadcast(2.0, 4)
             B[ramp(12 - t * 4, 1, 4)] = v attributes {aligned = 16}
           }
         }",
    );
    let report = run_f(&module, &[floats(&iota(16)), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    let want: Vec<f64> = [12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3].map(|i| f64::from(i) * 2.0).to_vec();
    assert_eq!(output(&report, 1), want);
}

#[test]
fn several_kernels_run_in_order_with_memory_between_them() {
    let module = parse(
        "tir.func @f(A: f32[64], B: f32[64]) {
           alloc T: f32[64] in global
           for b in 0..4 bind(blockIdx.x) {
             for t in 0..16 bind(threadIdx.x) {
               T[b * 16 + t] = A[b * 16 + t] + 1.0
             }
           }
           for b in 0..64 bind(blockIdx.x) {
             B[b] = T[63 - b]
           }
         }",
    );
    let report = run_f(&module, &[floats(&iota(64)), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 1), (0..64).map(|i| 64.0 - f64::from(i)).collect::<Vec<_>>());
}

#[test]
fn a_host_function_launches_its_kernels() {
    let module = parse(
        "tir.func @f<n = 32>(A: f32[n], B: f32[n]) {
           alloc T: f32[n] in global
           @k(A, T)
           @k1(T, B, 3.0)
         }
         tir.func @k<n = 32>(A: f32[n], T: f32[n]) attributes {device, threaded} {
           for b in 0..n / 8 bind(blockIdx.x) {
             for t in 0..8 bind(threadIdx.x) {
               T[b * 8 + t] = A[b * 8 + t] + 1.0
             }
           }
         }
         tir.func @k1<n = 32>(T: f32[n], B: f32[n], s: f32) attributes {device, threaded} {
           for t in 0..n bind(threadIdx.x) {
             B[t] = T[t] * s
           }
         }",
    );
    let report = run_f(&module, &[floats(&iota(32)), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 1), (0..32).map(|i| (f64::from(i) + 1.0) * 3.0).collect::<Vec<_>>());
    let options = RunOptions { sizes: Sizes::from([("n".to_string(), 64)]), ..RunOptions::default() };
    let report = run(&module, "f", &[floats(&iota(64)), Arg::Output], &options).expect("runs");
    assert_eq!(output(&report, 1)[63], 192.0);
}

#[test]
fn values_computed_between_launches_reach_the_next() {
    let module = parse(
        "tir.func @f(A: f32[4], B: f32[4]) {
           let scale = A[1] + A[2]
           for t in 0..4 bind(threadIdx.x) {
             B[t] = A[t] * scale
           }
         }",
    );
    let report = run_f(&module, &[floats(&[1.0, 2.0, 3.0, 4.0]), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 1), [5.0, 10.0, 15.0, 20.0]);
}

#[test]
fn vectors_computed_between_launches_reach_the_next() {
    let module = parse(
        "tir.func @f(A: f32[4], B: f32[16]) {
           let scale = A[1] + A[2]
           let lanes = A[ramp(0, 1, 4)]
           let twice = lanes + lanes
           for t in 0..4 bind(threadIdx.x) {
             B[ramp(t * 4, 1, 4)] = lanes + twice * broadcast(scale, 4)
           }
         }",
    );
    let report = run_f(&module, &[floats(&[1.0, 2.0, 3.0, 4.0]), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 1), [11.0, 22.0, 33.0, 44.0].repeat(4));
}

#[test]
fn shared_memory_is_one_a_block_and_local_memory_one_a_thread() {
    let module = parse(
        "tir.func @f(A: f32[128], B: f32[128]) {
           for b in 0..2 bind(blockIdx.x) {
             for t in 0..64 bind(threadIdx.x) {
               alloc S: f32[64] in shared
               alloc L: f32[2] in local
               S[t] = A[b * 64 + t]
               for k in 0..2 {
                 L[k] = S[63 - t] + cast<f32>(k)
               }
               B[b * 64 + t] = L[0] + L[1]
             }
           }
         }",
    );
    let report = run_f(&module, &[floats(&iota(128)), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 1)[0], 127.0);
    assert_eq!(output(&report, 1)[127], 129.0);
}

#[test]
fn half_precision_rounds_at_each_op() {
    let module = parse(
        "tir.func @f(B: f16[1], C: bf16[1]) {
           s = for k in 0..3000 carry(a = 0.0f16) {
             yield a + 1.0f16
           }
           B[0] = s
           C[0] = 1.0bf16 + 0.00390625bf16
         }",
    );
    let report = run_f(&module, &[Arg::Output, Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 0), [2048.0]);
    assert_eq!(output(&report, 1), [1.0]);
}
