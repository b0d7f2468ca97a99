"""TVM's package `contrib`."""

from . import nvcc

__all__ = ["nvcc"]
