//! `storage-flatten` and `hoist-alloc`.

use crate::{becomes, refuses};

#[test]
fn elements_lie_in_row_major_order() {
    becomes(
        "storage-flatten",
        "tir.func @f(A: f32[6, 4, 512, 32], s: f32[]) {
          for b in 0..6 {
            for c in 0..4 {
              for h in 0..512 {
                for w in 0..32 {
                  A[b, c, h, w] = A[b, 1, h, 3] + s[]
                }
              }
            }
          }
        }",
        "tir.func @f(A: f32[393216], s: f32[1]) {
          for b in 0..6 {
            for c in 0..4 {
              for h in 0..512 {
                for w in 0..32 {
                  A[b * 65536 + c * 16384 + h * 32 + w] = A[b * 65536 + h * 32 + 16387] + s[0]
                }
              }
            }
          }
        }",
    );
}

#[test]
fn strides_are_applied_and_taken_off() {
    becomes(
        "storage-flatten",
        "tir.func @f(A: f32[8, 16]) {
          alloc S: f32[8, 16] in shared attributes {strides = [17, 1]}
          for i in 0..8 {
            S[i, 3] = A[i, i]
          }
        }",
        "tir.func @f(A: f32[128]) {
          alloc S: f32[136] in shared
          for i in 0..8 {
            S[i * 17 + 3] = A[i * 16 + i]
          }
        }",
    );
}

#[test]
fn symbolic_extents_become_arithmetic() {
    becomes(
        "storage-flatten",
        "tir.func @f<n, m>(A: f32[n, m + 1, 4]) {
          for i in 0..n {
            A[i, 2, 1] = 0.0
          }
        }",
        "tir.func @f<n, m>(A: f32[n * ((m + 1) * 4)]) {
          for i in 0..n {
            A[i * ((m + 1) * 4) + 9] = 0.0
          }
        }",
    );
}

#[test]
fn vectors_and_references_are_flattened() {
    becomes(
        "storage-flatten",
        "tir.func @f(A: f32[4, 8], B: f32[4, 8]) {
          for i in 0..4 {
            A[i, ramp(0, 1, 8)] = B[i, ramp(0, 1, 8)]
          }
        }",
        "tir.func @f(A: f32[32], B: f32[32]) {
          for i in 0..4 {
            A[ramp(i * 8, 1, 8)] = B[ramp(i * 8, 1, 8)]
          }
        }",
    );
}

#[test]
fn a_region_with_gaps_is_refused() {
    refuses(
        "storage-flatten",
        "tir.func @f(A: f16[64, 64], S: f16[2, 4] in shared) {
          gpu.copy_async(&S[0 : 2, 0 : 4], &A[0 : 2, 0 : 4])
        }",
        "has gaps",
    );
}

#[test]
fn allocs_go_to_the_head_of_their_kernel_in_the_order_of_first_use() {
    becomes(
        "hoist-alloc",
        "tir.func @f(W: f32[8], B: f32[4]) {
          for bx in 0..4 bind(blockIdx.x) {
            for tx in 0..8 bind(threadIdx.x) {
              for ro in 0..8 {
                alloc T: f32[8] in global
                alloc Y: f32[1] in local
                alloc X: f32[8] in shared
                X[tx] = W[ro]
                Y[0] = X[ro]
                T[bx] = Y[0]
              }
            }
          }
        }",
        "tir.func @f(W: f32[8], B: f32[4]) {
          alloc T: f32[8] in global
          for bx in 0..4 bind(blockIdx.x) {
            alloc X: f32[8] in shared
            alloc Y: f32[1] in local
            for tx in 0..8 bind(threadIdx.x) {
              for ro in 0..8 {
                X[tx] = W[ro]
                Y[0] = X[ro]
                T[bx] = Y[0]
              }
            }
          }
        }",
    );
}

#[test]
fn an_alloc_outside_goes_into_the_only_nest_that_uses_it() {
    let two = |second: &str| {
        format!(
            "tir.func @f(A: f32[8]) {{
              alloc S: f32[8] in shared
              for tx in 0..8 bind(threadIdx.x) {{
                S[tx] = A[tx]
              }}
              for tx in 0..8 bind(threadIdx.x) {{
                {second}
              }}
            }}"
        )
    };
    becomes(
        "hoist-alloc",
        &two("A[tx] = 0.0"),
        "tir.func @f(A: f32[8]) {
          for tx in 0..8 bind(threadIdx.x) {
            alloc S: f32[8] in shared
            S[tx] = A[tx]
          }
          for tx in 0..8 bind(threadIdx.x) {
            A[tx] = 0.0
          }
        }",
    );
    refuses("hoist-alloc", &two("A[tx] = S[tx]"), "does not outlive a kernel");
}
