"""The text of expressions."""

import math

from . import dtypes
from .errors import TeValueError
from .expr import Binary, Call, Cast, Choice, Const, IterVar, Load, Param, Scalar, Unary, cast
from .reduce import Reduce

# How tightly operators bind; comparisons do not chain.
_TIGHT = {
    "||": 1,
    "&&": 2,
    "==": 3,
    "!=": 3,
    "<": 3,
    "<=": 3,
    ">": 3,
    ">=": 3,
    "|": 4,
    "^": 5,
    "&": 6,
    "<<": 7,
    ">>": 7,
    "+": 8,
    "-": 8,
    "*": 9,
    "/": 9,
    "%": 9,
}
_COMPARISON, _PREFIX = 3, 10


class Printer:
    """Writes expressions; `names` knows what axes, tensors, sizes and parameters are called."""

    def __init__(self, names):
        self.names = names

    def text(self, value, tight=0):
        """The text of `value`, in parentheses if an operator around it binds as tightly as `tight`."""
        if isinstance(value, Binary):
            return self._binary(value, tight)
        if isinstance(value, Const):
            return number(value, tight)
        if isinstance(value, Unary):
            return f"{value.op}{self.text(value.a, _PREFIX + 1)}"
        if isinstance(value, Cast):
            return f"cast<{dtypes.text(value.ty)}>({self.text(value.a)})"
        if isinstance(value, Choice):
            function = "if_then_else" if value.lazy else "select"
            return f"{function}({self._list((value.condition, value.a, value.b))})"
        if isinstance(value, Call):
            return f"{value.function}({self._list(value.args)})"
        if isinstance(value, Load):
            return f"{self.name(value.tensor)}[{self._list([index(one) for one in value.indices])}]"
        if isinstance(value, IterVar) and value.tag:
            return value.tag
        if isinstance(value, Scalar):
            return f"{self.name(value)}[]"
        return value.name if isinstance(value, Param) else self.name(value)

    def name(self, owner):
        """What `owner` is called."""
        found = self.names.of(owner)
        if found is None:
            raise TeValueError(f"`{owner!r}` is unknown here", "it belongs to another operator, or another stage")
        return found

    def _list(self, values):
        return ", ".join(self.text(value) for value in values)

    def _binary(self, value, tight):
        # The left operands of a long sum lie deep, so they are walked and not descended into.
        spine = [value]
        while isinstance(spine[-1].a, Binary):
            spine.append(spine[-1].a)
        text = None
        for node, around in zip(reversed(spine), [*_left_levels(spine), tight]):
            level = _TIGHT[node.op]
            left = self._operand(node.a, node.b, level + (level == _COMPARISON)) if text is None else text
            text = f"{left} {node.op} {self._operand(node.b, node.a, level + 1)}"
            text = f"({text})" if level < around else text
        return text

    def _operand(self, value, other, tight):
        """An operand; a number has the type of the other one."""
        if isinstance(value, Const) and not isinstance(other, Const):
            return number(value, tight, typed=False)
        return self.text(value, tight)

    def reduction(self, value):
        """The text of a reduction, with what comes before its sources apart: `sum[k: 8](` and `A[k])`."""
        group = value.group
        axes = ", ".join(self.axis(axis) for axis in group.axis)
        args = [self.text(source) for source in group.sources]
        if group.where is not None:
            args.append(f"where = {self.text(group.where)}")
        if group.init is not None:
            start = [self.text(one) for one in group.init]
            args.append(f"init = {start[0] if len(start) == 1 else '[' + ', '.join(start) + ']'}")
        word = group.combiner.name if group.combiner.is_builtin else self.name(group.applied)
        return f"{word}[{axes}](", f"{', '.join(args)})"

    def axis(self, axis):
        """An axis and its bounds."""
        low, high = index(axis.dom.min), index(axis.dom.end)
        if isinstance(low, Const) and low.value == 0:
            return f"{self.name(axis)}: {self.text(high)}"
        return f"{self.name(axis)}: {self.text(low)}..{self.text(high)}"

    def element(self, value):
        """The text of an element of a `compute`: the part before a possible break of the line, and the rest."""
        return self.reduction(value) if isinstance(value, Reduce) else ("", self.text(value))


def _left_levels(spine):
    """How tightly the operators bind whose left operand is the next one of `spine`, from the inside."""
    levels = [_TIGHT[node.op] for node in reversed(spine[:-1])]
    return [level + (level == _COMPARISON) for level in levels]


def index(value):
    """`value` as an index: brackets and bounds take no other type of expression."""
    return cast(value, dtypes.INDEX)


def number(value, tight=0, typed=True):
    """A number, with its type where the context does not say it."""
    if value.ty == "bool":
        return "true" if value.value else "false"
    suffix = "" if not typed or value.ty in ("index", "float32") else dtypes.text(value.ty)
    if dtypes.is_float(value.ty) and math.isnan(value.value):
        return f"nan{suffix}"
    if dtypes.is_float(value.ty):
        text = repr(abs(value.value))
    else:
        text = str(abs(value.value))
    negative = math.copysign(1.0, value.value) < 0
    if not negative:
        return text + suffix
    return f"(-{text}{suffix})" if tight > _PREFIX else f"-{text}{suffix}"
