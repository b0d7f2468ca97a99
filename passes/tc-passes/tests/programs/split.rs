//! `split-host-device` and `lower-intrin`.

use crate::{becomes, run};

#[test]
fn each_nest_becomes_a_kernel_and_takes_what_it_uses() {
    becomes(
        "split-host-device",
        "tir.func @f(A: f32[64], B: f32[64], C: f32[64], k: i32) attributes {noalias, threaded} {
          alloc T: f32[64] in global
          let half = 64 / 2
          for tx in 0..half bind(threadIdx.x) {
            T[tx] = C[tx]
          }
          for tx in 0..64 bind(threadIdx.x) {
            B[tx] = T[tx] * cast<f32>(k)
          }
        }",
        "tir.func @f(A: f32[64], B: f32[64], C: f32[64], k: i32) attributes {noalias} {
          alloc T: f32[64] in global
          tir.call(C, T, callee = @f_kernel)
          tir.call(B, k, T, callee = @f_kernel_1)
        }
        tir.func @f_kernel(C: f32[64], T: f32[64] in global) attributes {noalias, threaded, device} {
          let half = 64 / 2
          for tx in 0..half bind(threadIdx.x) {
            T[tx] = C[tx]
          }
        }
        tir.func @f_kernel_1(B: f32[64], k: i32, T: f32[64] in global) attributes {noalias, threaded, device} {
          for tx in 0..64 bind(threadIdx.x) {
            B[tx] = T[tx] * cast<f32>(k)
          }
        }",
    );
}

#[test]
fn a_loop_of_the_host_hands_its_variable_over() {
    let (text, found) = run(
        "split-host-device",
        "tir.func @f_kernel(A: f32[1]) {
          A[0] = 0.0
        }
        tir.func @f(A: f32[64]) {
          for s in 0..4 {
            for tx in 0..16 bind(threadIdx.x) {
              A[s * 16 + tx] = 0.0
            }
          }
        }",
    );
    assert!(found.is_empty(), "{found:#?}");
    assert!(text.contains("@f_kernel_1(A, s)"), "{text}");
    assert!(text.contains("tir.func @f_kernel_1(A: f32[64], s: index)"), "{text}");
}

#[test]
fn division_goes_the_cheapest_right_way() {
    becomes(
        "lower-intrin",
        "tir.func @f(A: i32[64], k: i32, u: u32) {
          for i in 0..64 {
            A[i / 8 + i % 8] = k / 8 + k % 16
            A[i / 5] = cast<i32>(u / 7u32)
            A[i % 5] = k / 5i32
            A[i] = k % 5i32
          }
        }",
        "tir.func @f(A: i32[64], k: i32, u: u32) {
          for i in 0..64 {
            A[(i >> 3) + (i & 7)] = (k >> 3) + (k & 15)
            A[tdiv(i, 5)] = cast<i32>(tdiv(u, 7u32))
            A[tmod(i, 5)] = tdiv(k, 5) - select(tmod(k, 5) < 0, 1, 0)
            let $1 = tmod(k, 5)
            A[i] = $1 + select($1 < 0, 5, 0)
          }
        }",
    );
}
