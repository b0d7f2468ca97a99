"""The names of `tvm` that programs with te schedules use: `import tirc.tvm as tvm`, `from tirc.tvm import te`.

What writes text needs nothing but Python. What runs a kernel (`build`, `nd.array`, `cuda`) needs the native module of `tirc`, a GPU,
and PyTorch or CuPy. The names that TVM had at its top before 0.7 (`tvm.compute`, `tvm.select`, …) are here too.
"""

from .. import te
from ..te import (
    Select as select,
)
from ..te import (
    all,
    any,
    autotvm,
    comm_reducer,
    compute,
    const,
    create_schedule,
    decl_buffer,
    decl_tensor_intrin,
    exp,
    if_then_else,
    log,
    lower,
    max,
    max_value,
    min,
    min_value,
    placeholder,
    power,
    reduce_axis,
    sigmoid,
    size_var,
    sqrt,
    sum,
    tanh,
    thread_axis,
    var,
)
from ..te.errors import missing_names
from . import contrib, target, testing, tir, topi, transform
from .runtime import Device, Function, build, cpu, cuda, gpu, nd

__getattr__ = missing_names(
    "tvm",
    {
        "relay": "a graph of operators has no place here; an operator is a `te.compute`",
        "relax": "a graph of operators has no place here; an operator is a `te.compute`",
        "extern": "a function of another library has no text; write what it computes as a `te.compute`",
        "IRModule": "programs of TensorIR are written in text (docs/ir.md)",
        "opencl": "kernels are for NVIDIA GPUs",
        "rpc": "`tc-tune --worker` reaches other machines (docs/tuning.md)",
    },
)
