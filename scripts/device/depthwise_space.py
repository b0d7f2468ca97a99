#!/usr/bin/env python3
"""Times every point of the depthwise document's search spaces on one GPU, at each size of its table, and prints the best.

    scripts/device/depthwise_space.py target/device/tc-run examples/depthwise_nchw.tir [--json FILE]

For each size it runs, in one process a schedule, `tc-run … --bench --points 100000 --json`, which times all valid points.
The column "TVM" is what the same schedule took, lowered by TVM 0.16 and compiled by nvcc 13.0 at -O3 on an H200, in
microseconds, at the point that was best there.
"""

import argparse
import json
import subprocess
import sys

SCHEDULES = ["threads", "vthread"]
# Size of a channel, of the filter, multiplier; TVM's microseconds.
ROWS = [(32, 3, 1, 3.47), (64, 3, 1, 5.20), (96, 3, 1, 9.02), (96, 5, 1, 12.33), (96, 3, 2, 14.42), (96, 5, 2, 21.72)]


def points(program, example, schedule, hw, k, m):
    """The results of all points of a schedule at one size."""
    command = [program, example, "--func", "@depthwise", "--schedule", f"@{schedule}"]
    command += ["-D", f"hw={hw}", "-D", f"k={k}", "-D", f"m={m}"]
    command += ["--device", "cuda", "--bench", "--points", "100000", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    try:
        return json.loads(done.stdout)["results"]
    except (ValueError, KeyError):
        sys.exit(f"depthwise_space: {' '.join(command)}: status {done.returncode}: {done.stderr[:2000]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("example")
    parser.add_argument("--json", metavar="FILE", help="where all figures go")
    options = parser.parse_args()
    document, failed = [], 0
    print(f"{'size':<22}{'points':>7}{'best us':>9}{'TVM us':>9}{'best/TVM':>10}  the best point")
    for hw, k, m, tvm in ROWS:
        found = [r for s in SCHEDULES for r in points(options.program, options.example, s, hw, k, m)]
        document.append({"hw": hw, "k": k, "m": m, "results": found})
        good = [r for r in found if r.get("ok") and r.get("timing")]
        failed += len(found) - len(good)
        best = min(good, key=lambda r: r["timing"]["median_us"])
        us = best["timing"]["median_us"]
        where = " ".join(f"{name}={value}" for name, value in (best.get("params") or {}).items())
        print(f"{f'{hw}x{hw}, {k}x{k}, {m}':<22}{len(good):>7}{us:>9.2f}{tvm:>9.2f}{us / tvm:>10.2f}  @{best['schedule']} {where}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file)
    print(f"{failed} points failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
