#!/usr/bin/env python3
"""Times a product under a schedule for programs beside the same product under a schedule for operators, on one GPU in one run.

    scripts/device/programs.py target/device/tc-run [--size 4096] [--rounds 3]

The program is `@product_loops` of examples/program_product.tir, its extents replaced by the size; the operator is `@matmul_f16` of
examples/matmul_f16.tir under `@mma` with the same tiles. The rounds take turns; the shortest median of each counts. Before that
both are compared with the operator at the example's own size.
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
    text = re.sub(r"\[256, 64\]|\[64, 256\]|\[256, 256\]", f"[{size}, {size}]", text)
    text = re.sub(r"0\.\.(256|64)\b", f"0..{size}", text)
    return re.sub(r"\[(i|j|r): (256|64)", rf"[\1: {size}", text).replace("j: 256]", f"j: {size}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tc_run")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    example = "examples/program_product.tir"
    checked = run(args.tc_run, example, "--check", "--schedule", "@mma")
    checked += run(args.tc_run, "examples/matmul_f16.tir", "--check", "--func", "matmul_f16", "--schedule", "@mma",
                   *[part for size in ("m=256", "n=256", "k=64") for part in ("-D", size)],
                   *[part for tile in TILES for part in ("-D", tile)])
    if not all(row["ok"] for row in checked):
        raise SystemExit(f"wrong values: {checked}")
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program.tir")
        with open(example) as file, open(program, "w") as out:
            out.write(at_size(file.read(), args.size))
        sizes = [part for size in "mnk" for part in ("-D", f"{size}={args.size}")]
        tiles = [part for tile in TILES for part in ("-D", tile)]
        times = {"program": [], "operator": []}
        for _ in range(args.rounds):
            rows = run(args.tc_run, program, "--bench", "--func", "product_loops", "--schedule", "@mma")
            times["program"] += [row["timing"]["median_us"] for row in rows]
            rows = run(args.tc_run, "examples/matmul_f16.tir", "--bench", "--func", "matmul_f16", "--schedule", "@mma", *sizes, *tiles)
            times["operator"] += [row["timing"]["median_us"] for row in rows]
    best = {name: min(rows) for name, rows in times.items()}
    print(f"{args.size}^3, f16: program {best['program']:.1f} us, operator {best['operator']:.1f} us, "
          f"ratio {best['program'] / best['operator']:.3f}")


if __name__ == "__main__":
    main()
