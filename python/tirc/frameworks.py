"""Arrays for results: of the library that the inputs are of."""

from __future__ import annotations

import sys
from typing import Any

from .errors import ArgumentError

_TORCH = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
}


def torch_type(own: str) -> Any:
    """PyTorch's type for the element type `own`."""
    import torch

    return getattr(torch, _TORCH[own])


def empty(like: Any, shape: list[int], own: str) -> Any:
    """A new array of the library and on the device of `like`, of elements of type `own`."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.empty(shape, dtype=getattr(torch, _TORCH[own]), device=like.device)
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
