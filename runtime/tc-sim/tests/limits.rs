//! Hostile programs: they end, and say why.

mod common;

use common::{line, parse};
use tc_sim::{Arg, DiagnosticKind, Limits, RunOptions, run};

fn options(steps: u64) -> RunOptions {
    RunOptions { limits: Limits { steps, ..Limits::default() }, ..RunOptions::default() }
}

#[test]
fn an_endless_loop_ends_at_the_step_limit() {
    let module = parse(
        "tir.func @f(B: f32[1]) {
           for k in 0..9223372036854775807 {
             B[0] = 1.0
           }
         }",
    );
    let report = run(&module, "f", &[Arg::Output], &options(1_000_000)).expect("it starts");
    let found = report.diagnostics.iter().find(|found| found.kind == DiagnosticKind::Limit).expect("a limit");
    assert_eq!(found.diagnostic.message, "the program needs more than 1000000 steps");
    assert_eq!(line(&module, &found.diagnostic.location), 2);
    assert!(found.diagnostic.help.as_ref().is_some_and(|help| help.contains("--step-limit")));
}

#[test]
fn a_launch_of_too_many_blocks_ends_at_the_step_limit() {
    let module = parse(
        "tir.func @f(B: f32[1]) {
           for b in 0..4000000000 bind(blockIdx.x) {
             if b == 0 {
               B[0] = 1.0
             }
           }
         }",
    );
    let report = run(&module, "f", &[Arg::Output], &options(1_000_000)).expect("it starts");
    assert!(report.diagnostics.iter().any(|found| found.kind == DiagnosticKind::Limit));
}

#[test]
fn buffers_are_compared_with_the_limit_before_they_are_made() {
    for (text, what) in [
        ("tir.func @f(B: f32[1000000, 1000000]) {\nB[0, 0] = 1.0\n}", "B"),
        (
            "tir.func @f(B: f32[1]) {\nfor t in 0..1024 bind(threadIdx.x) {\nalloc L: f32[100000000] in local\nL[0] = 1.0\n}\n}",
            "L",
        ),
        ("tir.func @f(B: f32[1]) {\nalloc T: f64[4000000000] in global\nT[0] = 1.0f64\n}", "T"),
    ] {
        let module = parse(text);
        let error = run(&module, "f", &[Arg::Output], &RunOptions::default()).expect_err("too large");
        assert_eq!(error.code, "limit", "{error:?}");
        assert!(error.message.contains(what), "{error:?}");
    }
}

#[test]
fn a_launch_that_is_too_large_is_refused() {
    let module = parse("tir.func @f(B: f32[1]) {\nfor t in 0..1000000000 bind(threadIdx.x) {\nB[0] = 1.0\n}\n}");
    let error = run(&module, "f", &[Arg::Output], &RunOptions::default()).expect_err("too large");
    assert_eq!(error.code, "limit", "{error:?}");
    assert_eq!(line(&module, &error.location), 2);
}

#[test]
fn recursion_is_refused() {
    let module = parse("tir.func @f(B: f32[1]) {\nfor k in 0..2 {\n@f(B)\n}\n}");
    let error = run(&module, "f", &[Arg::Output], &RunOptions::default()).expect_err("recursion");
    assert_eq!(error.code, "recursion", "{error:?}");
}

#[test]
fn sizes_without_values_and_outside_their_range() {
    let module = parse("tir.func @f<n: 1..8>(B: f32[n]) {\nB[0] = 1.0\n}");
    let error = run(&module, "f", &[Arg::Output], &RunOptions::default()).expect_err("no size");
    assert_eq!(error.message, "the size `n` of `@f` has no value");
    let sizes = tc_sim::Sizes::from([("n".to_string(), 9)]);
    let error = run(&module, "f", &[Arg::Output], &RunOptions { sizes, ..RunOptions::default() }).expect_err("9");
    assert_eq!(error.message, "`n` is 9, outside 1..8");
}

#[test]
fn a_chain_of_doublings_over_sizes_is_looked_at_once() {
    let mut text = String::from("tir.func @f<n = 1>(B: f32[1]) {\nlet x0 = n\n");
    for step in 0..80 {
        text += &format!("let x{} = min(x{step}, x{step})\n", step + 1);
    }
    text += "for t in 0..x80 bind(threadIdx.x) {\nB[t] = 1.0\n}\n}";
    let module = parse(&text);
    let report = run(&module, "f", &[Arg::Output], &RunOptions::default()).expect("runs");
    assert!(report.diagnostics.is_empty(), "{:?}", report.diagnostics);
}

#[test]
fn huge_inputs_are_refused_before_they_are_made() {
    let check = tc_sim::CheckOptions::default();
    let module = parse("tir.func @f(A: f32[1000000, 1000000], B: f32[1]) {\nB[0] = A[0, 0]\n}");
    let error = tc_sim::agree(&module, &module, "f", &check).expect_err("too large");
    assert_eq!(error.code, "limit", "{error:?}");
    let module = parse("te.func @f(A: f32[1000000, 1000000]) -> f32[1] {\ncompute B[i: 1] = A[i, i]\nreturn B\n}");
    let error = tc_sim::agree(&module, &module, "f", &check).expect_err("too large");
    assert_eq!(error.code, "limit", "{error:?}");
}

#[test]
fn an_endless_reduction_ends_at_the_step_limit() {
    let module = parse("te.func @f(A: f32[1]) -> f32[1] {\ncompute B[i: 1] = sum[k: 1000000000000](A[0])\nreturn B\n}");
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    let mut definition = tc_sim::Definition::new(&module, "f", &tc_sim::Sizes::new(), limits).expect("compiles");
    let one = tc_sim::Tensor::from_f64s(tc_ir::Elem::F32, &[1], &[1.0]).expect("fits");
    let evaluation = definition.evaluate(&[one]).expect("it starts");
    assert!(evaluation.diagnostics.iter().any(|found| found.kind == DiagnosticKind::Limit));
}
