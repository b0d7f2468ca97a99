"""The tools of tc, run on texts; and texts compared up to names."""

import os
import re
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "examples"

_TOKEN = re.compile(r"@?[A-Za-z_][A-Za-z0-9_]*|[0-9][0-9A-Za-z_.+-]*|\S")
_NAME = re.compile(r"@?[A-Za-z_]")


def tool(name):
    """The path of a tool."""
    folder = os.environ.get("TC_TOOLS")
    assert folder, "set TC_TOOLS to the folder that has tc-opt and tc-run"
    path = Path(folder) / name
    assert path.exists(), f"{path} is not there; TC_TOOLS names the folder that has tc-opt and tc-run"
    return str(path)


def run(name, text, *flags):
    """Runs a tool on a text: its exit status, standard output and standard error."""
    with tempfile.NamedTemporaryFile("w", suffix=".tir") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([tool(name), file.name, *flags], capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, done.stdout, done.stderr


def opt(text, pipeline=None, *flags):
    """What `tc-opt` makes of a text."""
    flags = [*([f"--pass-pipeline={pipeline}"] if pipeline else []), *flags]
    status, out, err = run("tc-opt", text, *flags)
    assert status == 0, f"{err}\n{text}"
    return out


def check(text, *flags):
    """Lets `tc-run` compare a text's schedules with its operator's definition."""
    status, out, err = run("tc-run", text, "--check", *flags)
    assert status == 0, f"{out}\n{err}\n{text}"
    return out


def scheduled(text, schedule, function, *options):
    """The program that a schedule makes of one operator of a file, simplified."""
    chosen = f"name={schedule}" + "".join(f" {option}" for option in options)
    out = opt(text, f"module(schedule{{{chosen}}},tir.func(simplify))")
    return _function(out, function)


def cuda(text, schedule, function, *options):
    """The CUDA C++ of one operator of a file, without comments."""
    chosen = f"schedule={schedule}" + "".join(f" {option}" for option in options)
    out = opt(text, f"module(cuda{{{chosen}}})", "--emit=cuda")
    lines = [line for line in out.splitlines() if not line.startswith("//")]
    return "\n".join(lines)


def _function(text, name):
    items = re.split(r"\n(?=[a-z])", text)
    found = [item.strip() for item in items if item.startswith(f"tir.func @{name}(")]
    assert len(found) == 1, f"{name} in\n{text}"
    return found[0]


def difference(left, right):
    """Where two texts differ by more than names, or `None`."""
    tokens = [_TOKEN.findall(text) for text in (left, right)]
    there, back = {}, {}
    for nth, (a, b) in enumerate(zip(*tokens)):
        names = bool(_NAME.match(a)), bool(_NAME.match(b))
        same = (
            a == b
            if names == (False, False)
            else all(names) and there.setdefault(a, b) == b and back.setdefault(b, a) == a
        )
        if not same:
            return " ".join(tokens[0][max(nth - 8, 0) : nth + 8]), " ".join(tokens[1][max(nth - 8, 0) : nth + 8])
    if len(tokens[0]) != len(tokens[1]):
        shorter = min(map(len, tokens))
        return " ".join(tokens[0][shorter:][:16]), " ".join(tokens[1][shorter:][:16])
    return None


def only(text, schedule, function):
    """The items of an example that one schedule of one operator needs."""
    text = re.sub(r"^//[^\n]*\n", "", text, flags=re.MULTILINE)
    items = re.split(r"\n(?=(?:te\.func|schedule|te\.intrin|te\.combiner) )", text)
    kept = [items[0]]
    for item in items[1:]:
        kind, name = re.match(r"([\w.]+) @(\w+)", item).groups()
        if (
            kind in ("te.intrin", "te.combiner")
            or (kind == "te.func" and name == function)
            or (kind == "schedule" and name == schedule)
        ):
            kept.append(re.sub(r" for (@\w+(?:, )?)+", f" for @{function}", item) if kind == "schedule" else item)
    return "\n".join(kept)
