"""Schedules with choices: parameters, the paths of a program that asks for them, and the text of all paths together.

A template is run once for each way that its `if`s over parameters can go. Each run leaves a trace: its directives, and what it
asked. The traces are joined to one list of directives with `if`s.
"""

from difflib import SequenceMatcher
from functools import reduce
from itertools import product

from . import expr
from .errors import TeError, TeUnsupported, TeValueError
from .names import Names
from .printer import Printer
from .walks import evaluate, params_of

MAX_PATHS = 256
_MAX_POINTS = 4096


class Directive:
    """A line of the schedule, and where the program asked for it."""

    def __init__(self, text, at):
        self.text, self.at = text, at


class Question:
    """A condition that the program asked of the parameters, and the answer that it got."""

    def __init__(self, value, answer):
        self.value, self.answer = value, answer
        self.text = _text(value)


class Branch:
    """Directives that a condition chooses."""

    def __init__(self, value, then, otherwise):
        self.value, self.then, self.otherwise = value, then, otherwise


class Space:
    """The parameters of a schedule: `declare` adds one, with the text of its choices."""

    def __init__(self):
        self.params = []
        self.conditions = []
        self.schedules = []

    def declare(self, param, kind, choices):
        """Adds a parameter; one of this name that is there has to be the same."""
        line = f"{param.name}: {kind} in {choices}"
        for known, other in self.params:
            if known.name == param.name:
                if other != line:
                    raise TeValueError(
                        f"the knob `{param.name}` is defined twice, with other choices", "name it otherwise"
                    )
                return known
        for names in self.schedules:
            _reserve(names, param)
        self.params.append((param, line))
        return param

    def join_schedule(self, names):
        """Reserves the names of the parameters in a schedule that begins."""
        self.schedules.append(names)
        for param, _ in self.params:
            _reserve(names, param)

    def require(self, condition):
        """Admits only points where `condition` holds, an expression over parameters or its text."""
        text = condition if isinstance(condition, str) else _text(condition)
        if text not in self.conditions:
            self.conditions.append(text)

    def reject(self, run, why):
        """Admits no point that comes to where `run` ended."""
        asked = [step for step in run.trace if isinstance(step, Question)]
        if not asked:
            raise TeValueError(f"the template rejects all points: {why}", "reject fewer")
        others = [expr.negate(step.value) if step.answer else step.value for step in asked]
        self.require(reduce(lambda a, b: expr.logical("||", a, b), others))

    def header(self):
        """What a schedule says of its parameters."""
        if not self.params:
            return ""
        lines = "".join(f"\n    {line}," for _, line in self.params)
        where = f" where {', '.join(self.conditions)}" if self.conditions else ""
        return f" ({lines}\n){where}"


def _text(value):
    return Printer(Names()).text(value)


def _reserve(names, param):
    if names.take(param.name) != param.name:
        raise TeValueError(f"`{param.name}` is a knob, and a tensor, a size or a loop", "name the knob otherwise")


class Rejected(Exception):
    """The template says that this path is no point of its space."""


class Run:
    """One run of a template: the answers that it is to get, and what it has asked so far."""

    def __init__(self, space, answers):
        self.space, self.answers = space, answers
        self.trace, self.asked, self.n_schedules = [], [], 0
        self._known = {}

    def decide(self, value):
        """Answers whether `value` holds on this path; `None` if it is no expression over parameters."""
        if not params_of(value):
            return None
        text = _text(value)
        if text in self._known:
            return self._known[text]
        answer = self._only_answer(value)
        if answer is None:
            nth = len([one for one in self.trace if isinstance(one, Question)])
            answer = self.answers[nth] if nth < len(self.answers) else True
            self.trace.append(Question(value, answer))
            self.asked.append((value, answer))
        self._known[text] = answer
        return answer

    def _only_answer(self, value):
        """The answer, if the ones before leave no other."""
        params = {}
        for one, _ in [*self.asked, (value, True)]:
            params.update({param.name: param for param in params_of(one)})
        lists = [param.values for param in params.values()]
        points = 1
        for values in lists:
            points *= len(values) if values is not None else _MAX_POINTS + 1
        if points > _MAX_POINTS:
            return None
        found = set()
        for point in product(*lists):
            known = dict(zip(params, point))
            if all(bool(evaluate(one, known)) == answer for one, answer in self.asked):
                found.add(bool(evaluate(value, known)))
        return found.pop() if len(found) == 1 else None


# The run that is going on, and its parameters; nested templates have their own.
_runs = []


def current_run():
    return _runs[-1] if _runs else None


def new_trace(names):
    """Where a new schedule writes its directives; `names` are those that it gives."""
    if not _runs:
        return []
    _runs[-1].n_schedules += 1
    if _runs[-1].n_schedules > 1:
        raise TeUnsupported("a template makes two schedules", "write a template for each")
    _runs[-1].space.join_schedule(names)
    return _runs[-1].trace


def explore(function):
    """Runs `function` for each way that its questions can be answered; gives the space, and run and result of each."""
    space, done, n_runs = Space(), [], 0
    worklist = [[]]
    while worklist:
        n_runs += 1
        answers = worklist.pop()
        run = Run(space, answers)
        _runs.append(run)
        expr._decide.append(run.decide)
        try:
            done.append((run, function()))
        except Rejected as rejected:
            space.reject(run, rejected)
        finally:
            expr._decide.pop()
            _runs.pop()
        if n_runs + len(worklist) > MAX_PATHS:
            raise TeUnsupported(
                f"the template has more than {MAX_PATHS} paths", "ask for fewer knobs in `if`, or write two templates"
            )
        given = [one.answer for one in run.trace if isinstance(one, Question)]
        for nth in range(len(answers), len(given)):
            worklist.append([*given[:nth], not given[nth]])
    if not done:
        raise TeValueError("the template rejects all points", "reject fewer")
    # Depth first, the first answer first: the order does not depend on how the runs were found.
    return space, sorted(done, key=lambda one: [not step.answer for step in one[0].trace if isinstance(step, Question)])


def join(traces):
    """The directives of all paths, whose traces agree up to the answers to their questions."""
    joined, nth = [], 0
    while True:
        steps = [trace[nth] if nth < len(trace) else None for trace in traces]
        if steps[0] is None:
            if any(step is not None for step in steps):
                raise TeError("the template does other things from run to run", "let it depend on its arguments alone")
            return joined
        if isinstance(steps[0], Question):
            break
        _check_alike(steps, Directive)
        joined.append(steps[0])
        nth += 1
    _check_alike(steps, Question)
    rest = [
        [trace[nth + 1 :] for trace, step in zip(traces, steps) if step.answer is answer] for answer in (True, False)
    ]
    if not all(rest):
        return joined + join([one for some in rest for one in some])
    return joined + _woven(steps[0].value, join(rest[0]), join(rest[1]))


def _woven(value, then, otherwise):
    """Both ways of a condition as one list: what they have in common stands once, the rest under the condition."""
    keys = [[tuple(lines([step], 0)) for step in steps] for steps in (then, otherwise)]
    parts, done = [], (0, 0)
    for block in SequenceMatcher(None, *keys, autojunk=False).get_matching_blocks():
        gap = then[done[0] : block.a], otherwise[done[1] : block.b]
        parts += [Branch(value, *gap)] if any(gap) else []
        parts += then[block.a : block.a + block.size]
        done = block.a + block.size, block.b + block.size
    if _binds_once(parts):
        return parts
    return [Branch(value, then, otherwise)]


def _binds_once(steps):
    """Is each name bound by one step alone, so that it is bound once on each path?"""
    names = [name for step in steps for name in _bound(step)]
    return len(names) == len(set(names))


def _bound(step):
    """The names that a step binds on some path."""
    if isinstance(step, Branch):
        return {name for one in [*step.then, *step.otherwise] for name in _bound(one)}
    names, equals, _ = step.text.partition(" = ")
    return set(names.split(", ")) if equals and "(" not in names else set()


def _check_alike(steps, kind):
    if any(not isinstance(step, kind) or step.text != steps[0].text for step in steps):
        raise TeError(
            "the template does other things from run to run", "let it depend on its arguments and knobs alone"
        )


def lines(steps, depth, where=False):
    """The lines of directives; with `where`, each says which line of the program it is of."""
    out, pad = [], "  " * depth
    for step in steps:
        if isinstance(step, Directive):
            out.append(f"{pad}{step.text}" + (f"  // {step.at[0]}:{step.at[1]}" if where else ""))
        elif isinstance(step, Branch):
            out += _branch(step, depth, where)
    return out


def _branch(step, depth, where):
    pad = "  " * depth
    if not step.then:
        refused = _text(expr.negate(step.value))
        return [f"{pad}if {refused} {{", *lines(step.otherwise, depth + 1, where), f"{pad}}}"]
    out = [f"{pad}if {_text(step.value)} {{", *lines(step.then, depth + 1, where)]
    rest = step.otherwise
    if not rest:
        return [*out, f"{pad}}}"]
    if len(rest) == 1 and isinstance(rest[0], Branch) and rest[0].then:
        first, *more = _branch(rest[0], depth, where)
        return [*out, f"{pad}}} else {first.strip()}", *more]
    return [*out, f"{pad}}} else {{", *lines(rest, depth + 1, where), f"{pad}}}"]
