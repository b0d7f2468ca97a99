"""AutoTVM's templates: knobs become parameters of the schedule, with their choices.

`tc-tune FILE @SCHEDULE` searches what a template spans; the tuners of AutoTVM are refused with that command.
"""

import functools

from . import space as spaces
from .errors import TeUnsupported, TeValueError, missing_names
from .expr import Const, IterVar, Param, as_size, convert
from .names import legal
from .schedule import Schedule

_TEMPLATES = {}


class Knob:
    """A knob: `val` is its value, an expression."""

    def __init__(self, val):
        self.val = val


class SplitEntity:
    """The sizes that a loop is split into: `size[0]` is -1, what is left."""

    def __init__(self, size):
        self.size = size

    def apply(self, sch, op, axis):
        """Splits `axis` of `op`, and gives the loops, outermost first."""
        loops = []
        for nth in range(1, len(self.size)):
            factor = self.size[nth]
            for other in self.size[nth + 1 :]:
                factor = factor * other
            outer, axis = sch[op].split(axis, factor=factor)
            loops.append(outer)
        return [*loops, axis]


class Config:
    """The knobs of a template."""

    is_fallback = False

    def __init__(self, run):
        self._space = run.space
        self._entities = {}

    def define_knob(self, name, candidate):
        """A number or truth value out of a list."""
        values = list(candidate)
        if not values:
            raise TeValueError(f"the knob `{name}` has no choice", "give a list of values")
        truths = all(isinstance(value, bool) for value in values)
        if not truths and not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            raise TeUnsupported(
                f"the knob `{name}` chooses among values that are neither integers nor truth values",
                "number them: `define_knob(name, [0, 1, 2])`, and compare `.val` with the number",
            )
        param = Param(legal(name), "bool" if truths else "index", list(dict.fromkeys(values)))
        shown = ", ".join(str(value).lower() for value in param.values)
        self._entities[name] = Knob(self._space.declare(param, "bool" if truths else "i32", f"[{shown}]"))

    def define_split(self, name, axis, policy="factors", **kwargs):
        """The sizes of the loops that an axis is split into."""
        unknown = kwargs.keys() - {"num_outputs", "max_factor", "no_tail", "filter", "candidate"}
        if unknown:
            raise TeUnsupported(f"`define_split` with `{sorted(unknown)[0]}`", "docs/te-python.md lists what there is")
        parts = kwargs.get("num_outputs", 2)
        if policy == "candidate":
            self._entities[name] = SplitEntity([-1, *self._listed(name, kwargs.get("candidate"), parts)])
            return
        if policy not in ("factors", "power2", "verbose"):
            raise TeUnsupported(f"the policy `{policy}`", "there are factors, power2, verbose and candidate")
        extent = as_size(axis.dom.extent if isinstance(axis, IterVar) and axis.dom is not None else _extent(axis))
        sizes = self._sizes(name, extent, policy, parts, kwargs.get("max_factor"))
        divides = kwargs.get("no_tail", policy == "factors")
        self._product(extent, sizes, divides)
        entity = SplitEntity([-1, *sizes])
        if "filter" in kwargs:
            self._space.require(convert(kwargs["filter"](entity)))
        self._entities[name] = entity

    def _sizes(self, name, extent, policy, parts, max_factor):
        """A parameter for each loop but the outermost."""
        if parts < 2:
            raise TeValueError(f"`{name}` is split into {parts} loops", "`num_outputs` is at least 2")
        known = extent.value if isinstance(extent, Const) else None
        if known is None:
            raise TeUnsupported(
                f"`{name}` splits an axis whose extent is a size", "give the size a number, or use `define_knob`"
            )
        values = _choices(known, policy)
        if max_factor is not None:
            values = [value for value in values if value <= max_factor]
        if policy == "factors":
            text = f"divisors({known})" if max_factor is None else None
        else:
            text = f"range(1, {known + 1}, 1)" if policy == "verbose" and max_factor is None else None
        text = text or f"[{', '.join(map(str, values))}]"
        names = [name] if parts == 2 else [f"{name}_{nth}" for nth in range(1, parts)]
        return [self._space.declare(Param(legal(one), "index", values), "i32", text) for one in names]

    def _product(self, extent, sizes, divides):
        """The loops together have the iterations of the axis."""
        product = sizes[0]
        for size in sizes[1:]:
            product = product * size
        if divides and len(sizes) > 1:
            self._space.require((extent % product).equal(0))
        elif not divides and len(sizes) > 1:
            self._space.require(product <= extent)

    def _listed(self, name, candidate, parts):
        rows = [list(row)[1:] for row in candidate or []]
        if not rows or any(len(row) != len(rows[0]) for row in rows):
            raise TeValueError(
                f"the candidates of `{name}` are no rows of one length", "`candidate=[[-1, 8], [-1, 16]]`"
            )
        names = [name] if len(rows[0]) == 1 else [f"{name}_{nth}" for nth in range(1, len(rows[0]) + 1)]
        params = []
        for nth, one in enumerate(names):
            values = list(dict.fromkeys(row[nth] for row in rows))
            text = f"[{', '.join(map(str, values))}]"
            params.append(self._space.declare(Param(legal(one), "index", values), "i32", text))
        if len(params) > 1:
            rows = [" && ".join(f"{param.name} == {value}" for param, value in zip(params, row)) for row in rows]
            self._space.require(" || ".join(rows))
        return params

    def define_reorder(self, name, axes, policy=None, **kwargs):
        raise TeUnsupported("`define_reorder`", "`define_knob(name, [0, 1, 2])`, and `reorder` by its value")

    def define_annotate(self, name, axes, policy=None, **kwargs):
        raise TeUnsupported(
            "`define_annotate`", "`define_knob(name, [True, False])`, and `unroll` or `vectorize` by it"
        )

    def axis(self, var):
        return var

    def raise_error(self, msg):
        """Takes the points that come here out of the space."""
        raise spaces.Rejected(msg)

    def valid(self):
        return True

    def add_flop(self, flop):
        """AutoTVM's count of operations, which only its logs show."""

    def __getitem__(self, name):
        if name not in self._entities:
            known = ", ".join(f"`{one}`" for one in self._entities) or "none"
            raise TeValueError(
                f"there is no knob `{name}`", f"there are {known}; `define_knob` and `define_split` make them"
            )
        return self._entities[name]


def _extent(axis):
    if isinstance(axis, IterVar):
        raise TeUnsupported(
            f"`define_split` of `{axis.name}`, a loop that a directive made", "split an axis, or use `define_knob`"
        )
    return axis


def _choices(extent, policy):
    if policy == "verbose":
        return list(range(1, extent + 1))
    if policy == "power2":
        return [1 << nth for nth in range(extent.bit_length())]
    return [value for value in range(1, extent + 1) if extent % value == 0]


def get_config():
    """The knobs of the template that is running."""
    run = spaces.current_run()
    if run is None:
        raise TeValueError(
            "`get_config` outside of a template", "call it in a function under `@autotvm.template(name)`"
        )
    if getattr(run, "config", None) is None:
        run.config = Config(run)
    return run.config


def template(task_name, func=None):
    """Lets a function that returns a schedule and its arguments span a space."""

    def decorate(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            return instantiate(task_name, function, args, kwargs)

        _TEMPLATES[task_name] = run
        return run

    return decorate(func) if func is not None else decorate


def instantiate(name, function, args, kwargs):
    """The schedule of all paths of a template, and the arguments of its operator."""
    space, runs = spaces.explore(lambda: function(*args, **kwargs))
    results = []
    for _, result in runs:
        if not isinstance(result, (tuple, list)) or len(result) < 2 or not isinstance(result[0], Schedule):
            raise TeValueError(
                f"the template `{name}` does not return a schedule and its arguments", "`return s, [A, B]`"
            )
        result[0].check()
        results.append((result[0], result[1]))
    first, arguments = results[0]
    texts = {schedule.operator.text("f", given) for schedule, given in results}
    if len(texts) > 1:
        raise TeUnsupported(
            f"in the template `{name}` a knob changes what is computed", "let knobs choose the schedule alone"
        )
    first.space = space
    first.merged = spaces.join([run.trace for run, _ in runs])
    first.template = name
    return first, arguments


class Task:
    """A template with its arguments."""

    def __init__(self, name, args, target=None):
        self.name, self.args, self.target = name, args, target
        self.schedule, self.arguments = _TEMPLATES[name](*args)

    @property
    def config_space(self):
        """The parameters, as the text says them."""
        return self.schedule.space.header().strip()

    def lower(self):
        """The text of operator and schedule."""
        from .lowering import lower

        return lower(self.schedule, self.arguments, name=legal(self.name))


class _TaskModule:
    """AutoTVM's `task`."""

    Task = Task

    @staticmethod
    def create(task_name, args, target=None, target_host=None):
        if task_name not in _TEMPLATES:
            known = ", ".join(f"`{name}`" for name in _TEMPLATES) or "none"
            raise TeValueError(f"there is no template `{task_name}`", f"there are {known}")
        return Task(task_name, tuple(args), target)


task = _TaskModule()

_COMMAND = "write the text of the task to a file, and run `tc-tune FILE @te` (docs/tuning.md)"

__getattr__ = missing_names(
    "autotvm",
    {
        name: _COMMAND
        for name in [
            "tuner",
            "measure_option",
            "LocalBuilder",
            "LocalRunner",
            "RPCRunner",
            "callback",
            "apply_history_best",
            "measure",
        ]
    },
)

__all__ = ["Config", "Knob", "SplitEntity", "Task", "get_config", "task", "template"]
