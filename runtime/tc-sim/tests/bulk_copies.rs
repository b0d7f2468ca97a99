//! What bulk copies and warpgroup products compute: zeros outside of a tensor, element types, layouts, exact arithmetic,
//! magnitudes; and programs whose end is not known.

mod common;

use common::{floats, output, parse, run_f};
use tc_ir::Elem;
use tc_sim::{Arg, CheckOptions, DiagnosticKind, FieldVerdict, Limits, RunOptions, Tensor};
use tc_sim::{check_against_definition, run};

#[test]
fn what_lies_outside_of_the_tensor_is_zero() {
    let text = "tir.func @f<n: 1..100 = 5>(A: f32[n, 12], B: f32[8, 8]) {
      M = tma.map(A, extents = [8, 8]) : f32[n, 12]
      alloc S: f32[8, 8] in shared
      for tx in 0..64 bind(threadIdx.x) {
        tma.load(&S[0 : 8, 0 : 8], &M[0 - 2 : 8, 7 : 8])
        B[tx / 8, tx % 8] = S[tx / 8, tx % 8]
      }
    }";
    let values: Vec<f64> = (0..60).map(|nth| f64::from(nth) + 1.0).collect();
    let report = run_f(&parse(text), &[floats(&values), Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
    let wanted = |nth: usize| match (nth / 8, nth % 8 + 7) {
        (row @ 2..7, col @ 0..12) => values[(row - 2) * 12 + col],
        _ => 0.0,
    };
    assert_eq!(output(&report, 1), (0..64).map(wanted).collect::<Vec<f64>>());
}

/// One product of a warpgroup, by tiles.
fn product(elem: &str, sums: &str, k: usize, zero: &str) -> String {
    format!(
        "tir.func @f(A: {elem}[64, {k}], B: {elem}[24, {k}], C: {sums}[64, 24]) {{
           MA = tma.map(A, extents = [64, {k}]) : {elem}[64, {k}]
           MB = tma.map(B, extents = [24, {k}]) : {elem}[24, {k}]
           for wg in 0..1 bind(threadIdx.y) {{
             alloc CF: {sums}[64, 24] in wgmma.accumulator
             alloc AS: {elem}[64, {k}] in shared
             alloc BS: {elem}[24, {k}] in shared
             for i in 0..64 {{ for j in 0..24 {{ CF[i, j] = {zero} }} }}
             tma.load(&AS[0 : 64, 0 : {k}], &MA[0 : 64, 0 : {k}])
             tma.load(&BS[0 : 24, 0 : {k}], &MB[0 : 24, 0 : {k}])
             wgmma.mma(&CF[0 : 64, 0 : 24], &AS[0 : 64, 0 : {k}], &BS[0 : 24, 0 : {k}], b_layout = col_major)
             for i in 0..64 {{ for j in 0..24 {{ C[i, j] = CF[i, j] }} }}
           }}
         }}"
    )
}

#[test]
fn products_of_each_element_type_are_exact() {
    let cases = [
        (Elem::F16, "f32", 16, "0.0"),
        (Elem::BF16, "f32", 16, "0.0"),
        (Elem::F32, "f32", 8, "0.0"),
        (Elem::I8, "i32", 32, "0i32"),
        (Elem::F8E4M3, "f32", 32, "0.0"),
        (Elem::F8E5M2, "f32", 32, "0.0"),
        (Elem::F16, "f16", 16, "0.0f16"),
    ];
    for (elem, sums, k, zero) in cases {
        let of = |rows: usize, seed: usize| -> Vec<f64> {
            (0..rows * k).map(|nth| ((nth * 5 + nth / k + seed) % 7) as f64 - 3.0).collect()
        };
        let (a, b) = (of(64, 1), of(24, 2));
        let arg = |rows: usize, values: &[f64]| {
            Arg::Input(Tensor::from_f64s(elem, &[rows as u64, k as u64], values).expect("small integers fit"))
        };
        let report = run_f(&parse(&product(elem.name(), sums, k, zero)), &[arg(64, &a), arg(24, &b), Arg::Output]);
        assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
        let wanted = |nth: usize| (0..k).map(|step| a[nth / 24 * k + step] * b[nth % 24 * k + step]).sum::<f64>();
        assert_eq!(output(&report, 2), (0..64 * 24).map(wanted).collect::<Vec<f64>>(), "{}", elem.name());
    }
}

const OPERATOR: &str = "te.func @op(A: f16[64, 16], B: f16[24, 16]) -> f32[64, 24] {
  compute C[i: 64, j: 24] = sum[k: 16](cast<f32>(A[i, k]) * cast<f32>(B[j, k]))
  return C
}
";

#[test]
fn products_are_compared_with_operators_in_exact_arithmetic() {
    let right = product("f16", "f32", 16, "0.0");
    let check = |program: &str| {
        let module = parse(&format!("{OPERATOR}{program}"));
        check_against_definition((&module, "op"), (&module, "f"), &CheckOptions::default()).expect("it runs")
    };
    let report = check(&right);
    assert!(report.is_ok(), "{:?}", report.diagnostics());
    assert_eq!(report.field.verdict, FieldVerdict::Equal, "{:?}", report.field);
    // Too small for the tolerance of numbers.
    let off = check(&right.replace("= CF[i, j]", "= CF[i, j] * 0.99999994"));
    assert_eq!(off.field.verdict, FieldVerdict::Different);
    let wrong = check(&right.replace("&MB[0 : 24", "&MB[1 : 24"));
    assert!(!wrong.is_ok() && wrong.difference.is_some());
}

/// Two threads of one warpgroup, of two warps, hand a value over.
const HANDOVER: &str = "tir.func @f(B: f32[1]) {
  alloc S: f32[1] in shared
  alloc ready: mbarrier.barrier[1] in shared
  for tx in 0..64 bind(threadIdx.x) {
    if tx == 0 {
      mbarrier.init(&ready[0], count = 1)
    }
    gpu.barrier(shared)
    if tx == 32 {
      S[0] = 5.0
      mbarrier.arrive(&ready[0])
    } else {
      if tx == 0 {
        mbarrier.wait(&ready[0], 0)
        B[0] = S[0]
      }
    }
  }
}";

#[test]
fn threads_of_one_warpgroup_hand_values_over() {
    let report = run_f(&parse(HANDOVER), &[Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
    assert_eq!(output(&report, 0), [5.0]);
    let unordered = HANDOVER.replace("mbarrier.wait(&ready[0], 0)", "mbarrier.wait(&ready[0], 1)");
    let report = run_f(&parse(&unordered), &[Arg::Output]);
    let race = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Race);
    assert!(race.is_some(), "the phase before the first is over from the start, and orders nothing");
    let early = HANDOVER.replace(
        "      S[0] = 5.0\n      mbarrier.arrive(&ready[0])",
        "      mbarrier.arrive(&ready[0])\n      S[0] = 5.0",
    );
    let report = run_f(&parse(&early), &[Arg::Output]);
    let race = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Race).expect("it comes after");
    assert_eq!(race.diagnostic.message, "race on `S[0]`: thread 32 writes, thread 0 reads");
}

#[test]
fn what_waits_for_the_other_side_of_its_branch_is_unknown() {
    // Both are of one warp.
    let turned = HANDOVER
        .replace("if tx == 32 {", "if tx != 32 { if tx == 0 {\n mbarrier.wait(&ready[0], 0)\nB[0] = S[0] } } else {");
    let turned = turned.replace(
        "    } else {\n      if tx == 0 {\n        mbarrier.wait(&ready[0], 0)\n        B[0] = S[0]\n      }\n    }",
        "    }",
    );
    let turned = turned.replace("tx != 32", "tx != 16");
    let report = run_f(&parse(&turned), &[Arg::Output]);
    let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Limit).expect("it is told");
    assert_eq!((found.diagnostic.code, report.diagnostics.count(DiagnosticKind::Deadlock)), ("unknown", 0));
    // No thread on any side arrives.
    let never = HANDOVER.replace("      mbarrier.arrive(&ready[0])\n", "");
    let report = run_f(&parse(&never), &[Arg::Output]);
    assert_eq!(report.diagnostics.count(DiagnosticKind::Deadlock), 1);
}

#[test]
fn a_block_barrier_between_threads_that_wait_is_a_deadlock() {
    let text = "tir.func @f(B: f32[1]) {
      alloc ready: mbarrier.barrier[1] in shared
      for ty in 0..2 bind(threadIdx.y) {
        for tx in 0..128 bind(threadIdx.x) {
          if ty == 0 && tx == 0 {
            mbarrier.init(&ready[0], count = 128)
          }
          gpu.barrier(shared)
          if ty == 0 {
            mbarrier.wait(&ready[0], 0)
          }
          gpu.barrier(shared)
          if ty == 1 {
            mbarrier.arrive(&ready[0])
          }
        }
      }
    }";
    let report = run_f(&parse(text), &[Arg::Output]);
    let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Deadlock).expect("it hangs");
    assert_eq!(found.diagnostic.notes, ["threads 128 to 255 wait at a barrier of the block"]);
}

#[test]
fn roles_that_never_end_come_to_the_limit_of_steps() {
    let text = "tir.func @f(B: f32[2]) {
      alloc ping: mbarrier.barrier[2] in shared
      for ty in 0..2 bind(threadIdx.y) {
        for tx in 0..128 bind(threadIdx.x) {
          if ty == 0 && tx == 0 {
            for s in 0..2 { mbarrier.init(&ping[s], count = 1) }
          }
          gpu.barrier(shared)
          if tx == 0 {
            for step in 0..1000000000 {
              if ty == 0 {
                mbarrier.arrive(&ping[0])
                mbarrier.wait(&ping[1], step % 2)
              } else {
                mbarrier.wait(&ping[0], step % 2)
                mbarrier.arrive(&ping[1])
              }
            }
            B[ty] = 1.0
          }
        }
      }
    }";
    let options = RunOptions { limits: Limits { steps: 3_000_000, ..Limits::default() }, ..RunOptions::default() };
    let report = run(&parse(text), "f", &[Arg::Output], &options).expect("it runs");
    let found = report.diagnostics.iter().next().expect("the limit");
    assert_eq!((found.kind, found.diagnostic.code), (DiagnosticKind::Limit, "limit"));
    // As often as that is enough, all is well.
    let short = text.replace("1000000000", "100");
    let report = run_f(&parse(&short), &[Arg::Output]);
    assert!(report.diagnostics.is_empty(), "{:#?}", report.diagnostics);
}
