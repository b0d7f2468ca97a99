#!/usr/bin/env python3
"""Random programs on a GPU, on both ways to PTX: does each compute what its operator says?

    cargo run -p tc-filetest --bin tc-random -- --count 400 --write target/device/random     (here)
    scripts/device/build                                                                     (here: with MLIR, packed)
    gunzip target/device/tc-run-mlir.gz && scripts/device/random.py                          (both there)

Every file is an operator and a program that random passes made of a random schedule. `tc-run --check --device=cuda` compares
the two by CUDA C++, and again through MLIR. Prints what differs, what a way refuses by reason, and how many are right; the
exit status is 1 if any program computes something else, or a way ends without an answer.
"""

import argparse
import collections
import concurrent.futures
import pathlib
import re
import subprocess
import sys


def check(args, path, via):
    """What came of one program: `right`, `refused` with the code of why, or what went wrong."""
    command = [args.tc_run, str(path), "--func=@program", "--check", "--device=cuda", f"--via={via}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.limit)
    except subprocess.TimeoutExpired:
        return "wrong", f"no answer within {args.limit:.0f} s"
    if done.returncode == 0:
        return "right", ""
    said = done.stdout + done.stderr
    code = re.search(r"^error\[([\w-]+)\]", said, re.M)
    if done.returncode == 2 and code and not re.search(r"^error\[(mlir|emitter|bug|cuda)\b", said, re.M):
        return "refused", code[1]
    return "wrong", said


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tc-run", default="target/device/tc-run-mlir")
    parser.add_argument("--limit", type=float, default=60, help="seconds for one program")
    parser.add_argument("--jobs", type=int, default=14, help="programs that run at once")
    parser.add_argument("--show", type=int, default=3, help="failures of a way that are told in full")
    parser.add_argument("--via", default="cuda,mlir")
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path("target/device/random"))
    args = parser.parse_args()
    files = sorted(args.folder.glob("*.tir"))
    if not files:
        sys.exit(f"no programs in `{args.folder}`: write them with tc-random --write")
    failed = False
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for via in args.via.split(","):
            ends = list(pool.map(lambda path: check(args, path, via), files))
            wrong = [(path, said) for path, (end, said) in zip(files, ends) if end == "wrong"]
            for path, said in wrong[: args.show]:
                print(f"---- {via}: {path.name}\n{said[:1500]}", flush=True)
            refused = collections.Counter(said for end, said in ends if end == "refused")
            told = ", ".join(f"{code} {n}" for code, n in refused.most_common())
            n_right = sum(end == "right" for end, _ in ends)
            print(f"{via}: {n_right} of {len(files)} right, {sum(refused.values())} refused ({told}), {len(wrong)} wrong: "
                  f"{' '.join(path.stem for path, _ in wrong)}", flush=True)
            failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
