//! Buffers inside buffers: one memory, seen as different elements.

mod common;

use common::{floats, only, output, parse, run_f};
use tc_ir::Elem;
use tc_sim::{Arg, DiagnosticKind, RunOptions, Tensor, run};

#[test]
fn what_is_written_through_one_view_is_read_through_another_as_its_bits() {
    for scope in ["shared", "shared.dyn", "local"] {
        let module = parse(&format!(
            "tir.func @f(A: f32[4], W: i32[4], H: u8[4], D: f16[8]) {{
               alloc pool: u8[48] in {scope}
               S = tir.view(pool, 16) : f32[4] in {scope}
               R = tir.view(pool, 16) : i32[4] in {scope}
               Q = tir.view(pool, 20) : u8[4] in {scope}
               O = tir.view(Q, 0) : f16[2] in {scope}
               for i in 0..4 {{
                 S[i] = A[i]
               }}
               for i in 0..4 {{
                 W[i] = R[i]
                 H[i] = Q[i]
               }}
               O[1] = 2.0f16
               for i in 0..8 {{
                 D[i] = cast<f16>(S[1])
               }}
             }}"
        ));
        let values = [1.0f32, -2.5, 3.0e-20, 7.0e9];
        let args = [floats(&values.map(f64::from)), Arg::Output, Arg::Output, Arg::Output];
        let report = run_f(&module, &args);
        assert!(report.diagnostics.iter().next().is_none(), "{scope}: {:#?}", report.diagnostics);
        assert_eq!(output(&report, 1), values.map(|value| f64::from(value.to_bits() as i32)), "{scope}");
        assert_eq!(output(&report, 2), (-2.5f32).to_bits().to_le_bytes().map(f64::from), "{scope}");
        // The upper half of the second element is the f16 2.0 now, whose bits are 0x4000; the lower half is as it was.
        let mixed = f32::from_bits(0x4000_0000 | ((-2.5f32).to_bits() & 0xffff));
        assert_eq!(output(&report, 3), [f64::from(mixed); 8], "{scope}");
    }
}

/// Two views that overlap in place; `between` stands between their uses.
fn turns(between: &str) -> String {
    format!(
        "tir.func @f(A: f32[64], B: f32[64], C: f32[64]) attributes {{threaded}} {{
           for t in 0..64 bind(threadIdx.x) {{
             alloc pool: u8[256] in shared
             S = tir.view(pool, 0) : f32[64] in shared
             T = tir.view(pool, 0) : f16[128] in shared
             S[t] = A[t]
             gpu.barrier(shared)
             B[t] = S[63 - t]
             {between}
             T[t] = cast<f16>(A[t])
             gpu.barrier(shared)
             C[t] = cast<f32>(T[63 - t])
           }}
         }}"
    )
}

#[test]
fn views_that_overlap_take_turns_with_a_barrier_and_race_without_one() {
    let input: Vec<f64> = (0..64).map(f64::from).collect();
    let args = [floats(&input), Arg::Output, Arg::Output];
    let back: Vec<f64> = input.iter().rev().copied().collect();
    let report = run_f(&parse(&turns("gpu.barrier(shared)")), &args);
    assert!(report.diagnostics.iter().next().is_none(), "{:#?}", report.diagnostics);
    assert_eq!((output(&report, 1), output(&report, 2)), (back.clone(), back));
    let module = parse(&turns(""));
    for descending in [false, true] {
        let options = RunOptions { descending, ..RunOptions::default() };
        let report = run(&module, "f", &args, &options).expect("a program that runs");
        let (message, lines) = only(&module, &report, DiagnosticKind::Race);
        assert!(message.contains("race on `"), "{message}");
        assert_eq!(lines.iter().filter(|&&line| line == 8 || line == 10).count(), lines.len(), "{lines:?}");
    }
}

#[test]
fn views_of_different_bytes_are_different_buffers() {
    let module = parse(
        "tir.func @f(A: f32[64], B: f32[64]) attributes {threaded} {
           for t in 0..64 bind(threadIdx.x) {
             alloc pool: u8[512] in shared
             S = tir.view(pool, 0) : f32[64] in shared
             T = tir.view(pool, 256) : f32[64] in shared
             S[t] = A[t]
             gpu.barrier(shared)
             B[t] = S[63 - t]
             T[t] = A[t]
           }
         }",
    );
    let report = run_f(&module, &[floats(&[1.0; 64]), Arg::Output]);
    assert!(report.diagnostics.iter().next().is_none(), "{:#?}", report.diagnostics);
}

#[test]
fn bytes_that_no_thread_wrote_are_reported_of_each_view() {
    let module = parse(
        "tir.func @f(A: f32[2], B: f32[2]) {
           alloc pool: u8[8] in shared
           S = tir.view(pool, 0) : f16[4] in shared
           T = tir.view(pool, 0) : f32[2] in shared
           S[0] = 1.0f16
           S[2] = 1.0f16
           S[3] = 1.0f16
           B[0] = T[0] + A[0]
           B[1] = T[1]
         }",
    );
    let report = run_f(&module, &[floats(&[0.0; 2]), Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::Uninitialised);
    assert_eq!(message, "the only thread reads `T[0]`, which no thread wrote");
    assert_eq!(lines, [8, 4]);
    assert_eq!(report.diagnostics.count(DiagnosticKind::Uninitialised), 1);
}

#[test]
fn alignment_counts_from_the_base() {
    let module = parse(
        "tir.func @f(A: f32[4], B: f32[4]) {
           alloc pool: u8[64] in shared
           S = tir.view(pool, 8) : f32[4] in shared
           S[ramp(0, 1, 4)] = A[ramp(0, 1, 4)] attributes {aligned = 16}
           B[ramp(0, 1, 4)] = S[ramp(0, 1, 4)]
         }",
    );
    let args = [Arg::Input(Tensor::from_f64s(Elem::F32, &[4], &[1.0; 4]).expect("it fits")), Arg::Output];
    let report = run_f(&module, &args);
    let (message, _) = only(&module, &report, DiagnosticKind::Misaligned);
    assert_eq!(message, "the only thread accesses `S[0]` at byte 8, which is no multiple of 16");
}
