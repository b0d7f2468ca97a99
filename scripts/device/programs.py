#!/usr/bin/env python3
"""Times a product under a schedule for programs beside the same product under a schedule for operators, on one GPU in one run.

    scripts/device/programs.py target/device/tc-run [--size 4096] [--rounds 3]

The program is `@product_loops` of examples/program_product.tir, its extents replaced by the size; the operator is `@matmul_f16` of
examples/matmul_f16.tir under `@mma` with the same tiles. On a Hopper GPU's tensor cores both are of
examples/hopper/program_product.tir, the operator under the library's function with the same tiles. The rounds take turns; the
shortest median of each counts. Before that both are compared with the operator at the example's own size.
"""

import argparse
import json
import os
import re
import subprocess
import tempfile

TILES = ["row_warps=2", "col_warps=4", "row_tiles=4", "col_tiles=4", "chunk=2", "stages=4"]


def run(tc_run, file, *more):
    command = [tc_run, file, "--device", "cuda", "--json", *more]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return json.loads(ran.stdout)["results"]


def at_size(text, size):
    """The file for square matrices."""
    text = re.sub(r"\[256, (64|128)\]|\[64, 256\]|\[256, 256\]", f"[{size}, {size}]", text)
    text = re.sub(r"0\.\.(256|128|64)\b", f"0..{size}", text)
    return re.sub(r"\[(i|j|r): (256|128|64)", rf"[\1: {size}", text).replace("j: 256]", f"j: {size}]")


def compare(args, files, checks, benches):
    """Checks both at the example's size, and times them in turns."""
    checked = [row for more in checks for row in run(args.tc_run, *more)]
    if not checked or not all(row["ok"] for row in checked):
        raise SystemExit(f"wrong values: {checked}")
    times = {name: [] for name in benches}
    for _ in range(args.rounds):
        for name, more in benches.items():
            times[name] += [row["timing"]["median_us"] for row in run(args.tc_run, *more)]
    best = {name: min(rows) for name, rows in times.items()}
    print(f"{files}, {args.size}^3, f16: program {best['program']:.1f} us, operator {best['operator']:.1f} us, "
          f"ratio {best['program'] / best['operator']:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tc_run")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    tiles = [part for tile in TILES for part in ("-D", tile)]
    sizes = [part for size in "mnk" for part in ("-D", f"{size}={args.size}")]
    small = [part for size in ("m=256", "n=256", "k=64") for part in ("-D", size)]
    operator = ["examples/matmul_f16.tir", "--func", "matmul_f16", "--schedule", "@mma"]
    with tempfile.TemporaryDirectory() as folder:
        def large(example):
            program = os.path.join(folder, os.path.basename(example))
            with open(example) as file, open(program, "w") as out:
                out.write(at_size(file.read(), args.size))
            return program

        example = "examples/program_product.tir"
        benches = {
            "program": [large(example), "--bench", "--func", "product_loops", "--schedule", "@mma"],
            "operator": [*operator, "--bench", *sizes, *tiles],
        }
        checks = [[example, "--check", "--schedule", "@mma"], [*operator, "--check", *small, *tiles]]
        compare(args, "mma.sync", checks, benches)
        example = "examples/hopper/program_product.tir"
        program = large(example)
        benches = {
            "program": [program, "--bench", "--func", "product_loops", "--schedule", "@ring"],
            "operator": [program, "--bench", "--func", "product", "--schedule", "@tile"],
        }
        compare(args, "wgmma", [[example, "--check"]], benches)


if __name__ == "__main__":
    main()
