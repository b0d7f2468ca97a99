"""The module that stands for `tvm`: its names, targets, and what runs kernels."""

import sys
import types

import pytest

import tirc.tvm as tvm
from tirc.tvm import te
from tirc.tvm.contrib import nvcc
from tirc.tvm.runtime import Function

BX = te.thread_axis("blockIdx.x")


def scaled():
    """A scale by a number that the caller hands in; the result is the first argument."""
    n = te.var("n")
    alpha = te.var("alpha", "float32")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * alpha, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], BX)
    return s, [B, n, A, alpha]


def test_the_package_is_the_same_te():
    from tirc import te as directly

    assert te is directly and tvm.te is te
    assert tvm.compute is te.compute and tvm.select is tvm.tir.Select and tvm.tir.SizeVar is te.size_var


def test_targets():
    with tvm.target.Target("cuda -arch=sm_90a") as target:
        assert (target.kind, target.arch, str(target)) == ("cuda", "sm_90a", "cuda -arch=sm_90a")
    assert tvm.target.cuda(arch="sm_80").arch == "sm_80"
    assert nvcc.have_tensorcore("7.0") and not nvcc.have_tensorcore("6.1")
    assert nvcc.have_tensorcore(target=tvm.target.Target("cuda -arch=sm_90a"))
    assert not nvcc.have_tensorcore(target=tvm.target.Target("cuda"))


class FakeTensor:
    """As much of PyTorch's tensor as is asked for."""

    def __init__(self, value, dtype="float32", device=None):
        self.value, self.dtype, self.device, self.shape = value, f"torch.{dtype}", device, (len(value),)

    def to(self, device):
        return FakeTensor(self.value, device=device)


class FakeEvent:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        pass

    def synchronize(self):
        pass

    def elapsed_time(self, other):
        return 8.0


@pytest.fixture
def torch(monkeypatch):
    """A module that looks like PyTorch with a GPU."""
    fake = types.ModuleType("torch")
    fake.float32 = "float32"
    fake.as_tensor = FakeTensor
    fake.tensor = lambda value, dtype, device: FakeTensor([value], dtype, device)
    fake.cuda = types.SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 1,
        Event=FakeEvent,
        get_device_capability=lambda device: (9, 0),
    )
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


class FakeKernel:
    """A kernel that keeps what it was called with."""

    cuda = "// CUDA"

    def __init__(self):
        self.calls = []

    def __call__(self, *args):
        self.calls.append(args)


def test_a_kernel_is_called_in_its_own_order(torch):
    s, args = scaled()
    kernel = FakeKernel()
    function = Function(kernel, tvm.lower(s, args, name="scale"))
    device = tvm.cuda(0)
    assert device.exist and device.compute_version == "9.0" and not tvm.cuda(1).exist
    a, b = tvm.nd.array([1.0, 2.0], device), tvm.nd.array([0.0, 0.0], device)
    function(b, 2, a, 3.0)
    # Parameters first, then results; the size follows from the shapes, and the number is an array without dimensions.
    (given,) = kernel.calls
    assert given[0] is a.array and given[2] is b.array and len(given) == 3
    assert (given[1].value, given[1].dtype, given[1].device) == ([3.0], "torch.float32", "cuda")
    assert a.shape == (2,) and a.dtype == "float32" and a.array.device == "cuda:0"
    assert function.entry_name == "scale" and function.get_source() == "// CUDA"
    assert function.imported_modules[0].get_source() == "// CUDA"
    times = function.time_evaluator(function.entry_name, device, number=4, repeat=2)(b, 2, a, 3.0)
    assert times.mean == times.median == 0.002 and len(times.results) == 2 and len(kernel.calls) == 1 + 1 + 8


def test_a_kernel_with_too_few_arguments():
    s, args = scaled()
    with pytest.raises(te.TeValueError, match="takes 4 arguments, and 2 are given"):
        Function(FakeKernel(), tvm.lower(s, args))(1, 2)


def test_what_needs_a_gpu_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(te.TeUnsupported, match="`nd.array` needs PyTorch and a GPU"):
        tvm.nd.array([1.0], tvm.cuda(0))
    assert not tvm.cuda(0).exist


def test_build_compiles_the_text(monkeypatch):
    """`build` hands the text to the native module."""
    seen = []

    def compile(operator, schedule, *, target):
        seen.append((operator, schedule, target))
        return FakeKernel()

    package = sys.modules["tirc"]
    monkeypatch.setattr(
        package,
        "parse",
        lambda text, name: seen.append((text, name)) or types.SimpleNamespace(compile=compile),
        raising=False,
    )
    s, args = scaled()
    function = tvm.build(s, args, "cuda -arch=sm_80", name="scale")
    assert seen == [(str(tvm.lower(s, args, name="scale")), "<te scale>"), ("scale", "te", "sm_80")]
    assert isinstance(function.kernel, FakeKernel)
    assert tvm.build(tvm.lower(s, args), target=tvm.target.Target("cuda")).entry_name == "main"
    assert te.build(s, args).entry_name == "default_function"


def test_build_without_the_native_module(monkeypatch):
    monkeypatch.delattr(sys.modules["tirc"], "parse", raising=False)
    s, args = scaled()
    with pytest.raises(te.TeUnsupported, match="needs the native module of `tirc`") as caught:
        tvm.build(s, args, "cuda")
    assert "tc-run FILE --check" in str(caught.value)


def test_topi():
    Input = te.placeholder((1, 4, 8, 8), name="Input")
    Filter = te.placeholder((4, 2, 3, 3), name="Filter")
    same = tvm.topi.nn.depthwise_conv2d_nchw(Input, Filter, (2, 2), "SAME")
    assert [int(extent) for extent in same.shape] == [1, 8, 4, 4]
    valid = tvm.topi.nn.depthwise_conv2d_nchw(Input, Filter, 1, "VALID")
    assert [int(extent) for extent in valid.shape] == [1, 8, 6, 6]
    padded = tvm.topi.nn.depthwise_conv2d_nchw(Input, Filter, 1, (1, 1))
    assert [int(extent) for extent in padded.shape] == [1, 8, 8, 8]
    with pytest.raises(te.TeValueError, match="the padding"):
        tvm.topi.nn.depthwise_conv2d_nchw(Input, Filter, 1, "ODD")
    with pytest.raises(te.TeError, match="`topi` has no `matmul`"):
        tvm.topi.matmul
