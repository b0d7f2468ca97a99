//! The passes that only look.

use crate::{parse, pass_info, refuses, run, run_on};
use std::sync::Arc;
use tc_ir::Module;
use tc_pass::PassCx;
use tc_passes::check_races::{Oracle, RaceOracle, Verdict};
use tc_support::{Diagnostic, Location, Severity};
use tc_target::Target;

#[test]
fn memory_is_for_kernels_to_touch() {
    refuses(
        "verify-memory",
        "tir.func @f(A: f32[4]) {\nfor i in 0..4 {\nA[i] = 0.0\n}\n}",
        "nothing binds a loop of `@f`",
    );
    let (_, found) = run(
        "verify-memory",
        "tir.func @f(A: f32[4]) {\nA[0] = 1.0\nfor tx in 0..4 bind(threadIdx.x) {\nA[tx] = 0.0\n}\n}",
    );
    assert!(found.iter().any(|diagnostic| diagnostic.message.contains("outside every launch nest")), "{found:#?}");
    let (_, found) =
        run("verify-memory", "tir.func @f(A: f32[4]) {\nfor tx in 0..4 bind(threadIdx.x) {\nA[tx] = 0.0\n}\n}");
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn limits_are_those_of_the_target() {
    let threads = |x: i64, y: i64| {
        format!(
            "tir.func @f() {{\nfor ty in 0..{y} bind(threadIdx.y) {{\nfor tx in 0..{x} bind(threadIdx.x) {{\n}}\n}}\n}}"
        )
    };
    refuses(
        "verify-gpu-limits",
        &threads(64, 32),
        "a block of 2048 threads is too large for `sm_80`, which allows 1024",
    );
    refuses("verify-gpu-limits", &threads(2048, 1), "`threadIdx.x` runs to 2048");
    let (_, found) = run("verify-gpu-limits", &threads(32, 32));
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn shared_memory_is_told_buffer_by_buffer() {
    let text = "tir.func @f() {
      for tx in 0..32 bind(threadIdx.x) {
        alloc X: f32[128, 64] in shared attributes {strides = [68, 1]}
        alloc Y: f16[40000] in shared
        alloc Z: f32[100000] in local
      }
    }";
    let mut module = parse(text);
    let mut cx = PassCx::new(vec![Arc::new(Target::parse("sm_75").unwrap())]);
    run_on(&mut module, "verify-gpu-limits", &mut cx);
    let diagnostic = cx.diagnostics.iter().next().expect("a diagnostic");
    assert_eq!(diagnostic.message, "a block needs 114,816 bytes of shared memory, and `sm_75` has 65,536");
    assert_eq!(diagnostic.notes, ["`X: f32[128, 64]`: 34,816 bytes", "`Y: f16[40000]`: 80,000 bytes"]);
    let (_, found) = run("verify-gpu-limits", text);
    assert!(found.is_empty(), "sm_80 has room: {found:#?}");
}

#[test]
fn an_index_that_leaves_its_buffer_is_told_with_the_point() {
    let (_, found) = run("check-bounds", "tir.func @f(A: f32[16]) {\nfor i in 0..17 {\nA[i] = 0.0\n}\n}");
    let diagnostic = found.iter().next().expect("a diagnostic");
    assert_eq!(diagnostic.message, "`A` has 16 elements, and the index `i` reaches 16");
    assert_eq!(diagnostic.notes, ["where `i` = 16"]);
    let (_, found) = run("check-bounds", "tir.func @f(A: f32[8, 8]) {\nfor i in 0..8 {\nA[i, i - 1] = 0.0\n}\n}");
    assert_eq!(
        found.iter().next().expect("a diagnostic").message,
        "dimension 1 of `A` has 8 elements, and the index `i - 1` falls to -1"
    );
}

#[test]
fn guards_ranges_and_vectors_are_understood() {
    let (_, found) = run(
        "check-bounds strict",
        "tir.func @f<n>(A: f32[16384], B: f32[n], C: f32[64]) {
          for bx in 0..513 bind(blockIdx.x) {
            for tx in 0..32 bind(threadIdx.x) {
              let i = bx * 32 + tx
              for r in 0..32 {
                let x = if_then_else(0 <= i - r && i - r < 16384, A[i - r], 0.0)
                if i < n {
                  B[i] = x
                }
                C[ramp(r / 8 * 8, 1, 8)] = broadcast(x, 8)
              }
            }
          }
        }",
    );
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn what_is_not_proved_is_a_remark_with_the_inequality() {
    let (_, found) = run("check-bounds", "tir.func @f(A: f32[16], k: i32) {\nif k >= 0 {\nA[k] = 0.0\n}\n}");
    let diagnostic = found.iter().next().expect("a diagnostic");
    assert_eq!((diagnostic.severity, diagnostic.message.as_str()), (Severity::Remark, "cannot prove `k < 16`"));
}

const RACY: &str = "tir.func @f(A: f32[4]) attributes {noalias} {
  for tx in 0..32 bind(threadIdx.x) {
    A[tx / 8] = cast<f32>(tx)
  }
}";

#[test]
fn a_race_that_cannot_be_excluded_is_told_and_same_values_apart() {
    let first = |text: &str| run("check-races", text).1.into_iter().next().map(|diagnostic| diagnostic.message);
    assert_eq!(
        first(RACY).expect("a diagnostic"),
        "cannot prove that no two threads write different values to one cell of `A`"
    );
    let same = RACY.replace("cast<f32>(tx)", "1.0");
    assert_eq!(first(&same).expect("a diagnostic"), "several threads write the same value to one cell of `A`");
    assert_eq!(first(&RACY.replace("tx / 8", "tx")), None);
    let blocks =
        "tir.func @f(A: f32[4]) attributes {noalias} {\nfor bx in 0..8 bind(blockIdx.x) {\nA[0] = A[0] + 1.0\n}\n}";
    assert_eq!(first(blocks).expect("a diagnostic"), "cannot prove that no two blocks touch one cell of `A`");
}

#[test]
fn a_missing_barrier_is_found_in_a_threaded_program() {
    let program = |barrier: &str| {
        format!(
            "tir.func @f(A: f32[32], B: f32[32]) attributes {{noalias, threaded}} {{
              for tx in 0..32 bind(threadIdx.x) {{
                alloc S: f32[32] in shared
                S[tx] = A[tx]
                {barrier}
                B[tx] = S[31 - tx]
              }}
            }}"
        )
    };
    let (_, found) = run("check-races", &program(""));
    assert_eq!(
        found.iter().next().expect("a diagnostic").message,
        "no barrier keeps two threads from touching one cell of `S`"
    );
    assert!(run("check-races", &program("gpu.barrier(shared)")).1.is_empty());
}

struct Says(Verdict);

impl RaceOracle for Says {
    fn races(&self, _: &Module, symbol: &str) -> Verdict {
        assert_eq!(symbol, "f");
        self.0.clone()
    }
}

#[test]
fn the_oracle_decides_what_is_not_proved() {
    let ask = |verdict: Verdict| {
        let mut module = parse(RACY);
        let mut cx = PassCx::new(vec![Arc::new(Oracle(Arc::new(Says(verdict))))]);
        run_on(&mut module, "check-races", &mut cx);
        cx.diagnostics
    };
    assert!(ask(Verdict::Clean).is_empty());
    let race = Diagnostic::warning("race", Location::None, "two threads");
    assert!(ask(Verdict::Race(race.into())).has_errors());
    let unknown = ask(Verdict::Unknown("it runs too long".to_string()));
    assert!(!unknown.has_errors() && unknown.iter().next().expect("a diagnostic").notes[0].contains("runs too long"));
}

#[test]
fn every_pass_has_a_page_with_the_headings() {
    for info in tc_passes::table::PASSES {
        let page = pass_info(info.name).page;
        for heading in ["# Input form", "# Output form", "# Example", "# Algorithm", "# Limits", "# References"] {
            assert!(page.contains(heading), "`{}` has no `{heading}`", info.name);
        }
        assert!(info.summary().ends_with('.'), "`{}`: {}", info.name, info.summary());
    }
}
