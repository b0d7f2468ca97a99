//! What kernels take of a thread, by machine code that NVRTC makes without a GPU.

use tc::target::Target;
use tc::{Compiler, Via};

/// A kernel in which each thread sums up an array of its own whose indices are not known.
const GATHER: &str = "tir.func @f(A: f32[1024], I: i32[1024], B: f32[1024]) attributes {noalias} {
  for bx in 0..8 bind(blockIdx.x) {
    for tx in 0..128 bind(threadIdx.x) {
      alloc X: f32[64] in local
      for i in 0..64 {
        X[i] = A[i * 16]
      }
      for i in 0..64 {
        X[I[i] & 63] = X[I[i + 64] & 63] + 1.0
      }
      B[bx * 128 + tx] = X[I[tx] & 63]
    }
  }
}
";

#[test]
fn an_array_without_registers_is_local_memory() {
    for target in Target::all() {
        let compiler = Compiler { target: *target, ..Compiler::new() };
        let mut module = compiler.parse("f.tir", GATHER).unwrap_or_else(|why| panic!("{why}")).module;
        compiler.run(&mut module, "cuda").unwrap_or_else(|why| panic!("{why}"));
        let found = compiler.kernel_resources(&module, Via::Cuda).unwrap_or_else(|why| panic!("{why}"));
        let kernels: Vec<&str> = found.iter().map(|one| one.kernel.as_str()).collect();
        assert_eq!(kernels, ["f_kernel"], "{target}");
        assert!((8..=255).contains(&found[0].registers), "{target}: {found:?}");
        assert_eq!(found[0].local_bytes, 64 * 4, "{target}: {found:?}");
    }
}
