"""Shapes of results from shapes of arguments, also where these are symbols of PyTorch."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

from ._native import Kernel
from .errors import ArgumentError

#: An extent: a number, a size, or an operator with its operands.
Extent = int | str | dict[str, list[Any]]


@dataclasses.dataclass(frozen=True)
class Param:
    """A parameter of a kernel."""

    name: str
    dtype: str
    #: `read`, `write` or `read-write`.
    access: str
    #: The extents; `None` for a value.
    shape: list[Extent] | None


def signature(kernel: Kernel) -> list[Param]:
    """What a kernel takes and gives."""
    return [Param(**one) for one in json.loads(kernel.signature_json())]


def _truncated(one: Any, other: Any) -> Any:
    quotient = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda one, other: one + other,
    "sub": lambda one, other: one - other,
    "mul": lambda one, other: one * other,
    "div": lambda one, other: one // other,
    "mod": lambda one, other: one % other,
    "tdiv": _truncated,
    "tmod": lambda one, other: one - _truncated(one, other) * other,
    "min": lambda one, other: one if one < other else other,
    "max": lambda one, other: one if one > other else other,
    "eq": lambda one, other: int(one == other),
    "ne": lambda one, other: int(one != other),
    "lt": lambda one, other: int(one < other),
    "le": lambda one, other: int(one <= other),
    "and": lambda one, other: int(bool(one) and bool(other)),
    "or": lambda one, other: int(bool(one) or bool(other)),
    "shl": lambda one, other: one << other,
    "shr": lambda one, other: one >> other,
    "bitand": lambda one, other: one & other,
    "bitor": lambda one, other: one | other,
    "bitxor": lambda one, other: one ^ other,
}


def value(extent: Extent, sizes: dict[str, Any]) -> Any:
    """The value of an extent."""
    if isinstance(extent, dict):
        ((op, (one, other)),) = extent.items()
        first = value(one, sizes)
        # Where the first decides, the second need not have a value.
        if (op == "and" and not first) or (op == "or" and first):
            return int(op == "or")
        return _OPS[op](first, value(other, sizes))
    if isinstance(extent, str):
        if extent not in sizes:
            raise ArgumentError(f"error[bad-argument]: no argument says the size `{extent}`", [])
        return sizes[extent]
    return extent


def output_shapes(
    params: Sequence[Param], inputs: Sequence[Sequence[Any] | None], named: dict[str, int] | None = None
) -> list[list[Any]]:
    """The shapes of what a kernel only writes, from the shapes of its other arguments in their order."""
    sizes: dict[str, Any] = dict(named or {})
    read = [param for param in params if param.access != "write"]
    for param, shape in zip(read, inputs):
        for extent, have in zip(param.shape or [], shape or []):
            if isinstance(extent, str):
                sizes.setdefault(extent, have)
    written = [param for param in params if param.access == "write"]
    return [[value(extent, sizes) for extent in param.shape or []] for param in written]
