#!/usr/bin/env python3
"""Both ways to PTX on a GPU: are the results equal bit for bit, and how long does each take?

    scripts/device/build                                                              (here: with MLIR, packed)
    gunzip target/device/tc-run-mlir.gz
    python3 scripts/device/both.py [FILE.tir …]                                       (both there)

For every schedule of every example: `tc-run --output` by CUDA and through MLIR on the same inputs, the files compared
byte by byte, and `tc-run --bench --json` of both, one after the other. A schedule that MLIR's way refuses is told with
the reason. Prints a table in Markdown; the exit status is 1 if any result differs. NVRTC and libdevice are looked for as
always: `TC_CUDA_HOME` names their folder.
"""

import argparse
import concurrent.futures
import json
import pathlib
import re
import subprocess
import sys
import tempfile


def cases(path):
    """The operators of a file, their results, and the schedules of each."""
    text = re.sub(r"//.*", "", path.read_text())
    funcs = {}
    for match in re.finditer(r"te\.func @(\w+)(.*?)^\}", text, re.S | re.M):
        returned = re.search(r"^\s*return ([\w, ]+)", match[2], re.M)
        if returned:
            funcs[match[1]] = [name.strip() for name in returned[1].split(",")]
    for match in re.finditer(r"schedule @(\w+)\s*(?:\([^)]*\)\s*)?for @(\w+)", text):
        if match[2] in funcs:
            yield match[2], match[1], funcs[match[2]]


def run(command, limit):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return None


def first_line(done):
    if done is None:
        return "took too long"
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.startswith("error")]
    return lines[0] if lines else f"status {done.returncode}"


def evaluated(args, base, via, results, folder):
    """The bytes of the results, or what went wrong."""
    files = [folder / f"{via}-{name}.npy" for name in results]
    outputs = [item for name, file in zip(results, files) for item in ("--output", f"{name}={file}")]
    done = run([*base, f"--via={via}", *outputs], args.limit)
    if done is None or done.returncode != 0:
        return None, first_line(done)
    return [file.read_bytes() for file in files], None


def timed(args, base, via):
    """The median time of one run in microseconds."""
    done = run([*base, f"--via={via}", "--bench", "--json"], args.limit)
    if done is None or done.returncode != 0:
        return None
    found = re.search(r'"median[^"]*":\s*([0-9.eE+-]+)', done.stdout)
    return float(found[1]) if found else None


def base(args, path, func, schedule):
    return [args.tc_run, str(path), "--func", func, "--schedule", schedule, "--device=cuda"]


def compared(args, path, func, schedule, results, folder):
    """Are the results of both ways equal?"""
    folder.mkdir()
    command = base(args, path, func, schedule)
    cuda, why = evaluated(args, command, "cuda", results, folder)
    if cuda is None:
        return f"CUDA: {why}"
    mlir, why = evaluated(args, command, "mlir", results, folder)
    if mlir is None:
        return f"MLIR: {why}"
    differ = [name for name, one, other in zip(results, cuda, mlir) if one != other]
    return f"DIFFER: {', '.join(differ)}" if differ else "equal"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tc-run", default="target/device/tc-run-mlir")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one command")
    parser.add_argument("--jobs", type=int, default=12, help="programs that run at once, while results are compared")
    parser.add_argument("--bench", default="", help="time only schedules whose `FILE @FUNC @SCHEDULE` matches this")
    parser.add_argument("--json", help="write the rows here")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    files = args.files or sorted(pathlib.Path("examples").glob("*.tir"))
    todo = [(path, *case) for path in files for case in cases(path)]
    with tempfile.TemporaryDirectory() as folder:
        # Results do not depend on what else the GPU does meanwhile; times do, and are taken one by one.
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            number = range(len(todo))
            verdicts = list(pool.map(lambda nth: compared(args, *todo[nth], pathlib.Path(folder) / str(nth)), number))
    rows, wrong = [], 0
    print("| file | schedule | results | CUDA µs | MLIR µs | ratio |\n|---|---|---|---:|---:|---:|", flush=True)
    for (path, func, schedule, _), verdict in zip(todo, verdicts):
        wrong += verdict.startswith("DIFFER")
        times = [None, None]
        if verdict.startswith(("equal", "DIFFER")) and re.search(args.bench, f"{path.name} @{func} @{schedule}"):
            times = [timed(args, base(args, path, func, schedule), via) for via in ("cuda", "mlir")]
        shown = ["" if time is None else f"{time:.1f}" for time in times]
        ratio = f"{times[1] / times[0]:.2f}" if all(times) else ""
        print(f"| {path.name} | @{func} @{schedule} | {verdict} | {shown[0]} | {shown[1]} | {ratio} |", flush=True)
        rows.append({"file": path.name, "func": func, "schedule": schedule, "verdict": verdict, "us": times})
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(rows, indent=1))
    n_equal = sum(row["verdict"] == "equal" for row in rows)
    print(f"\n{len(rows)} schedules, {n_equal} equal bit for bit, {wrong} that differ", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
