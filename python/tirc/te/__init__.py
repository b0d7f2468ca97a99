"""TVM's tensor expressions, written as text of tc: `tvm.te` of TVM 0.16 without TVM.

A program that uses `te` runs by a change of its imports (`tirc.tvm`), and `lower` gives a file for `tc-opt`, `tc-run` and
`tc-tune`. docs/te-python.md says what is there, what differs, and what is refused.
"""

from .errors import TeError, TeUnsupported, TeValueError, TeWarning, missing_names
from .expr import Range
from .intrin import TensorIntrin, decl_buffer, decl_tensor_intrin
from .lowering import Lowered, build, lower
from .ops import (
    Select,
    abs,
    all,
    any,
    ceil,
    const,
    cos,
    div,
    erf,
    exp,
    exp2,
    floor,
    floordiv,
    floormod,
    if_then_else,
    indexdiv,
    indexmod,
    infinity,
    likely,
    log,
    log2,
    max_value,
    min_value,
    nearbyint,
    popcount,
    power,
    round,
    rsqrt,
    sigmoid,
    sin,
    sqrt,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from .reduce import comm_reducer, max, min, sum
from .schedule import Schedule, create_schedule
from .tensor import Tensor, TensorSlice, compute, placeholder, reduce_axis, size_var, thread_axis, var

_REASONS = {
    "extern": "a function of another library has no text; write what it computes as a `te.compute`",
    "extern_primfunc": "a program of loops is a `tir.func` of the text (docs/ir.md)",
    "scan": "a recurrence is a program of loops, a `tir.func` of the text (docs/ir.md)",
    "hybrid": "a program of loops is a `tir.func` of the text (docs/ir.md)",
    "gradient": "write the gradient as a `te.compute`",
    "create_prim_func": "TensorIR has no place here; the text of an operator is `str(te.lower(s, args))`",
    "AXIS_SEPARATOR": "memory of CUDA has one dimension",
}

__getattr__ = missing_names("te", _REASONS)
