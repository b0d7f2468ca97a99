"""The page docs/te-python.md: its programs give what stands behind them, and its lists are complete."""

import contextlib
import io
import re
import shlex
import subprocess

import pytest
import tools

import tirc.tvm as tvm
from tirc import te
from tirc.te.stage import Stage

PAGE = (tools.ROOT / "docs" / "te-python.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def words(text):
    """The words of a command's output, without times and rules."""
    text = re.sub(r"\b\d+(\.\d+)? (us|ms|s)\b", "TIME", text)
    return [word for word in text.split() if set(word) != {"-"}]


def test_programs_print_what_stands_there(tmp_path):
    names, printed, shown = {}, None, 0
    for kind, text in BLOCKS:
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(text, "program.py", "exec"), names)
            printed = out.getvalue()
        elif kind in ("tir", "text"):
            assert text.strip() == printed.strip()
            if kind == "tir":
                name = re.search(r"te\.func @(\w+)", text)[1]
                (tmp_path / f"{name}.tir").write_text(text)
                tools.check(text)
            shown += 1
        elif kind == "console":
            run_console(text, tmp_path)
    assert shown == 3


def run_console(text, folder):
    """Runs the commands of a block; `…` stands for the rest of the output."""
    for block in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = block.partition("\n")
        tool, *args = shlex.split(command)
        done = subprocess.run([tools.tool(tool), *args], cwd=folder, capture_output=True, text=True, check=True)
        wanted = words(expected.split("…")[0])
        assert words(done.stdout)[: len(wanted)] == wanted


def section(title):
    return PAGE.split(f"\n## {title}\n")[1].split("\n## ")[0]


def listed(row):
    """The names of a row of the table of what there is."""
    line = next(line for line in section("What is there").splitlines() if line.startswith(f"| {row} "))
    return re.findall(r"`(?:\w+\.)*(\w+)`", line)


def test_the_lists_are_complete():
    stage = {name for name in vars(Stage) if not name.startswith("_")}
    refused = {"parallel", "prefetch", "rolling_buffer", "env_threads", "transform_layout"}
    internal = {"is_argument", "is_rearranged", "touched", "unsay", "take_back", "say_again"}
    assert set(listed("stages")) == (stage - refused - internal) | {"op"}
    for row in ("operators", "expressions", "schedules", "intrinsics", "running"):
        for name in listed(row):
            found = any(hasattr(one, name) for one in (te, te.schedule, te.Schedule, tvm, tvm.tir, tvm.nd))
            known = name in (
                "where",
                "init",
                "astype",
                "Target",
                "PassContext",
                "time_evaluator",
                "nvcc",
                "array",
                "empty",
            )
            assert found or known, name


@pytest.mark.parametrize("name", re.findall(r"`(\w+\.py)`", section("By a change of imports")))
def test_the_programs_are_there(name):
    assert (tools.ROOT / "python" / "tests" / "te" / "programs" / name).exists()
