"""tc in Python: operators and schedules as text, checked on a simulator, compiled to kernels for PyTorch and CuPy.

    import tirc
    module = tirc.load("matmul.tir")
    print(module.run("schedule{name=mma}"))         # the program that the schedule makes
    print(module.check(schedule="mma"))             # against the operator's definition, without a GPU
    kernel = module.compile(schedule="mma")         # for the GPU at hand
    C = kernel(A, B)                                # arrays of PyTorch or CuPy, without a copy

docs/python.md goes through all of it.
"""

from . import _toolkit
from ._native import Kernel, __version__, default_target, targets
from .errors import ArgumentError, CompileError, DeviceError, Diagnostic, Error, InternalError
from .module import Check, Checks, Item, Module, load, parse, template

_toolkit.find()

__all__ = [
    "ArgumentError",
    "Check",
    "Checks",
    "CompileError",
    "DeviceError",
    "Diagnostic",
    "Error",
    "InternalError",
    "Item",
    "Kernel",
    "Module",
    "__version__",
    "default_target",
    "load",
    "parse",
    "targets",
    "template",
]
