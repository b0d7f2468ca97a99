"""TVM's module `tir`: expressions, and the calls of intrinsics."""

from ..te.errors import missing_names
from ..te.expr import Expr as PrimExpr
from ..te.expr import IterVar
from ..te.intrin import call_intrin, decl_buffer, ir_builder
from ..te.ops import *
from ..te.reduce import comm_reducer, max, min, sum
from ..te.tensor import size_var as SizeVar
from ..te.tensor import var as Var

__getattr__ = missing_names("tir", {"Schedule": "a schedule of loops is written in text (docs/program-schedules.md)"})
