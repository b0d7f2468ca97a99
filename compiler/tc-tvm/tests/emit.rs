//! Programs as TVMScript: a snapshot for each construct, and what is refused, with its place.

use tc_ir::Module;
use tc_support::Diagnostics;
use tc_syntax::{ParseOptions, parse_module};
use tc_tvm::emit::emit_module;

fn module(text: &str) -> Module {
    let (module, found) = parse_module("test.tir", text, &tc_dialects::shared_registry(), &ParseOptions::default());
    assert!(!found.has_errors(), "{:?}", messages(&module, &found));
    module
}

fn messages(module: &Module, found: &Diagnostics) -> Vec<String> {
    found.iter().map(|one| format!("{}: {}", place(module, one), one.message)).collect()
}

fn place(module: &Module, one: &tc_support::Diagnostic) -> String {
    match &one.location {
        tc_support::Location::Span(span) => match module.sources.line_col(span.start) {
            Some((_, at)) => format!("{}:{}", at.line, at.col),
            None => "nowhere".to_string(),
        },
        _ => "nowhere".to_string(),
    }
}

/// The lines of the function, without what stands around it in every text.
fn emitted(text: &str) -> String {
    let all = emit_module(&module(text)).unwrap_or_else(|found| panic!("{:?}", messages(&module(text), &found)));
    let (_, lines) = all.split_once("class Module:\n").expect("a module has a class");
    lines.to_string()
}

fn refused(text: &str) -> Vec<String> {
    let module = module(text);
    let found = emit_module(&module).expect_err("it is refused");
    messages(&module, &found)
}

#[test]
fn loops_of_every_kind() {
    insta::assert_snapshot!(emitted(
        "tir.func @f(A: f32[8, 64]) attributes {noalias} {
  for bx in 0..8 bind(blockIdx.x) {
    for v in 0..2 bind(vthread) {
      for i in 2..10 {
        for u in 0..4 unroll {
          for w in 0..4 vectorize {
            A[bx, v * 4 + i + u + w] = 0.0
          }
        }
      }
      for t in 0..4 attributes {tensorize = @x, auto_unroll_max_step = 16} {
        A[bx, t] = 1.0
      }
      for t in 0..4 unroll(factor = 2) {
      }
    }
  }
}
"
    ));
}

#[test]
fn buffers_keep_scopes_strides_alignment_and_attributes() {
    insta::assert_snapshot!(emitted(
        "tir.func @f(A: f16[64] attributes {align = 32}, s: f16) {
  alloc S: f16[8, 16] in shared attributes {align = 64, strides = [24, 1], stages = 3, swizzle = [1, 3, 3]}
  alloc L: f32[1] in local
  alloc one: f32[1] in shared
  alloc all: u8[64] in shared.dyn
  half = tir.view(all, 32) : f16[16] in shared.dyn
  S[0, 1] = A[3] + s
  L[0] = 0.5
  one[0] = L[0]
  half[2] = S[0, 1]
}
"
    ));
}

#[test]
fn expressions_have_the_brackets_of_python() {
    insta::assert_snapshot!(emitted(
        "tir.func @f(A: f32[64], I: i32[64], B: f32[64]) {
  for i in 0..16 {
    let k = i - (i - (3 - i)) * (i + 1) / 4 % 5
    B[k] = if_then_else(i > 0 && !(i < 3 || k == 2), A[I[i]] / (A[1] - A[0]), -A[i])
    B[i] = select(A[i] > 0.0, max(A[i], 1.0), exp(fma(A[0], A[1], A[2])))
    I[i] = (I[0] ^ 3 & I[1] | 4) + cast<i32>(i) + tdiv(I[2], 3)
    if likely(i < 9) {
      B[i] = round(A[i]) + cast<f32>(i) + inf
    } else {
      B[i] = 1.5e-30
    }
  }
}
"
    ));
}

#[test]
fn what_is_used_twice_or_named_is_bound() {
    insta::assert_snapshot!(emitted(
        "tir.func @f(A: f32[64], lambda: f32[64]) {
  let x = A[0]
  A[0] = 2.0
  A[1] = x * x
  for i in 0..4 {
    let y: f32 = lambda[i]
    lambda[i] = 1.0
    A[i] = y
  }
}
"
    ));
}

#[test]
fn values_handed_on_become_cells() {
    insta::assert_snapshot!(emitted(
        "tir.func @f(A: f32[64], B: f32[1]) {
  a, b = for i in 0..64 carry(x = 0.0, y = -inf) {
    yield y + A[i], max(x, A[i])
  }
  c = if a > 0.0 {
    A[0] = 1.0
    yield a
  } else {
    yield b
  }
  B[0] = c
}
"
    ));
}

#[test]
fn sizes_are_parameters_and_wide_where_they_have_no_bound() {
    insta::assert_snapshot!(emitted(
        "tir.func @f<n: 1..4096 = 100, m>(A: f32[n, 2 * m + 1], B: f32[min(n, m)]) where m % 4 == 0 attributes {noalias} {
  for i in 0..n {
    B[i] = A[i, 3]
  }
}
"
    ));
    let bounded = emitted("tir.func @f<n: 1..4096>(A: f32[n]) {\n  for i in 0..n {\n    A[i] = 0.0\n  }\n}\n");
    assert!(bounded.contains("n: T.int32"), "{bounded}");
}

#[test]
fn threads_exchange_values() {
    insta::assert_snapshot!(emitted(
        "tir.func @f(A: f32[32], B: f32[32]) attributes {threaded} {
  for tx in 0..32 bind(threadIdx.x) {
    let s = gpu.shuffle(A[tx], 1, down, width = 16)
    gpu.barrier(shared)
    gpu.barrier(warp)
    all, top = gpu.all_reduce(s, A[tx], axes = [threadIdx.x]) (a: f32, b: f32, c: f32, d: f32) {
      yield a + c, max(b, d)
    }
    B[tx] = all + exp2.approx(top)
  }
}
"
    ));
}

#[test]
fn vectors_have_ramps() {
    insta::assert_snapshot!(emitted(
        "tir.func @f(A: f32[32], B: f32[32]) {
  B[ramp(4, 1, 4)] = A[ramp(0, 2, 4)] + broadcast(1.0, 4)
}
"
    ));
}

#[test]
fn what_tvm_lacks_is_refused_at_its_line() {
    let text = "tir.func @f(A: tf32[8], B: f32[8]) {\n}\n";
    assert_eq!(refused(text), ["1:1: TVM has no counterpart of the parameter `A` of type `tf32[8]`"]);
    let text = "tir.func @f(A: i32[8]) {
  for tx in 0..32 bind(threadIdx.x) {
    gpu.barrier(cluster)
    tir.atomic_rmw(&A[0], 1i32, kind = add)
    m = gpu.all_reduce(A[1], axes = [threadIdx.x]) (a: i32, b: i32) {
      yield a - b
    }
    A[0] = m
  }
}
";
    insta::assert_snapshot!(refused(text).join("\n"));
    assert_eq!(
        refused("te.func @f(A: f32[8]) -> f32[8] {\n  compute B[i: 8] = A[i]\n  return B\n}\n"),
        ["nowhere: there is no program to write as TVMScript"]
    );
}
