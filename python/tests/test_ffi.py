"""Kernels as functions of tvm-ffi, as far as they go without a GPU."""

import numpy as np
import pytest

import tirc

tvm_ffi = pytest.importorskip("tvm_ffi")
import tirc.ffi  # noqa: E402

TEXT = "te.func @f<n>(A: f32[n], k: i32) -> f32[n] {\n  compute B[i: n] = A[i]\n  return B\n}\n"


def test_arguments_are_checked_without_python():
    text = TEXT.replace(", k: i32", "")
    f = tirc.ffi.function(tirc.parse(text).compile(target="sm_80"))
    a = tvm_ffi.from_dlpack(np.zeros(4, np.float32))
    for args, wanted in [
        ((1,), "takes 2 arguments, and is given 1"),
        ((a, a), "`A` of `f` is on the host"),
        ((1, 2), "is no array"),
    ]:
        with pytest.raises(ValueError, match=wanted):
            f(*args)


def test_the_name_leaves_no_trace():
    before = set(tvm_ffi.registry.list_global_func_names())
    tirc.ffi.function(tirc.parse(TEXT.replace(", k: i32", "")).compile(target="sm_80"))
    assert set(tvm_ffi.registry.list_global_func_names()) == before


@pytest.mark.parametrize("version", ["0.1.8", "0.2.0", "1.0", "0.0.1.dev3"])
def test_other_versions_are_refused(version):
    with pytest.raises(tirc.ArgumentError, match="is not known here"):
        tirc.ffi._check(version)
    tirc.ffi._check("0.1.15.post2")
