"""Texts that were read, and what can be done with them."""

from __future__ import annotations

import dataclasses
import html
import json
import os
import string
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import ArgumentError, Diagnostic
from .highlight import highlighted

if TYPE_CHECKING:
    import numpy as np

    from .arrays import Named

Values = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Item:
    """An item of a text: an operator, a schedule, a program."""

    kind: str
    name: str
    #: The operators that a schedule is for.
    targets: list[str]
    #: Sizes with their defaults, `None` where they stay open.
    sizes: dict[str, str | None]
    #: Parameters with their types, or the choices of a schedule.
    params: dict[str, str]
    line: int | None


@dataclasses.dataclass(frozen=True)
class Check:
    """What checking one schedule or program came to."""

    name: str
    ok: bool
    #: Cells compared; `None` where there is no operator to compare with.
    cells: int | None
    #: Not all blocks were run, or not all cells compared.
    sampled: bool
    max_abs_err: float
    max_rel_err: float
    #: In exact arithmetic: `equal`, `differs`, `undecided`, or `None` where that was not tried.
    exact: str | None
    races: str | None
    bounds: str | None
    #: The values of the schedule's parameters.
    point: dict[str, int]
    seconds: float
    #: What was found, as the tools print it.
    text: str
    diagnostics: list[Diagnostic]

    def __bool__(self) -> bool:
        return self.ok


class Checks(list[Check]):
    """Checks of one call; true where all are right."""

    def __bool__(self) -> bool:
        return all(self)

    def __str__(self) -> str:
        lines = [f"{one.name}: {_verdict(one)}" for one in self]
        return "\n".join(lines + [one.text.rstrip() for one in self if one.text])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(one.name)}</td><td>{html.escape(_verdict(one))}</td></tr>" for one in self
        )
        texts = "".join(f"<pre>{html.escape(one.text)}</pre>" for one in self if one.text)
        return f"<table><tr><th>case</th><th>result</th></tr>{rows}</table>{texts}"


def _verdict(one: Check) -> str:
    if not one.ok:
        return "WRONG"
    values = "no operator to compare with" if one.cells is None else f"max error {one.max_abs_err:.1e}"
    sampled = "sampled, " if one.sampled else ""
    return f"ok ({sampled}{values}, races {one.races}, bounds {one.bounds})"


class Page(str):
    """A page of HTML, shown in a notebook in a frame of its own."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)

    def _repr_html_(self) -> str:
        return f'<iframe style="width:100%;height:40em;border:0" srcdoc="{html.escape(self, quote=True)}"></iframe>'


class Module:
    """Operators, schedules and programs of one text. It never changes: passes give a new one."""

    def __init__(self, native: _native.Module) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """What messages call the text."""
        return self._native.name

    @property
    def warnings(self) -> str:
        """What was found beside errors, as the tools print it."""
        return self._native.warnings

    @property
    def items(self) -> list[Item]:
        """All items, in the order of the text."""
        return [_item(one) for one in json.loads(self._native.items_json())]

    @property
    def operators(self) -> dict[str, Item]:
        """The operators by name."""
        return {item.name: item for item in self.items if item.kind == "operator"}

    @property
    def schedules(self) -> dict[str, Item]:
        """The schedules by name; of several with one name, the last."""
        return {item.name: item for item in self.items if item.kind == "schedule"}

    @property
    def programs(self) -> dict[str, Item]:
        """The programs by name."""
        return {item.name: item for item in self.items if item.kind == "program"}

    def run(self, pipeline: str, *, target: str | None = None, values: Values | None = None, **named: int) -> Module:
        """What a pass pipeline makes of it, as `tc-opt --pass-pipeline` does."""
        return Module(self._native.run(pipeline, target, {**(values or {}), **named}))

    def trace(
        self, pipeline: str, *, target: str | None = None, values: Values | None = None, **named: int
    ) -> list[tuple[str, str]]:
        """The text after each pass: names of passes and texts."""
        return self._native.trace(pipeline, target, {**(values or {}), **named})

    def page(
        self, pipeline: str = "cuda", *, target: str | None = None, values: Values | None = None, **named: int
    ) -> Page:
        """A page that shows the program after each pass, the kernels and what they ask of the GPU."""
        return Page(self._native.page(pipeline, target, {**(values or {}), **named}))

    def emit(self, form: str = "cuda", *, target: str | None = None) -> str:
        """The `cuda`, `mlir` or `ptx` of a module that went through the pipeline `cuda`."""
        return self._native.emit(form, target)[0]

    def manifests(self, *, target: str | None = None) -> list[dict[str, Any]]:
        """How the kernels of a module that went through the pipeline `cuda` are launched."""
        manifests: list[dict[str, Any]] = json.loads(self._native.emit("cuda", target)[1])
        return manifests

    def check(
        self,
        operator: str | None = None,
        schedule: str | None = None,
        *,
        inputs: Mapping[str, Any] | None = None,
        values: Values | None = None,
        seed: int = 0,
        target: str | None = None,
        **named: int,
    ) -> Checks:
        """Compares schedules and programs with their operator's definition, on the simulator: values, races, bounds.

        `inputs` are arrays by name; those not given are drawn from `seed`. `values` gives values to sizes and to parameters
        of schedules.
        """
        given = self._inputs(inputs)
        native = self._native.check((operator, schedule), {**(values or {}), **named}, given, seed, target)
        return Checks(_check(one) for one in json.loads(native))

    def evaluate(
        self,
        operator: str | None = None,
        schedule: str | None = None,
        *,
        inputs: Mapping[str, Any] | None = None,
        values: Values | None = None,
        seed: int = 0,
        target: str | None = None,
        **named: int,
    ) -> dict[str, np.ndarray]:
        """The results by name: of an operator by its definition, under a schedule, or of a program, on the simulator.

        `inputs` are all that is read, by name; without any they are drawn from `seed`.
        """
        given = self._inputs(inputs)
        native = self._native.evaluate((operator, schedule), {**(values or {}), **named}, given, seed, target)
        from . import arrays

        return {one[0]: arrays.back(one) for one in native}

    def compile(
        self,
        operator: str | None = None,
        schedule: str | None = None,
        *,
        values: Values | None = None,
        target: str | None = None,
        symbolic: bool = False,
        tf32: bool = False,
        keep_lines: bool = False,
        **named: int,
    ) -> _native.Kernel:
        """A kernel for `target`, or for the first GPU.

        Sizes that `values` does not give have their defaults, or stay open where they have none; with `symbolic` all stay
        open, and each call's shapes say them. An operator without a schedule gets one by rules, as `tc-run @auto` makes it;
        `tf32` lets the rules round factors of f32 products. `keep_lines` keeps the lines of the source for profilers.
        """
        chosen = (operator, schedule)
        return self._native.compile(chosen, {**(values or {}), **named}, target, symbolic, tf32, keep_lines)

    def _inputs(self, inputs: Mapping[str, Any] | None) -> list[Named]:
        # NumPy takes longer to import than all else here.
        from . import arrays

        types = {name: kind.split("[")[0] for item in self.items for name, kind in item.params.items()}
        return [arrays.given(name, array, types.get(name)) for name, array in (inputs or {}).items()]

    def __str__(self) -> str:
        return str(self._native)

    def __repr__(self) -> str:
        names = ", ".join(f"{'@' if item.kind == 'schedule' else ''}{item.name}" for item in self.items)
        return f"<tirc.Module {self.name}: {names}>"

    def _repr_html_(self) -> str:
        return highlighted(str(self))

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)


def _item(one: dict[str, Any]) -> Item:
    return Item(
        kind=one["kind"],
        name=one["name"],
        targets=one["for"],
        sizes={size["name"]: size["default"] for size in one["sizes"]},
        params={param["name"]: param["type"] for param in one["params"]},
        line=one["line"],
    )


def _check(one: dict[str, Any]) -> Check:
    return Check(**{**one, "diagnostics": [Diagnostic.of(found) for found in one["diagnostics"]]})


def parse(text: str, name: str = "<string>") -> Module:
    """Reads a text; `name` is what messages call it."""
    return Module(_native.parse(text, name))


def load(path: str | os.PathLike[str]) -> Module:
    """Reads a file."""
    with open(path, encoding="utf-8", newline="") as file:
        return parse(file.read(), os.fspath(path))


class _Template(string.Template):
    delimiter = "$"
    idpattern = r"(?a:[_A-Za-z][_A-Za-z0-9]*)"


def template(text: str, name: str = "<string>", /, **parts: object) -> Module:
    """Reads a text in which `$part` or `${part}` stands for a part: a number, a type, or lines. `$$` is a dollar."""
    try:
        filled = _Template(text).substitute({key: str(part) for key, part in parts.items()})
    except KeyError as missing:
        raise ArgumentError(f"error[bad-argument]: the template has a part {missing}, and none is given", []) from None
    except ValueError as wrong:
        raise ArgumentError(f"error[bad-argument]: {wrong}\n  = help: write `$$` for a dollar", []) from None
    return parse(filled, name)
