"""What a launch costs the caller: ours beside Triton's, CuPy's and tvm-ffi's, above an empty launch through the driver.

    python3 python/tests/gpu/launch_cost.py

Eight arrays of 1,024 numbers, and a product by tensor maps. Microseconds of one call, the median of 30 rounds, each the median
of 20 runs of 100 calls, waiting in between so that no queue is full; what is above an empty launch is the median over rounds.
"""

import ctypes
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import timeit

import torch

import tirc
import tirc.ffi
import tirc.torch
from tirc.shapes import signature

SUM = """
te.func @sum8(A: f32[1024], B: f32[1024], C: f32[1024], D: f32[1024], E: f32[1024], F: f32[1024], G: f32[1024]) -> f32[1024] {
  compute H[i: 1024] = A[i] + B[i] + C[i] + D[i] + E[i] + F[i] + G[i]
  return H
}
"""

ROUNDS = 30

EMPTY = r"""
#include <cuda.h>
#include <stdlib.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
static int compare(const void *a, const void *b) { double d = *(double *)a - *(double *)b; return d < 0 ? -1 : d > 0; }
/* In the context that is current: what others launch in. */
double empty_launch(int runs) {
  static CUmodule module; static CUfunction f; static CUdeviceptr p; static double times[200];
  const char *ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry f(.param .u64 a,.param .u64 b,.param .u64 c,"
    ".param .u64 d,.param .u64 e,.param .u64 g,.param .u64 h,.param .u64 i) { ret; }\n";
  if (!f && (cuModuleLoadData(&module, ptx) || cuModuleGetFunction(&f, module, "f") || cuMemAlloc(&p, 4096))) return -1;
  void *args[8]; for (int i = 0; i < 8; ++i) args[i] = &p;
  for (int run = 0; run < runs; ++run) {
    double start = now();
    for (int i = 0; i < 100; ++i) if (cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, 0, args, 0)) return -2;
    times[run] = (now() - start) / 100;
    cuCtxSynchronize();
  }
  qsort(times, runs, sizeof(double), compare);
  return times[runs / 2];
}
"""


def empty_launch():
    """The function that measures an empty launch."""
    folder = tempfile.mkdtemp()
    source = pathlib.Path(folder, "empty.c")
    source.write_text(EMPTY)
    library = str(source.with_suffix(".so"))
    flags = ["-O2", "-shared", "-fPIC", "-I/usr/local/cuda/include", "-L/usr/local/cuda/lib64/stubs"]
    subprocess.run(["gcc", *flags, str(source), "-o", library, "-lcuda"], check=True)
    function = ctypes.CDLL(library).empty_launch
    function.restype = ctypes.c_double
    shutil.rmtree(folder)
    torch.zeros(1, device="cuda")
    return lambda: function(20)


def cost(timer: timeit.Timer, n: int = 100, runs: int = 20) -> float:
    timer.timeit(20)
    torch.cuda.synchronize()
    times = []
    for _ in range(runs):
        times.append(timer.timeit(n) / n * 1e6)
        torch.cuda.synchronize()
    return statistics.median(times)


def row(name: str, call: str, base, names: dict, n: int = 100) -> None:
    """A call, as one writes it, beside an empty launch, in turns: the clock of a host that is shared changes by the second."""
    timer = timeit.Timer(call, globals=names)
    pairs = [(base(), cost(timer, n)) for _ in range(ROUNDS)]
    us = statistics.median(us for _, us in pairs)
    above = statistics.median(us - empty for empty, us in pairs)
    print(f"{name:<44}{us:8.2f} us{above:8.2f} us above", flush=True)


def main() -> None:
    base = empty_launch()
    empty = statistics.median(base() for _ in range(ROUNDS))
    print(f"{'the driver, an empty kernel, from C':<44}{empty:8.2f} us")
    arrays = [torch.rand(1024, device="cuda") for _ in range(7)]
    out = torch.empty(1024, device="cuda")
    kernel = tirc.parse(SUM).compile()
    torch.testing.assert_close(kernel(*arrays, out), sum(arrays))
    names = dict(zip("abcdefgh", [*arrays, out], strict=True), kernel=kernel)
    row("tirc, outputs given", "kernel(a, b, c, d, e, f, g, h)", base, names)
    row("tirc, outputs made", "kernel(a, b, c, d, e, f, g)", base, names)
    names["op"] = tirc.torch.register("launch_cost::sum8", kernel)
    row("tirc by torch.library", "op(a, b, c, d, e, f, g)", base, names)
    function = tirc.ffi.function(kernel)
    row("tirc by tvm-ffi", "function(a, b, c, d, e, f, g, h)", base, names | {"function": function})
    others(arrays, out, base)
    one = tirc.parse(
        "te.func @one(A: f32[1024]) -> f32[1024] {\n  compute B[i: 1024] = A[i]\n  return B\n}\n"
    ).compile()
    row("tirc, two arrays", "one(a, h)", base, names | {"one": one})
    maps(base)


def others(arrays, out, base) -> None:
    import cupy
    import triton
    import triton.language as tl

    @triton.jit
    def sum8(a, b, c, d, e, f, g, h, block: tl.constexpr):
        at = tl.program_id(0) * block + tl.arange(0, block)
        total = tl.load(a + at) + tl.load(b + at) + tl.load(c + at) + tl.load(d + at)
        tl.store(h + at, total + tl.load(e + at) + tl.load(f + at) + tl.load(g + at))

    names = dict(zip("abcdefgh", [*arrays, out], strict=True), sum8=sum8)
    row("Triton", "sum8[(8,)](a, b, c, d, e, f, g, h, block=128)", base, names)
    code = """extern "C" __global__ void sum8(const float *a, const float *b, const float *c, const float *d, const float *e,
      const float *f, const float *g, float *h) { int i = blockIdx.x * 128 + threadIdx.x; h[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i]; }"""
    raw = cupy.RawKernel(code, "sum8")
    theirs = [cupy.asarray(one) for one in [*arrays, out]]
    names = dict(zip("abcdefgh", theirs, strict=True), raw=raw, kernel=tirc.parse(SUM).compile())
    row("CuPy RawKernel, arrays of CuPy", "raw((8,), (128,), (a, b, c, d, e, f, g, h))", base, names)
    row("tirc, arrays of CuPy", "kernel(a, b, c, d, e, f, g, h)", base, names)


def maps(base) -> None:
    if torch.cuda.get_device_capability() != (9, 0):
        return
    module = tirc.load("examples/hopper/product.tir")
    kernel = module.compile("product_f16_f16", "persistent", values={"m": 512, "n": 512, "k": 512})
    a, b, c = (torch.randn(param.shape, device="cuda").half() for param in signature(kernel))
    n_maps = len(json.loads(kernel.manifest_json()).get("maps", []))
    # The kernel takes longer than its launch: few calls, so that the queue does not fill.
    names = {"kernel": kernel, "a": a, "b": b, "c": c}
    row(f"tirc, a product with {n_maps} tensor maps", "kernel(a, b, c)", base, names, n=50)


if __name__ == "__main__":
    sys.exit(main())
