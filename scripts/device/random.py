#!/usr/bin/env python3
"""Random programs on a GPU, on both ways to PTX: does each compute what its operator says?

    cargo run -p tc-filetest --bin tc-random -- --count 400 --write target/device/random     (here)
    scripts/device/build                                                                     (here: with MLIR, packed)
    gunzip target/device/tc-run-mlir.gz && scripts/device/random.py                          (both there)

Every file is an operator and a program that random passes made of a random schedule. `tc-run --check --device=cuda` compares
the two by CUDA C++, and again through MLIR, a program by both ways before the next. Prints what differs, what a way refuses by
reason, and how many are right; the exit status is 1 if any program computes something else, or a way ends without an answer.
With `--seconds` no program is begun later than that, and those that were not are counted.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import time


def check(args, path, via):
    """What came of one program: `right`, `refused` and why, or `wrong` and what was said."""
    command = [args.tc_run, str(path), "--func=@program", "--check", "--device=cuda", f"--via={via}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit)
    except subprocess.TimeoutExpired:
        return "wrong", f"no answer within {args.limit:.0f} s"
    if done.returncode == 0:
        return "right", ""
    said = done.stdout + done.stderr
    refused = re.search(r"^error\[no-emitter\]: (.*)", said, re.M)
    if refused:
        return "refused", refused[1]
    return "wrong", said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tc-run", default="target/device/tc-run-mlir")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one program")
    parser.add_argument("--jobs", type=int, default=14, help="programs that run at once")
    parser.add_argument("--show", type=int, default=3, help="failures of a way that are told in full")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no program later than that")
    parser.add_argument("--via", default="cuda,mlir")
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
        print(f"{via}: {n_right} of {len(found)} right, {sum(refused.values())} refused{told}; {len(wrong)} wrong "
              f"{' '.join(path.stem for path, _ in wrong)}")
        failed |= bool(wrong)
    if len(checked) < len(files):
        print(f"{len(files) - len(checked)} programs were not begun in {args.seconds:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
