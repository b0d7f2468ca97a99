//! `unroll-loop` and `loop-partition`.

use crate::{becomes, refuses, run};

#[test]
fn copies_have_their_indices_folded() {
    becomes(
        "unroll-loop",
        "tir.func @f(A: f32[64], B: f32[1]) {
          for ro in 0..4 {
            for ri in 0..3 unroll {
              B[0] = B[0] + A[ro * 3 + ri] * A[ri * 2]
            }
          }
        }",
        "tir.func @f(A: f32[64], B: f32[1]) {
          for ro in 0..4 {
            B[0] = B[0] + A[ro * 3] * A[0]
            B[0] = B[0] + A[ro * 3 + 1] * A[2]
            B[0] = B[0] + A[ro * 3 + 2] * A[4]
          }
        }",
    );
}

#[test]
fn carried_values_go_from_copy_to_copy() {
    becomes(
        "unroll-loop",
        "tir.func @f(A: f32[3], B: f32[1]) {
          s = for i in 0..3 unroll carry(acc = 0.0) {
            yield acc + A[i]
          }
          B[0] = s
        }",
        "tir.func @f(A: f32[3], B: f32[1]) {
          let s = 0.0 + A[0] + A[1] + A[2]
          B[0] = s
        }",
    );
}

#[test]
fn a_factor_copies_what_is_left_over() {
    becomes(
        "unroll-loop",
        "tir.func @f(A: f32[10]) {
          for i in 0..7 unroll(factor = 3) {
            A[i] = 1.0
          }
        }",
        "tir.func @f(A: f32[10]) {
          for i in 0..2 {
            A[i * 3] = 1.0
            A[i * 3 + 1] = 1.0
            A[i * 3 + 2] = 1.0
          }
          A[6] = 1.0
        }",
    );
    let (text, found) = run(
        "unroll-loop",
        "tir.func @f<n>(A: f32[n]) {
          for i in 0..n unroll(factor = 4) {
            A[i] = 1.0
          }
        }",
    );
    assert!(
        found.is_empty() && text.matches("for i in").count() == 2 && text.contains("(n - 0) / 4")
            || text.contains("n / 4"),
        "{text}"
    );
}

#[test]
fn serial_loops_are_unrolled_within_the_limit() {
    let before = "tir.func @f(A: f32[64]) {
          for i in 0..8 {
            for j in 0..2 {
              A[i * 2 + j] = 1.0
            }
          }
        }";
    let inner = "tir.func @f(A: f32[64]) {
          for i in 0..8 {
            A[i * 2] = 1.0
            A[i * 2 + 1] = 1.0
          }
        }";
    becomes("unroll-loop auto-max-step=4", before, inner);
    becomes("unroll-loop auto-max-extent=2", before, inner);
    becomes(
        "unroll-loop auto-max-step=4 explicit-unroll=false",
        before,
        &before.replace("for j in 0..2 {", "for j in 0..2 unroll {"),
    );
    becomes(
        "unroll-loop",
        &before.replace("for i in 0..8 {", "for i in 0..8 attributes {auto_unroll_max_step = 4} {"),
        inner,
    );
}

#[test]
fn what_cannot_be_unrolled_is_refused() {
    refuses(
        "unroll-loop",
        "tir.func @f<n>(A: f32[n]) {
          for i in 0..n unroll {
            A[i] = 1.0
          }
        }",
        "are not constant",
    );
    refuses(
        "unroll-loop",
        "tir.func @f(A: f32[9]) {
          for i in 0..4000 unroll {
            for j in 0..4000 unroll {
              A[0] = A[1] + 1.0
            }
          }
        }",
        "more than 1000000 ops",
    );
}

const TAIL: &str = "tir.func @f<n>(A: f32[n]) {
      for i in 0..(n + 31) / 32 {
        for j in 0..32 {
          if likely(i * 32 + j < n) {
            A[i * 32 + j] = 0.0
          }
        }
      }
    }";

#[test]
fn a_loop_is_divided_where_its_guard_begins_to_fail() {
    let (text, found) = run("loop-partition,simplify", TAIL);
    assert!(found.is_empty(), "{found:#?}");
    assert_eq!(text.matches("if ").count(), 1, "{text}");
    assert_eq!(text.matches("for i in").count(), 2, "{text}");
    assert!(text.contains("for i in 0..n / 32 {"), "{text}");
    assert!(!text.contains("likely"), "{text}");
}

#[test]
fn constant_loops_are_divided_only_when_asked_for() {
    let before = "tir.func @f(A: f32[100]) {
          for i in 0..4 {
            for j in 0..32 {
              if likely(i * 32 + j < 100) {
                A[i * 32 + j] = 0.0
              }
            }
          }
        }";
    becomes("loop-partition", before, &before.replace("likely(i * 32 + j < 100)", "i * 32 + j < 100"));
    becomes(
        "loop-partition partition-const-loop,simplify",
        before,
        "tir.func @f(A: f32[100]) {
          for i in 0..3 {
            for j in 0..32 {
              A[i * 32 + j] = 0.0
            }
          }
          for j in 0..4 {
            A[j + 96] = 0.0
          }
        }",
    );
}

#[test]
fn blocks_choose_between_two_bodies_and_threads_are_never_divided() {
    let (text, found) = run(
        "loop-partition partition-const-loop,simplify",
        "tir.func @f(A: f32[100]) {
          for bx in 0..4 bind(blockIdx.x) {
            for tx in 0..32 bind(threadIdx.x) {
              if likely(bx * 32 + tx < 100) {
                A[bx * 32 + tx] = 0.0
              }
            }
          }
        }",
    );
    assert!(found.is_empty(), "{found:#?}");
    assert!(text.contains("if bx < 3 {"), "{text}");
    assert_eq!(text.matches("bind(threadIdx.x)").count(), 1, "{text}");
    assert_eq!(text.matches("A[").count(), 2, "{text}");
}

#[test]
fn a_hint_divides_a_constant_loop_at_any_condition() {
    becomes(
        "loop-partition,simplify",
        "tir.func @f(A: f32[16]) {
          for i in 0..16 attributes {loop_partition_hint = true} {
            if i < 12 {
              A[i] = 1.0
            } else {
              A[i] = 2.0
            }
          }
        }",
        "tir.func @f(A: f32[16]) {
          for i in 0..12 {
            A[i] = 1.0
          }
          for i in 12..16 {
            A[i] = 2.0
          }
        }",
    );
}
