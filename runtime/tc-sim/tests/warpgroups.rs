//! Bulk copies, barriers in shared memory and products of warpgroups: phased, flat and by roles, against a product that
//! the test computes; and each defect of such programs, planted.

mod common;

use common::{line, lines, output, parse};
use tc_ir::Elem;
use tc_sim::{Arg, DiagnosticKind, RunOptions, RunReport, Tensor, run};

/// 2 x 2 blocks of 128 x 64 results, 128 steps of the reduction.
const M: usize = 256;
const N: usize = 128;
const K: usize = 256;

/// Copies of blocks and products of tiles, in lockstep.
const PHASED: &str = "tir.func @f(A: f16[256, 256], B: f16[256, 128], C: f32[256, 128]) attributes {noalias} {
  MA = tma.map(A, extents = [128, 64]) : f16[256, 256]
  MB = tma.map(B, extents = [64, 64]) : f16[256, 128]
  for by in 0..2 bind(blockIdx.y) {
    for bx in 0..2 bind(blockIdx.x) {
      for wg in 0..2 bind(threadIdx.y) {
        for lane in 0..128 bind(threadIdx.x) {
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

fn wanted() -> Vec<f64> {
    let (a, b) = (factor(M, K, 1), factor(K, N, 4));
    (0..M * N).map(|nth| (0..K).map(|k| a[nth / N * K + k] * b[k * N + nth % N]).sum()).collect()
}

fn run_text(text: &str, descending: bool) -> RunReport {
    let module = parse(text);
    let flat = text.contains("f16[65536]");
    let options = RunOptions { descending, ..RunOptions::default() };
    run(&module, "f", &args(flat), &options).unwrap_or_else(|error| panic!("{error:?}"))
}

#[track_caller]
fn passes(text: &str) {
    for descending in [false, true] {
        let report = run_text(text, descending);
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        assert!(output(&report, 2) == wanted(), "other values");
    }
}

/// The text with `from` replaced, which is there.
#[track_caller]
fn planted(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from}");
    text.replace(from, to)
}

/// What is found of `kind`, whichever groups are run first.
#[track_caller]
fn finds(text: &str, kind: DiagnosticKind, message: &str) {
    for descending in [false, true] {
        let report = run_text(text, descending);
        let messages: Vec<&str> = report
            .diagnostics
            .iter()
            .filter(|found| found.kind == kind)
            .map(|found| &found.diagnostic.message[..])
            .collect();
        assert!(
            messages.iter().any(|found| found.contains(message)),
            "descending: {descending}, {:#?}",
            report.diagnostics.iter().map(|found| (found.kind, &found.diagnostic.message)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn copies_and_products_in_lockstep_pass() {
    passes(PHASED);
}

#[test]
fn descriptors_find_what_swizzled_copies_brought() {
    passes(FLAT);
}

#[test]
fn roles_with_a_ring_pass() {
    passes(ROLES);
}
