//! Blocks of a cluster that bring boxes for one another, and each way to forget what orders them.

mod common;

use common::{floats, output, parse, run_f};
use tc_sim::{Arg, DiagnosticKind};

/// Two blocks add up the rows of a box of 4 x 32 numbers: each brings one half of it for both, four times.
const SHARED: &str = "tir.func @f(A: f32[16, 32], C: f32[2, 128]) attributes {noalias, threaded} {
  M = tma.map(A, extents = [2, 32]) : f32[16, 32]
  for bx in 0..2 bind(blockIdx.x) attributes {cluster = 2} {
    for tx in 0..32 bind(threadIdx.x) {
      alloc S: f32[128] in shared attributes {align = 128}
      alloc full: mbarrier.barrier[1] in shared
      if tx == 0 {
        mbarrier.init(&full[0], count = 1)
        mbarrier.fence_init()
      }
      gpu.barrier(cluster)
      for i in 0..4 {
        if tx == 0 {
          mbarrier.arrive_expect_tx(&full[0], bytes = 512)
          tma.load(&S[bx * 64 : 64], &M[i * 4 + bx * 2 : 2, 0 : 32], barrier = &full[0], multicast = true)
        }
        mbarrier.wait(&full[0], i % 2)
        C[bx, i * 32 + tx] = S[tx] + S[tx + 32] + S[tx + 64] + S[tx + 96]
        gpu.barrier(cluster)
      }
    }
  }
}";

/// Each thread tells both blocks that it was there, and waits for all of its own block to be told.
const TOLD: &str = "tir.func @f(A: f32[16, 32], C: f32[2, 32]) attributes {noalias, threaded} {
  for bx in 0..2 bind(blockIdx.x) attributes {cluster = 2} {
    for tx in 0..32 bind(threadIdx.x) {
      alloc told: mbarrier.barrier[1] in shared
      if tx == 0 {
        mbarrier.init(&told[0], count = 4)
      }
      gpu.barrier(cluster)
      if tx < 4 {
        mbarrier.arrive(&told[0], block = tx % 2)
      }
      mbarrier.wait(&told[0], 0)
      C[bx, tx] = 1.0
      gpu.barrier(cluster)
    }
  }
}";

fn run(text: &str) -> tc_sim::RunReport {
    let values: Vec<f64> = (0..512).map(f64::from).collect();
    run_f(&parse(text), &[floats(&values), Arg::Output])
}

#[test]
fn each_block_gets_what_all_of_them_bring() {
    let report = run(SHARED);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
    let of_row = |i: usize, tx: usize| (0..4).map(|row| ((i * 4 + row) * 32 + tx) as f64).sum::<f64>();
    let one: Vec<f64> = (0..128).map(|nth| of_row(nth / 32, nth % 32)).collect();
    assert_eq!(output(&report, 1), [one.clone(), one].concat());
}

#[test]
fn a_barrier_counts_arrivals_of_other_blocks() {
    let report = run(TOLD);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
}

#[test]
fn a_block_may_still_come_to_its_own_barrier() {
    // Block 1 is at the barrier of the cluster while the warps of block 0 have just met at one of their own, and the other way
    // round.
    for first in [0, 1] {
        let text = format!(
            "tir.func @f(A: f32[16, 32], C: f32[2, 64]) attributes {{noalias, threaded}} {{
              for bx in 0..2 bind(blockIdx.x) attributes {{cluster = 2}} {{
                alloc told: mbarrier.barrier[1] in shared
                for tx in 0..64 bind(threadIdx.x) {{
                  if tx == 0 {{
                    mbarrier.init(&told[0], count = 1)
                  }}
                  gpu.barrier(cluster)
                  if tx == 0 {{
                    mbarrier.arrive(&told[0], block = 1 - bx)
                  }}
                  mbarrier.wait(&told[0], 0)
                  if bx == {first} {{
                    gpu.barrier(shared)
                  }}
                  C[bx, tx] = 1.0
                  gpu.barrier(cluster)
                }}
              }}
            }}"
        );
        let report = run(&text);
        assert!(report.diagnostics.is_empty(), "{first}: {:#?}", report.diagnostics);
    }
}

/// The finding of a program that has `instead` in the place of `what`.
fn with(text: &str, what: &str, instead: &str) -> (DiagnosticKind, String) {
    assert!(text.contains(what), "{what}");
    let report = run(&text.replacen(what, instead, 1));
    let found = report.diagnostics.iter().next().expect("something is wrong");
    (found.kind, found.diagnostic.message.clone())
}

#[test]
fn a_receiver_has_not_read_the_box_before() {
    // The last barrier of the loop orders each block alone.
    let text = SHARED.replace("S[tx + 96]\n        gpu.barrier(cluster)", "S[tx + 96]\n        gpu.barrier(shared)");
    let (kind, text) = with(&text, "for i in 0..4", "for i in 0..2");
    assert_eq!(kind, DiagnosticKind::CopyOutstanding, "{text}");
}

#[test]
fn bytes_that_another_block_brings_are_announced() {
    let report = run(&SHARED.replace("bytes = 512", "bytes = 256"));
    let found: Vec<&str> = report.diagnostics.iter().map(|found| found.diagnostic.message.as_str()).collect();
    assert!(found.iter().any(|text| text.starts_with("bulk copies bring 256 bytes more")), "{found:#?}");
}

#[test]
fn a_copy_to_one_block_leaves_the_other_waiting() {
    let (kind, text) = with(SHARED, ", multicast = true", "");
    assert_eq!(kind, DiagnosticKind::Deadlock);
    assert!(text.contains("lacks 256 bytes of 512"), "{text}");
}

#[test]
fn a_block_of_a_cluster_ends_too_early() {
    let once = TOLD.replace("        mbarrier.wait(&told[0], 0)\n", "");
    let once = once.replace("      mbarrier.wait(&told[0], 0)\n", "");
    let (kind, text) = with(&once, "      C[bx, tx] = 1.0\n      gpu.barrier(cluster)", "      C[bx, tx] = 1.0");
    assert_eq!(kind, DiagnosticKind::Mbarrier);
    assert_eq!(text, "thread 0 of block 1 arrives at a barrier of block 0, which may have ended before");
}

#[test]
fn a_barrier_of_another_block_is_ready_first() {
    let (kind, text) = with(TOLD, "gpu.barrier(cluster)\n      if", "gpu.barrier(shared)\n      if");
    assert!(matches!(kind, DiagnosticKind::Race | DiagnosticKind::Mbarrier), "{text}");
}

#[test]
fn a_cluster_has_the_block_that_is_named() {
    let (kind, text) = with(TOLD, "block = tx % 2", "block = tx");
    assert_eq!(kind, DiagnosticKind::Mbarrier);
    assert!(text.ends_with("comes to `mbarrier.arrive` of block 2 of its cluster, which has 2"), "{text}");
}

#[test]
fn blocks_wait_for_one_another_at_the_barrier_of_the_cluster() {
    let (kind, text) = with(TOLD, "gpu.barrier(cluster)\n      if", "if bx == 0 {\n gpu.barrier(cluster)\n}\n      if");
    assert!(
        matches!(kind, DiagnosticKind::DivergentBarrier | DiagnosticKind::Mbarrier | DiagnosticKind::Race),
        "{text}"
    );
}

#[test]
fn what_a_thread_read_itself_is_not_told_to_another_block() {
    // An arrival at the barrier of another block says nothing of what its own thread has read.
    let text = "tir.func @f(A: f32[16, 32], C: f32[2, 64]) attributes {noalias, threaded} {
      M = tma.map(A, extents = [1, 32]) : f32[16, 32]
      for bx in 0..2 bind(blockIdx.x) attributes {cluster = 2} {
        for tx in 0..32 bind(threadIdx.x) {
          alloc S: f32[32] in shared attributes {align = 128}
          alloc full: mbarrier.barrier[1] in shared
          alloc empty: mbarrier.barrier[1] in shared
          if tx == 0 {
            mbarrier.init(&full[0], count = 1)
            mbarrier.init(&empty[0], count = 64)
            mbarrier.fence_init()
          }
          gpu.barrier(cluster)
          for i in 0..2 {
            if tx == 0 {
              mbarrier.arrive_expect_tx(&full[0], bytes = 128)
            }
            if tx == 0 && bx == 0 {
              mbarrier.wait(&empty[0], (i + 1) % 2)
              tma.load(&S[0 : 32], &M[i : 1, 0 : 32], barrier = &full[0], multicast = true)
            }
            mbarrier.wait(&full[0], i)
            C[bx, i * 32 + tx] = S[tx]
            mbarrier.arrive(&empty[0], block = 0)
          }
          gpu.barrier(cluster)
        }
      }
    }";
    let report = run(text);
    let found = report.diagnostics.iter().next().expect("the copy is not ordered after the reads");
    assert_eq!(found.kind, DiagnosticKind::Race, "{:?}", found.diagnostic.message);
}
