"""Exports the programs of all schedules of examples/, lets TVM read them, and reads back what TVM prints.

    compiler/tc-tvm/test [--point flat] [NAME…]

For each schedule: tc writes its program as TVMScript; TVM parses it, prints it, parses that again, and finds both
structures equal; tc imports what TVM printed, and gets the same text, or else a program that the simulator finds equal to
the operator. NAMEs are parts of `file.operator.schedule`.
"""

import argparse
import collections
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

# Sizes at which programs are taken that the simulator would run for minutes.
SMALLER = {
    "conv_f32": {"size": 2, "ic": 64, "oc": 128, "batch": 128},
    "product_f32": {"m": 256, "n": 256, "k": 128},
}


def smaller(file, operator, folder):
    """The file, or a copy with smaller sizes of the operator."""
    if operator not in SMALLER:
        return file
    head, rest = file.read_text().split(f"te.func @{operator}<", 1)
    sizes, rest = rest.split(">(", 1)
    for name, size in SMALLER[operator].items():
        sizes = re.sub(rf"\b{name} = \d+", f"{name} = {size}", sizes)
    copy = pathlib.Path(folder) / file.relative_to(ROOT / "examples")
    copy.parent.mkdir(exist_ok=True)
    copy.write_text(f"{head}te.func @{operator}<{sizes}>({rest}")
    return copy


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


def items(text, word):
    """The items of a text of ours that begin with `word`."""
    return re.findall(rf"^{re.escape(word)} .*?^}}\n", text, re.M | re.S)


def program_of(text, operator):
    """The program `operator` of a text of ours."""
    return next(item for item in items(text, "tir.func") if re.match(rf"tir\.func @{operator}\b", item))


def source(tc_opt, file, operator, schedule, point, passes=""):
    """The program of a schedule as tc prints it, after more passes."""
    options = f"func={operator} name={schedule}"
    pipeline = POINTS[point].format(options=options) + passes
    target = ["--target", "sm_90a"] if "hopper" in file.parts else []
    command = [tc_opt, str(file), f"--pass-pipeline={pipeline}", *target]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return program_of(text, operator)


def imported(tc_opt, name, operator, printed, folder, passes=""):
    """What tc makes of TVM's text; the error is why it makes nothing."""
    path = pathlib.Path(folder) / (re.sub(r"\W", "_", name) + ".py")
    path.write_text(printed)
    command = [tc_opt, str(path), f"--pass-pipeline={passes}"] if passes else [tc_opt, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ValueError(f"not imported: {reason(done.stderr)}")
    return program_of(done.stdout, operator)


NAME = r"[A-Za-z_$][\w$]*"
DEFINES = re.compile(rf"(?:\blet |\balloc |\bfor |[(<,] ?)({NAME})(?= in | = |: )|^ *({NAME})(?= = (?:for|if|gpu)\b)")


def canonical(text):
    """A program without what TVM does not keep: the order of attributes, the operator that it implements, and names that
    the author did not give. Each definition gets a number, by its place."""
    def ordered(match):
        entries = sorted(re.split(r", (?=\w+(?: =|,|$))", match[1]))
        kept = [entry for entry in entries if not entry.startswith("implements =")]
        return f"attributes {{{', '.join(kept)}}}" if kept else ""

    text = re.sub(r"attributes \{([^{}]*)\}", ordered, text)
    numbers, lines, count = {}, [], 0
    for line in text.splitlines():
        for first, second in DEFINES.findall(line):
            count += 1
            numbers[first or second] = f"v{count}"
        lines.append(re.sub(NAME, lambda match: numbers.get(match[0], match[0]), line))
    return "\n".join(lines)


def simulated(args, name, file, operator, program, folder):
    """Runs the imported program against the operator's definition on the simulator."""
    text = file.read_text()
    definition = operator
    if not re.search(rf"^te\.func @{operator}\b", text, re.M):
        # A schedule of a program, which implements an operator.
        implemented = re.search(rf"^tir\.func @{operator}\b[^{{]*\{{[^}}]*implements = @(\w+)", text, re.M)
        if not implemented:
            return "differs, and there is no operator to compare it with"
        definition = implemented[1]
    program = program.replace(f"tir.func @{operator}", f"tir.func @{operator}_by_tvm", 1)
    head, body = program.split(" {\n", 1)
    told = f"implements = @{definition}"
    head = head.replace("attributes {", f"attributes {{{told}, ") if "attributes {" in head.rsplit(")", 1)[1] else f"{head} attributes {{{told}}}"
    path = pathlib.Path(folder) / (re.sub(r"\W", "_", name) + ".tir")
    operators = "".join(items(text, "te.combiner") + items(text, "te.intrin") + [f for f in items(text, "te.func") if f.startswith(f"te.func @{definition}")])
    path.write_text(operators + f"{head} {{\n{body}")
    target = ["--target", "sm_90a"] if "hopper" in file.parts else []
    command = [args.tc_run, str(path), "--check", *target]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=args.seconds)
    except subprocess.TimeoutExpired:
        return f"not simulated within {args.seconds} s"
    return None if done.returncode == 0 else f"wrong: {(done.stdout + done.stderr).strip()[-300:]}"


def read_back(args, name, file, operator, schedule, printed, folder):
    """How the import of TVM's text compares with our program: `same`, `simplified`, `equal`, or what is wrong."""
    ours = lambda passes="": canonical(source(args.tc_opt, file, operator, schedule, args.point, passes))
    theirs = lambda passes="": imported(args.tc_opt, name, operator, printed, folder, passes)
    program = theirs()
    if canonical(program) == ours():
        return "same"
    # TVM folds constants when it parses, and we leave out what is not used.
    if canonical(theirs("tir.func(simplify,dce)")) == ours(",tir.func(simplify,dce)"):
        return "simplified"
    return simulated(args, name, file, operator, program, folder) or "equal"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tc-opt", default=str(ROOT / "target" / "release" / "tc-opt"))
    parser.add_argument("--tc-run", default=str(ROOT / "target" / "release" / "tc-run"))
    parser.add_argument("--point", choices=POINTS, default="schedule")
    parser.add_argument("--seconds", type=int, default=300, help="how long a program may run on the simulator")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    counts, failed = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        for name, file, operator, schedule in cases(args.names):
            counts["schedules"] += 1
            file = smaller(file, operator, folder)
            text, why = export(args.tc_opt, file, operator, schedule, args.point)
            if text is None:
                counts["refused"] += 1
                print(f"refused  {name}: {reason(why)}", flush=True)
                continue
            try:
                printed = through_tvm(text)
                counts["through"] += 1
                outcome = read_back(args, name, file, operator, schedule, printed, folder)
            except Exception as error:
                outcome = str(error).strip()[-300:]
            counts[outcome] += 1
            if outcome not in ("same", "simplified", "equal"):
                failed.append(name)
                print(f"FAILED   {name}: {outcome}", flush=True)
    print(
        f"{counts['schedules']} schedules: {counts['refused']} refused, {counts['through']} structurally equal after TVM "
        f"printed and parsed them; read back: {counts['same']} with the same text, {counts['simplified']} with the same text after "
        f"`simplify`, {counts['equal']} with the same results on the simulator, {len(failed)} otherwise"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
