#!/usr/bin/env python3
"""Random programs on a GPU, on both ways to PTX: does each compute what its operator says, or the simulator?

    cargo run -p tc-filetest --bin tc-random -- --count 400 --write target/device/random     (here)
    cargo run -p tc-filetest --bin tc-random -- --programs --count 3000 --write target/device/random
    scripts/device/build                                                                     (here: with MLIR, packed)
    gunzip target/device/tc-run-mlir.gz && scripts/device/random_programs.py                          (both there)

A file with an operator holds a program that random passes made of a random schedule. `tc-run --check --device=cuda` compares
the two by CUDA C++, and again through MLIR, a program by both ways before the next. A file without one is what random passes
left of a random program: it is run on the simulator and on the GPU, on the same inputs, and the bytes of all results have to
be equal. (Zeros of either sign are, for which `min` and `max` have no order; they are counted.) Prints what differs, what a way refuses by
reason, and how many are right; the exit status is 1 if any program computes something else, or a way ends without an answer.
With `--seconds` no program is begun later than that, and those that were not are counted.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import time


def tc_run(args, *told):
    """What `tc-run` ends with, and what it said; nothing if there is no answer in time."""
    try:
        done = subprocess.run([args.tc_run, *told], capture_output=True, text=True, timeout=args.limit)
    except subprocess.TimeoutExpired:
        return None, f"no answer within {args.limit:.0f} s"
    return done.returncode, done.stdout + done.stderr


def ended(status, said):
    """`refused` and why, or `wrong` and what was said, of a run that did not go well."""
    refused = re.search(r"^error\[no-emitter\]: (.*)", said, re.M)
    return ("refused", refused[1]) if status is not None and refused else ("wrong", said)


def check(args, path, via):
    """What came of one program: `right`, `refused` and why, or `wrong` and what was said."""
    text = path.read_text()
    if "te.func @op" not in text:
        return compare(args, path, text, via)
    told = [] if args.device == "sim" else [f"--via={via}"]
    status, said = tc_run(args, str(path), "--func=@program", "--check", f"--device={args.device}", *told)
    return ("right", "") if status == 0 else ended(status, said)


def compare(args, path, text, via):
    """What came of a program that implements no operator, against the simulator."""
    head = re.search(r"^tir\.func @f[^(]*\((.*)\)", text, re.M)
    results = re.findall(r"\b(B\d+|C): ", head[1])
    with tempfile.TemporaryDirectory() as folder:
        found = []
        for device, told in (("sim", []), (args.device, [f"--via={via}"])):
            files = [pathlib.Path(folder, f"{device}-{len(found)}-{name}.npy") for name in results]
            outputs = [f"--output={name}={file}" for name, file in zip(results, files)]
            told = [] if device == "sim" else told
            status, said = tc_run(args, str(path), "--func=@f", f"--device={device}", *sizes(text), *told, *outputs)
            if status != 0:
                return ended(status, said)
            found.append([file.read_bytes() for file in files])
    for name, *two in zip(results, *found):
        if two[0] == two[1]:
            continue
        numbers = [values(data) for data in two]
        differ = None if None in numbers else [at for at, pair in enumerate(zip(*numbers)) if pair[0] != pair[1]]
        if differ is None or differ or len(numbers[0]) != len(numbers[1]):
            where = f" at {differ[:8]}" if differ else ""
            return "wrong", f"`{name}` differs from what the simulator computes{where}"
        return "right", "zeros of another sign"
    return "right", ""


def sizes(text):
    """Values for the sizes that the program leaves open: the least that the ranges and the facts allow."""
    head = re.search(r"^tir\.func @f<(.*?)>\((.*)$", text, re.M)
    open_sizes = re.findall(r"(\w+): (\d+)\.\.(\d+)(?! =)(?=,|$)", head[1]) if head else []
    told = []
    for name, low, _ in open_sizes:
        factor = re.search(rf"\b{name} % (\d+) == 0", head[2])
        step = int(factor[1]) if factor else 1
        told.append(f"-D{name}={-(-int(low) // step) * step}")
    return told


def values(npy):
    """The floats of an array; nothing if it holds other numbers. A NaN is no number, and equal to itself here."""
    kind = re.search(rb"'descr': '<f([248])'", npy[:128])
    if not kind:
        return None
    data = npy[10 + struct.unpack_from("<H", npy, 8)[0]:]
    letter = {b"2": "e", b"4": "f", b"8": "d"}[kind[1]]
    numbers = struct.unpack(f"<{len(data) // int(kind[1])}{letter}", data)
    return ["nan" if number != number else number for number in numbers]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tc-run", default="target/device/tc-run-mlir")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one program")
    parser.add_argument("--jobs", type=int, default=14, help="programs that run at once")
    parser.add_argument("--show", type=int, default=3, help="failures of a way that are told in full")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program later than that")
    parser.add_argument("--via", default="cuda,mlir")
    parser.add_argument("--device", default="cuda", help="where programs run; `sim` tries this script without a GPU")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path("target/device/random"))
    args = parser.parse_args()
    files = sorted(args.folder.glob("*.tir"))
    if not files:
        sys.exit(f"no programs in `{args.folder}`: write them with tc-random --write")
    vias = args.via.split(",")
    until = time.monotonic() + args.seconds

    def ends(path):
        """What came of one program on each way; nothing if there is no time left."""
        return [check(args, path, via) for via in vias] if time.monotonic() < until else None

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        checked = [(path, found) for path, found in zip(files, pool.map(ends, files)) if found]
    failed = False
    for nth, via in enumerate(vias):
        found = [(path, *ends[nth]) for path, ends in checked]
        wrong = [(path, said) for path, end, said in found if end == "wrong"]
        for path, said in wrong[: args.show]:
            print(f"---- {via}: {path.name}\n{said[:1500]}")
        refused = collections.Counter(said for _, end, said in found if end == "refused")
        told = "".join(f", {code} {n}" for code, n in refused.most_common())
        n_right = sum(end == "right" for _, end, _ in found)
        n_zeros = sum(end == "right" and bool(said) for _, end, said in found)
        told += f", {n_zeros} with zeros of another sign" if n_zeros else ""
        print(f"{via}: {n_right} of {len(found)} right, {sum(refused.values())} refused{told}; {len(wrong)} wrong "
              f"{' '.join(path.stem for path, _ in wrong)}")
        failed |= bool(wrong)
    if len(checked) < len(files):
        print(f"{len(files) - len(checked)} programs were not begun in {args.seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
