"""Tensors, and the operations that make them: `placeholder` and `compute`."""

from . import dtypes
from .errors import TeUnsupported, TeValueError, caller
from .expr import Const, Expr, IterVar, Load, Range, Scalar, Var, as_size, cast, convert, is_const
from .reduce import Reduce
from .walks import walk


class Tensor:
    """A tensor: result number `value_index` of the operation `op`."""

    def __init__(self, op, value_index, shape, ty):
        self.op, self.value_index, self.ty = op, value_index, ty
        self.shape = tuple(shape)

    @property
    def name(self):
        results = self.op.num_outputs
        return self.op.name if results == 1 else f"{self.op.name}.v{self.value_index}"

    @property
    def dtype(self):
        return dtypes.shown(self.ty)

    @property
    def ndim(self):
        return len(self.shape)

    def __call__(self, *indices):
        if len(indices) == 1 and isinstance(indices[0], (tuple, list)):
            indices = tuple(indices[0])
        if len(indices) != self.ndim:
            raise TeValueError(
                f"`{self.name}` has {self.ndim} dimensions, and {len(indices)} indices are given",
                "give an index for each dimension",
            )
        return Load(self, [as_size(_index(index)) for index in indices])

    def __getitem__(self, indices):
        indices = indices if isinstance(indices, tuple) else (indices,)
        if len(indices) < self.ndim:
            return TensorSlice(self, indices)
        return self(*indices)

    def __repr__(self):
        return f"Tensor(shape={list(self.shape)}, op.name={self.name})"


class TensorSlice:
    """A tensor with some of its indices: `A[i]` of `A[i][j]`."""

    def __init__(self, tensor, indices):
        self.tensor, self.indices = tensor, indices

    def __getitem__(self, more):
        return self.tensor[self.indices + (more if isinstance(more, tuple) else (more,))]

    @property
    def dtype(self):
        return self.tensor.dtype

    def as_expr(self):
        return self.tensor(*self.indices)


def _index(index):
    if isinstance(index, slice):
        raise TeUnsupported("a tensor is read element by element, not by slices", "index it in a `te.compute`")
    return index


class Operation:
    """What makes tensors. `axis` are its axes over data, `reduce_axis` those of its reduction."""

    def __init__(self, name):
        self.name, self.at = name, caller()
        self.axis, self.reduce_axis, self.outputs = [], [], []
        self.tag = ""

    @property
    def num_outputs(self):
        return len(self.outputs)

    def output(self, index):
        return self.outputs[index]

    @property
    def input_tensors(self):
        return []


class PlaceholderOp(Operation):
    """An argument of the operator."""


class ComputeOp(Operation):
    """Elements by an expression for each."""

    def __init__(self, name, axis, body):
        super().__init__(name)
        self.axis, self.body = axis, body
        first = body[0]
        self.reduce_axis = list(first.axis) if isinstance(first, Reduce) else []

    @property
    def input_tensors(self):
        found = []
        for node in walk(*self.body):
            if isinstance(node, Load) and not _has(found, node.tensor):
                found.append(node.tensor)
        return found


class CacheOp(Operation):
    """What a schedule makes of an operation: a copy, or a part of a reduction."""

    def __init__(self, name, axis, reduce_axis, inputs):
        super().__init__(name)
        self.axis, self.reduce_axis, self._inputs = axis, reduce_axis, inputs

    @property
    def input_tensors(self):
        return list(self._inputs)


def _has(items, item):
    return any(other is item for other in items)


def _name(name):
    if not isinstance(name, str):
        raise TeValueError(f"a name is a string, not `{name!r}`", '`name="A"`')
    return name


def _shape(shape):
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    extents = [as_size(extent) for extent in shape]
    for extent in extents:
        if isinstance(extent, Const) and extent.value < 1:
            raise TeValueError(f"an extent is at least 1, not {extent.value}", "leave out a tensor without elements")
        if any(isinstance(node, (Load, IterVar)) for node in walk(extent)):
            raise TeUnsupported("an extent depends on elements or axes", "extents are numbers and sizes (`te.var`)")
    return extents


def placeholder(shape, dtype=None, name="placeholder"):
    """An argument of the operator."""
    op = PlaceholderOp(_name(name))
    tensor = Tensor(op, 0, _shape(shape), dtypes.parse(dtype or "float32"))
    op.outputs = [tensor]
    return tensor


def var(name="tindex", dtype="int32", span=None, *, low=None, high=None, default=None):
    """A size of the operator, or, of a float type, a number that the caller hands in.

    `low`, `high` (excluded) and `default` are of tc: the range and the default of a size.
    """
    ty = dtypes.parse(dtype)
    if ty in ("int32", "int64"):
        if (low is None) != (high is None):
            raise TeValueError("a size has both ends of its range, or none", "give `low` and `high`")
        return Var(_name(name), dtypes.INDEX, low, high, default)
    if low is not None or high is not None or default is not None:
        raise TeValueError("only a size has a range and a default", "make it an `int32`")
    return Scalar(_name(name), ty)


def size_var(name="size", dtype="int32", span=None, *, low=None, high=None, default=None):
    """A size of the operator."""
    if dtypes.parse(dtype) not in ("int32", "int64"):
        raise TeValueError(f"a size is an `int32` or `int64`, not `{dtype}`", "`te.var` makes numbers of other types")
    return var(name, dtype, low=low, high=high, default=default)


def reduce_axis(dom, name="rv", thread_tag="", span=None):
    """An axis of a reduction, from `dom[0]` up to `dom[1]`."""
    if thread_tag:
        raise TeUnsupported("an axis of a reduction with a thread tag", "`s[B].bind(axis, te.thread_axis(…))`")
    if isinstance(dom, (tuple, list)) and len(dom) != 2:
        raise TeValueError("a range has two ends", "`te.reduce_axis((0, n))`")
    dom = dom if isinstance(dom, Range) else Range(*dom) if isinstance(dom, (tuple, list)) else Range(dom)
    if isinstance(dom.extent, Const) and dom.extent.value < 1:
        raise TeValueError(f"the reduction over `{name}` has no steps", "a range is `(begin, end)`, the end excluded")
    return IterVar(_name(name), dom, reduce=True)


_TAGS = tuple(f"{level}.{dim}" for level in ("blockIdx", "threadIdx") for dim in "xyz")


def thread_axis(dom=None, tag="", name="", span=None):
    """A launch coordinate, or virtual threads."""
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        raise TeValueError("a thread axis has a tag", '`te.thread_axis("threadIdx.x")`')
    if tag == "cthread":
        raise TeUnsupported("`cthread` is of accelerators with contexts of their own", "use `vthread`")
    if tag != "vthread" and tag not in _TAGS:
        raise TeValueError(f"there is no launch coordinate `{tag}`", f"there are {', '.join(_TAGS)} and vthread")
    if isinstance(dom, (tuple, list)):
        dom = Range(*dom)
    elif dom is not None and not isinstance(dom, Range):
        dom = Range(dom)
    return IterVar(_name(name) or tag, dom, tag=tag)


def compute(shape, fcompute, name="compute", tag="", attrs=None, varargs_names=None):
    """A tensor by its elements: `fcompute` gives the one at its arguments."""
    shape = _shape(shape)
    names = _axis_names(fcompute, len(shape), varargs_names)
    axis = [IterVar(axis_name, Range(0, extent)) for axis_name, extent in zip(names, shape)]
    body = fcompute(*axis)
    several = isinstance(body, (tuple, list))
    body = [_element(value) for value in (body if several else [body])]
    op = ComputeOp(_name(name), axis, body)
    op.tag = tag
    _check(op)
    op.outputs = [Tensor(op, nth, shape, value.ty) for nth, value in enumerate(body)]
    return list(op.outputs) if several and len(body) > 1 else op.outputs[0]


def _axis_names(function, ndim, varargs_names):
    """The names of the axes: those of the function's arguments."""
    code = getattr(function, "__code__", None)
    names = list(code.co_varnames[: code.co_argcount]) if code is not None else []
    if code is None or code.co_flags & 0x04:
        rest = varargs_names or [f"i{nth}" for nth in range(len(names), ndim)]
        names += list(rest)
    if len(names) != ndim:
        raise TeValueError(
            f"the function takes {len(names)} arguments, and the shape has {ndim} dimensions",
            "an argument stands for each dimension, or `*i` for all",
        )
    return names


def _element(value):
    """What an element is; an index is stored as `int32`."""
    value = convert(value)
    return cast(value, "int32") if value.ty == dtypes.INDEX and not isinstance(value, Reduce) else value


def _check(op):
    """A reduction is the whole of an element, and several results are those of one reduction."""
    reductions = [value for value in op.body if isinstance(value, Reduce)]
    if any(isinstance(node, Reduce) and not _has(op.body, node) for node in walk(*op.body)):
        raise TeValueError(
            f"a reduction is not the whole of an element of `{op.name}`",
            "let a `te.compute` hold the reduction alone, and another one compute from it",
        )
    for node in walk(*op.body):
        if isinstance(node, IterVar) and node.tag:
            raise TeValueError(
                f"an element of `{op.name}` depends on the launch coordinate `{node.tag}`", "let it depend on its axes"
            )
        if isinstance(node, IterVar) and not _has(op.axis, node) and not _has(op.reduce_axis, node):
            word = "reduction axis" if node.reduce else "axis"
            raise TeValueError(
                f"`{op.name}` reads the {word} `{node.name}`, over which it does not run",
                "name the arguments of the function, and the axes of the reduction that is its result",
            )
    if len(op.body) == 1:
        return
    if len(reductions) != len(op.body) or any(value.group is not op.body[0].group for value in reductions):
        raise TeUnsupported(
            f"`{op.name}` has several results that are not those of one reduction",
            "compute each by its own `te.compute`",
        )
    if [value.index for value in reductions] != list(range(len(op.body))):
        raise TeUnsupported(
            f"`{op.name}` does not return all results of its reduction in their order", "return what the reducer gave"
        )


def zero_based(axis):
    """Does the axis start at 0?"""
    return axis.dom is None or is_const(axis.dom.min, 0)


def is_known(value):
    """Is the extent a number?"""
    return not isinstance(value, Expr) or isinstance(value, Const)
