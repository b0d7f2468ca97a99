//! Bulk copies to tensors: what they write, and each way to forget what orders them.

mod common;

use common::{floats, output, parse, run_f};
use tc_sim::{Arg, DiagnosticKind};

/// A warpgroup copies a tensor of 6 x 12 by tiles of 4 x 8, doubled, by shared memory.
const DOUBLE: &str = "tir.func @f(A: f32[8, 16], B: f32[6, 12]) attributes {noalias, threaded} {
  M = tma.map(B, extents = [4, 8]) : f32[6, 12]
  for tx in 0..128 bind(threadIdx.x) {
    alloc S: f32[32] in shared attributes {align = 128}
    for t in 0..4 {
      if tx == 0 {
        tma.wait_group(pending = 0, read = true)
      }
      gpu.barrier(warpgroup)
      if tx < 32 {
        S[tx] = A[t / 2 * 4 + tx / 8, t % 2 * 8 + tx % 8] * 2.0
      }
      tma.fence()
      gpu.barrier(warpgroup)
      if tx == 0 {
        tma.store(&M[t / 2 * 4 : 4, t % 2 * 8 : 8], &S[0 : 32], background = true)
        tma.commit_group()
      }
    }
    if tx == 0 {
      tma.wait_group(pending = 0, read = true)
    }
  }
}";

fn run(text: &str) -> tc_sim::RunReport {
    let values: Vec<f64> = (0..128).map(f64::from).collect();
    run_f(&parse(text), &[floats(&values), Arg::Output])
}

#[test]
fn what_lies_outside_of_the_tensor_is_not_written() {
    let report = run(DOUBLE);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
    let wanted = |nth: usize| (nth / 12 * 16 + nth % 12) as f64 * 2.0;
    assert_eq!(output(&report, 1), (0..72).map(wanted).collect::<Vec<f64>>());
}

#[test]
fn together_a_warpgroup_copies_once() {
    let together = "tir.func @f(A: f32[8, 16], B: f32[16]) attributes {noalias} {
      M = tma.map(B, extents = [8]) : f32[16]
      for ty in 0..2 bind(threadIdx.y) {
        alloc S: f32[2, 8] in shared
        for tx in 0..8 bind(threadIdx.x) {
          S[ty, tx] = A[ty, tx]
        }
        tma.store(&M[ty * 8 : 8], &S[ty : 1, 0 : 8])
      }
    }";
    let report = run(together);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
    let wanted: Vec<f64> = (0..16).map(|nth| f64::from(nth / 8 * 16 + nth % 8)).collect();
    assert_eq!(output(&report, 1), wanted);
}

/// The finding of a program that lacks `what` of the right one.
fn without(what: &str, instead: &str) -> (DiagnosticKind, String) {
    assert!(DOUBLE.contains(what), "{what}");
    let report = run(&DOUBLE.replace(what, instead));
    let found = report.diagnostics.iter().next().expect("something is missing");
    (found.kind, found.diagnostic.message.clone())
}

#[test]
fn a_fence_is_missed() {
    let (kind, text) = without("      tma.fence()\n", "");
    assert_eq!(kind, DiagnosticKind::MissingFence);
    assert_eq!(text, "a bulk copy reads `S[0]`, which thread 0 wrote, and no `tma.fence` stands between");
}

#[test]
fn the_fence_stands_before_the_barrier() {
    let moved = "      gpu.barrier(warpgroup)\n      if tx == 0 {\n        tma.store";
    let (kind, _) = without(
        &format!("      tma.fence()\n{moved}"),
        "      gpu.barrier(warpgroup)\n      if tx == 1 {\n        tma.fence()\n      }\n      if tx == 0 {\n        tma.store",
    );
    assert_eq!(kind, DiagnosticKind::MissingFence, "another thread's fence is not known of");
    // The thread that copies may do it for all.
    let own = DOUBLE
        .replace("      tma.fence()\n", "")
        .replace("        tma.store", "        tma.fence()\n        tma.store");
    assert!(run(&own).diagnostics.is_empty());
}

#[test]
fn a_barrier_before_the_copy_is_missed() {
    let (kind, text) = without("      tma.fence()\n      gpu.barrier(warpgroup)\n", "      tma.fence()\n");
    assert_eq!(kind, DiagnosticKind::Race);
    assert_eq!(text, "race on `S[1]`: thread 1 writes, a bulk copy reads it");
}

#[test]
fn the_source_is_overwritten_while_it_is_read() {
    let wait =
        "      if tx == 0 {\n        tma.wait_group(pending = 0, read = true)\n      }\n      gpu.barrier(warpgroup)\n";
    let (kind, text) = without(wait, "");
    assert_eq!(kind, DiagnosticKind::CopyOutstanding);
    assert_eq!(text, "thread 0 writes `S[0]` while a bulk copy of thread 0 may still read it");
    // One group may stay, and there is one.
    let (kind, _) =
        without("(pending = 0, read = true)\n      }\n      gpu", "(pending = 1, read = true)\n      }\n      gpu");
    assert_eq!(kind, DiagnosticKind::CopyOutstanding);
    // The thread waits, and the others do not wait for it.
    let (kind, text) = without("      }\n      gpu.barrier(warpgroup)\n      if tx < 32", "      }\n      if tx < 32");
    assert_eq!(kind, DiagnosticKind::CopyOutstanding);
    assert_eq!(text, "thread 1 writes `S[1]` while a bulk copy of thread 0 may still read it");
}

#[test]
fn copies_in_no_group_are_not_waited_for() {
    let (kind, _) = without("        tma.commit_group()\n", "");
    assert_eq!(kind, DiagnosticKind::CopyOutstanding);
}

#[test]
fn shared_memory_is_given_back_too_early() {
    let (kind, text) = without("    if tx == 0 {\n      tma.wait_group(pending = 0, read = true)\n    }\n", "");
    assert_eq!(kind, DiagnosticKind::CopyOutstanding);
    assert_eq!(text, "thread 0 ends, and has not waited until this bulk copy has read what it copies");
}

#[test]
fn what_was_written_is_there_after_a_wait_for_more_than_reads() {
    let read = |wait: &str| {
        let rest = format!(
            "{wait}    gpu.barrier(global)\n    if tx == 5 {{\n      B[0, 0] = B[0, 1] + 1.0\n    }}\n  }}\n}}"
        );
        let end = "    if tx == 0 {\n      tma.wait_group(pending = 0, read = true)\n    }\n  }\n}";
        assert!(DOUBLE.ends_with(end));
        run(&DOUBLE.replace(end, &rest))
    };
    let early = read("    if tx == 0 {\n      tma.wait_group(pending = 0, read = true)\n    }\n");
    let found = early.diagnostics.iter().next().expect("the copies may still write");
    assert_eq!(found.kind, DiagnosticKind::CopyOutstanding);
    assert_eq!(found.diagnostic.message, "thread 5 reads `B[0, 1]` while a bulk copy of thread 0 may still write it");
    let late = read("    if tx == 0 {\n      tma.wait_group(pending = 0)\n    }\n");
    // What is left is that a thread overwrites what another wrote.
    let kinds: Vec<DiagnosticKind> = late.diagnostics.iter().map(|found| found.kind).collect();
    assert_eq!(kinds, [DiagnosticKind::DoubleWrite]);
    assert_eq!(output(&late, 1)[0], 3.0);
}

#[test]
fn a_barrier_of_a_warpgroup_orders_no_other() {
    let of = |scope: &str| {
        format!(
            "tir.func @f(A: f32[8, 16], B: f32[256]) attributes {{noalias, threaded}} {{
               for tx in 0..256 bind(threadIdx.x) {{
                 alloc S: f32[256] in shared
                 S[tx] = 0.0
                 gpu.barrier(shared)
                 S[tx] = A[tx / 16 % 8, tx % 16] + 1.0
                 gpu.barrier({scope})
                 B[tx] = S[255 - tx]
               }}
             }}"
        )
    };
    assert!(run(&of("shared")).diagnostics.is_empty());
    let report = run(&of("warpgroup"));
    assert_eq!(report.diagnostics.iter().next().map(|found| found.kind), Some(DiagnosticKind::Race));
    let inside = of("warpgroup").replace("S[255 - tx]", "S[tx / 128 * 128 + 127 - tx % 128]");
    assert!(run(&inside).diagnostics.is_empty(), "{:#?}", run(&inside).diagnostics);
}
