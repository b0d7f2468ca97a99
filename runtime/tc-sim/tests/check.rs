//! Programs against definitions, and against each other.

mod common;

use common::parse;
use tc_sim::{CheckOptions, DiagnosticKind, Limits, agree, check_against_definition};

const CONV1D: &str = "te.func @conv1d(A: f32[16384], W: f32[32]) -> f32[16415] {
  compute B[i: 16415] = sum[r: 32](
    if_then_else(0 <= i - r && i - r < 16384, A[i - r], 0.0) * W[r])
  return B
}
";

/// The fourth schedule of the 1-D convolution, as `schedule` prints it; threaded if barriers are given.
fn v4(attributes: &str, barrier: &str) -> String {
    format!(
        "tir.func @conv1d(A: f32[16384], W: f32[32], B: f32[16415]) attributes {{noalias{attributes}}} {{
  for bx in 0..513 bind(blockIdx.x) {{
    alloc BL: f32[1] in local
    alloc WS: f32[4] in shared
    for tx in 0..32 bind(threadIdx.x) {{
      let i = bx * 32 + tx
      BL[0] = 0.0
      for ro in 0..8 {{
        {barrier}
        for ax0 in 0..4 {{
          WS[ax0] = W[ro * 4 + ax0]
        }}
        {barrier}
        for ri in 0..4 {{
          if likely(i < 16415) {{
            let k = i - ro * 4 - ri
            BL[0] = BL[0] + if_then_else(0 <= k && k < 16384, A[k], 0.0) * WS[ri]
          }}
        }}
      }}
      if likely(i < 16415) {{
        B[i] = BL[0]
      }}
    }}
  }}
}}
"
    )
}

#[test]
fn the_fourth_convolution_is_right_phased_and_threaded() {
    let definition = parse(CONV1D);
    for (attributes, barrier) in [("", ""), (", threaded", "gpu.barrier(shared)")] {
        let module = parse(&v4(attributes, barrier));
        let report = check_against_definition((&definition, "conv1d"), (&module, "conv1d"), &CheckOptions::default());
        let report = report.expect("runs");
        assert!(report.is_ok(), "{:?}", report.diagnostics());
        assert_eq!((report.cells, report.inputs, report.sampled), (2 * 16415, 2, false));
        assert_eq!((report.max_abs_err, report.races), (0.0, 0));
        assert!(report.same_value_races > 0, "every thread stores the same values of W");
    }
}

#[test]
fn the_fourth_convolution_without_its_barriers_races() {
    let definition = parse(CONV1D);
    let text = v4(", threaded", "");
    let module = parse(&text);
    let report = check_against_definition((&definition, "conv1d"), (&module, "conv1d"), &CheckOptions::default());
    let report = report.expect("runs");
    assert!(!report.is_ok() && report.races > 0, "{report:?}");
    let race = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Race).expect("a race");
    // A thread writes the next values of W while others may still read the last ones.
    assert_eq!(common::lines(&module, &race.diagnostic), [11, 17]);
    assert_eq!(race.buffer.as_deref(), Some("WS"));
}

#[test]
fn one_barrier_of_two_is_enough_where_every_thread_wrote_what_it_reads() {
    let definition = parse(CONV1D);
    let text = v4(", threaded", "gpu.barrier(shared)").replacen("gpu.barrier(shared)", "", 1);
    let module = parse(&text);
    let report = check_against_definition((&definition, "conv1d"), (&module, "conv1d"), &CheckOptions::default());
    let report = report.expect("runs");
    // What is left orders the writes of a round and the reads after them, not those reads and the next round.
    assert!(report.races > 0, "{report:?}");
    let last = v4(", threaded", "gpu.barrier(shared)");
    let at = last.rfind("gpu.barrier(shared)").expect("two");
    let module = parse(&format!("{}{}", &last[..at], &last[at + "gpu.barrier(shared)".len()..]));
    let report = check_against_definition((&definition, "conv1d"), (&module, "conv1d"), &CheckOptions::default());
    assert!(report.expect("runs").is_ok());
}

#[test]
fn a_wrong_program_is_told_with_its_first_cell() {
    let definition = parse(CONV1D);
    let module = parse(&v4("", "").replace("k < 16384", "k < 16383"));
    let report = check_against_definition((&definition, "conv1d"), (&module, "conv1d"), &CheckOptions::default());
    let report = report.expect("runs");
    let difference = report.difference.expect("cells differ");
    assert_eq!((difference.buffer.as_str(), difference.index[0], difference.inputs), ("B", 16383, "integers"));
    assert!((1..=2 * 32).contains(&report.n_different), "{}", report.n_different);
}

#[test]
fn the_naive_convolution_is_sampled() {
    let module = parse(
        "te.func @naive(A: f32[16384], W: f32[32]) -> f32[16415] {
  compute B[n: 16415] = sum[k: 16415](
    if_then_else(k < 0 || k >= 16384 || n - k < 0 || n - k >= 32, 0.0, A[k] * W[n - k]))
  return B
}
tir.func @program(A: f32[16384], W: f32[32], B: f32[16415]) {
  for n in 0..16415 bind(blockIdx.x) {
    B[n] = 0.0
    for k in 0..16415 {
      B[n] = B[n] + if_then_else(k < 0 || k >= 16384 || n - k < 0 || n - k >= 32, 0.0, A[k] * W[n - k])
    }
  }
}",
    );
    let options = CheckOptions { sample_above: 20_000_000, ..CheckOptions::default() };
    let report = check_against_definition((&module, "naive"), (&module, "program"), &options).expect("runs");
    assert!(report.is_ok(), "{:?}", report.diagnostics());
    assert!(report.sampled && report.cells >= 2 * 16, "{}", report.cells);
}

#[test]
fn what_the_operator_does_wrong_is_its_fault_where_the_program_was_ended_before() {
    let module = parse(
        "te.func @op(A: i32[64]) -> (i32[64], i32[4096]) {
  compute P[i: 64] = A[i] * 0 + 2147483647 + cast<i32>(i)
  compute Q[i: 4096] = A[i % 64]
  return P, Q
}
tir.func @program(A: i32[64], P: i32[64], Q: i32[4096]) {
  for i in 0..64 {
    P[i] = A[i] * 0 + 2147483647 + cast<i32>(i)
  }
  for i in 0..4096 {
    Q[i] = A[i % 64]
  }
}",
    );
    let limits = Limits { steps: 3_000, ..Limits::default() };
    let options = CheckOptions { limits, ..CheckOptions::default() };
    let report = check_against_definition((&module, "op"), (&module, "program"), &options).expect("runs");
    assert!(
        report.diagnostics.count(DiagnosticKind::Limit) > 0 && report.diagnostics.count(DiagnosticKind::Arithmetic) > 0
    );
    let why = report.at_fault().expect("the operator is at fault");
    assert!(why.message.contains("overflow"), "{}", why.message);
}

/// A dot product of rows, in one order and in another.
fn dot(order: &str) -> String {
    format!(
        "tir.func @f(A: f32[64, 256], B: f32[64]) {{
           for i in 0..64 bind(blockIdx.x) {{
             s = for k in 0..256 carry(a = 0.0) {{
               yield a + A[i, {order}] * A[63 - i, {order}]
             }}
             B[i] = s
           }}
         }}"
    )
}

#[test]
fn versions_agree_up_to_the_order_of_sums() {
    let (before, after) = (parse(&dot("k")), parse(&dot("255 - k")));
    let report = agree(&before, &after, "f", &CheckOptions::default()).expect("runs");
    assert!(report.agrees(), "{report}");
    assert_eq!(report.to_string(), "agreed on 128 cells of 2 inputs");
    let wrong = parse(&dot("max(k, 1)"));
    let report = agree(&before, &wrong, "f", &CheckOptions::default()).expect("runs");
    let difference = report.difference.expect("a term is missing");
    assert_eq!(difference.inputs, "integers");
}

#[test]
fn a_rounding_that_is_not_of_the_order_is_found() {
    // Products rounded to half precision differ by far more than sums in single precision may.
    let term = "A[i, k] * A[63 - i, k]";
    let before = parse(&dot("k").replace(term, "A[i, k] * 0.7 * A[63 - i, k]"));
    let after = parse(&dot("k").replace(term, "cast<f32>(cast<bf16>(A[i, k] * 0.7)) * A[63 - i, k]"));
    let report = agree(&before, &after, "f", &CheckOptions::default()).expect("runs");
    assert!(!report.agrees());
}

#[test]
fn a_new_diagnostic_is_a_disagreement() {
    let before = parse(&v4(", threaded", "gpu.barrier(shared)"));
    let after = parse(&v4(", threaded", ""));
    let report = agree(&before, &after, "conv1d", &CheckOptions::default()).expect("runs");
    assert!(report.difference.is_none() && !report.new_diagnostics.is_empty(), "{report}");
    assert_eq!(report.new_diagnostics[0].kind, DiagnosticKind::Race);
}

#[test]
fn flattening_and_dividing_are_no_change() {
    let before = parse(
        "tir.func @f(A: f32[8, 16], B: f32[16, 8]) {
           for i in 0..8 bind(blockIdx.x) {
             for j in 0..16 bind(threadIdx.x) {
               B[j, i] = A[i, j]
             }
           }
         }",
    );
    let after = parse(
        "tir.func @f(A: f32[128], B: f32[128]) {
           @f_kernel(A, B)
         }
         tir.func @f_kernel(A: f32[128], B: f32[128]) attributes {device, noalias, threaded} {
           for i in 0i32..8i32 bind(blockIdx.x) {
             for j in 0i32..16i32 bind(threadIdx.x) {
               B[j * 8i32 + i] = A[i * 16i32 + j]
             }
           }
         }",
    );
    let report = agree(&before, &after, "f", &CheckOptions::default()).expect("runs");
    assert!(report.agrees(), "{report}");
    assert_eq!(report.cells, 256);
}

#[test]
fn what_a_program_updates_in_place_is_an_input_as_well() {
    let before = parse("tir.func @f(X: f32[8]) {\nfor t in 0..8 bind(threadIdx.x) {\nX[t] = X[t] * 2.0\n}\n}");
    let after = parse("tir.func @f(X: f32[8]) {\nfor t in 0..8 bind(threadIdx.x) {\nX[t] = X[t] + X[t]\n}\n}");
    let report = agree(&before, &after, "f", &CheckOptions::default()).expect("runs");
    assert!(report.agrees(), "{report}");
    assert_eq!(report.cells, 16);
}

#[test]
fn an_operator_and_its_program_agree() {
    let before = parse(CONV1D);
    let report = agree(&before, &parse(&v4("", "")), "conv1d", &CheckOptions::default()).expect("runs");
    assert!(report.agrees(), "{report}");
    let other = parse(
        &CONV1D.replace("A[i - r], 0.0) * W[r]", "W[r] * A[i - r], 0.0 * W[r])").replace("* W[r])))", "* W[r]))"),
    );
    let report = agree(&before, &other, "conv1d", &CheckOptions::default()).expect("runs");
    assert!(report.agrees(), "{report}");
}

#[test]
fn the_same_diagnostics_come_with_one_core_and_with_many() {
    let module = parse(
        "tir.func @f(A: f32[512], B: f32[512], C: f32[512]) {
           for b in 0..512 bind(blockIdx.x) {
             B[b / 2] = A[b]
             C[b] = B[511 - b]
           }
         }",
    );
    let args = [common::floats(&vec![1.5; 512]), tc_sim::Arg::Output, tc_sim::Arg::Output];
    let text = |serial: bool| {
        let options = tc_sim::RunOptions { serial, ..Default::default() };
        let report = tc_sim::run(&module, "f", &args, &options).expect("runs");
        format!("{:?}", report.diagnostics)
    };
    assert_eq!(text(true), text(false));
}

#[test]
fn a_cell_that_only_the_first_version_writes_is_a_difference() {
    // Neither version writes all cells, so that a cell no thread writes is nothing new.
    let text = |n: u32| format!("tir.func @f(B: f32[8]) {{\nfor t in 0..{n} bind(threadIdx.x) {{\nB[t] = 1.0\n}}\n}}");
    let report = agree(&parse(&text(6)), &parse(&text(5)), "f", &CheckOptions::default()).expect("runs");
    let difference = report.difference.expect("cell 5 is lost");
    assert_eq!((difference.index, difference.found.as_str()), (vec![5], "not written"));
    assert!(agree(&parse(&text(6)), &parse(&text(6)), "f", &CheckOptions::default()).expect("runs").agrees());
}

#[test]
fn large_operators_are_compared_at_some_of_their_cells() {
    let text = |order: &str| {
        format!(
            "te.func @f(A: f32[1024, 1024], B: f32[1024, 1024]) -> f32[1024, 1024] {{
               compute C[i: 1024, j: 1024] = sum[k: 1024](A[i, {order}] * B[{order}, j])
               return C
             }}"
        )
    };
    let options = CheckOptions { sample_above: 4_000_000, ..CheckOptions::default() };
    let report = agree(&parse(&text("k")), &parse(&text("1023 - k")), "f", &options).expect("runs");
    assert!(report.agrees() && report.sampled, "{report}");
    let report = agree(&parse(&text("k")), &parse(&text("max(k, 1)")), "f", &options).expect("runs");
    assert!(!report.agrees());
}

#[test]
fn strides_that_were_flattened_are_no_change() {
    let before = parse(
        "tir.func @f(A: f32[8, 16] attributes {strides = [17, 1]}, B: f32[8, 16] attributes {strides = [1, 9]}) {
           for i in 0..8 bind(blockIdx.x) {
             for j in 0..16 bind(threadIdx.x) {
               B[i, j] = A[i, j] + 1.0
             }
           }
         }",
    );
    let flat = |stride: u32| {
        parse(&format!(
            "tir.func @f(A: f32[136], B: f32[144]) {{
               for i in 0..8 bind(blockIdx.x) {{
                 for j in 0..16 bind(threadIdx.x) {{
                   B[i + j * 9] = A[i * {stride} + j] + 1.0
                 }}
               }}
             }}"
        ))
    };
    let report = agree(&before, &flat(17), "f", &CheckOptions::default()).expect("runs");
    assert!(report.agrees() && report.cells == 256, "{report}");
    assert!(!agree(&before, &flat(16), "f", &CheckOptions::default()).expect("runs").agrees());
}
