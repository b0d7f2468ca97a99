//! Programs against operators in exact arithmetic: what is right is equal bit for bit, what is wrong by less than a
//! tolerance differs, and what cannot be known is not decided.

mod common;

use common::parse;
use tc_sim::field::compare;
use tc_sim::{CheckOptions, CheckReport, FieldVerdict, check_against_definition};

/// `@op` against `@f` of `text`.
fn check(text: &str) -> CheckReport {
    let module = parse(text);
    let report = check_against_definition((&module, "op"), (&module, "f"), &CheckOptions::default()).expect("it runs");
    assert!(report.is_ok(), "on numbers: {:?}", report.diagnostics());
    report
}

fn verdict(text: &str) -> FieldVerdict {
    check(text).field.verdict
}

fn assert_equal(text: &str) {
    let module = parse(text);
    // What is equal exactly may still differ by more than a tolerance, where numbers cancel.
    let field = compare((&module, "op"), (&module, "f"), None, &CheckOptions::default()).expect("it runs");
    assert_eq!((field.verdict, field.n_different, field.n_undecided), (FieldVerdict::Equal, 0, 0), "{text}: {field:?}");
    assert!(field.cells > 0);
}

/// A sum of 64 products, and a program whose loops are `body`.
fn dot(body: &str) -> String {
    format!(
        "te.func @op(A: f32[8, 64], B: f32[64]) -> f32[8] {{
  compute C[i: 8] = sum[k: 64](A[i, k] * B[k])
  return C
}}
tir.func @f(A: f32[8, 64], B: f32[64], C: f32[8]) {{
  alloc P: f32[4] in local
  for i in 0..8 {{
    for j in 0..4 {{
      P[j] = 0.0
    }}
    for k in 0..64 {{
      {body}
    }}
    C[i] = (P[3] + P[1]) + (P[0] + P[2])
  }}
}}
"
    )
}

#[test]
fn the_order_of_a_sum_does_not_matter() {
    let text = dot("P[k % 4] = P[k % 4] + A[i, 63 - k] * B[63 - k]");
    assert!(check(&text).max_abs_err > 0.0, "rounding shows in numbers");
    assert_equal(&text);
    assert_equal(&dot("P[k % 4] = fma(B[k], A[i, k], P[k % 4])"));
}

#[test]
fn a_term_of_no_weight_that_is_missing_shows() {
    // 2^-30 of one term: numbers allow for a hundred times as much.
    let report = check(&dot("P[k % 4] = P[k % 4] + A[i, k] * B[k] * if_then_else(k == 5, 0.99999994, 1.0)"));
    assert_eq!(report.field.verdict, FieldVerdict::Different);
    assert_eq!(report.field.n_different, 8);
    let told = report.field.difference().expect("it differs").message;
    assert_eq!(told, "in exact arithmetic `C[0]` is not what the operator says");
}

/// A sum of f16 products in f32, and a program that takes `term` to `sum` of type `acc`.
fn half(acc: &str, step: &str, end: &str) -> String {
    format!(
        "te.func @op(A: f16[8, 4], B: f16[4]) -> f16[8] {{
  compute S[i: 8] = sum[k: 4](cast<f32>(A[i, k]) * cast<f32>(B[k]))
  compute C[i: 8] = cast<f16>(S[i])
  return C
}}
tir.func @f(A: f16[8, 4], B: f16[4], C: f16[8]) {{
  alloc P: {acc}[1] in local
  for i in 0..8 {{
    P[0] = 0.0
    for k in 0..4 {{
      P[0] = {step}
    }}
    C[i] = {end}
  }}
}}
"
    )
}

#[test]
fn a_rounding_moved_into_the_accumulator_shows() {
    let product = "cast<f32>(A[i, k]) * cast<f32>(B[k])";
    assert_equal(&half("f32", &format!("P[0] + {product}"), "cast<f16>(P[0])"));
    // Each sum is rounded to f16; numbers allow it, since the result is f16 too.
    let rounded = format!("cast<f16>(cast<f32>(P[0]) + {product})");
    assert_eq!(verdict(&half("f16", &rounded, "P[0]")), FieldVerdict::Different);
    // Each product is.
    let rounded = format!("P[0] + cast<f32>(cast<f16>({product}))");
    assert_eq!(verdict(&half("f32", &rounded, "cast<f16>(P[0])")), FieldVerdict::Different);
    // So is each sum of sums that f16 holds by itself.
    let rounded = format!("P[0] + cast<f16>({product})");
    assert_eq!(verdict(&half("f16", &rounded, "P[0]")), FieldVerdict::Different);
}

#[test]
fn a_sum_in_f16_has_no_order_and_where_it_is_rounded_is_not_decided() {
    let text = |body: &str| {
        format!(
            "te.func @op(A: f16[8, 4]) -> f32[8] {{
  compute S[i: 8] = sum[k: 4](A[i, k] * A[i, k])
  compute C[i: 8] = cast<f32>(S[i]) * 0.5
  return C
}}
tir.func @f(A: f16[8, 4], C: f32[8]) {{
  for i in 0..8 {{
    {body}
  }}
}}
"
        )
    };
    let terms = |of: &dyn Fn(&str) -> String| [0, 1, 2, 3].map(|k| of(&format!("A[i, {k}]")));
    let [a, b, c, d] = terms(&|x| format!("{x} * {x}"));
    assert_equal(&text(&format!("C[i] = cast<f32>(({d} + {b}) + ({a} + {c})) * 0.5")));
    // As `legalize-dtype` writes arithmetic in a type that a target lacks: each sum is rounded.
    let narrow = |op: &str, a: &str, b: &str| format!("cast<f16>(cast<f32>({a}) {op} cast<f32>({b}))");
    let [a, b, c, d] = terms(&|x| narrow("*", x, x));
    let tree = narrow("+", &narrow("+", &d, &b), &narrow("+", &a, &c));
    assert_eq!(verdict(&text(&format!("C[i] = cast<f32>({tree}) * 0.5"))), FieldVerdict::Undecided);
    let [a, b, c, d] = terms(&|x| format!("cast<f32>({x}) * cast<f32>({x})"));
    assert_eq!(verdict(&text(&format!("C[i] = ({a} + {b} + {c} + {d}) * 0.5"))), FieldVerdict::Undecided);
}

#[test]
fn other_ops_in_f16_are_those_in_f32_rounded() {
    let text = |op: &str, program: &str| {
        format!(
            "te.func @op(A: f16[64], B: f16[64]) -> f16[64] {{
  compute C[i: 64] = {op}
  return C
}}
tir.func @f(A: f16[64], B: f16[64], C: f16[64]) {{
  for i in 0..64 {{
    C[i] = {program}
  }}
}}
"
        )
    };
    let wide = "cast<f32>(A[i])";
    for (op, program) in [
        ("A[i] * B[i]", format!("cast<f16>({wide} * cast<f32>(B[i]))")),
        ("sigmoid(A[i])", format!("cast<f16>(1.0 / (1.0 + exp(-{wide})))")),
        ("-exp(A[i])", format!("cast<f16>(-exp({wide}))")),
        ("max(A[i], B[i])", format!("cast<f16>(max({wide}, cast<f32>(B[i])))")),
    ] {
        assert_equal(&text(op, &program));
    }
}

/// Attention of one head, by rows: the operator takes the greatest score away first.
const ATTENTION: &str = "te.func @op(Q: f32[4, 8], K: f32[16, 8], V: f32[16, 8]) -> f32[4, 8] {
  compute S[i: 4, j: 16] = sum[d: 8](Q[i, d] * K[j, d])
  compute T[i: 4, j: 16] = S[i, j] * 0.35355338
  compute M[i: 4] = max[j: 16](T[i, j])
  compute E[i: 4, j: 16] = exp(T[i, j] - M[i])
  compute L[i: 4] = sum[j: 16](E[i, j])
  compute O[i: 4, d: 8] = sum[j: 16](E[i, j] / L[i] * V[j, d])
  return O
}
";

/// A pass over the keys, in tiles of four, that takes away the greatest score so far and mends what it has.
fn online(score: &str, mend: &str, e: &str) -> String {
    format!(
        "{ATTENTION}tir.func @f(Q: f32[4, 8], K: f32[16, 8], V: f32[16, 8], O: f32[4, 8]) {{
  alloc M: f32[2] in local
  alloc L: f32[1] in local
  alloc S: f32[4] in local
  alloc W: f32[8] in local
  for i in 0..4 {{
    M[0] = -inf
    L[0] = 0.0
    for d in 0..8 {{
      W[d] = 0.0
    }}
    for t in 0..4 {{
      M[1] = M[0]
      for j in 0..4 {{
        S[j] = 0.0
        for d in 0..8 {{
          S[j] = S[j] + Q[i, d] * K[t * 4 + j, d]
        }}
        S[j] = {score}
        M[1] = max(M[1], S[j])
      }}
      L[0] = L[0] * {mend}
      for d in 0..8 {{
        W[d] = W[d] * {mend}
      }}
      for j in 0..4 {{
        L[0] = L[0] + {e}
        for d in 0..8 {{
          W[d] = W[d] + {e} * V[t * 4 + j, d]
        }}
      }}
      M[0] = M[1]
    }}
    for d in 0..8 {{
      O[i, d] = W[d] / L[0]
    }}
  }}
}}
"
    )
}

#[test]
fn attention_in_one_pass_is_the_operator_bit_for_bit() {
    assert_equal(&online("S[j] * 0.35355338", "exp(M[0] - M[1])", "exp(S[j] - M[1])"));
    // The same to the base of 2, the scale left to the end: it goes through the maximum.
    assert_equal(&online(
        "S[j]",
        "exp2((M[0] - M[1]) * 0.35355338 * 1.44269504)",
        "exp2((S[j] - M[1]) * 0.35355338 * 1.44269504)",
    ));
}

#[test]
fn a_sum_that_is_not_mended_shows_where_numbers_hardly_tell() {
    // The weight of what came before is off by 2^-23.
    let off = online("S[j] * 0.35355338", "exp(M[0] - M[1]) * 1.0000001", "exp(S[j] - M[1])");
    assert_eq!(verdict(&off), FieldVerdict::Different);
}

/// An operator on one number and the program, by their expressions.
fn pointwise(op: &str, program: &str) -> String {
    format!(
        "te.func @op(A: f32[64], B: f32[64]) -> f32[64] {{
  compute C[i: 64] = {op}
  return C
}}
tir.func @f(A: f32[64], B: f32[64], C: f32[64]) {{
  for i in 0..64 {{
    C[i] = {program}
  }}
}}
"
    )
}

#[test]
fn functions_are_what_defines_them() {
    for (op, program) in [
        ("sigmoid(A[i])", "1.0 / (1.0 + exp(-A[i]))"),
        ("tanh(A[i])", "2.0 * sigmoid(A[i] + A[i]) - 1.0"),
        ("exp(A[i]) / exp(B[i])", "exp(A[i] - B[i])"),
        ("max(A[i], B[i]) * 0.3", "max(A[i] * 0.3, B[i] * 0.3)"),
        ("max(A[i] - B[i], 0.0) + B[i]", "max(A[i], B[i])"),
        ("abs(A[i] * B[i])", "abs(A[i]) * abs(B[i])"),
        ("erf(A[i] * 0.5 + B[i] * 0.5)", "erf((A[i] + B[i]) * 0.5)"),
        ("if_then_else(A[i] * 3.0 > B[i] * 3.0, A[i], B[i])", "max(B[i], A[i])"),
        ("cast<f32>(cast<i32>(A[i] * 30.0 + B[i]))", "trunc(B[i] + A[i] * 30.0)"),
    ] {
        assert_equal(&pointwise(op, program));
    }
}

#[test]
fn a_constant_that_is_rounded_shows() {
    assert_eq!(verdict(&pointwise("A[i] / 3.0", "A[i] * 0.33333334")), FieldVerdict::Different);
    assert_eq!(verdict(&pointwise("A[i] / 4.0", "A[i] * 0.25")), FieldVerdict::Equal);
}

#[test]
fn a_constant_that_the_compiler_evaluated_is_not_held_against_the_program() {
    let operator = parse(
        "te.func @op(A: f32[8]) -> f32[8] {
  compute T[i: 8] = 0.1
  compute C[i: 8] = A[i] * (T[i] * 0.3)
  return C
}
",
    );
    let program = |factor: &str| {
        let text = format!("tir.func @f(A: f32[8], C: f32[8]) {{ for i in 0..8 {{ C[i] = A[i] * {factor} }} }}");
        let program = parse(&text);
        compare((&operator, "op"), (&program, "f"), None, &CheckOptions::default()).expect("it runs")
    };
    let evaluated = program("0.03");
    assert_eq!((evaluated.verdict, evaluated.n_undecided), (FieldVerdict::Undecided, 8));
    assert_eq!(evaluated.undecided[0].message, "`0.03` is a constant that was evaluated, and rounded");
    // Those of the operator, and whole numbers, are as they were written.
    assert_eq!(program("0.1").verdict, FieldVerdict::Different);
    assert_eq!(program("3.0").verdict, FieldVerdict::Different);
}

#[test]
fn what_is_not_decided_is_never_wrong() {
    // Both are A; which is greater, a range does not say.
    let ties = pointwise(
        "max(A[i] * 0.1, A[i] * 0.1 + B[i] * 0.0000000001)",
        "max(A[i] * 0.1, B[i] * 0.0000000001 + A[i] * 0.1)",
    );
    assert_ne!(verdict(&ties), FieldVerdict::Different);
    // An exponential of what comes of exponentials has no exponent, and a sum of such exponents no meaning.
    let report = check(&pointwise("exp(exp(A[i]) + exp(B[i]))", "exp(exp(A[i])) * exp(exp(B[i]))"));
    assert_eq!((report.field.verdict, report.field.n_different), (FieldVerdict::Undecided, 0));
    let told = report.field.undecided().expect("it is told");
    assert!(told.message.contains("not decided") && !told.labels.is_empty(), "{told:?}");
    // The same exponents are the same all the same.
    assert_equal(&pointwise("exp(exp(A[i])) + B[i]", "B[i] + exp(exp(A[i]))"));
}

#[test]
fn integers_are_numbers_and_need_no_second_look() {
    let text = "te.func @op(A: i32[8]) -> i32[8] {
  compute B[i: 8] = A[i] * 2i32
  return B
}
tir.func @f(A: i32[8], B: i32[8]) {
  for i in 0..8 {
    B[i] = A[i] + A[i]
  }
}
";
    assert_eq!(verdict(text), FieldVerdict::NotRun);
}

#[test]
fn floats_survive_memory_that_is_shared_with_other_types() {
    let text = "te.func @op(A: f32[32], B: f16[32]) -> f32[32] {
  compute C[i: 32] = A[31 - i] + cast<f32>(B[31 - i])
  return C
}
tir.func @f(A: f32[32], B: f16[32], C: f32[32]) attributes {noalias, threaded} {
  alloc M: u8[128] in shared
  AS = tir.view(M, 0) : f32[32] in shared
  BS = tir.view(M, 0) : f16[32] in shared
  alloc P: f32[1] in local
  for tx in 0..32 bind(threadIdx.x) {
    AS[tx] = A[tx]
    gpu.barrier(shared)
    P[0] = AS[31 - tx]
    gpu.barrier(shared)
    BS[tx] = B[tx]
    gpu.barrier(shared)
    C[tx] = P[0] + cast<f32>(BS[31 - tx])
  }
}
";
    assert_equal(text);
}
