"""What is raised. Each exception carries the diagnostics, and its text is what the tools print."""

from __future__ import annotations

import dataclasses
import json
from typing import Any


@dataclasses.dataclass(frozen=True)
class Diagnostic:
    """One diagnostic: what is wrong, where, and what helps."""

    severity: str
    fault: str
    code: str
    message: str
    location: dict[str, Any] | None
    labels: list[dict[str, Any]]
    notes: list[str]
    help: str | None

    @staticmethod
    def of(data: dict[str, Any]) -> Diagnostic:
        """The diagnostic that is `data` as JSON."""
        known: dict[str, Any] = {field.name: data.get(field.name) for field in dataclasses.fields(Diagnostic)}
        return Diagnostic(**known)


class Error(Exception):
    """What `tirc` raises."""

    def __init__(self, text: str, diagnostics: list[Diagnostic]) -> None:
        super().__init__(text)
        self.diagnostics = diagnostics

    def __str__(self) -> str:
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.args[0], self.diagnostics)


class CompileError(Error):
    """A text, a schedule or a pass pipeline is wrong."""


class ArgumentError(Error, ValueError):
    """An argument of a call is wrong: its type, its shape, its device."""


class DeviceError(Error):
    """There is no GPU for this, or it failed."""


class InternalError(Error):
    """A defect of tc."""


_DEVICE = {
    "cuda",
    "no-cuda-driver",
    "no-gpu",
    "no-nvrtc",
    "old-cuda-driver",
    "over-limit",
    "tensor-map",
    "wrong-code",
    "wrong-target",
}
_ARGUMENT = {"bad-argument", "choice", "unknown-target"}


def make(text: str, data: str) -> Error:
    """The exception for diagnostics, given as text and as JSON."""
    diagnostics = [Diagnostic.of(one) for one in json.loads(data)]
    codes = {one.code for one in diagnostics if one.severity == "error"}
    kind: type[Error] = CompileError
    if any(one.fault == "bug" for one in diagnostics):
        kind = InternalError
    elif codes and codes <= _ARGUMENT:
        kind = ArgumentError
    elif codes and codes <= _DEVICE:
        kind = DeviceError
    return kind(text.rstrip("\n"), diagnostics)
