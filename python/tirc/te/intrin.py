"""Tensor intrinsics: `decl_tensor_intrin` recognises what the library of tc has, by what it computes.

A te program gives the computation of an intrinsic, and a function that writes calls of `tvm_load_matrix_sync` and its
like. Such a function is run once, with buffers that stand for the operands. `recognise.py` compares what it wrote with the
library.
"""

from . import dtypes
from .errors import TeUnsupported, TeValueError
from .expr import Binary, Const, Var, as_size, convert, is_const
from .tensor import ComputeOp, PlaceholderOp

_ACCESS = {"r": 1, "w": 2, "rw": 3}


class Buffer:
    """A buffer that stands for an operand of an intrinsic."""

    def __init__(self, shape, ty, name, scope, strides):
        self.shape, self.ty, self.name = tuple(shape), ty, name
        self.scope, self.strides = scope, tuple(strides)
        self.data = Handle(self, "data")
        self.elem_offset = Var(f"{name}_offset", dtypes.INDEX)

    @property
    def dtype(self):
        return dtypes.shown(self.ty)

    def access_ptr(self, access_mask, ptr_type="handle", content_lanes=1, offset=0, extent=None):
        """A pointer to the first element."""
        if access_mask not in _ACCESS and access_mask not in _ACCESS.values():
            raise TeValueError(f"there is no access `{access_mask}`", 'it is "r", "w" or "rw"')
        if not is_const(convert(offset), 0):
            raise TeUnsupported("`access_ptr` with an offset", "an intrinsic starts at the first element of its tile")
        return Handle(self, "pointer")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise TeUnsupported(
            f"`{name}` of a buffer of an intrinsic", "write the intrinsic in text: `te.intrin`, docs/intrinsics.md"
        )


class Handle:
    """The memory of a buffer (`data`), or a pointer into it (`pointer`)."""

    def __init__(self, buffer, kind):
        self.buffer, self.kind = buffer, kind


class IntrinCall:
    """A call of an intrinsic function."""

    def __init__(self, name, args):
        self.name, self.args = name, args


def call_intrin(dtype, func_name, *args, span=None):
    """A call, which an intrinsic emits."""
    name = str(func_name)
    return IntrinCall(name if name.startswith("tir.") else f"tir.{name}", args)


class IRBuilder:
    """Collects the calls of an intrinsic."""

    def __init__(self):
        self._calls = []

    def emit(self, call):
        if not isinstance(call, IntrinCall):
            raise TeUnsupported(
                "an intrinsic emits something that is no call of `tvm_…`", "docs/te-python.md lists what it may be"
            )
        self._calls.append(call)

    def get(self):
        return list(self._calls)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise TeUnsupported(
            f"`{name}` of `ir_builder`", "an intrinsic emits calls; others are written in text: `te.intrin`"
        )


class _IRBuilderModule:
    """TVM's module `ir_builder`."""

    IRBuilder = IRBuilder

    @staticmethod
    def create():
        return IRBuilder()


ir_builder = _IRBuilderModule()


def decl_buffer(
    shape,
    dtype=None,
    name="buffer",
    data=None,
    strides=None,
    elem_offset=None,
    scope="global",
    data_alignment=-1,
    offset_factor=0,
    buffer_type="",
    axis_separators=None,
    span=None,
):
    """A buffer of an intrinsic. Alignment and offsets are those of the library."""
    shape = [as_size(extent) for extent in (shape if isinstance(shape, (tuple, list)) else (shape,))]
    strides = [as_size(stride) for stride in strides or ()]
    return Buffer(shape, dtypes.parse(dtype or "float32"), name, scope or "global", strides)


class TensorIntrin:
    """A tensor intrinsic; `library_name` is that of the library's."""

    def __init__(self, name, library_name):
        self.name, self.library_name = name, library_name


def decl_tensor_intrin(op, fcompute, name="tensor_intrin", binds=None, scalar_params=None, default_buffer_params=None):
    """A tensor intrinsic that computes `op`, by what `fcompute` writes."""
    from .recognise import recognise

    if not isinstance(op, ComputeOp):
        raise TeValueError("an intrinsic computes an operation", "`te.decl_tensor_intrin(C.op, …)`")
    if scalar_params:
        raise TeUnsupported("an intrinsic with scalar parameters", "write it in text: `te.intrin`, docs/intrinsics.md")
    inputs = op.input_tensors
    for tensor in inputs:
        if not isinstance(tensor.op, PlaceholderOp):
            raise TeValueError(
                f"the operand `{tensor.name}` of an intrinsic is no placeholder", "make it one: `te.placeholder`"
            )
    bound = {id(tensor): buffer for tensor, buffer in (binds or {}).items()}
    params = default_buffer_params or {}
    ins = [bound.get(id(tensor)) or _default(tensor, params) for tensor in inputs]
    outs = [bound.get(id(tensor)) or _default(tensor, params) for tensor in op.outputs]
    written = fcompute(ins, outs)
    steps = written if isinstance(written, tuple) else (written,)
    return TensorIntrin(name, recognise(op, ins, outs, [_calls(step) for step in steps]))


def _default(tensor, params):
    known = {key: params[key] for key in ("scope", "strides") if key in params}
    return decl_buffer(tensor.shape, tensor.dtype, tensor.name, **known)


def _calls(step):
    """The calls of a step: what `ib.get()` gave, one call, or nothing."""
    if step is None:
        return None
    calls = step if isinstance(step, list) else [step]
    if not all(isinstance(call, IntrinCall) for call in calls):
        raise TeUnsupported(
            "an intrinsic writes something that is no call of `tvm_…`", "docs/te-python.md lists what it may be"
        )
    return calls


def is_offset_of(value, buffer):
    """Does `value` count the tiles before the one that `buffer` stands for?"""
    value = convert(value)
    divided = isinstance(value, Binary) and value.op == "/" and isinstance(value.b, Const)
    return value is buffer.elem_offset or (divided and value.a is buffer.elem_offset)
