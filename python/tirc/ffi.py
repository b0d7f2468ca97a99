"""Kernels as functions of tvm-ffi, which everything that speaks its C interface can call.

f = tirc.ffi.function(kernel)
f(A, B)                          # all arguments; the stream is that of tvm-ffi's environment
"""

from __future__ import annotations

import itertools
from typing import Any

from . import _native
from .errors import ArgumentError

#: Versions of `apache-tvm-ffi` whose C interface is known. Its 0.1 releases have changed it before.
OLDEST, BELOW = (0, 1, 9), (0, 2)

_numbers = itertools.count()


def function(kernel: _native.Kernel) -> Any:
    """`kernel` as a `tvm_ffi.Function`. It takes all arguments, outputs too, and returns nothing."""
    import tvm_ffi

    _check(tvm_ffi.__version__)
    # A function gets into Python through the table of global ones; it does not stay there.
    name = f"tirc.{next(_numbers)}"
    _native.register_ffi(kernel, name, tvm_ffi.libinfo.find_libtvm_ffi())
    try:
        return tvm_ffi.get_global_func(name)
    finally:
        tvm_ffi.registry.remove_global_func(name)


def _check(version: str) -> None:
    digits = [int("".join(itertools.takewhile(str.isdigit, part)) or 0) for part in version.split(".")[:3]]
    if not tuple(digits) >= OLDEST or tuple(digits[:2]) >= BELOW:
        oldest, below = (".".join(map(str, one)) for one in (OLDEST, BELOW))
        raise ArgumentError(
            f"error[tvm-ffi]: `apache-tvm-ffi` {version} is not known here\n"
            f"  = help: install one from {oldest} on and below {below}",
            [],
        )
