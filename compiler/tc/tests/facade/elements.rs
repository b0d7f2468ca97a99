//! Every element type in operators: each is right on the simulator through the whole pipeline, and its CUDA compiles for
//! GPUs with and without instructions for it.

use std::fmt::Write;
use tc::Compiler;
use tc::ir::Elem;
use tc::run::{CheckOptions, Choice, Machine, cases, check};
use tc::runtime::nvrtc;
use tc::target::Target;

/// The types that memory holds and arithmetic is done on.
fn numbers() -> impl Iterator<Item = Elem> {
    Elem::ALL.iter().copied().filter(|elem| !matches!(elem, Elem::Bool | Elem::Index | Elem::TF32))
}

/// An operator called `name` whose result `B` has the axis `i`, and a schedule that leaves a tail.
fn operator(out: &mut String, name: &str, params: &str, result: &str, body: &str) {
    let _ = write!(
        out,
        "te.func @{name}({params}) -> {result} {{
  {body}
  return B
}}
schedule @s for @{name} {{
  bx, tx = split(B.i, factor = 8)
  bind(bx, blockIdx.x)
  bind(tx, threadIdx.x)
}}
"
    );
}

/// Operators over `elem`.
fn operators(elem: Elem) -> String {
    let mut out = String::new();
    let (ty, one, zero) =
        (elem.name(), if elem.is_float() { "1.0" } else { "1" }, if elem.is_float() { "0.0" } else { "0" });
    let rows = format!("A: {ty}[20, 6]");
    let two = format!("A: {ty}[20], C: {ty}[20]");
    let result = format!("{ty}[20]");
    operator(
        &mut out,
        "elementwise",
        &two,
        &result,
        &format!("compute B[i: 20] = max(A[i] * C[i] + {one}, min(A[i] - C[i], -C[i])) - abs(A[i])"),
    );
    operator(
        &mut out,
        "guarded",
        &two,
        &result,
        &format!("compute B[i: 20] = if_then_else(i > 0 && A[i - 1] < C[i] || C[i] == {zero}, A[i], C[i])"),
    );
    for combiner in ["sum", "prod", "min", "max"] {
        operator(&mut out, combiner, &rows, &result, &format!("compute B[i: 20] = {combiner}[k: 3](A[i, k])"));
    }
    operator(
        &mut out,
        "chosen",
        &rows,
        &result,
        &format!("compute B[i: 20] = sum[k: 6](A[i, k], where = A[i, k] > {zero}, init = A[i, 0] + {one})"),
    );
    operator(
        &mut out,
        "none_chosen",
        &rows,
        &result,
        "compute B[i: 20] = max[k: 6](A[i, k], where = A[i, k] != A[i, k])",
    );
    if elem.bits() < 64 {
        let sum = if elem.is_float() { "f32" } else { "i64" };
        operator(
            &mut out,
            "product",
            &format!("{rows}, W: {ty}[6, 5]"),
            &format!("{sum}[20, 5]"),
            &format!("compute B[i: 20, j: 5] = sum[k: 6](cast<{sum}>(A[i, k]) * cast<{sum}>(W[k, j]))"),
        );
    }
    if elem.is_float() {
        operator(
            &mut out,
            "functions",
            &two,
            &result,
            "compute B[i: 20] = exp(A[i]) + sqrt(abs(A[i])) / (1.0 + sigmoid(A[i])) + tanh(A[i]) * fma(A[i], C[i], 2.0)",
        );
        operator(
            &mut out,
            "roundings",
            &two,
            &result,
            "compute B[i: 20] = floor(A[i]) % 3.0 + round(C[i]) - pow(abs(A[i]), 2.0) - erf(A[i]) + ceil(C[i] * 0.3)",
        );
    } else {
        operator(
            &mut out,
            "integers",
            &two,
            &result,
            "compute B[i: 20] = A[i] / 3 + A[i] % 5 + (C[i] & 7) + (A[i] | 1) + (A[i] ^ C[i]) + (A[i] >> 2) + popcount(C[i]) + tdiv(A[i], 3)",
        );
        operator(
            &mut out,
            "gather",
            &format!("T: f32[9, 3], X: {ty}[20]"),
            "f32[20, 3]",
            "compute B[i: 20, j: 3] = if_then_else(0 <= X[i] && X[i] < 9, T[X[i], j], -1.0)",
        );
    }
    out
}

const TRUTHS: &[(&str, &str, &str, &str)] = &[
    ("logic", "A: bool[20], C: f32[20]", "bool[20]", "compute B[i: 20] = A[i] && C[i] > 0.5 || !A[i]"),
    ("choice", "A: bool[20], C: f16[20]", "f16[20]", "compute B[i: 20] = select(A[i], C[i], -C[i])"),
    ("counted", "A: bool[20, 6]", "i32[20]", "compute B[i: 20] = sum[k: 6](cast<i32>(A[i, k]))"),
    ("masked", "A: bool[20, 6], C: i64[20, 6]", "i64[20]", "compute B[i: 20] = max[k: 6](C[i, k], where = A[i, k])"),
    ("nonzero", "A: i8[20]", "bool[20]", "compute B[i: 20] = cast<bool>(A[i])"),
    ("equal", "A: bool[20], C: bool[20]", "bool[20]", "compute B[i: 20] = A[i] == C[i]"),
];

fn truths() -> String {
    let mut out = String::new();
    TRUTHS.iter().for_each(|(name, params, result, body)| operator(&mut out, name, params, result, body));
    out
}

fn right_and_compiled(name: &str, text: &str) {
    let compiler = Compiler::new();
    let module = compiler.parse(name, text).unwrap_or_else(|why| panic!("{name}: {why}")).module;
    let cases = cases::to_check(&module, Choice::default()).expect("operators");
    assert!(cases.len() > 5);
    for case in &cases {
        let checked = check(&compiler, &module, case, &mut Machine::Simulator, &CheckOptions::default());
        let checked = checked.unwrap_or_else(|why| panic!("{name}, {}: {why}", case.name(&module)));
        assert!(checked.ok, "{name}, {}: {:?}", case.name(&module), checked.diagnostics);
    }
    for target in ["sm_70", "sm_80", "sm_90"] {
        let target = Target::parse(target).expect("one of the targets");
        let compiler = Compiler { target, ..Compiler::new() };
        let source = compiler.compile_to_cuda(name, text, "cuda").unwrap_or_else(|why| panic!("{name}: {why}")).source;
        let compiled = nvrtc::compile(&source, name, &target, &nvrtc::Options::default());
        assert!(compiled.is_ok(), "{name} for {target}: {:?}\n{source}", compiled.err());
    }
}

#[test]
fn floats_are_right_and_compile() {
    for elem in numbers().filter(|elem| elem.is_float()) {
        right_and_compiled(elem.name(), &operators(elem));
    }
}

#[test]
fn integers_are_right_and_compile() {
    for elem in numbers().filter(|elem| !elem.is_float()) {
        right_and_compiled(elem.name(), &operators(elem));
    }
}

#[test]
fn truth_values_are_right_and_compile() {
    right_and_compiled("bool", &truths());
}
