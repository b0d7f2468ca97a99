#!/usr/bin/env python3
"""Runs every product of the library of tensor intrinsics, with its loads and stores, on a GPU against plain loops.

    scripts/device/intrinsics.py [--tc-run target/device/tc-run] [--device cuda]

For each intrinsic that multiplies, it writes a program of one warp beside its operator: both factors through shared memory into
tiles, the product, the sum to global memory, each step marked with the intrinsic of the library that does it, if there is one.
`tc-run --check` compares with the operator. Prints what failed and how many were right; the exit status is 1 if one failed.
"""

import argparse
import glob
import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ITEM = re.compile(r"te\.intrin @(\w+)(?:<[^>]*>)?\((.*?)\)\s*->\s*\((.*?)\)\s*(?:where[^{]*|attributes\s*\{[^}]*\}\s*)*\{\n(.*?)\n}\n", re.S)


def extents(text):
    """The rows and columns of each tile that a list of parameters declares."""
    text = re.sub(r"strides = \[[^\]]*\]", "", text)
    return [(int(rows), int(cols)) for rows, cols in re.findall(r"\[(\d+), (\d+)\]", text)]


def copy(to, source, shape, intrinsic):
    mark = f" attributes {{tensorize = @{intrinsic}}}" if intrinsic else ""
    rows, cols = shape
    return f"for i in 0..{rows}{mark} {{ for j in 0..{cols} {{ {to}[i, j] = {source}[i, j] }} }}\n"


def share(to, source, shape):
    """A copy to shared memory that the threads of the warp divide."""
    rows, cols = shape
    at = f"(t * 32 + tx) / {cols}, (t * 32 + tx) % {cols}"
    return f"for t in 0..{rows * cols // 32} {{ {to}[{at}] = {source}[{at}] }}\n"


def program(names, name, factors, sums_shape):
    """The operator and the program of the product `name`."""
    parts = name.split("_")
    shape, elem, sums = parts[1:4]
    left, right = (parts[4:6] + ["row", "row"])[:2] if len(parts) > 5 else ("row", "row")
    is_wmma = parts[0] == "wmma"
    memory = "f32" if elem == "tf32" else elem

    def load(side, layout, tile):
        if is_wmma:
            wanted = f"wmma_load_{side}_{shape}_{elem}{'_col' if layout == 'col' else ''}"
        else:
            turned = (side == "a") == (layout == "col")
            wanted = f"ldmatrix_{side}_{tile[0]}x{tile[1]}_{memory}{'_trans' if turned else ''}"
        return wanted if wanted in names else None

    def cast(value):
        return value if memory == sums else f"cast<{sums}>({value})"

    a, b = factors
    (m, n), k = sums_shape, a[1] if left == "row" else a[0]
    at_a, at_b = "[i, k]" if left == "row" else "[k, i]", "[k, j]" if right == "row" else "[j, k]"
    zero = {"i32": "0i32", "f16": "0.0f16"}.get(sums, "0.0")
    # Rows that are padded to a multiple of 16 bytes, and by 16 more.
    row_a, row_b = ((cols + 15) // 16 * 16 + 16 for _, cols in factors)
    family = parts[0]
    tensors = f"A: {memory}[{a[0]}, {a[1]}], B: {memory}[{b[0]}, {b[1]}]"
    return f"""tir 1
te.func @op({tensors}) -> {sums}[{m}, {n}] {{
  compute C[i: {m}, j: {n}] = sum[k: {k}]({cast("A" + at_a)} * {cast("B" + at_b)})
  return C
}}
tir.func @{name}({tensors}, C: {sums}[{m}, {n}]) attributes {{noalias, implements = @op}} {{
  for bx in 0..1 bind(blockIdx.x) {{ for tx in 0..32 bind(threadIdx.x) {{
    alloc AS: {memory}[{a[0]}, {a[1]}] in shared attributes {{strides = [{row_a}, 1]}}
    alloc BS: {memory}[{b[0]}, {b[1]}] in shared attributes {{strides = [{row_b}, 1]}}
    alloc AF: {memory}[{a[0]}, {a[1]}] in {family}.matrix_a
    alloc BF: {memory}[{b[0]}, {b[1]}] in {family}.matrix_b
    alloc CF: {sums}[{m}, {n}] in {family}.accumulator
    {share("AS", "A", a)}{share("BS", "B", b)}
    {copy("AF", "AS", a, load("a", left, a))}{copy("BF", "BS", b, load("b", right, b))}
    for i in 0..{m} attributes {{tensorize = @{name}}} {{ for j in 0..{n} {{
      CF[i, j] = {zero}
      for k in 0..{k} {{ CF[i, j] = CF[i, j] + {cast("AF" + at_a)} * {cast("BF" + at_b)} }}
    }} }}
    {copy("C", "CF", (m, n), f"wmma_store_{shape}_{sums}" if is_wmma else None)}
  }} }}
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tc-run", default="target/device/tc-run", metavar="PROGRAM")
    parser.add_argument("--device", default="cuda", metavar="NAME")
    options = parser.parse_args()
    sys.path.insert(0, os.path.join(ROOT, "scripts", "device"))
    from bench_seeds import environment

    env = environment()
    texts = [open(path, encoding="utf-8").read() for path in glob.glob(f"{ROOT}/dialects/tc-dialects/intrinsics/*.tir")]
    items = [item for text in texts for item in ITEM.findall(text)]
    names = {item[0] for item in items}

    def check(item):
        name, params, result, _ = item
        path = os.path.join(folder, f"{name}.tir")
        with open(path, "w", encoding="utf-8") as file:
            file.write(program(names, name, extents(params)[:2], extents(result)[0]))
        command = [options.tc_run, path, "--func", f"@{name}", "--check", "--device", options.device]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
        return name, done.returncode, (done.stderr or done.stdout).strip()

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(check, [item for item in items if "sum[" in item[3]]))
    failed = [result for result in results if result[1] != 0]
    for name, status, said in failed:
        print(f"@{name}: status {status}: {said}")
    print(f"{len(results) - len(failed)} of {len(results)} products are right on {options.device}")
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
