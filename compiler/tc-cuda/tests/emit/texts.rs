//! x
use crate::support::*;
#[test]
fn conv() {
    let p = emit("tir.func @f(A: f32[16384], W: f32[32], B: f32[16415]) attributes {noalias} {
  @f_kernel(A, W, B)
}
tir.func @f_kernel(A: f32[16384], W: f32[32], B: f32[16415]) attributes {device, noalias, threaded} {
  for bx in 0i32..513i32 bind(blockIdx.x) {
    alloc BL: f32[1] in local
    alloc WS: f32[8] in shared
    for ty in 0i32..8i32 bind(threadIdx.y) {
      for tx in 0i32..4i32 bind(threadIdx.x) {
        let i = bx * 32 + ty * 4 + tx
        BL[0i32] = 0.0
        for ro in 0i32..4i32 {
          gpu.barrier(shared)
          for ax0 in 0i32..8i32 {
            WS[ax0] = W[ro * 8 + ax0]
          }
          gpu.barrier(shared)
          for ri in 0i32..8i32 unroll {
            if i < 16415 {
              let k = i - ro * 8 - ri
              BL[0i32] = BL[0i32] + if_then_else(0 <= k && k < 16384, A[k], 0.0) * WS[ri]
            }
          }
        }
        if i < 16415 {
          B[i] = BL[0i32]
        }
      }
    }
  }
}
");
    println!("{}\n{:?}", p.source, p.manifest);
}
