#!/usr/bin/env python3
"""Times the products of examples/hopper on one GPU beside cuBLAS by way of PyTorch, in one run, and prints the ratios.

    scripts/device/hopper_products.py target/device/tc-run [--rows f16,bf16] [--size 4096] [--rounds 3]

Ours runs in a process of its own, with `tc-run --bench`; both sides are graphs of launches that take 200 us, replayed 50 times
after 100 ms of warm-up. The two take turns, `--rounds` times, so that both meet the clock that the power of the card allows; the
best and the median of all rounds are shown of each.
"""

import argparse
import json
import statistics
import subprocess
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from bench_seeds import time_with_graph  # noqa: E402

FILE = "examples/hopper/product.tir"

# Name: our operator, the types of the peer's factors and result, and whether the peer is a layer.
ROWS = {
    "f16": ("product_f16_f16", "float16", "float16", False),
    "bf16": ("product_bf16_bf16", "bfloat16", "bfloat16", False),
    "f16-f32": ("product_f16", "float16", "float16", False),
    "tf32": ("product_tf32", "tf32", "float32", False),
    "i8": ("product_i8", "int8", "int32", False),
    "f8": ("product_f8", "f8", "float32", False),
    "dense": ("dense_f16", "float16", "float16", True),
    "few": ("few_rows_f16", "float16", "float16", False),
    "split": ("few_rows_f16", "float16", "float16", False),
}


def peer(torch, row, m, n, k):
    _, factors, _, layer = ROWS[row]
    device = "cuda"
    torch.backends.cuda.matmul.allow_tf32 = factors == "tf32"
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    if factors == "int8":
        a = torch.randint(-8, 8, (m, k), dtype=torch.int8, device=device)
        b = torch.randint(-8, 8, (n, k), dtype=torch.int8, device=device)
        return lambda: torch._int_mm(a, b.t())
    if factors == "f8":
        a = torch.randn(m, k, device=device).to(torch.float8_e4m3fn)
        b = torch.randn(n, k, device=device).to(torch.float8_e4m3fn)
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=False)
    dtype = torch.float32 if factors == "tf32" else getattr(torch, factors)
    a = torch.randn(m, k, device=device, dtype=dtype)
    b = torch.randn(n, k, device=device, dtype=dtype)
    if layer:
        bias = torch.randn(n, device=device, dtype=dtype)
        return lambda: torch.nn.functional.gelu(torch.nn.functional.linear(a, b, bias), approximate="tanh")
    return lambda: torch.nn.functional.linear(a, b)


def ours(run, row, m, n, k, defines):
    func = ROWS[row][0]
    schedule = {"few": "@swapped", "split": "@split"}.get(row, "@persistent")
    command = [run, FILE, "--func", f"@{func}", "--schedule", schedule, "--device", "cuda", "--bench", "--json"]
    for name, value in {"m": m, "n": n, "k": k, **defines}.items():
        command += ["-D", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        result = json.loads(done.stdout)["results"][0]
        return result["timing"]["median_us"], ""
    except (ValueError, KeyError, IndexError, TypeError):
        return None, (done.stdout + done.stderr)[-800:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--rows", default="f16,bf16,f16-f32,tf32,i8,f8,dense")
    parser.add_argument("--size", default="4096", help="N, or MxNxK; several with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("-D", action="append", default=[], help="a parameter of the schedule")
    args = parser.parse_args()
    import torch

    defines = dict(each.split("=") for each in args.D)
    print(torch.cuda.get_device_name(0), torch.__version__, torch.version.cuda)
    for size in args.size.split(","):
        sides = [int(side) for side in size.split("x")]
        m, n, k = sides if len(sides) == 3 else sides * 3
        for row in args.rows.split(","):
            mine, theirs, why = [], [], ""
            for _ in range(args.rounds):
                time, why = ours(args.run, row, m, n, k, defines)
                if time is None:
                    break
                mine.append(time)
                theirs.append(time_with_graph(torch, peer(torch, row, m, n, k))["median_us"])
            if not mine:
                print(f"{row} {m}x{n}x{k}: failed: {why}")
                continue
            flops = 2 * m * n * k
            print(
                f"{row:8} {m}x{n}x{k}: ours {min(mine):8.2f} best {statistics.median(mine):8.2f} median us"
                f" ({flops / min(mine) / 1e6:6.1f} TFLOP/s); torch {min(theirs):8.2f} best"
                f" {statistics.median(theirs):8.2f} median; ratio {min(mine) / min(theirs):.3f} best"
                f" {statistics.median(mine) / statistics.median(theirs):.3f} median",
                flush=True,
            )


if __name__ == "__main__":
    main()
