//! Programs with one planted defect each: what is found, and at which lines.

mod common;

use common::{floats, only, output, parse, run_f};
use tc_sim::{Arg, DiagnosticKind};

#[test]
fn a_read_out_of_bounds() {
    let module = parse(
        "tir.func @f(A: f32[4], B: f32[4]) {
           for t in 0..4 bind(threadIdx.x) {
             B[t] = A[t + 1]
           }
         }",
    );
    let report = run_f(&module, &[floats(&[1.0, 2.0, 3.0, 4.0]), Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::OutOfBounds);
    assert_eq!(message, "thread 3 reads `A[4]` out of bounds");
    assert_eq!(lines, [3, 1]);
    assert_eq!(output(&report, 1), [2.0, 3.0, 4.0, 0.0]);
}

#[test]
fn a_write_out_of_bounds_in_one_dimension_of_two() {
    let module = parse(
        "tir.func @f(B: f32[4, 4]) {
           for i in 0..4 {
             for j in 0..5 {
               B[i, j] = 1.0
             }
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::OutOfBounds);
    assert_eq!(message, "the only thread writes `B[0, 4]` out of bounds");
    assert_eq!(lines, [4, 1]);
    assert_eq!(report.diagnostics.count(DiagnosticKind::OutOfBounds), 4);
}

#[test]
fn a_read_of_shared_memory_that_no_thread_wrote() {
    let module = parse(
        "tir.func @f(A: f32[8], B: f32[8]) {
           for t in 0..8 bind(threadIdx.x) {
             alloc S: f32[8] in shared
             if t < 4 {
               S[t] = A[t]
             }
             B[t] = S[7 - t]
           }
         }",
    );
    let report = run_f(&module, &[floats(&[1.0; 8]), Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::Uninitialised);
    assert_eq!(message, "thread 0 reads `S[7]`, which no thread wrote");
    assert_eq!(lines, [7, 3]);
    assert_eq!(report.diagnostics.count(DiagnosticKind::Uninitialised), 4);
}

#[test]
fn a_buffer_made_in_a_loop_is_fresh_in_each_round() {
    let module = parse(
        "tir.func @f(B: f32[4]) {
           for t in 0..4 bind(threadIdx.x) {
             B[t] = 0.0
             for k in 0..2 {
               alloc L: f32[1] in local
               if k == 0 {
                 L[0] = 1.0
               }
               B[t] = B[t] + L[0]
             }
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    let (_, lines) = only(&module, &report, DiagnosticKind::Uninitialised);
    assert_eq!(lines, [9, 5]);
    assert_eq!(report.diagnostics.count(DiagnosticKind::Uninitialised), 1, "the four threads are one op");
}

#[test]
fn cells_that_no_thread_writes() {
    let module = parse(
        "tir.func @f(B: f32[10]) {
           for t in 0..8 bind(threadIdx.x) {
             B[t] = 1.0
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::Unwritten);
    assert_eq!(message, "no thread writes `B[8]`, a cell of the output");
    assert_eq!(lines, [1]);
}

#[test]
fn a_cell_overwritten_unread_by_another_thread() {
    let module = parse(
        "tir.func @f(B: f32[8]) {
           for t in 0..8 bind(threadIdx.x) {
             B[t] = 1.0
             B[7 - t] = 2.0
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    assert!(!report.diagnostics.has_errors(), "{:?}", report.diagnostics);
    let found = report.diagnostics.iter().next().expect("one");
    assert_eq!(found.kind, DiagnosticKind::DoubleWrite);
    assert_eq!(common::lines(&module, &found.diagnostic), [4, 3]);
}

#[test]
fn an_access_that_is_not_aligned_as_it_says() {
    let module = parse(
        "tir.func @f(A: f32[20], B: f32[16]) {
           for t in 0..4 bind(threadIdx.x) {
             B[ramp(t * 4, 1, 4)] = A[ramp(t * 5, 1, 4)]
             B[ramp(t * 4 + 1 - 1, 1, 2)] = A[ramp(t * 3, 1, 2)]
             B[ramp(t * 3, 1, 4)] = broadcast(1.0, 4) attributes {aligned = 16}
           }
         }",
    );
    let report = run_f(&module, &[floats(&[0.0; 20]), Arg::Output]);
    let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Misaligned).expect("one");
    assert_eq!(found.diagnostic.message, "thread 1 accesses `B[3]` at byte 12, which is no multiple of 16");
    assert_eq!(common::lines(&module, &found.diagnostic), [5]);
    assert_eq!(found.count, 3);
}

#[test]
fn arithmetic_that_has_no_result() {
    let cases = [
        ("B[t] = cast<f32>(2147483647i32 + cast<i32>(t))", "overflow: 2147483647 + 1 does not fit `i32`, in thread 1"),
        (
            "B[t] = cast<f32>(9223372036854775807 * (t + 1))",
            "overflow: 9223372036854775807 * 2 does not fit `index`, in thread 1",
        ),
        ("B[t] = cast<f32>(7 / (t - 2))", "division of 7 by zero, in thread 2"),
        ("B[t] = cast<f32>(1i32 << (cast<i32>(t) + 30i32))", "overflow: 1 << 31 does not fit `i32`, in thread 1"),
        ("B[t] = cast<f32>(1u8 << (cast<u8>(t) + 6u8))", "shift of an `u8` by 8, outside 0 to 7, in thread 2"),
        ("B[t] = cast<f32>(cast<i8>(cast<f32>(t) * 100.0))", "200.0 does not fit `i8`, in thread 2"),
    ];
    for (statement, want) in cases {
        let module =
            parse(&format!("tir.func @f(B: f32[4]) {{\nfor t in 0..4 bind(threadIdx.x) {{\n{statement}\n}}\n}}"));
        let report = run_f(&module, &[Arg::Output]);
        let (message, lines) = only(&module, &report, DiagnosticKind::Arithmetic);
        assert_eq!(message, want, "{statement}");
        assert_eq!(lines, [3], "{statement}");
    }
}

#[test]
fn arithmetic_of_threads_that_take_no_part_is_no_fault() {
    let module = parse(
        "tir.func @f(B: f32[4]) {
           for t in 0..4 bind(threadIdx.x) {
             B[t] = 0.0
             if t > 2 {
               B[t] = cast<f32>(9 / (t - 2) + 9223372036854775804 + t)
             }
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    // Only thread 3 computes: 9 / 1 + 9223372036854775804 overflows there, and 0 / 0 elsewhere does not count.
    let (message, _) = only(&module, &report, DiagnosticKind::Arithmetic);
    assert!(message.ends_with("in thread 3"), "{message}");
}

#[test]
fn in_a_phased_program_one_op_writes_two_values() {
    let module = parse(
        "tir.func @f(B: f32[4]) {
           for t in 0..8 bind(threadIdx.x) {
             B[t / 2] = cast<f32>(t)
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::Race);
    assert_eq!(message, "race on `B[0]`: thread 0 writes, thread 1 writes");
    assert_eq!(lines, [3, 3]);
}

#[test]
fn in_a_phased_program_ops_are_ordered() {
    let module = parse(
        "tir.func @f(A: f32[64], B: f32[64]) {
           for t in 0..64 bind(threadIdx.x) {
             alloc S: f32[64] in shared
             S[t] = A[t]
             B[t] = S[63 - t]
           }
         }",
    );
    let report = run_f(&module, &[floats(&[1.0; 64]), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
}

#[test]
fn equal_values_written_by_one_op_are_told_apart() {
    let module = parse(
        "tir.func @f(A: f32[4], B: f32[8]) {
           for t in 0..8 bind(threadIdx.x) {
             alloc S: f32[4] in shared
             for k in 0..4 {
               S[k] = A[k]
             }
             B[t] = S[t / 2]
           }
         }",
    );
    let report = run_f(&module, &[floats(&[1.0, 2.0, 3.0, 4.0]), Arg::Output]);
    assert!(!report.diagnostics.has_errors(), "{:?}", report.diagnostics);
    assert_eq!(report.diagnostics.count(DiagnosticKind::SameValueRace), 28);
}

#[test]
fn blocks_that_conflict_in_memory() {
    let module = parse(
        "tir.func @f(A: f32[8], B: f32[8], C: f32[8]) {
           for b in 0..8 bind(blockIdx.x) {
             B[b] = A[b]
             C[b] = B[7 - b]
           }
         }",
    );
    let report = run_f(&module, &[floats(&[1.0; 8]), Arg::Output, Arg::Output]);
    let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Race).expect("a race");
    assert_eq!(found.diagnostic.message, "race on `B[4]`: block 3 reads, block 4 writes");
    assert_eq!(common::lines(&module, &found.diagnostic), [3, 4]);
    assert!(report.diagnostics.iter().any(|found| found.kind == DiagnosticKind::Uninitialised));
}

#[test]
fn blocks_that_write_one_cell() {
    let module = parse(
        "tir.func @f(B: f32[1], C: f32[1]) {
           for b in 0..300 bind(blockIdx.x) {
             B[0] = cast<f32>(b)
             C[0] = 1.0
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output, Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::Race);
    assert_eq!(message, "race on `B[0]`: block 0 writes, block 1 writes");
    assert_eq!(lines, [3, 3]);
    assert_eq!(report.diagnostics.count(DiagnosticKind::SameValueRace), 299);
}

/// A reduction through shared memory, with a barrier in each round or without.
fn tree(barrier: &str) -> String {
    format!(
        "tir.func @f(A: f32[128], B: f32[1]) attributes {{threaded}} {{
           for t in 0..128 bind(threadIdx.x) {{
             alloc S: f32[128] in shared
             S[t] = A[t]
             gpu.barrier(shared)
             if t < 64 {{
               S[t] = S[t] + S[t + 64]
             }}
             {barrier}
             if t < 32 {{
               S[t] = S[t] + S[t + 32]
             }}
             gpu.barrier(shared)
             if t == 0 {{
               s = for k in 0..32 carry(a = 0.0) {{
                 yield a + S[k]
               }}
               B[0] = s
             }}
           }}
         }}"
    )
}

#[test]
fn a_missing_barrier_is_a_race_of_two_lines() {
    let args = [floats(&(0..128).map(f64::from).collect::<Vec<_>>()), Arg::Output];
    let module = parse(&tree("gpu.barrier(shared)"));
    let report = run_f(&module, &args);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    assert_eq!(output(&report, 1), [8128.0]);
    let module = parse(&tree(""));
    let report = run_f(&module, &args);
    let (message, lines) = only(&module, &report, DiagnosticKind::Race);
    assert_eq!(message, "race on `S[32]`: thread 0 reads, thread 32 writes");
    assert_eq!(lines, [7, 11]);
}

#[test]
fn the_order_of_warps_does_not_hide_a_race() {
    let module = parse(&tree(""));
    let args = [floats(&[1.0; 128]), Arg::Output];
    let options = tc_sim::RunOptions { descending: true, ..Default::default() };
    let report = tc_sim::run(&module, "f", &args, &options).expect("runs");
    let (message, lines) = only(&module, &report, DiagnosticKind::Race);
    assert_eq!(message, "race on `S[32]`: thread 32 writes, thread 0 reads");
    assert_eq!(lines, [11, 7]);
}

#[test]
fn a_barrier_in_a_branch_of_some_threads_of_a_warp() {
    let module = parse(
        "tir.func @f(B: f32[64]) attributes {threaded} {
           for t in 0..64 bind(threadIdx.x) {
             if t < 16 {
               gpu.barrier(shared)
             }
             B[t] = 1.0
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::DivergentBarrier);
    assert_eq!(message, "barrier in divergent code: thread 0 is here, and thread 16 is not");
    assert_eq!(lines, [4, 3]);
}

#[test]
fn a_barrier_that_other_warps_do_not_reach() {
    let module = parse(
        "tir.func @f(B: f32[64]) attributes {threaded} {
           for t in 0..64 bind(threadIdx.x) {
             if t < 32 {
               gpu.barrier(shared)
             }
             B[t] = 1.0
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::DivergentBarrier);
    assert_eq!(message, "barrier in divergent code: thread 0 waits here, and thread 32 does not come");
    assert_eq!(lines, [4]);
}

#[test]
fn warps_that_wait_at_different_barriers() {
    let module = parse(
        "tir.func @f(B: f32[64]) attributes {threaded} {
           for t in 0..64 bind(threadIdx.x) {
             if t < 32 {
               gpu.barrier(shared)
             } else {
               gpu.barrier(shared)
             }
             B[t] = 1.0
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output]);
    let (_, lines) = only(&module, &report, DiagnosticKind::DivergentBarrier);
    assert_eq!(lines, [4, 6]);
}

#[test]
fn a_barrier_in_small_blocks_that_run_side_by_side() {
    let text = |guard: &str| {
        format!(
            "tir.func @f(B: f32[4096]) attributes {{threaded}} {{
               for b in 0..512 bind(blockIdx.x) {{
                 for t in 0..8 bind(threadIdx.x) {{
                   if {guard} {{
                     gpu.barrier(shared)
                   }}
                   B[b * 8 + t] = 1.0
                 }}
               }}
             }}"
        )
    };
    let module = parse(&text("b % 2 == 0"));
    let report = run_f(&module, &[Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
    let module = parse(&text("b + t < 515"));
    let report = run_f(&module, &[Arg::Output]);
    let (message, lines) = only(&module, &report, DiagnosticKind::DivergentBarrier);
    assert_eq!(message, "barrier in divergent code: thread 0 of block 508 is here, and thread 7 of block 508 is not");
    assert_eq!(lines, [5, 4]);
}

#[test]
fn threads_of_a_threaded_program_race_on_global_memory() {
    let module = parse(
        "tir.func @f(B: f32[64], C: f32[64]) attributes {threaded} {
           for t in 0..64 bind(threadIdx.x) {
             B[t] = 1.0
             C[t] = B[63 - t]
           }
         }",
    );
    let report = run_f(&module, &[Arg::Output, Arg::Output]);
    let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Race).expect("a race");
    assert_eq!(found.diagnostic.message, "race on `B[32]`: thread 31 reads, thread 32 writes");
    assert_eq!(common::lines(&module, &found.diagnostic), [3, 4]);
}

#[test]
fn a_barrier_over_shared_memory_does_not_order_global_memory() {
    let text = |scope: &str| {
        format!(
            "tir.func @f(B: f32[64], C: f32[64]) attributes {{threaded}} {{
               for t in 0..64 bind(threadIdx.x) {{
                 B[t] = 1.0
                 gpu.barrier({scope})
                 C[t] = B[63 - t]
               }}
             }}"
        )
    };
    let module = parse(&text("global"));
    assert!(run_f(&module, &[Arg::Output, Arg::Output]).diagnostics.is_empty());
    let module = parse(&text("shared"));
    let report = run_f(&module, &[Arg::Output, Arg::Output]);
    only(&module, &report, DiagnosticKind::Race);
}

#[test]
fn loops_of_one_coordinate_have_one_extent() {
    let module = parse(
        "tir.func @f(B: f32[8]) {
           for b in 0..1 bind(blockIdx.x) {
             for t in 0..8 bind(threadIdx.x) {
               B[t] = 1.0
             }
             for t in 0..4 bind(threadIdx.x) {
               B[t] = 2.0
             }
           }
         }",
    );
    let error = tc_sim::run(&module, "f", &[Arg::Output], &Default::default()).expect_err("two extents");
    assert_eq!(error.message, "loops bound to `threadIdx.x` have different extents, 8 and 4");
    assert_eq!(common::lines(&module, &error), [6, 3]);
}
