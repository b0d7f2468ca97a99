"""Exports the programs of all schedules of examples/, lets TVM read them, and reads back what TVM prints.

A program passes if TVM parses our text, parses what it prints of that again, and finds both structures equal. It passes
whole if tc imports what TVM printed, and the import of TVM's text means what the operator says (`--check`).

    compiler/tc-tvm/test [--points] [--check] [NAME…]

`--check` imports TVM's text and runs both programs on tc's simulator. NAMEs are parts of `file.operator.schedule`.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEDULE = re.compile(r"^schedule @(\w+) for @(\w+)", re.M)
# The points of the pipeline at which a program is exported: the pass `schedule`, and what follows it until memory is flat.
POINTS = {
    "schedule": "module(schedule{{{options}}})",
    "flat": "module(schedule{{{options}}},tir.func(simplify,storage-flatten))",
}


def cases(wanted):
    """The file, the operator and the schedule of each case, and its name."""
    files = sorted((ROOT / "examples").glob("*.tir")) + sorted((ROOT / "examples" / "hopper").glob("*.tir"))
    for file in files:
        for schedule, operator in SCHEDULE.findall(file.read_text()):
            name = f"{file.relative_to(ROOT / 'examples').with_suffix('')}.{operator}.{schedule}"
            if not wanted or any(part in name for part in wanted):
                yield name, file, operator, schedule


def export(tc_opt, file, operator, schedule, point):
    """The TVMScript of a schedule, or why there is none."""
    options = f"func={operator} name={schedule}"
    pipeline = POINTS[point].format(options=options)
    target = ["--target", "sm_90a"] if "hopper" in file.parts else []
    command = [tc_opt, str(file), f"--pass-pipeline={pipeline}", "--emit=tvmscript", *target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout, None) if done.returncode == 0 else (None, done.stderr)


def through_tvm(text):
    """What TVM prints of `text`, which it parses twice and finds equal."""
    import tvm

    first = tvm.script.from_source(text)
    printed = first.script()
    second = tvm.script.from_source(printed)
    tvm.ir.assert_structural_equal(first, second)
    return printed


def reason(stderr):
    """The first line of a diagnostic."""
    return stderr.strip().splitlines()[0] if stderr.strip() else "no reason"


def programs(text):
    """The names of the programs in a text of ours."""
    return re.findall(r"^tir\.func @(\w+)", text, re.M)


def check(tc_opt, tc_run, name, printed, folder):
    """Imports TVM's text; `None` if it is read, else why not."""
    file = pathlib.Path(folder) / (re.sub(r"\W", "_", name) + ".py")
    file.write_text(printed)
    done = subprocess.run([tc_opt, str(file)], capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else reason(done.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tc-opt", default=str(ROOT / "target" / "debug" / "tc-opt"))
    parser.add_argument("--tc-run", default=str(ROOT / "target" / "debug" / "tc-run"))
    parser.add_argument("--point", choices=POINTS, default="schedule")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    total = refused = equal = imported = 0
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name, file, operator, schedule in cases(args.names):
            total += 1
            text, why = export(args.tc_opt, file, operator, schedule, args.point)
            if text is None:
                refused += 1
                print(f"refused   {name}: {reason(why)}")
                continue
            try:
                printed = through_tvm(text)
                equal += 1
            except Exception as error:
                failed.append(name)
                print(f"FAILED    {name}: {str(error).strip()[-300:]}")
                continue
            if not args.check:
                continue
            why = check(args.tc_opt, args.tc_run, name, printed, folder)
            if why is None:
                imported += 1
            else:
                failed.append(name)
                print(f"NOT READ  {name}: {why}")
    print(f"{total} schedules: {refused} refused, {equal} equal after TVM's round trip", end="")
    print(f", {imported} imported from TVM's text" if args.check else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
