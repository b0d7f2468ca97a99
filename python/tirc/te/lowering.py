"""From a schedule to the text, and from the text to a kernel by the native module."""

from . import space
from .errors import TeUnsupported, TeValueError
from .names import legal
from .schedule import Schedule
from .stage import INLINE, ROOT

# Options of passes that are in effect: `PassContext` pushes and pops them.
_contexts = []

_UNROLL = {"auto_max_step": "auto_unroll_max_step", "explicit_unroll": "unroll_explicit"}


class PassContext:
    """Options of passes for what is lowered inside: those of `tir.UnrollLoop`, which become a pragma."""

    def __init__(self, opt_level=2, required_pass=None, disabled_pass=None, instruments=None, config=None):
        if required_pass or disabled_pass or instruments:
            raise TeUnsupported("a choice of passes", "`tc-opt --pass-pipeline` chooses them (docs/passes.md)")
        self.hints = {}
        for key, value in (config or {}).items():
            if key != "tir.UnrollLoop":
                raise TeUnsupported(f"the option `{key}`", "options stand in the pipeline (docs/passes.md)")
            for option, number in value.items():
                if option not in _UNROLL:
                    raise TeUnsupported(f"the option `{option}` of `tir.UnrollLoop`", f"there are {', '.join(_UNROLL)}")
                self.hints[_UNROLL[option]] = number

    def __enter__(self):
        _contexts.append(self)
        return self

    def __exit__(self, *_):
        _contexts.pop()


class Lowered:
    """An operator and its schedule as text: `str()` is a file for `tc-opt` and `tc-run`."""

    def __init__(self, name, schedule_name, operator, header, steps, args, order):
        self.name, self.schedule_name, self.args = name, schedule_name, list(args)
        # The position in the caller's list of each argument of the kernel: parameters, then results.
        self.order = order
        self._operator, self._header, self._steps = operator, header, steps

    @property
    def text(self):
        """The file."""
        return self._written(False)

    @property
    def annotated(self):
        """The file, with the line of the program behind each directive."""
        return self._written(True)

    def _written(self, where):
        lines = space.lines(self._steps, 1, where)
        head = f"schedule @{self.schedule_name} for @{self.name}{self._header} {{"
        return "\n".join(["tir 1", "", self._operator, head, *lines, "}", ""])

    def module(self):
        """The text read by the native module: `tirc.Module`, with `check`, `run` and `compile`."""
        return _parse()(self.text, f"<te {self.name}>")

    def script(self, *_, **__):
        """TVM's name of the text."""
        return self.text

    def __str__(self):
        return self.text

    def __repr__(self):
        return f"<te operator @{self.name}, schedule @{self.schedule_name}>"


def lower(inp, args=None, name="main", binds=None, simple_mode=False, schedule_name="te"):
    """The text of the operator `name`, whose arguments `args` lists, and of its schedule."""
    if not isinstance(inp, Schedule):
        raise TeUnsupported(
            "`lower` of something that is no schedule of te", "programs of TensorIR are written in text"
        )
    if binds:
        raise TeUnsupported("`binds`", "a parameter's alignment is an attribute in text: docs/ir.md")
    if not isinstance(args, (list, tuple)):
        raise TeValueError("`lower` takes the list of arguments", "`tvm.lower(s, [A, B])`")
    inp.check()
    name, schedule_name = legal(name), legal(schedule_name)
    try:
        operator = inp.operator.text(name, args)
    except RecursionError:
        raise TeUnsupported("an expression is nested too deeply", "compute parts of it by a `te.compute`") from None
    header = inp.space.header() if inp.space is not None else ""
    steps = list(inp.merged if inp.merged is not None else inp.trace)
    return Lowered(name, schedule_name, operator, header, steps + _hints(inp), args, inp.operator.order_of(args))


def _hints(schedule):
    """The pragmas of the options in effect, at the outermost loop of each kernel."""
    hints = {}
    for context in _contexts:
        hints.update(context.hints)
    directives = []
    for stage in schedule.stages if hints else ():
        if stage.is_argument or stage.attach != ROOT or stage.attach == INLINE or not stage.nest.leaves:
            continue
        if schedule.merged is not None:
            raise TeUnsupported("options of passes for a template", '`s[B].pragma(axis, "auto_unroll_max_step", 16)`')
        loop = stage.nest.leaves[0]
        given = ", ".join(f"{key} = {str(value).lower()}" for key, value in hints.items())
        directives.append(space.Directive(f"pragma({loop.text}, {given})", ("PassContext", 0)))
    return directives


def _parse():
    """`tirc.parse` of the native module."""
    try:
        from tirc import parse
    except ImportError:
        raise TeUnsupported(
            "this needs the native module of `tirc`, which is not there",
            "write `str(tvm.lower(s, args))` to a file, and run `tc-run FILE --check`, or "
            "`tc-opt FILE --pass-pipeline='cuda{schedule=te}' --emit=cuda`",
        ) from None
    return parse


def compile(lowered, arch=None):
    """A kernel of the native module."""
    return lowered.module().compile(lowered.name, lowered.schedule_name, target=arch)


def build(inp, args=None, target=None, target_host=None, runtime=None, name="default_function", binds=None):
    """A kernel, by the native module of `tirc`: `tvm.build`."""
    from ..tvm.runtime import build as build_function

    return build_function(inp, args, target, target_host, runtime, name, binds)
