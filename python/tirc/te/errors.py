"""The errors of `tirc.te`: each names the line of the caller's program, and says what helps."""

import os
import sys
import warnings

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class TeError(Exception):
    """Something that `tirc.te` refuses.

    `message` says what is wrong, `help` what to write instead, `file` and `line` where the caller's program asks for it.
    """

    def __init__(self, message, help, at=None):
        self.message, self.help = message, help
        self.file, self.line = at if at is not None else caller()
        text = f"{self.file}:{self.line}: {message}"
        super().__init__(f"{text}\n  help: {help}")


class TeValueError(TeError, ValueError):
    """A wrong value, name or order: te refuses it as well, or would give a wrong program."""


class TeUnsupported(TeError, NotImplementedError):
    """Something that te has and tc does not."""


class TeWarning(UserWarning):
    """Something that te loses without a word."""


class TeMissing(TeUnsupported, AttributeError):
    """A name of TVM that this package lacks."""


def caller():
    """File and line of the innermost frame outside of this package."""
    frame = sys._getframe(1)
    while frame is not None:
        name = os.path.abspath(frame.f_code.co_filename)
        if not name.startswith(_HERE + os.sep):
            return os.path.basename(name), frame.f_lineno
        frame = frame.f_back
    return "<unknown>", 0


def warn(message):
    """Warns at the innermost line outside of this package."""
    file, line = caller()
    warnings.warn_explicit(message, TeWarning, file, line)


def missing_names(module, reasons):
    """A module's `__getattr__`, which refuses names of TVM; `reasons` says why, name by name."""

    def getattr_of_module(name):
        if name.startswith("__"):
            raise AttributeError(name)
        why = reasons.get(name, "docs/te-python.md lists what there is")
        raise TeMissing(f"`{module}` has no `{name}`", why)

    return getattr_of_module
