"""Kernels on arrays of PyTorch, CuPy and JAX. Wants a GPU: `scripts/device/python`."""

import gc
import json

import numpy as np
import pytest
import torch

import tirc
from tirc.shapes import signature

SCALE = """
te.func @scale<n, m>(A: f32[n, m]) -> f32[n, m] {
  compute B[i: n, j: m] = A[i, j] * 2.0
  return B
}
"""

ROWS = """
te.func @center<n, m>(A: f32[n, m]) -> (f32[n], f32[n, m]) {
  compute M[i: n] = sum[k: m](A[i, k])
  compute C[i: n, j: m] = A[i, j] - M[i] / cast<f32>(m)
  return M, C
}
"""


@pytest.fixture(scope="module")
def scale():
    return tirc.parse(SCALE).compile(symbolic=True)


def test_inputs_alone_make_the_outputs(scale):
    for shape in [(3, 5), (1, 1), (1000, 77), (0, 4), (3, 5)]:
        a = torch.rand(shape, device="cuda")
        b = scale(a)
        assert b.shape == a.shape and b.device == a.device
        assert torch.equal(b, a * 2)


def test_outputs_are_filled_and_returned(scale):
    a, b = torch.rand(8, 9, device="cuda"), torch.zeros(8, 9, device="cuda")
    assert scale(a, b) is b
    assert torch.equal(b, a * 2)


def test_several_kernels_with_temporaries_and_results():
    center = tirc.parse(ROWS).compile(symbolic=True)
    a = torch.rand(65, 300, device="cuda")
    m, c = center(a)
    torch.testing.assert_close(m, a.sum(1))
    torch.testing.assert_close(c, a - a.mean(1, keepdim=True))


def test_fixed_sizes_are_checked():
    kernel = tirc.parse(SCALE).compile(values={"n": 4, "m": 8})
    assert kernel(torch.ones(4, 8, device="cuda")).shape == (4, 8)
    with pytest.raises(tirc.ArgumentError, match=r"expected the shape \[4, 8\], found \[4, 9\]"):
        kernel(torch.ones(4, 9, device="cuda"))


@pytest.mark.parametrize(
    "own, kind",
    [
        ("f16", torch.float16),
        ("bf16", torch.bfloat16),
        ("i32", torch.int32),
        ("u8", torch.uint8),
        ("f64", torch.float64),
    ],
)
def test_types(own, kind):
    text = SCALE.replace("f32", own).replace("2.0", "2" if own[0] in "iu" else "2.0")
    kernel = tirc.parse(text).compile(symbolic=True)
    a = torch.arange(40, device="cuda").reshape(5, 8).to(kind)
    assert torch.equal(kernel(a), a * 2)


def test_the_current_stream_is_used(scale):
    side = torch.cuda.Stream()
    a = torch.rand(1 << 12, 1 << 12, device="cuda")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)
        a.add_(1)
        b = scale(a)
    assert not side.query()
    side.synchronize()
    assert torch.equal(b, a * 2)
    c = scale(a, stream=side)
    side.synchronize()
    assert torch.equal(c, a * 2)


def test_a_graph_replays_and_outlives_its_kernel():
    kernel = tirc.parse(ROWS).compile(symbolic=True)
    a = torch.rand(32, 64, device="cuda")
    kernel(a)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        m, c = kernel(a)
    del kernel
    gc.collect()
    for _ in range(3):
        a.copy_(torch.rand(32, 64, device="cuda"))
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(c, a - a.mean(1, keepdim=True))


@pytest.mark.skipif(torch.cuda.get_device_capability() != (9, 0), reason="bulk copies are those of Hopper")
def test_tensor_maps():
    module = tirc.load("examples/hopper/product.tir")
    kernel = module.compile("product_f16", "persistent")
    assert json.loads(kernel.manifest_json())["maps"]
    a, b = (torch.randn(param.shape, device="cuda").half() for param in signature(kernel)[:2])
    wanted = a.float() @ b.float().T
    for _ in range(3):
        # Other addresses are other maps.
        a, b = a.clone(), b.clone()
        torch.testing.assert_close(kernel(a, b).float(), wanted, rtol=1e-2, atol=0.5)


def test_wrong_arguments_say_what_is_expected(scale):
    a = torch.rand(4, 6, device="cuda")
    wrong = [
        (lambda: scale(a.half()), "has elements of type `f16`, and `f32` is expected"),
        (lambda: scale(a.cpu()), "is on the host"),
        (lambda: scale(a.T), "does not lie dense in memory"),
        (lambda: scale(a[0]), r"expected 2 dimensions, found the shape \[6\]"),
        (lambda: scale(a, a), "`B` of `scale` is written, and shares memory with `A`"),
        (lambda: scale(a, torch.empty(6, 4, device="cuda")), r"expected the shape \[4, 6\], found \[6, 4\]"),
        (lambda: scale(a, a, a), "takes 2 arguments, and is given 3"),
        (lambda: scale("a"), "and an array on a GPU is expected"),
        (lambda: scale(a, n=5), r"found \[4, 6\]"),
        (lambda: scale(a, k=5), "has no size `k`"),
        (lambda: scale(a, stream="fast"), "a stream of CUDA is expected"),
        (lambda: scale(np.zeros((4, 6), np.float32)), "is on the host"),
    ]
    for call, text in wrong:
        with pytest.raises(tirc.ArgumentError, match=text):
            call()
    flat = torch.rand(25, device="cuda")[1:].reshape(4, 6)
    with pytest.raises(tirc.ArgumentError, match="which is no multiple of 16 bytes"):
        scale(flat)
    assert torch.equal(scale(a), a * 2)


def test_code_for_an_older_gpu_runs_and_for_another_is_refused():
    a = torch.ones(2, 2, device="cuda")
    assert torch.equal(tirc.parse(SCALE).compile(symbolic=True, target="sm_75")(a), a * 2)
    other = "sm_90a" if tirc.default_target() != "sm_90a" else "sm_120a"
    if other in tirc.targets():
        with pytest.raises(tirc.DeviceError, match="does not run on"):
            tirc.parse(SCALE).compile(symbolic=True, target=other)(a)


def test_cupy(scale):
    cupy = pytest.importorskip("cupy")
    a = cupy.random.rand(7, 11, dtype=cupy.float32)
    b = scale(a)
    assert isinstance(b, cupy.ndarray) and bool((b == a * 2).all())
    with cupy.cuda.Stream(non_blocking=True) as stream:
        c = scale(a)
        stream.synchronize()
    assert bool((c == a * 2).all())
    with pytest.raises(tirc.ArgumentError, match="does not lie dense"):
        scale(a.T)


def test_jax(scale):
    jax = pytest.importorskip("jax")
    import tirc.jax

    a = jax.numpy.arange(12, dtype="float32").reshape(3, 4)
    b = tirc.jax.call(scale, a)
    assert isinstance(b, jax.Array) and (np.asarray(b) == np.asarray(a) * 2).all()
    m, c = tirc.jax.call(tirc.parse(ROWS).compile(symbolic=True), a)
    np.testing.assert_allclose(np.asarray(c), np.asarray(a) - np.asarray(a).mean(1, keepdims=True), atol=1e-5)
    with pytest.raises(tirc.ArgumentError, match="tirc.jax.call"):
        scale(a)
    with pytest.raises(tirc.ArgumentError, match="outside of `jax.jit`"):
        jax.jit(lambda x: tirc.jax.call(scale, x))(a)


def test_tvm_ffi(scale):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    import tirc.ffi

    f = tirc.ffi.function(scale)
    a, b = torch.rand(3, 5, device="cuda"), torch.zeros(3, 5, device="cuda")
    f(a, b)
    assert torch.equal(b, a * 2)
    f(tvm_ffi.from_dlpack(a), tvm_ffi.from_dlpack(b))
    with pytest.raises(ValueError, match="has elements of type `f16`"):
        f(a.half(), b)
    with pytest.raises(ValueError, match="pass the outputs too"):
        f(a)


def test_threads_call_while_the_cache_is_cleared():
    import threading

    import tirc.cache

    failed = []

    def work(nth):
        try:
            for round in range(3):
                kernel = tirc.parse(SCALE.replace("2.0", f"{nth}.0")).compile(symbolic=True)
                a = torch.rand(10, 10 + round, device="cuda")
                assert torch.equal(kernel(a), a * nth)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(nth,)) for nth in range(1, 9)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        tirc.cache.clear()
    for thread in threads:
        thread.join()
    assert not failed, failed


def test_arrays_like_those_of_a_call_before_are_checked_all_the_same(scale):
    a, b = torch.rand(6, 8, device="cuda"), torch.zeros(6, 8, device="cuda")
    for _ in range(3):
        assert torch.equal(scale(a, b), a * 2)
    # The same shape and another stride, type, or memory that is shared.
    with pytest.raises(tirc.ArgumentError, match="does not lie dense"):
        scale(torch.rand(8, 6, device="cuda").t(), b)
    with pytest.raises(tirc.ArgumentError, match="has elements of type `f16`"):
        scale(a.half(), b)
    with pytest.raises(tirc.ArgumentError, match="shares memory"):
        scale(a, a)
    both = torch.rand(7, 8, device="cuda")
    with pytest.raises(tirc.ArgumentError, match="shares memory"):
        scale(both[:6], both[1:])
    with pytest.raises(tirc.ArgumentError, match="is on the host"):
        scale(a.cpu(), b)
    # Memory that is apart, many shapes in turn, another stream, and a tensor whose shape changes in place.
    assert torch.equal(scale(both[:6], b), both[:6] * 2)
    for n in [1, 9, 6, 9, 1, 17, 33, 65, 5, 12, 6, 2]:
        c = torch.rand(n, 8, device="cuda")
        assert torch.equal(scale(c, torch.empty_like(c)), c * 2)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        c = a + 1
        scale(c, b)
    stream.synchronize()
    assert torch.equal(b, (a + 1) * 2)
    a.resize_(3, 8)
    with pytest.raises(tirc.ArgumentError):
        scale(a, b)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="wants two GPUs")
def test_another_gpu(scale):
    here, there = (torch.rand(4, 5, device=f"cuda:{gpu}") for gpu in range(2))
    # Loading on a GPU, and launching there, leave the current one.
    for current in range(2):
        with torch.cuda.device(current):
            fresh = tirc.parse(SCALE).compile(symbolic=True)
            for a in [here, there, here]:
                b = fresh(a)
                assert torch.cuda.current_device() == current
                assert b.device == a.device and torch.equal(b, a * 2)
                assert torch.equal(fresh(a, torch.empty_like(a)), a * 2)
            del fresh
            assert torch.cuda.current_device() == current
    with pytest.raises(tirc.ArgumentError, match="is on GPU 0, and `A` on GPU 1"):
        scale(there, torch.empty_like(here))
    with torch.cuda.device(1):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            b = scale(there + 1)
        stream.synchronize()
        assert torch.equal(b, (there + 1) * 2)
        assert torch.equal(scale(here), here * 2)
    graph = torch.cuda.CUDAGraph()
    # PyTorch's default stream for captures stays on the GPU of its first use.
    with torch.cuda.device(1), torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        b = scale(there)
    there.copy_(torch.rand(4, 5))
    graph.replay()
    torch.cuda.synchronize(1)
    assert torch.equal(b, there * 2)
