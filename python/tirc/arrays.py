"""NumPy's arrays as the simulator takes them, and back.

NumPy has no bf16 and no 8-bit floats. With `ml_dtypes` they are its types; without it their bits are integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._types import BITS, COMMON
from .errors import ArgumentError

_NAMES = {common: own for own, common in COMMON.items()}

Named = tuple[str, str, list[int], bytes]


def numpy_type(own: str) -> np.dtype[Any]:
    """NumPy's type for the element type `own`."""
    if own not in BITS:
        return np.dtype(COMMON[own])
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(BITS[own])
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, COMMON[own]))
    return found


def given(name: str, array: Any, expected: str | None) -> Named:
    """`array` for the native module. Where its type is given by its bits, `expected` says what it is."""
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(f"error[bad-argument]: argument `{name}` is a masked array", [])
    array = np.asarray(array)
    # The simulator takes the machine's order of bytes.
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    own = _NAMES.get(array.dtype.name)
    if own is not None and own != expected and BITS.get(expected or "") == array.dtype.name:
        own = expected
    if own is None:
        raise ArgumentError(
            f"error[bad-argument]: argument `{name}` has elements of type `{array.dtype}`, which tc lacks", []
        )
    # `ascontiguousarray` makes one dimension of none.
    return name, own, list(array.shape), np.ascontiguousarray(array).tobytes()


def back(named: Named) -> np.ndarray:
    """A result of the native module as an array."""
    _, own, shape, data = named
    return np.frombuffer(bytearray(data), dtype=numpy_type(own)).reshape(shape)
