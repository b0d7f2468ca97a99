"""Reductions: `te.sum`, `te.max`, `te.min`, and combiners of the caller."""

from . import dtypes
from .errors import TeValueError
from .expr import Const, Expr, IterVar, Var, cast, condition, convert
from .ops import extremum
from .walks import walk


class Combiner:
    """How values are combined, from which value on. Built-in ones have no function."""

    def __init__(self, name, combine=None, identity=None):
        self.name, self.combine, self.identity = name, combine, identity

    @property
    def is_builtin(self):
        return self.combine is None

    def applied(self, types):
        """The arguments of the combiner for these types, its identity and its result: lists of expressions."""
        left = [Var(f"a{nth}", ty) for nth, ty in enumerate(types)]
        right = [Var(f"b{nth}", ty) for nth, ty in enumerate(types)]
        if len(types) == 1:
            result, identity = [self.combine(left[0], right[0])], [self.identity(dtypes.shown(types[0]))]
        else:
            result = list(self.combine(tuple(left), tuple(right)))
            identity = list(self.identity(*(dtypes.shown(ty) for ty in types)))
        return left, right, self._typed(identity, types), self._typed(result, types)

    def _typed(self, values, types):
        if len(values) != len(types):
            raise TeValueError(
                f"the combiner `{self.name}` gives {len(values)} values for {len(types)}",
                "both functions give as many values as are reduced",
            )
        values = [convert(value) for value in values]
        values = [cast(value, ty) if isinstance(value, Const) else value for value, ty in zip(values, types)]
        for value, ty in zip(values, types):
            if value.ty != ty:
                wanted, found = dtypes.shown(ty), value.dtype
                raise TeValueError(
                    f"the combiner `{self.name}` gives `{found}` where it takes `{wanted}`", "cast it: `.astype(…)`"
                )
        return values


class Group:
    """What the results of one reduction share."""

    def __init__(self, combiner, sources, axis, where, init):
        self.combiner, self.sources, self.axis, self.where, self.init = combiner, sources, axis, where, init
        self.applied = None if combiner.is_builtin else combiner.applied([source.ty for source in sources])


class Reduce(Expr):
    """Result number `index` of a reduction."""

    __slots__ = ("group", "index")

    def __init__(self, group, index):
        self.group, self.index, self.ty = group, index, group.sources[index].ty

    @property
    def axis(self):
        return self.group.axis

    def operands(self):
        bounds = [end for axis in self.group.axis for end in (axis.dom.min, axis.dom.end)]
        where = [self.group.where] if self.group.where is not None else []
        return (*bounds, *self.group.sources, *where, *(self.group.init or ()))


def _axes(axis):
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    for one in axes:
        if not isinstance(one, IterVar) or not one.reduce:
            raise TeValueError("a reduction runs over reduction axes", '`k = te.reduce_axis((0, n), "k")`')
    if not axes:
        raise TeValueError("a reduction over no axis", "leave the reduction out")
    if len({id(one) for one in axes}) != len(axes):
        raise TeValueError("a reduction runs over an axis twice", "name each axis once")
    return axes


def _values(value, kind):
    values = [convert(one) for one in (value if isinstance(value, (list, tuple)) else [value])]
    for one in values:
        if any(isinstance(node, Reduce) for node in walk(one)):
            raise TeValueError(f"the {kind} of a reduction is a reduction", "let a `te.compute` hold the inner one")
    return [one.astype("int32") if one.ty == dtypes.INDEX else one for one in values]


def _reduce(combiner, expr, axis, where, init):
    sources = _values(expr, "source")
    axes = _axes(axis)
    where = condition(where) if where is not None else None
    start = None
    if init is not None:
        start = _values(init, "initial value")
        if len(start) != len(sources) or any(a.ty != b.ty for a, b in zip(start, sources)):
            raise TeValueError("the initial values of a reduction do not have the types of its sources", "cast them")
    if combiner.is_builtin and sources[0].ty == "bool":
        raise TeValueError(f"`{combiner.name}` of truth values", 'cast them: `.astype("int32")`')
    group = Group(combiner, sources, axes, where, start)
    results = [Reduce(group, nth) for nth in range(len(sources))]
    return tuple(results) if isinstance(expr, (list, tuple)) else results[0]


_SUM, _MAX, _MIN = Combiner("sum"), Combiner("max"), Combiner("min")


def _is_axis(axis):
    return isinstance(axis, (list, tuple)) or (isinstance(axis, IterVar) and axis.reduce)


def sum(expr, axis, where=None, init=None):
    """The sum of `expr` over `axis`."""
    return _reduce(_SUM, expr, axis, where, init)


def max(expr, axis, where=None, init=None):
    """The greatest `expr` over `axis`; of two values, the greater."""
    return _reduce(_MAX, expr, axis, where, init) if _is_axis(axis) else extremum("max", expr, axis)


def min(expr, axis, where=None, init=None):
    """The least `expr` over `axis`; of two values, the lesser."""
    return _reduce(_MIN, expr, axis, where, init) if _is_axis(axis) else extremum("min", expr, axis)


def comm_reducer(fcombine, fidentity, name="reduce"):
    """A reducer by a combiner of the caller: `fcombine(x, y)`, from `fidentity(dtype)` on."""
    combiner = Combiner(name, fcombine, fidentity)

    def reducer(expr, axis, where=None, init=None):
        return _reduce(combiner, expr, axis, where, init)

    reducer.__name__ = name
    return reducer
