//! Operators and programs that are looked at in part: what a sample computes is what the whole does, and a mistake in it
//! is found.

mod common;

use common::parse;
use tc_sim::{CheckOptions, CheckReport, Definition, Limits, Sizes, Tensor, check_against_definition};

/// Cells of the last stage at a stride that no extent divides.
fn some_cells(shape: &[u64], step: usize) -> Vec<Vec<u64>> {
    let n: u64 = shape.iter().product();
    let unravel = |flat: u64| {
        let mut left = flat;
        let mut index: Vec<u64> = Vec::new();
        for &extent in shape.iter().rev() {
            index.insert(0, left % extent);
            left /= extent;
        }
        index
    };
    (0..n).step_by(step).map(unravel).collect()
}

/// Evaluates `@f` at some cells and whole, on small integers, and compares; returns the steps of both.
fn part_is_of_whole(text: &str, step: usize) -> [u64; 2] {
    let module = parse(text);
    let mut definition = Definition::new(&module, "f", &Sizes::new(), Limits::default()).expect("compiles");
    let inputs: Vec<Tensor> = definition
        .inputs()
        .iter()
        .map(|signature| {
            let n: u64 = signature.shape.iter().product();
            let values: Vec<f64> = (0..n).map(|i| f64::from((i as u32 * 37 + 11) % 7)).collect();
            Tensor::from_f64s(signature.elem, &signature.shape, &values).expect("fits")
        })
        .collect();
    let output = definition.outputs()[0].clone();
    let whole = definition.evaluate(&inputs).expect("runs");
    let cells = some_cells(&output.shape, step);
    let part = definition.evaluate_at(&inputs, std::slice::from_ref(&cells)).expect("runs");
    let flat = |cell: &Vec<u64>| cell.iter().zip(&output.shape).fold(0, |flat, (idx, extent)| flat * extent + idx);
    let all = whole.tensors()[0].to_f64s();
    let want: Vec<f64> = cells.iter().map(|cell| all[flat(cell) as usize]).collect();
    assert_eq!(part.tensors()[0].to_f64s(), want);
    assert!(want.iter().any(|&value| value != 0.0));
    [part.steps, whole.steps]
}

#[test]
fn a_row_that_many_cells_need_is_computed_once() {
    let [part, whole] = part_is_of_whole(
        "te.func @f(Q: f32[64, 16], K: f32[64, 16]) -> f32[64, 16] {
          compute S[i: 64, j: 64] = sum[d: 16](Q[i, d] * K[j, d])
          compute M[i: 64] = max[j: 64](S[i, j])
          compute E[i: 64, j: 64] = S[i, j] - M[i]
          compute O[i: 64, d: 16] = sum[j: 64](E[i, j] * K[j, d])
          return O
        }",
        37,
    );
    // 28 rows of 64: the rows below are computed once for all the cells of `E` that a cell of `O` needs.
    assert!(part < whole, "{part} of {whole} steps");
}

#[test]
fn what_a_condition_leaves_out_is_not_computed() {
    part_is_of_whole(
        "te.func @f(A: f32[100]) -> f32[108] {
          compute S[i: 100] = sum[r: 50](A[(i + r) % 100])
          compute T[i: 4..104] = S[i - 4] * 2.0
          compute B[i: 108] = if_then_else(i >= 4 && i < 100, T[i - 4] + S[99 - i], 1.0)
          return B
        }",
        29,
    );
}

#[test]
fn a_stage_that_says_where_another_reads_is_computed_whole() {
    part_is_of_whole(
        "te.func @f(P: i32[64], A: f32[64, 64]) -> f32[64] {
          compute I[i: 64] = (P[i] * 5 + 3) % 64
          compute S[i: 64] = sum[k: 64](A[i, k])
          compute B[i: 64] = S[cast<index>(I[i])] + S[i]
          return B
        }",
        17,
    );
}

#[test]
fn a_combiner_of_two_results_has_one_stage() {
    part_is_of_whole(
        "te.combiner @best(av: f32, ai: i32, bv: f32, bi: i32) {
          identity {
            yield -inf, 2147483647
          }
          let first = av > bv || av == bv && ai < bi
          yield select(first, av, bv), select(first, ai, bi)
        }
        te.func @f(A: f32[64, 32]) -> f32[64] {
          compute V, I[i: 64] = best[k: 32](A[i, k], cast<i32>(k))
          compute B[i: 64] = V[i] + cast<f32>(I[63 - i])
          return B
        }",
        9,
    );
}

const PRODUCT: &str = "te.func @f(A: f32[256, 64], B: f32[64, 256]) -> f32[256, 256] {
  compute P[i: 256, j: 256] = sum[k: 64](A[i, k] * B[k, j])
  compute C[i: 256, j: 256] = P[i, j] + P[j, i]
  return C
}
";

/// A kernel for each stage; `row` is the row of `P` that the first one writes, `read` what the second reads.
fn product(row: &str, read: &str) -> String {
    format!(
        "tir.func @g(A: f32[256, 64], B: f32[64, 256], C: f32[256, 256]) {{
  alloc P: f32[256, 256] in global
  for i in 0..256 bind(blockIdx.x) {{
    for jo in 0..8 bind(blockIdx.y) {{
      for ji in 0..32 bind(threadIdx.x) {{
        let j = jo * 32 + ji
        P[{row}, j] = 0.0
        for k in 0..64 {{
          P[{row}, j] = P[{row}, j] + A[i, k] * B[k, j]
        }}
      }}
    }}
  }}
  for i in 0..256 bind(blockIdx.x) {{
    for jo in 0..8 bind(blockIdx.y) {{
      for ji in 0..32 bind(threadIdx.x) {{
        let j = jo * 32 + ji
        C[i, j] = P[i, j] + P[{read}]
      }}
    }}
  }}
}}
"
    )
}

fn checked(operator: &str, program: &str) -> CheckReport {
    let (definition, module) = (parse(operator), parse(program));
    let options = CheckOptions { sample_above: 2_000_000, ..CheckOptions::default() };
    check_against_definition((&definition, "f"), (&module, "g"), &options).expect("runs")
}

#[test]
fn of_a_launch_those_blocks_are_run_that_the_next_one_needs() {
    let report = checked(PRODUCT, &product("i", "j, i"));
    assert!(report.is_ok() && report.sampled, "{:?}", report.diagnostics());
    assert!(report.cells > 0 && report.cells < 2 * 256 * 256, "{}", report.cells);
    // All blocks take 100 million steps, twice.
    assert!(report.steps < 60_000_000, "{}", report.steps);
}

#[test]
fn a_mistake_in_a_sample_is_found() {
    for (row, read) in [("255 - i", "j, i"), ("i", "i, j")] {
        let report = checked(PRODUCT, &product(row, read));
        assert!(report.sampled && report.difference.is_some(), "{row}, {read}");
    }
}

#[test]
fn cells_that_a_left_out_block_would_finish_are_not_compared() {
    let operator = "te.func @f(A: f32[4096, 256]) -> f32[4096] {
      compute S[i: 4096] = sum[k: 256](A[i, k])
      return S
    }
";
    let program = |start: &str| {
        format!(
            "tir.func @g(A: f32[4096, 256], S: f32[4096]) {{
  for i in 0..4096 bind(blockIdx.x) {{
    S[i] = {start}
    for k in 0..128 {{
      S[i] = S[i] + A[i, k]
    }}
  }}
  for i in 0..4096 bind(blockIdx.x) {{
    for k in 128..256 {{
      S[i] = S[i] + A[i, k]
    }}
  }}
}}
"
        )
    };
    let report = checked(operator, &program("0.0"));
    assert!(report.is_ok() && report.sampled && report.cells > 0, "{:?}", report.diagnostics());
    assert!(checked(operator, &program("1.0")).difference.is_some());
}

#[test]
fn a_launch_that_says_where_the_next_one_reads_is_run_whole() {
    let operator = "te.func @f(P: i32[4096], A: f32[4096, 256]) -> f32[4096] {
      compute S[i: 4096] = sum[k: 256](A[i, k])
      compute B[i: 4096] = S[cast<index>(P[i] + 8)]
      return B
    }
";
    let program = "tir.func @g(P: i32[4096], A: f32[4096, 256], B: f32[4096]) {
  alloc I: i32[4096] in global
  alloc S: f32[4096] in global
  for i in 0..4096 bind(blockIdx.x) {
    I[i] = P[i] + 8
    S[i] = 0.0
    for k in 0..256 {
      S[i] = S[i] + A[i, k]
    }
  }
  for i in 0..4096 bind(blockIdx.x) {
    B[i] = S[cast<index>(I[i])]
  }
}
";
    let report = checked(operator, program);
    assert!(report.is_ok() && report.cells > 0, "{:?}", report.diagnostics());
    let wrong = checked(operator, &program.replace("P[i] + 8\n", "P[i] + 7\n"));
    assert!(wrong.difference.is_some());
}
