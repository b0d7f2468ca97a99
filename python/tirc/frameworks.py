"""Arrays for results: of the library that the inputs are of."""

from __future__ import annotations

import sys
from typing import Any

from ._types import COMMON
from .errors import ArgumentError


def torch_type(own: str) -> Any:
    """PyTorch's type for the element type `own`."""
    import torch

    return getattr(torch, COMMON[own])


def empty(like: Any, shape: list[int], own: str) -> Any:
    """A new array of the library and on the device of `like`, of elements of type `own`."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return like.new_empty(shape, dtype=getattr(torch, COMMON[own]))
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(like, cupy.ndarray):
        from .arrays import numpy_type

        with like.device:
            return cupy.empty(shape, dtype=numpy_type(own))
    kind = type(like)
    help = "call `tirc.jax.call(kernel, …)`" if kind.__module__.startswith("jax") else "pass the outputs too"
    raise ArgumentError(
        f"error[bad-argument]: outputs are made for PyTorch and CuPy, not for `{kind.__module__}.{kind.__qualname__}`\n"
        f"  = help: {help}",
        [],
    )
