//! The lint of machine code that NVRTC makes and `nvdisasm` prints, without a GPU.

use tc::perf::{FindingKind, MachineCode};
use tc::report;
use tc::target::Target;
use tc::{Compiler, Via};

/// A thread of 1024 holds 100 numbers in a loop, and has 64 registers.
const SPILT: &str = "tir.func @f(A: f32[102400], B: f32[102400]) attributes {noalias} {
  for b in 0..1 bind(blockIdx.x) {
    for t in 0..1024 bind(threadIdx.x) {
      alloc X: f32[100] in local
      for i in 0..100 unroll {
        X[i] = A[i * 1024 + t]
      }
      for k in 0..1000 {
        for i in 0..100 unroll {
          X[i] = X[i] + X[(i * 7 + 3) % 100]
        }
      }
      for i in 0..100 unroll {
        B[i * 1024 + t] = X[i]
      }
    }
  }
}
";

/// The same of 16 numbers, at places that data says.
const INDEXED: &str = "tir.func @f(A: i32[1024], B: i32[1024]) attributes {noalias} {
  for t in 0..1024 bind(threadIdx.x) {
    alloc X: i32[16] in local
    for i in 0..16 {
      X[i] = 0
    }
    for i in 0..1000 {
      X[A[i] & 15] = X[A[i] & 15] + 1
    }
    B[t] = X[A[t] & 15]
  }
}
";

/// The lint of a program, and its text.
fn lint(text: &str, target: &str) -> (MachineCode, String) {
    let compiler = Compiler { target: Target::parse(target).expect("known"), ..Compiler::new() };
    let mut module = compiler.parse("f.tir", text).unwrap_or_else(|why| panic!("{why}")).module;
    compiler.run(&mut module, "cuda").unwrap_or_else(|why| panic!("{why}"));
    let code = compiler.machine_code(&module, Via::Cuda).unwrap_or_else(|why| panic!("{why}"));
    let shown = report::machine_code::text(&code, &module.sources)
        + &tc::support::render::text(&code.diagnostics(), &module.sources, false);
    (code, shown)
}

#[test]
fn registers_that_do_not_last_in_a_loop_are_found() {
    let (code, shown) = lint(SPILT, "sm_90");
    let [one] = &code.kernels[0].findings[..] else { panic!("{shown}") };
    assert!(one.kind == FindingKind::SpillInLoop && one.count > 10 && one.in_loop.is_some(), "{shown}");
    assert!(code.kernels[0].spilled.is_some_and(|(stores, loads)| stores > 0 && loads > 0), "{shown}");
    assert!(shown.contains("--> f.tir:") && shown.contains("1 finding"), "{shown}");
    let (code, shown) = lint(&SPILT.replace("100 unroll", "8 unroll").replace("% 100", "% 8"), "sm_90");
    assert!(code.kernels[0].findings.is_empty() && shown.contains("; no spill"), "{shown}");
}

#[test]
fn an_array_at_places_that_data_says_is_no_spill() {
    let (code, shown) = lint(INDEXED, "sm_80");
    let kinds: Vec<FindingKind> = code.kernels[0].findings.iter().map(|one| one.kind).collect();
    assert!(kinds.contains(&FindingKind::ArrayInLoop), "{shown}");
    assert!(kinds.iter().all(|&kind| kind == FindingKind::ArrayInLoop), "{shown}");
}

#[test]
fn a_target_that_the_disassembler_does_not_know_is_not_looked_at() {
    let (code, shown) = lint(SPILT, "sm_70");
    assert_eq!((code.unknown.len(), code.kernels[0].instructions), (1, None), "{shown}");
    assert!(code.kernels[0].spilled.is_some() && code.kernels[0].resources.is_some(), "{shown}");
    assert!(shown.contains("none in what was looked at") && shown.contains("not looked at: "), "{shown}");
}

#[test]
fn what_nvrtc_refuses_is_an_error() {
    let compiler = Compiler::new();
    let module = compiler.parse("f.tir", SPILT).unwrap_or_else(|why| panic!("{why}")).module;
    assert!(compiler.machine_code(&module, Via::Cuda).is_err());
}
