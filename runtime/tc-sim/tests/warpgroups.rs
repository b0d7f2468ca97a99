//! Bulk copies, barriers in shared memory and products of warpgroups: phased, flat and by roles, against a product that
//! the test computes; and each defect of such programs, planted.

mod common;

use common::{line, output, parse};
use tc_ir::Elem;
use tc_sim::{Arg, CheckOptions, DiagnosticKind, FieldVerdict, RunOptions, RunReport, Tensor};
use tc_sim::{check_against_definition, run};
use tc_support::Diagnostic;

/// 2 x 2 blocks of 128 x 64 results, 128 steps of the reduction.
const M: usize = 256;
const N: usize = 128;
const K: usize = 256;

/// Copies of blocks and products of tiles, in lockstep, before there are loops over the threads of a warpgroup.
const PHASED: &str = "tir.func @f(A: f16[256, 256], B: f16[256, 128], C: f32[256, 128]) attributes {noalias} {
  MA = tma.map(A, extents = [128, 64]) : f16[256, 256]
  MB = tma.map(B, extents = [64, 64]) : f16[256, 128]
  for by in 0..2 bind(blockIdx.y) {
    for bx in 0..2 bind(blockIdx.x) {
      for wg in 0..2 bind(threadIdx.y) {
          alloc CF: f32[64, 64] in wgmma.accumulator
          for i in 0..64 { for j in 0..64 { CF[i, j] = 0.0 } }
          for step in 0..4 {
            alloc AS: f16[128, 64] in shared.dyn attributes {stages = 4, swizzle = [3, 3, 3], bulk = true}
            alloc BS: f16[64, 64] in shared.dyn attributes {stages = 4, swizzle = [3, 3, 3], bulk = true}
            tma.load(&AS[0 : 128, 0 : 64], &MA[by * 128 : 128, step * 64 : 64])
            tma.load(&BS[0 : 64, 0 : 64], &MB[step * 64 : 64, bx * 64 : 64])
            for kt in 0..4 {
              wgmma.mma(&CF[0 : 64, 0 : 64], &AS[wg * 64 : 64, kt * 16 : 16], &BS[kt * 16 : 16, 0 : 64])
            }
          }
          for i in 0..64 { for j in 0..64 { C[by * 128 + wg * 64 + i, bx * 64 + j] = CF[i, j] } }
      }
    }
  }
}";

/// Sums of threads, flat buffers, descriptors, groups of products.
const FLAT: &str = "tir.func @f(A: f16[65536], B: f16[32768], C: f32[32768]) attributes {noalias} {
  MA = tma.map(A, extents = [128, 64], swizzle = 128) : f16[256, 256]
  MB = tma.map(B, extents = [64, 64], swizzle = 128) : f16[256, 128]
  for by in 0..2 bind(blockIdx.y) {
    for bx in 0..2 bind(blockIdx.x) {
      for wg in 0..2 bind(threadIdx.y) {
        for lane in 0..128 bind(threadIdx.x) {
          alloc CF: f32[32] in local
          for i in 0..32 { CF[i] = 0.0 }
          for step in 0..4 {
            alloc AS: f16[8192] in shared.dyn
            alloc BS: f16[4096] in shared.dyn
            tma.load(&AS[0 : 8192], &MA[by * 128 : 128, step * 64 : 64])
            tma.load(&BS[0 : 4096], &MB[step * 64 : 64, bx * 64 : 64])
            wgmma.fence()
            for kt in 0..4 {
              wgmma.mma(&CF[0 : 32], &AS[wg * 4096 + kt * 16], &BS[kt * 1024], a_descriptor = [16, 1024, 128], b_descriptor = [8192, 1024, 128])
            }
            wgmma.commit_group()
            wgmma.wait_group(pending = 0)
          }
          for i in 0..8 { for j in 0..4 {
            C[(by * 128 + wg * 64 + lane / 32 * 16 + lane % 32 / 4 + j / 2 * 8) * 128 + bx * 64 + i * 8 + lane % 4 * 2 + j % 2] = CF[i * 4 + j]
          } }
        }
      }
    }
  }
}";

/// Roles, a ring of two slots, barriers. Lines are counted by the tests.
const ROLES: &str = "tir.func @f(A: f16[65536], B: f16[32768], C: f32[32768]) attributes {noalias} {
  MA = tma.map(A, extents = [128, 64], swizzle = 128) : f16[256, 256]
  MB = tma.map(B, extents = [64, 64], swizzle = 128) : f16[256, 128]
  for by in 0..2 bind(blockIdx.y) {
    for bx in 0..2 bind(blockIdx.x) {
      alloc SMEM: u8[49152] in shared.dyn attributes {align = 1024}
      AS = tir.view(SMEM, 0) : f16[16384] in shared.dyn
      BS = tir.view(SMEM, 32768) : f16[8192] in shared.dyn
      alloc full: mbarrier.barrier[2] in shared
      alloc empty: mbarrier.barrier[2] in shared
      for ty in 0..3 bind(threadIdx.y) {
        for tx in 0..128 bind(threadIdx.x) {
          if ty == 0 && tx == 0 {
            for s in 0..2 {
              mbarrier.init(&full[s], count = 1)
              mbarrier.init(&empty[s], count = 2)
            }
            mbarrier.fence_init()
          }
        }
        gpu.barrier(shared)
        if ty < 2 {
          gpu.setmaxnreg(count = 240, action = increase)
          for tx in 0..128 bind(threadIdx.x) {
            alloc CF: f32[32] in local
            for i in 0..32 { CF[i] = 0.0 }
            for step in 0..4 {
              mbarrier.wait(&full[step % 2], step / 2 % 2)
              wgmma.fence()
              for kt in 0..4 unroll {
                wgmma.mma(&CF[0 : 32], &AS[step % 2 * 8192 + ty * 4096 + kt * 16], &BS[step % 2 * 4096 + kt * 1024], a_descriptor = [16, 1024, 128], b_descriptor = [8192, 1024, 128])
              }
              wgmma.commit_group()
              wgmma.wait_group(pending = 0)
              if tx == 0 { mbarrier.arrive(&empty[step % 2]) }
            }
            for i in 0..8 { for j in 0..4 {
              C[(by * 128 + ty * 64 + tx / 32 * 16 + tx % 32 / 4 + j / 2 * 8) * 128 + bx * 64 + i * 8 + tx % 4 * 2 + j % 2] = CF[i * 4 + j]
            } }
          }
        } else {
          gpu.setmaxnreg(count = 24, action = decrease)
          for tx in 0..128 bind(threadIdx.x) {
            if tx == 0 {
              for step in 0..4 {
                mbarrier.wait(&empty[step % 2], (step / 2 + 1) % 2)
                mbarrier.arrive_expect_tx(&full[step % 2], bytes = 24576)
                tma.load(&AS[step % 2 * 8192 : 8192], &MA[by * 128 : 128, step * 64 : 64], barrier = &full[step % 2])
                tma.load(&BS[step % 2 * 4096 : 4096], &MB[step * 64 : 64, bx * 64 : 64], barrier = &full[step % 2])
              }
            }
          }
        }
      }
    }
  }
}";

fn factor(rows: usize, cols: usize, seed: usize) -> Vec<f64> {
    (0..rows * cols).map(|nth| ((nth * 7 + nth / cols * 3 + seed) % 11) as f64 - 5.0).collect()
}

fn half(values: &[f64], shape: &[u64]) -> Arg {
    Arg::Input(Tensor::from_f64s(Elem::F16, shape, values).expect("small integers fit"))
}

fn args(flat: bool) -> [Arg; 3] {
    let (a, b) = (factor(M, K, 1), factor(K, N, 4));
    match flat {
        true => [half(&a, &[(M * K) as u64]), half(&b, &[(K * N) as u64]), Arg::Output],
        false => [half(&a, &[M as u64, K as u64]), half(&b, &[K as u64, N as u64]), Arg::Output],
    }
}

/// The product of the first `steps` of the reduction.
fn wanted(steps: usize) -> Vec<f64> {
    let (a, b) = (factor(M, K, 1), factor(K, N, 4));
    (0..M * N).map(|nth| (0..steps).map(|k| a[nth / N * K + k] * b[k * N + nth % N]).sum()).collect()
}

fn run_text(text: &str, descending: bool) -> RunReport {
    let module = parse(text);
    let flat = text.contains("f16[65536]");
    let options = RunOptions { descending, ..RunOptions::default() };
    run(&module, "f", &args(flat), &options).unwrap_or_else(|error| panic!("{error:?}"))
}

#[track_caller]
fn passes(text: &str, steps: usize) {
    for descending in [false, true] {
        let report = run_text(text, descending);
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        assert!(output(&report, 2) == wanted(steps), "other values");
    }
}

/// The text with `from` replaced, which is there once.
#[track_caller]
fn planted(text: &str, from: &str, to: &str) -> String {
    assert_eq!(text.matches(from).count(), 1, "{from}");
    text.replace(from, to)
}

/// The message of a diagnostic, and those of its labels.
fn whole_text(diagnostic: &Diagnostic) -> String {
    let labels = diagnostic.labels.iter().map(|label| &label.text[..]);
    std::iter::once(&diagnostic.message[..]).chain(labels).collect::<Vec<_>>().join("; ")
}

/// One of these is found, whichever groups are run first: the kind, and what the message says.
#[track_caller]
fn finds_one(text: &str, wanted: &[(DiagnosticKind, &str)]) {
    for descending in [false, true] {
        let report = run_text(text, descending);
        let all: Vec<(DiagnosticKind, String)> =
            report.diagnostics.iter().map(|found| (found.kind, whole_text(&found.diagnostic))).collect();
        let is_wanted = |(kind, text): &(DiagnosticKind, String)| {
            wanted.iter().any(|(wanted, part)| wanted == kind && text.contains(part))
        };
        assert!(all.iter().any(is_wanted), "descending: {descending}, {all:#?}");
    }
}

#[track_caller]
fn finds(text: &str, kind: DiagnosticKind, message: &str) {
    finds_one(text, &[(kind, message)]);
}

#[test]
fn copies_and_products_in_lockstep_pass() {
    passes(PHASED, K);
}

#[test]
fn descriptors_find_what_swizzled_copies_brought() {
    passes(FLAT, K);
    // Of plain rows the pieces lie side by side, and products find other elements there.
    let plain = FLAT.replace(", swizzle = 128) :", ") :");
    let report = run_text(&plain, false);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
    assert!(output(&report, 2) != wanted(K));
}

#[test]
fn roles_with_a_ring_pass() {
    passes(ROLES, K);
    // Fewer rounds than slots.
    passes(&ROLES.replace("for step in 0..4", "for step in 0..1"), 64);
    // Threads that wait for all, and arrive one by one.
    let all = planted(ROLES, "&empty[s], count = 2", "&empty[s], count = 256");
    passes(&planted(&all, "if tx == 0 { mbarrier.arrive(&empty[step % 2]) }", "mbarrier.arrive(&empty[step % 2])"), K);
}

#[test]
fn another_count_of_arrivals_is_found() {
    let few = planted(ROLES, "&empty[s], count = 2", "&empty[s], count = 1");
    finds(&few, DiagnosticKind::Mbarrier, "too many arrivals: thread");
    let many = planted(ROLES, "&empty[s], count = 2", "&empty[s], count = 3");
    finds(&many, DiagnosticKind::Deadlock, "waits for phase 0 of `empty[0]` (parity 0), which lacks 1 arrival of 3");
    let none = planted(ROLES, "if tx == 0 { mbarrier.arrive(&empty[step % 2]) }", "");
    finds(&none, DiagnosticKind::Deadlock, "which lacks 2 arrivals of 2");
    let twice = planted(
        ROLES,
        "mbarrier.arrive_expect_tx(&full[step % 2], bytes = 24576)",
        "mbarrier.arrive_expect_tx(&full[step % 2], bytes = 24576)\nmbarrier.arrive(&full[step % 2])",
    );
    finds(
        &twice,
        DiagnosticKind::Mbarrier,
        "too many arrivals: thread (0, 2, 0) of block (0, 0, 0) arrives at `full[0]`, whose phase 0 has had its 1 arrival",
    );
}

#[test]
fn a_deadlock_tells_who_waits_and_where_the_others_are() {
    let report = run_text(&planted(ROLES, "&empty[s], count = 2", "&empty[s], count = 3"), false);
    let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Deadlock).expect("it hangs");
    let labels: Vec<&str> = found.diagnostic.labels.iter().map(|label| &label.text[..]).collect();
    assert_eq!(
        found.diagnostic.message,
        "deadlock: thread (0, 2, 0) of block (0, 0, 0) waits for phase 0 of `empty[0]` (parity 0), which lacks 1 arrival of 3"
    );
    let other =
        "thread (0, 0, 0) of block (0, 0, 0) waits for phase 1 of `full[0]` (parity 1), which lacks 1 arrival of 1";
    assert!(labels.contains(&other), "{labels:?}");
    let short = planted(
        ROLES,
        "if ty < 2 {",
        "if ty < 1 {\ngpu.setmaxnreg(count = 240, action = increase)\n} else {\nif ty < 2 {",
    )
    .replace("      }\n    }\n  }\n}", "      }\n}\n    }\n  }\n}");
    let report = run_text(&short, false);
    let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Deadlock).expect("it hangs");
    assert!(
        found.diagnostic.notes.iter().any(|note| note == "threads 0 to 127 have come to the end of the program"),
        "{found:?}"
    );
}

#[test]
fn bytes_that_are_not_what_was_announced_are_found() {
    let few = planted(ROLES, "bytes = 24576", "bytes = 16384");
    finds(
        &few,
        DiagnosticKind::Mbarrier,
        "bulk copies bring 8192 bytes more to phase 0 of `full[0]` than were announced",
    );
    let many = planted(ROLES, "bytes = 24576", "bytes = 32768");
    finds(&many, DiagnosticKind::Deadlock, "which lacks 8192 bytes of 32768");
    let unannounced =
        planted(ROLES, "mbarrier.arrive_expect_tx(&full[step % 2], bytes = 24576)", "mbarrier.arrive(&full[step % 2])");
    finds(&unannounced, DiagnosticKind::Mbarrier, "than were announced");
}

#[test]
fn a_phase_that_is_not_flipped_is_found() {
    let consumers = planted(ROLES, "mbarrier.wait(&full[step % 2], step / 2 % 2)", "mbarrier.wait(&full[step % 2], 0)");
    finds(&consumers, DiagnosticKind::Mbarrier, "and no thread has waited for the phase before");
    let producer = planted(ROLES, "(step / 2 + 1) % 2)", "1)");
    finds(
        &producer,
        DiagnosticKind::CopyOutstanding,
        "begins a bulk copy to `AS[0]` and has not waited for the bulk copy to it",
    );
    finds(
        &planted(ROLES, "step / 2 % 2)", "step / 2)").replace("0..4 {", "0..6 {"),
        DiagnosticKind::Mbarrier,
        "waits for parity 2, and a parity is 0 or 1",
    );
}

#[test]
fn a_slot_that_is_released_too_early_is_found() {
    let early = planted(ROLES, "              if tx == 0 { mbarrier.arrive(&empty[step % 2]) }\n", "");
    let early = planted(
        &early,
        "              wgmma.wait_group(pending = 0)\n",
        "              if tx == 0 { mbarrier.arrive(&empty[step % 2]) }\n              wgmma.wait_group(pending = 0)\n",
    );
    finds(
        &early,
        DiagnosticKind::ProductOutstanding,
        "begins a bulk copy to `AS[0]` while a product of warpgroup 0 may still read it",
    );
    let unwaited = planted(ROLES, "pending = 0", "pending = 1");
    finds(&unwaited, DiagnosticKind::ProductOutstanding, "begins a bulk copy to `AS[0]` while a product of warpgroup");
    let unordered = planted(ROLES, "mbarrier.wait(&empty[step % 2], (step / 2 + 1) % 2)", "");
    finds_one(
        &unordered,
        &[
            (DiagnosticKind::ProductOutstanding, "begins a bulk copy to `AS[0]`"),
            (DiagnosticKind::CopyOutstanding, "begins a bulk copy to `AS[0]`"),
        ],
    );
}

#[test]
fn sums_that_are_not_waited_for_are_found() {
    for text in [FLAT, ROLES] {
        let unwaited = planted(text, "pending = 0", "pending = 1");
        finds(&unwaited, DiagnosticKind::ProductOutstanding, "reads `CF[0]` while an outstanding product adds to it");
        let written = planted(text, "wgmma.commit_group()", "wgmma.commit_group()\nCF[1] = 0.0");
        finds(&written, DiagnosticKind::ProductOutstanding, "writes `CF[1]` while an outstanding product adds to it");
        let late = planted(text, "wgmma.wait_group(pending = 0)", "");
        let report = run_text(&late, false);
        assert!(report.diagnostics.count(DiagnosticKind::NotAwaited) > 0, "{:#?}", report.diagnostics);
        // Without a group there is nothing that the wait waits for.
        let ungrouped = planted(text, "wgmma.commit_group()", "if bx > 2 { wgmma.commit_group() }");
        finds(&ungrouped, DiagnosticKind::ProductOutstanding, "while an outstanding product adds to it");
        let uncommitted = planted(text, "wgmma.commit_group()", "");
        finds(
            &uncommitted,
            DiagnosticKind::ProductOutstanding,
            "reads `CF[0]` while an outstanding product adds to it",
        );
    }
    let copied = planted(FLAT, "wgmma.wait_group(pending = 0)", "");
    finds(&copied, DiagnosticKind::ProductOutstanding, "writes `AS[0]` while an outstanding product reads it");
    let uncommitted = planted(FLAT, "wgmma.commit_group()", "");
    finds(&uncommitted, DiagnosticKind::ProductOutstanding, "writes `AS[0]` while an outstanding product reads it");
}

#[test]
fn a_missing_fence_is_found() {
    for text in [FLAT, ROLES] {
        let none = planted(text, "wgmma.fence()", "");
        finds(&none, DiagnosticKind::MissingFence, "adds to `CF`, and no `wgmma.fence` stands between");
        let stored = planted(text, "wgmma.fence()", "wgmma.fence()\nCF[3] = CF[3]");
        finds(&stored, DiagnosticKind::MissingFence, "adds to `CF`, and no `wgmma.fence` stands");
    }
    // Before anything orders products, they are done at once.
    let early = planted(&planted(FLAT, "wgmma.fence()", ""), "wgmma.commit_group()", "");
    passes(&planted(&early, "wgmma.wait_group(pending = 0)", ""), K);
}

#[test]
fn a_role_that_leaves_early_is_found() {
    let consumers = planted(
        ROLES,
        "for step in 0..4 {\n              mbarrier.wait(&full",
        "for step in 0..3 {\n              mbarrier.wait(&full",
    );
    finds(
        &consumers,
        DiagnosticKind::CopyOutstanding,
        "the block ends, and no thread has waited for this bulk copy, which reports at `full[1]`",
    );
    let producer = planted(
        ROLES,
        "for step in 0..4 {\n                mbarrier.wait(&empty",
        "for step in 0..3 {\n                mbarrier.wait(&empty",
    );
    finds(&producer, DiagnosticKind::Deadlock, "waits for phase 1 of `full[1]` (parity 1), which lacks 1 arrival of 1");
}

#[test]
fn barriers_are_made_ready_before_they_are_used() {
    let unordered = planted(ROLES, "gpu.barrier(shared)", "");
    finds_one(
        &unordered,
        &[
            (DiagnosticKind::Race, "race on `full[0]`: nothing orders `mbarrier.wait`"),
            (DiagnosticKind::Mbarrier, "`mbarrier.wait` of `empty[0]`, which no thread has made ready"),
        ],
    );
    let never = planted(ROLES, "mbarrier.init(&empty[s], count = 2)", "");
    finds(&never, DiagnosticKind::Mbarrier, "`mbarrier.arrive` of `empty[0]`, which no thread has made ready");
    let unfenced = planted(ROLES, "mbarrier.fence_init()", "");
    finds(
        &unfenced,
        DiagnosticKind::MissingFence,
        "reports at `full[0]`, and no `mbarrier.fence_init` follows its `mbarrier.init`",
    );
    let again = planted(
        ROLES,
        "mbarrier.arrive_expect_tx(",
        "if step == 2 { mbarrier.init(&full[0], count = 1) }\nmbarrier.arrive_expect_tx(",
    );
    finds_one(
        &again,
        &[
            (DiagnosticKind::Race, "race on `full[0]`: nothing orders `mbarrier.init`"),
            (DiagnosticKind::Mbarrier, "ready again while it is in use"),
        ],
    );
    let two = planted(ROLES, "if ty == 0 && tx == 0 {", "if ty == 0 && tx < 2 {");
    finds(&two, DiagnosticKind::Race, "race on `full[0]`: nothing orders `mbarrier.init`");
}

#[test]
fn what_a_bulk_copy_brings_is_waited_for() {
    let unwaited = planted(ROLES, "mbarrier.wait(&full[step % 2], step / 2 % 2)", "");
    finds_one(
        &unwaited,
        &[
            (
                DiagnosticKind::CopyOutstanding,
                "a product of warpgroup 1 reads `AS[4096]` and has not waited for the bulk copy to it",
            ),
            (DiagnosticKind::Uninitialised, "reads `AS["),
        ],
    );
    // One thread has waited, and the others have not.
    let one = planted(
        ROLES,
        "mbarrier.wait(&full[step % 2], step / 2 % 2)",
        "if tx == 0 { mbarrier.wait(&full[step % 2], step / 2 % 2) }",
    );
    finds(&one, DiagnosticKind::CopyOutstanding, "` and has not waited for the bulk copy to it");
    // A barrier of each warp lets them know.
    let warps = planted(
        ROLES,
        "mbarrier.wait(&full[step % 2], step / 2 % 2)",
        "if tx % 32 == 0 { mbarrier.wait(&full[step % 2], step / 2 % 2) }\ngpu.barrier(warp)",
    );
    passes(&warps, K);
    // Plain reads.
    let read = planted(
        ROLES,
        "mbarrier.wait(&empty[step % 2], (step / 2 + 1) % 2)",
        "mbarrier.wait(&empty[step % 2], (step / 2 + 1) % 2)\nif step == 3 { C[0] = cast<f32>(BS[0]) }",
    );
    finds(&read, DiagnosticKind::CopyOutstanding, "reads `BS[0]` and has not waited for the bulk copy to it");
    let after = planted(
        ROLES,
        "    gpu.barrier(shared)\n",
        "    gpu.barrier(shared)\nif ty == 2 && tx0 == 0 { if by > 5 { BS[0] = 0.0f16 } }\n",
    )
    .replace("tx0", "bx");
    passes(&after, K);
}

#[test]
fn what_threads_store_is_not_seen_by_products() {
    let stored = planted(ROLES, "wgmma.fence()", "AS[step % 2 * 8192 + ty * 4096 + tx] = 0.0f16\nwgmma.fence()");
    finds(
        &stored,
        DiagnosticKind::MissingFence,
        "generic writes are not seen by the async proxy: a product reads `AS[",
    );
}

#[test]
fn a_partial_warpgroup_is_found() {
    for (op, name) in [
        ("wgmma.fence()", "wgmma.fence"),
        ("wgmma.commit_group()", "wgmma.commit_group"),
        ("wgmma.wait_group(pending = 0)", "wgmma.wait_group"),
    ] {
        for (text, thread) in [(FLAT, "lane"), (ROLES, "tx")] {
            let partial = planted(text, op, &format!("if {thread} < 96 {{ {op} }}"));
            finds(&partial, DiagnosticKind::DivergentWarp, &format!("comes to `{name}` with 96 of 128 threads"));
        }
    }
    let product = planted(
        &planted(FLAT, "for kt in 0..4 {", "if lane > 0 { for kt in 0..4 {"),
        "            }\n            wgmma.commit",
        "            } }\n            wgmma.commit",
    );
    finds(&product, DiagnosticKind::DivergentWarp, "warpgroup 0 comes to `wgmma.mma` with 127 of 128 threads");
    let small = planted(FLAT, "for lane in 0..128", "for lane in 0..64").replace("for wg in 0..2", "for wg in 0..1");
    finds(&small, DiagnosticKind::DivergentWarp, "warpgroup 0 comes to `wgmma.fence` with 64 of 128 threads");
    let registers = planted(ROLES, "if ty < 2 {", "if ty * 128 < 192 {").replace("if ty * 128 < 192 {\n          gpu.setmaxnreg(count = 240, action = increase)\n          for tx in 0..128 bind(threadIdx.x) {", "if ty < 2 {\n          for tx in 0..128 bind(threadIdx.x) {\nif tx < 32 { gpu.setmaxnreg(count = 240, action = increase) }");
    finds(&registers, DiagnosticKind::DivergentWarp, "comes to `gpu.setmaxnreg` with 32 of 128 threads");
}

#[test]
fn copies_of_a_block_are_made_by_all_of_it() {
    let partial = planted(
        FLAT,
        "tma.load(&AS[0 : 8192], &MA[by * 128 : 128, step * 64 : 64])",
        "if lane < 5 { tma.load(&AS[0 : 8192], &MA[by * 128 : 128, step * 64 : 64]) }",
    );
    finds(&partial, DiagnosticKind::DivergentBarrier, "a bulk copy in divergent code: thread (0, 0, 0)");
    let other = planted(FLAT, "&MA[by * 128 : 128, step * 64 : 64]", "&MA[by * 128 + wg : 128, step * 64 : 64]");
    finds(&other, DiagnosticKind::DivergentWarp, "come to `tma.load` with different places");
    let odd = planted(&planted(FLAT, "alloc AS: f16[8192]", "alloc AS: f16[8256]"), "&AS[0 : 8192]", "&AS[64 : 8192]");
    finds(&odd, DiagnosticKind::Misaligned, "accesses `AS[64]` at byte 128, which is no multiple of 1024");
    let far = planted(FLAT, "b_descriptor = [8192, 1024, 128]", "b_descriptor = [8192, 2048, 128]");
    finds(&far, DiagnosticKind::OutOfBounds, "a product of warpgroup 0 reads byte");
}

#[test]
fn when_a_copy_without_a_barrier_is_done_is_unknown_in_threaded_programs() {
    let text = FLAT.replace("{noalias}", "{noalias, threaded}");
    let module = parse(&text);
    let error = run(&module, "f", &args(true), &RunOptions::default()).expect_err("it is refused");
    assert_eq!(error.message, "in a threaded program it is not known when this bulk copy is done");
    assert_eq!((error.code, line(&module, &error.location)), ("unknown", 13));
}

#[test]
fn kernels_apart_from_their_host_pass() {
    let kernel = ROLES.replacen("@f(", "@kernel(", 1);
    let host = "tir.func @f(A: f16[65536], B: f16[32768], C: f32[32768]) {\n  @kernel(A, B, C)\n}\n";
    // With a width for each integer, and rings of their own.
    let wide = ["by in 0..2", "bx in 0..2", "ty in 0..3", "step in 0..4"];
    let kernel = wide.iter().fold(kernel, |text, head| text.replace(head, &head.replace("0..", "0i32..")));
    let own = planted(&kernel, "      alloc SMEM: u8[49152] in shared.dyn attributes {align = 1024}\n", "");
    let own = planted(&own, "AS = tir.view(SMEM, 0) : f16[16384] in shared.dyn", "alloc AS: f16[16384] in shared.dyn");
    let own =
        planted(&own, "BS = tir.view(SMEM, 32768) : f16[8192] in shared.dyn", "alloc BS: f16[8192] in shared.dyn");
    passes(&format!("{kernel}{host}"), K);
    passes(&format!("{own}{host}"), K);
}

#[test]
fn roles_compute_their_operator_in_exact_arithmetic() {
    let operator = "te.func @op(A: f16[256, 256], B: f16[256, 128]) -> f32[256, 128] {
  compute C[i: 256, j: 128] = sum[k: 256](cast<f32>(A[i, k]) * cast<f32>(B[k, j]))
  return C
}
";
    for text in [PHASED, FLAT, ROLES] {
        let module = parse(&format!("{operator}{text}"));
        let options = CheckOptions { integer_inputs: 1, real_inputs: 1, ..CheckOptions::default() };
        let report = check_against_definition((&module, "op"), (&module, "f"), &options).expect("it runs");
        assert!(report.is_ok() && report.diagnostics.is_empty(), "{:?}", report.diagnostics());
        assert_eq!(report.field.verdict, FieldVerdict::Equal, "{:?}", report.field);
        let sample = CheckOptions { sample_above: 1, sample_cost: 1, in_field: false, ..options };
        let report = check_against_definition((&module, "op"), (&module, "f"), &sample).expect("it runs");
        assert!(report.is_ok(), "{:?}", report.diagnostics());
    }
}
