#!/usr/bin/env python3
"""Times `@auto`, the schedule that rules make, beside the best hand-written schedule of each operator of examples/, on one GPU in one
run, and prints the ratios.

    scripts/device/auto.py target/device/tc-run [FILE ...] [--check] [--rounds 2]

The hand-written schedules are taken at their first points. Where they round f32 to tf32, so may `@auto`. With `--check` the values of `@auto` are compared with the operator's
before it is timed; the largest operators take minutes then. Operators whose only programs are written by hand are left out.
"""

import argparse
import glob
import json
import math
import subprocess

LEFT_OUT = {
    # Programs by hand, or parts of other operators.
    "examples/attention.tir",
    "examples/attention_backward.tir",
    "examples/attention_decode.tir",
    "examples/hopper/attention.tir",
    "examples/hopper/attention_256.tir",
    "examples/hopper/attention_backward.tir",
    "examples/hopper/attention_fp8.tir",
    "examples/hopper/attention_varlen.tir",
    "examples/hopper/attention_window.tir",
    "examples/hopper/softmax_rows.tir",
}

# What is rounded by hand may be rounded by rules.
ROUNDED = {"examples/hopper/product.tir", "examples/matmul_tf32.tir"}


def run(tc_run, file, *more, seconds=240):
    command = [tc_run, file, "--device", "cuda", "--json", *more]
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return [], f"over {seconds} s"
    try:
        return json.loads(ran.stdout)["results"], ran.stderr
    except (ValueError, KeyError):
        return [], ran.stderr


def best(results):
    """The shortest time of each operator, and whose it is."""
    times = {}
    for row in results:
        timing = row.get("timing")
        if timing is None:
            continue
        us = timing["median_us"]
        if row["func"] not in times or us < times[row["func"]][0]:
            times[row["func"]] = (us, row.get("schedule"))
    return times


def why(results, stderr):
    for row in results:
        for one in row.get("diagnostics", []):
            return one.get("message", "")[:90]
    lines = [line for line in stderr.splitlines() if "error" in line]
    return (lines or ["no answer"])[0][:90]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tc_run")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    files = args.files or sorted(glob.glob("examples/*.tir")) + sorted(glob.glob("examples/hopper/*.tir"))
    ratios = []
    print(f"{'operator':28} {'by hand':>10} {'@auto':>10} {'ratio':>7}  schedule")
    for file in files:
        if file in LEFT_OUT:
            continue
        hand, auto, refused = {}, {}, ""
        for nth in range(args.rounds):
            more = ["--bench"] + (["--check"] if args.check and nth == 0 else [])
            rounded = ["--allow-tf32"] if file in ROUNDED else []
            for times, options in ((hand, ["--bench"]), (auto, ["--schedule", "@auto", *rounded, *more])):
                results, stderr = run(args.tc_run, file, *options)
                if times is auto and not all(row.get("ok") for row in results) or not results:
                    refused = why(results, stderr)
                for func, (us, schedule) in best(results).items():
                    if func not in times or us < times[func][0]:
                        times[func] = (us, schedule)
        if refused:
            print(f"{file}: {refused}")
        for func in sorted(hand):
            if func not in auto:
                print(f"{func:28} {hand[func][0]:10.2f} {'-':>10}")
                continue
            ratio = auto[func][0] / hand[func][0]
            ratios.append(ratio)
            print(f"{func:28} {hand[func][0]:10.2f} {auto[func][0]:10.2f} {ratio:7.2f}  {hand[func][1]}", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} operators: geometric mean {mean:.2f}, worst {max(ratios):.2f}, best {min(ratios):.2f}")


if __name__ == "__main__":
    main()
