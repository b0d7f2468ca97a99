"""Expressions: nodes, and the operators of Python that make them."""

import math
import operator as python_operator

from . import dtypes
from .errors import TeValueError

# Called when Python asks whether an expression holds; `space.py` answers where it is one over parameters, and else `None`.
_decide = []


class Expr:
    """A value that is known when the program runs."""

    __slots__ = ("ty",)

    @property
    def dtype(self):
        """TVM's name of the type."""
        return dtypes.shown(self.ty)

    def astype(self, dtype, span=None):
        """The value converted to another type."""
        return cast(self, dtypes.parse(dtype))

    def same_as(self, other):
        return self is other

    def equal(self, other, span=None):
        return compare("==", self, other)

    def __add__(self, other):
        return arith("+", self, other)

    def __radd__(self, other):
        return arith("+", other, self)

    def __sub__(self, other):
        return arith("-", self, other)

    def __rsub__(self, other):
        return arith("-", other, self)

    def __mul__(self, other):
        return arith("*", self, other)

    def __rmul__(self, other):
        return arith("*", other, self)

    def __truediv__(self, other):
        return divide(self, other)

    def __rtruediv__(self, other):
        return divide(other, self)

    def __floordiv__(self, other):
        return integer("/", self, other)

    def __rfloordiv__(self, other):
        return integer("/", other, self)

    def __mod__(self, other):
        return integer("%", self, other)

    def __rmod__(self, other):
        return integer("%", other, self)

    def __neg__(self):
        value = convert(self)
        return Const(-value.value, value.ty) if isinstance(value, Const) else Unary("-", value, value.ty)

    def __lshift__(self, other):
        return integer("<<", self, other)

    def __rlshift__(self, other):
        return integer("<<", other, self)

    def __rshift__(self, other):
        return integer(">>", self, other)

    def __rrshift__(self, other):
        return integer(">>", other, self)

    def __and__(self, other):
        return bits("&", self, other)

    def __rand__(self, other):
        return bits("&", other, self)

    def __or__(self, other):
        return bits("|", self, other)

    def __ror__(self, other):
        return bits("|", other, self)

    def __xor__(self, other):
        return bits("^", self, other)

    def __rxor__(self, other):
        return bits("^", other, self)

    def __invert__(self):
        return negate(self) if self.ty == "bool" else bits("^", self, Const(-1, self.ty))

    def __lt__(self, other):
        return compare("<", self, other)

    def __le__(self, other):
        return compare("<=", self, other)

    def __gt__(self, other):
        return compare(">", self, other)

    def __ge__(self, other):
        return compare(">=", self, other)

    def __eq__(self, other):
        return compare("==", self, other)

    def __ne__(self, other):
        return compare("!=", self, other)

    def __hash__(self):
        return id(self) >> 4

    def __bool__(self):
        answer = _decide[-1](self if self.ty == "bool" else compare("!=", self, 0)) if _decide else None
        if answer is not None:
            return answer
        raise TeValueError(
            "Python cannot tell whether this expression holds: it is known when the program runs",
            "write `te.if_then_else`, `tir.Select`, `te.all`, `te.any` or `tir.Not`",
        )

    def __index__(self):
        raise TeValueError(
            "Python needs a number here, and this expression is known when the program runs", "use a constant"
        )

    __int__ = __index__

    def __float__(self):
        return float(self.__index__())


class Const(Expr):
    """A number."""

    __slots__ = ("value",)

    def __init__(self, value, ty):
        self.ty = ty
        self.value = bool(value) if ty == "bool" else float(value) if dtypes.is_float(ty) else int(value)

    def __bool__(self):
        return bool(self.value)

    def __index__(self):
        return python_operator.index(self.value)

    def __int__(self):
        return int(self.value)

    def __float__(self):
        return float(self.value)

    def __repr__(self):
        return repr(self.value)


class Var(Expr):
    """A size of the operator, or an argument of a combiner."""

    __slots__ = ("name", "low", "high", "default")

    def __init__(self, name, ty, low=None, high=None, default=None):
        self.name, self.ty, self.low, self.high, self.default = name, ty, low, high, default

    def __repr__(self):
        return self.name


class Scalar(Var):
    """A number that the caller hands in: in the text a tensor without dimensions."""

    __slots__ = ()


class Param(Expr):
    """A parameter of a schedule, whose value the tuner chooses; `values` lists the choices where they are numbers."""

    __slots__ = ("name", "values")

    def __init__(self, name, ty, values):
        self.name, self.ty, self.values = name, ty, values

    def __repr__(self):
        return self.name


class Binary(Expr):
    __slots__ = ("op", "a", "b")

    def __init__(self, op, a, b, ty):
        self.op, self.a, self.b, self.ty = op, a, b, ty

    def __bool__(self):
        # As in TVM, `==` of two axes, say of a list, asks whether they are one.
        if self.op in ("==", "!=") and isinstance(self.a, _BARE) and isinstance(self.b, _BARE):
            return (self.a is self.b) == (self.op == "==")
        return super().__bool__()


class Unary(Expr):
    """`-x` or `!x`."""

    __slots__ = ("op", "a")

    def __init__(self, op, a, ty):
        self.op, self.a, self.ty = op, a, ty


class Call(Expr):
    """A function of the text: `exp(x)`, `max(a, b)`, `tdiv(a, b)`."""

    __slots__ = ("function", "args")

    def __init__(self, function, args, ty):
        self.function, self.args, self.ty = function, args, ty


class Cast(Expr):
    __slots__ = ("a",)

    def __init__(self, a, ty):
        self.a, self.ty = a, ty


class Choice(Expr):
    """`if_then_else`, which evaluates one arm, or `select`, which evaluates both."""

    __slots__ = ("lazy", "condition", "a", "b")

    def __init__(self, lazy, condition, a, b):
        self.lazy, self.condition, self.a, self.b, self.ty = lazy, condition, a, b, a.ty


class Load(Expr):
    """An element of a tensor."""

    __slots__ = ("tensor", "indices")

    def __init__(self, tensor, indices):
        self.tensor, self.indices, self.ty = tensor, indices, tensor.ty


class IterVar(Expr):
    """An axis of a stage, or a launch coordinate (`tag`); `dom` is its range, `None` where that follows from others."""

    __slots__ = ("name", "dom", "reduce", "tag")

    def __init__(self, name, dom, reduce=False, tag=None):
        self.ty = dtypes.INDEX
        self.name, self.dom, self.reduce, self.tag = name, dom, reduce, tag

    @property
    def var(self):
        """TVM's variable of the axis: here the axis itself."""
        return self

    def __repr__(self):
        return f"iter_var({self.name})"


class Range:
    """From `min`, so many numbers as `extent` says."""

    def __init__(self, begin, end=None):
        begin, end = (0, begin) if end is None else (begin, end)
        self.min, end = as_size(begin), as_size(end)
        self.end = end
        self.extent = end - self.min

    @staticmethod
    def from_min_extent(low, extent):
        return Range(low, as_size(low) + extent)


_BARE = (IterVar, Var)


def convert(value):
    """`value` as an expression; numbers of Python have TVM's types."""
    if isinstance(value, Expr):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        # A number of NumPy: a float has its own type, and an integer adapts, as Python's do.
        number = value.item()
        return Const(number, dtypes.parse(value.dtype)) if isinstance(number, float) else convert(number)
    if isinstance(value, bool):
        return Const(value, "bool")
    if hasattr(value, "__index__"):
        return Const(python_operator.index(value), dtypes.INDEX)
    if isinstance(value, float):
        return Const(value, "float32")
    as_expr = getattr(value, "as_expr", None)
    if as_expr is not None:
        return as_expr()
    raise TeValueError(
        f"`{value!r}` is no expression", "operands are expressions and numbers; a tensor is indexed: `A[i, j]`"
    )


def as_size(value):
    """`value` as an index."""
    value = convert(value)
    if not dtypes.is_integer(value.ty):
        raise TeValueError(f"an extent or index is an integer, not `{value.dtype}`", 'cast it: `.astype("int32")`')
    return value


def cast(value, ty):
    """`value` as one of the type `ty`."""
    value = convert(value)
    if value.ty == ty:
        return value
    if isinstance(value, Const) and not (dtypes.is_integer(ty) and dtypes.is_float(value.ty)):
        return Const(value.value, ty)
    if isinstance(value, Const) and math.isfinite(value.value):
        return Const(math.trunc(value.value), ty)
    if ty == "bool":
        return compare("!=", value, Const(0, value.ty))
    if value.ty == "bool":
        return Choice(False, value, Const(1, ty), Const(0, ty))
    return Cast(value, ty)


def matched(a, b):
    """Both as values of the type that they have in common."""
    a, b = convert(a), convert(b)
    ty = dtypes.common(a.ty, b.ty)
    return cast(a, ty), cast(b, ty), ty


FOLD = {
    "+": python_operator.add,
    "-": python_operator.sub,
    "*": python_operator.mul,
    "/": python_operator.floordiv,
    "%": python_operator.mod,
    "<<": python_operator.lshift,
    ">>": python_operator.rshift,
    "&": python_operator.and_,
    "|": python_operator.or_,
    "^": python_operator.xor,
    "<": python_operator.lt,
    "<=": python_operator.le,
    ">": python_operator.gt,
    ">=": python_operator.ge,
    "==": python_operator.eq,
    "!=": python_operator.ne,
}


def is_const(value, number):
    return isinstance(value, Const) and value.value == number


def folded(op, a, b, ty):
    """`a op b` where an operand says what it is, else `None`; of integers, as TVM folds them."""
    if isinstance(a, Const) and isinstance(b, Const):
        if op in ("/", "%") and b.value == 0:
            raise TeValueError("this divides by zero", "divide by something else than 0")
        value = FOLD[op](a.value, b.value)
        if ty == "bool" or dtypes.least(ty) <= value <= dtypes.greatest(ty):
            return Const(value, ty)
        return None
    neutral_right = {"+": 0, "-": 0, "*": 1, "/": 1, "<<": 0, ">>": 0}
    if op in neutral_right and is_const(b, neutral_right[op]):
        return a
    if op in ("+", "*") and is_const(a, neutral_right[op]):
        return b
    if op == "*" and (is_const(a, 0) or is_const(b, 0)):
        return Const(0, ty)
    return Const(0, ty) if op == "%" and is_const(b, 1) else None


def arith(op, a, b):
    a, b, ty = matched(a, b)
    if ty == "bool":
        raise TeValueError(f"`{op}` of truth values", "cast them to a number, or use `te.all` and `te.any`")
    if dtypes.is_integer(ty):
        known = folded(op, a, b, ty)
        if known is not None:
            return known
    elif isinstance(a, Const) and isinstance(b, Const) and ty in ("float32", "float64"):
        value = FOLD[op](a.value, b.value)
        if math.isfinite(value):
            return Const(value, ty)
    return Binary(op, a, b, ty)


def integer(op, a, b):
    """`/` and `%` rounded down, and shifts: of integers alone."""
    a, b, ty = matched(a, b)
    if not dtypes.is_integer(ty):
        word = {"/": "//"}.get(op, op)
        raise TeValueError(f"`{word}` takes integers, not `{dtypes.shown(ty)}`", "`/` divides floats")
    if op in ("/", "%") and is_const(b, 0):
        raise TeValueError("this divides by zero", "divide by something else than 0")
    known = folded(op, a, b, ty)
    return known if known is not None else Binary(op, a, b, ty)


def divide(a, b):
    """`/`: of floats the quotient; of integers only where all ways to round agree."""
    a, b, ty = matched(a, b)
    if dtypes.is_float(ty):
        return Binary("/", a, b, ty)
    if not_negative(a) and not_negative(b):
        return integer("/", a, b)
    raise TeValueError(
        "`/` of integers that may be negative: it does not say how it rounds",
        "write `//` or `tir.floordiv`, which round down, or `tir.truncdiv`, which rounds towards zero",
    )


def not_negative(value):
    """Is the integer known not to be negative?"""
    if isinstance(value, Const):
        return value.value >= 0
    if isinstance(value, IterVar):
        return value.dom is None or not_negative(value.dom.min)
    if isinstance(value, Var):
        return value.ty == dtypes.INDEX or dtypes.is_unsigned(value.ty)
    if isinstance(value, Param):
        return value.values is not None and all(choice >= 0 for choice in value.values)
    if isinstance(value, Binary):
        # The left operands of a long sum lie deep.
        while isinstance(value, Binary) and value.op in ("+", "*", "/", "%") and not_negative(value.b):
            value = value.a
        return not isinstance(value, Binary) and not_negative(value)
    if isinstance(value, Cast):
        return dtypes.is_integer(value.a.ty) and not_negative(value.a)
    return isinstance(value, Call) and value.function in ("min", "max") and all(map(not_negative, value.args))


def bits(op, a, b):
    a, b, ty = matched(a, b)
    if ty == "bool":
        if op == "^":
            return compare("!=", a, b)
        return logical("&&" if op == "&" else "||", a, b)
    return integer(op, a, b)


def compare(op, a, b):
    if b is None or isinstance(b, str):
        return NotImplemented
    a, b, _ = matched(a, b)
    if isinstance(a, Const) and isinstance(b, Const):
        return Const(FOLD[op](a.value, b.value), "bool")
    if a.ty == "bool" and op not in ("==", "!="):
        raise TeValueError(f"`{op}` of truth values", "compare numbers")
    return Binary(op, a, b, "bool")


def logical(op, a, b):
    """`&&` or `||` of two conditions."""
    a, b = condition(a), condition(b)
    for known, other in ((a, b), (b, a)):
        if isinstance(known, Const):
            return other if known.value == (op == "&&") else Const(known.value, "bool")
    return Binary(op, a, b, "bool")


_OTHERWISE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


def negate(value):
    """The other truth value."""
    value = condition(value)
    # Comparisons of floats are not turned round: neither `x < y` nor `x >= y` holds of a NaN.
    if isinstance(value, Binary) and value.op in _OTHERWISE and dtypes.is_integer(value.a.ty):
        return Binary(_OTHERWISE[value.op], value.a, value.b, "bool")
    return Const(not value.value, "bool") if isinstance(value, Const) else Unary("!", value, "bool")


def condition(value):
    value = convert(value)
    if value.ty != "bool":
        raise TeValueError(f"a condition is a truth value, not `{value.dtype}`", "compare it: `x != 0`")
    return value
