"""Functions of expressions: `exp`, `if_then_else`, `Select`, `const` and their like."""

from . import dtypes
from .errors import TeUnsupported, TeValueError
from .expr import (
    Call,
    Choice,
    Const,
    cast,
    condition,
    convert,
    divide,
    integer,
    is_const,
    logical,
    matched,
    negate,
)

# What TVM's module `tir` has of them.
__all__ = [
    "And",
    "Not",
    "Or",
    "Select",
    "abs",
    "all",
    "any",
    "ceil",
    "const",
    "cos",
    "div",
    "erf",
    "exp",
    "exp2",
    "floor",
    "floordiv",
    "floormod",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "likely",
    "log",
    "log2",
    "max_value",
    "min_value",
    "nearbyint",
    "popcount",
    "pow",
    "power",
    "round",
    "rsqrt",
    "sigmoid",
    "sin",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
]


def const(value, dtype=None, span=None):
    """A number; without `dtype`, `float32` or `int32`."""
    value = convert(value)
    return value if dtype is None else cast(value, dtypes.parse(dtype))


def min_value(dtype, span=None):
    ty = dtypes.parse(dtype)
    return Const(dtypes.least(ty), ty)


def max_value(dtype, span=None):
    ty = dtypes.parse(dtype)
    return Const(dtypes.greatest(ty), ty)


def infinity(dtype, span=None):
    return Const(float("inf"), dtypes.parse(dtype))


def all(*args, span=None):
    """Do all conditions hold?"""
    return _joined("&&", args)


def any(*args, span=None):
    """Does one of the conditions hold?"""
    return _joined("||", args)


def _joined(op, args):
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = args[0]
    if not args:
        raise TeValueError("a condition of nothing", "give one condition or more")
    value = condition(args[0])
    for other in args[1:]:
        value = logical(op, value, other)
    return value


def And(a, b, span=None):
    return logical("&&", a, b)


def Or(a, b, span=None):
    return logical("||", a, b)


def Not(a, span=None):
    return negate(a)


def if_then_else(cond, t, f, span=None):
    """The first value where `cond` holds, else the second; evaluates one of them."""
    return _choice(True, cond, t, f)


def Select(condition, true_value, false_value, span=None):
    """The first value where `condition` holds, else the second; evaluates both."""
    return _choice(False, condition, true_value, false_value)


def _choice(lazy, cond, a, b):
    cond = condition(cond)
    a, b, _ = matched(a, b)
    if isinstance(cond, Const):
        return a if cond.value else b
    return Choice(lazy, cond, a, b)


def _of_floats(name):
    def function(x, span=None):
        x = convert(x)
        if not dtypes.is_float(x.ty):
            raise TeValueError(f"`{name}` takes a float, not `{x.dtype}`", 'cast it: `.astype("float32")`')
        return Call(name, [x], x.ty)

    function.__name__ = name
    function.__doc__ = f"`{name}(x)` of the text."
    return function


exp = _of_floats("exp")
exp2 = _of_floats("exp2")
log = _of_floats("log")
log2 = _of_floats("log2")
sqrt = _of_floats("sqrt")
rsqrt = _of_floats("rsqrt")
tanh = _of_floats("tanh")
sin = _of_floats("sin")
cos = _of_floats("cos")
tan = _of_floats("tan")
erf = _of_floats("erf")
sigmoid = _of_floats("sigmoid")
floor = _of_floats("floor")
ceil = _of_floats("ceil")
trunc = _of_floats("trunc")


def nearbyint(x, span=None):
    """The nearest whole number, of two the even one."""
    return Call("round", [_of_floats("nearbyint")(x).args[0]], x.ty)


def round(x, span=None):
    raise TeUnsupported("`round` moves halves away from zero, which tc does not", "`te.nearbyint` moves them to even")


def abs(x, span=None):
    x = convert(x)
    return Call("abs", [x], x.ty)


def popcount(x, span=None):
    x = convert(x)
    if not dtypes.is_integer(x.ty):
        raise TeValueError(f"`popcount` takes an integer, not `{x.dtype}`", 'cast it: `.astype("int32")`')
    return Call("popcount", [x], x.ty)


def power(x, y, span=None):
    x, y, ty = matched(x, y)
    if not dtypes.is_float(ty):
        raise TeValueError("`power` takes floats", 'cast them: `.astype("float32")`')
    return Call("pow", [x, y], ty)


pow = power


def extremum(name, a, b):
    """`max` or `min` of two values."""
    a, b, ty = matched(a, b)
    if isinstance(a, Const) and isinstance(b, Const):
        return a if (a.value >= b.value) == (name == "max") else b
    return Call(name, [a, b], ty)


def div(a, b, span=None):
    """The quotient of floats; of integers, where all ways to round agree."""
    return divide(a, b)


def floordiv(a, b, span=None):
    """The quotient, rounded down."""
    return integer("/", a, b)


def floormod(a, b, span=None):
    """The remainder of `floordiv`."""
    return integer("%", a, b)


indexdiv, indexmod = floordiv, floormod


def truncdiv(a, b, span=None):
    """The quotient, rounded towards zero."""
    return _towards_zero("tdiv", a, b)


def truncmod(a, b, span=None):
    """The remainder of `truncdiv`."""
    return _towards_zero("tmod", a, b)


def _towards_zero(function, a, b):
    a, b, ty = matched(a, b)
    if not dtypes.is_integer(ty):
        raise TeValueError(f"`{function}` takes integers, not `{dtypes.shown(ty)}`", "`/` divides floats")
    if is_const(b, 0):
        raise TeValueError("this divides by zero", "divide by something else than 0")
    return Call(function, [a, b], ty)


def likely(cond, span=None):
    """The condition itself: in an operator, the word tells the compiler nothing."""
    return condition(cond)
