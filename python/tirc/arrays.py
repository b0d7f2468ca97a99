"""NumPy's arrays as the simulator takes them, and back.

NumPy has no bf16 and no 8-bit floats. With `ml_dtypes` they are its types; without it their bits are integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ArgumentError

#: By tc's name: the name in `ml_dtypes`, and the integers that have as many bits.
_ML = {
    "bf16": ("bfloat16", "uint16"),
    "f8e4m3": ("float8_e4m3fn", "uint8"),
    "f8e5m2": ("float8_e5m2", "uint8"),
}
_OWN = {
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
    "f32": "float32",
    "f64": "float64",
}
_NAMES = {name: own for own, name in _OWN.items()} | {name: own for own, (name, _) in _ML.items()}

Named = tuple[str, str, list[int], bytes]


def numpy_type(own: str) -> np.dtype[Any]:
    """NumPy's type for the element type `own`."""
    if own in _OWN:
        return np.dtype(_OWN[own])
    name, bits = _ML[own]
    try:
        import ml_dtypes
    except ImportError:
        return np.dtype(bits)
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def given(name: str, array: Any, expected: str | None) -> Named:
    """`array` for the native module. Where its type is given by its bits, `expected` says what it is."""
    if isinstance(array, np.ma.MaskedArray):
        raise ArgumentError(f"error[bad-argument]: argument `{name}` is a masked array", [])
    array = np.asarray(array)
    # The simulator takes the machine's order of bytes.
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    own = _NAMES.get(array.dtype.name)
    if own is not None and own != expected and expected in _ML and _ML[expected][1] == array.dtype.name:
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
