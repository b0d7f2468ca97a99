//! `inline`.

use crate::{becomes, refuses};

#[test]
fn a_tensor_goes_into_its_reads() {
    becomes(
        "inline,dce",
        "te.func @f(A: f32[16]) -> f32[16] {
          compute B[i: 18] = if_then_else(1 <= i && i < 17, A[i - 1], 0.0)
          compute C[i: 16] = B[i] + B[i + 2]
          return C
        }",
        "te.func @f(A: f32[16]) -> f32[16] {
          compute C[i: 16] = if_then_else(1 <= i && i < 17, A[i - 1], 0.0)
            + if_then_else(1 <= i + 2 && i + 2 < 17, A[i + 2 - 1], 0.0)
          return C
        }",
    );
}

#[test]
fn a_reduction_is_not_inlined() {
    let text = "te.func @f(A: f32[16, 4]) -> f32[16] {
          compute S[i: 16] = sum[k: 4](A[i, k])
          compute C[i: 16] = S[i] + 1.0
          return C
        }";
    becomes("inline", text, text);
    refuses("inline tensors=S", text, "is a reduction");
    refuses("inline tensors=T", text, "computes no tensor `T`");
    refuses("inline tensors=C", text, "is returned");
}

#[test]
fn calls_are_inlined_callees_first() {
    becomes(
        "inline",
        "tir.func @f(A: f32[4], B: f32[4]) {
          tir.call(B, A, callee = @g)
        }
        tir.func @g(X: f32[4], Y: f32[4]) {
          tir.call(X, callee = @h)
          X[1] = Y[1]
        }
        tir.func @h(Z: f32[4]) {
          Z[0] = 0.0
        }",
        "tir.func @f(A: f32[4], B: f32[4]) {
          B[0] = 0.0
          B[1] = A[1]
        }",
    );
    refuses(
        "inline",
        "tir.func @g(X: f32[4]) {
          tir.call(X, callee = @g)
        }",
        "calls itself",
    );
    refuses(
        "inline",
        "tir.func @g(X: f32[4]) {
          X[0] = 0.0
        }
        tir.func @f(A: f32[8]) {
          tir.call(A, callee = @g)
        }",
        "its parameter `X` is `f32[4]`, and `f32[8]` is given",
    );
}
