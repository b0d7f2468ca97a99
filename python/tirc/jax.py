"""Kernels on arrays of JAX: inputs without a copy, results new.

    B = tirc.jax.call(kernel, A)

JAX's arrays never change, and it works on streams of its own: a call waits for its inputs and for the kernels. Inside of
`jax.jit` there are no arrays yet, and a call is refused.
"""

from __future__ import annotations

from typing import Any

import jax

from . import _native
from .errors import ArgumentError
from .shapes import output_shapes, signature


def call(kernel: _native.Kernel, *inputs: Any, **sizes: int) -> Any:
    """What `kernel` makes of `inputs`: an array, or a tuple of them."""
    for one in inputs:
        if isinstance(one, jax.core.Tracer):
            raise ArgumentError(
                "error[bad-argument]: a kernel cannot be called while JAX traces a function\n"
                "  = help: call it outside of `jax.jit`",
                [],
            )
    params = signature(kernel)
    arrays = [one for one in inputs if isinstance(one, jax.Array)]
    if not arrays:
        raise ArgumentError("error[bad-argument]: no argument is an array of JAX", [])
    jax.block_until_ready(arrays)
    written = [param for param in params if param.access == "write"]
    shapes = output_shapes(params, [getattr(one, "shape", None) for one in inputs], sizes)
    _, device = arrays[0].__dlpack_device__()
    made = [_native.DeviceArray(shape, param.dtype, device) for param, shape in zip(written, shapes)]
    given, new = iter(inputs), iter(made)
    kernel(*[next(new if param.access == "write" else given) for param in params], stream=0, **sizes)
    _native.synchronize(device)
    results = tuple(jax.dlpack.from_dlpack(one) for one in made)
    return results[0] if len(results) == 1 else results
