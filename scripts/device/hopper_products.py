#!/usr/bin/env python3
"""Times the products of examples/hopper on one GPU beside cuBLAS by way of PyTorch, in one run, and prints the ratios.

    scripts/device/hopper_products.py target/device/tc-run [--rows f16,bf16] [--size 4096] [--rounds 3] [--rotate] [-D columns=128]
    scripts/device/hopper_products.py target/device/tc-run --layers [--rounds 3] [--rotate]

Ours runs in a process of its own, with `tc-run --bench`; both sides are graphs of launches that take 200 us, replayed 50 times
after 100 ms of warm-up. The two take turns, `--rounds` times, so that both meet the clock that the power of the card allows; the
best and the median of all rounds are shown of each. With `--rotate` the launches of both sides take copies of their factors in turn,
of more than twice the second-level cache together, as a layer of a network finds them. `--layers` has products of the sizes of layers,
f16, each by the schedule that suits its size, and prints a table in Markdown.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from bench_seeds import time_with_graph  # noqa: E402

FOLDER = "examples/hopper"
FILES = ("product", "scaled", "batched", "product_f32", "clustered", "grouped")
PRODUCT, SCALED, BATCHED, PRODUCT_F32, CLUSTERED, GROUPED = (f"{FOLDER}/{name}.tir" for name in FILES)
BATCH = 16
# The experts of a grouped product, whose rows go to them in unequal parts of multiples of 128.
N_EXPERTS = 8

# Name: our operator and its file, and what the peer multiplies.
ROWS = {
    "f16": (PRODUCT, "product_f16_f16", "float16"),
    "bf16": (PRODUCT, "product_bf16_bf16", "bfloat16"),
    "f16-f32": (PRODUCT, "product_f16", "float16"),
    "tf32": (PRODUCT, "product_tf32", "tf32"),
    # Pieces of f16 beside sums of f32, which PyTorch computes without tensor cores.
    "f32": (PRODUCT_F32, "product_f32", "f32"),
    "clusters": (CLUSTERED, "clustered_bf16", "bfloat16"),
    "i8": (PRODUCT, "product_i8", "int8"),
    "f8": (PRODUCT, "product_f8", "f8"),
    "f8-rows": (SCALED, "product_f8_rows", "f8-rows"),
    "f8-rows-fast": (SCALED, "product_f8_rows", "f8-rows-fast"),
    "f8-blocks": (SCALED, "product_f8_blocks", "f8-blocks"),
    "dense": (PRODUCT, "dense_f16", "layer"),
    "batched": (BATCHED, "batched_f16", "batched"),
    "grouped": (GROUPED, "grouped_bf16", "grouped"),
    "few": (PRODUCT, "few_rows_f16", "float16"),
    "split": (PRODUCT, "few_rows_f16", "float16"),
}


# Points of the space of those whose result leaves by bulk copies; each is tried once, and the best is measured.
POINTS = [{"columns": 256, "stages": 3}, {"columns": 192, "stages": 4}, {"columns": 128, "stages": 5}]
IN_BULK = {"f16", "bf16", "dense", "batched", "grouped", "f8-rows", "f8-rows-fast"}

# Products of the sizes of layers: M, N, K, the row that has the schedule, and its parameters; without any, the best of POINTS.
OF_FEW = {"rows": 64, "columns": 128, "group": 4, "stages": 8, "blocks": 128}
LAYERS = [
    (4096, 4096, 4096, "f16", {}), (8192, 8192, 8192, "f16", {}),
    (8192, 4096, 4096, "f16", {}), (8192, 28672, 4096, "f16", {}), (8192, 4096, 14336, "f16", {}),
    (2048, 4096, 4096, "f16", {}), (2048, 28672, 4096, "f16", {}), (2048, 4096, 14336, "f16", {}),
    (256, 4096, 4096, "f16", OF_FEW),
    (256, 28672, 4096, "f16", {"rows": 128, "columns": 224, "group": 2, "stages": 3, "blocks": 132}),
    (256, 4096, 14336, "f16", OF_FEW),
    (64, 4096, 4096, "split", {"rows": 64, "parts": 2}),
    (64, 28672, 4096, "f16", {"rows": 64, "columns": 224, "group": 1, "stages": 5, "blocks": 128}),
    (64, 4096, 14336, "split", {"rows": 64, "parts": 2}),
    (16, 4096, 4096, "split", {"parts": 2}), (16, 28672, 4096, "few", {}), (16, 4096, 14336, "split", {"parts": 2}),
    (1, 4096, 4096, "split", {"parts": 4}), (1, 28672, 4096, "few", {}), (1, 4096, 14336, "split", {"parts": 4}),
]  # fmt: skip


def uniform(torch, *shape, dtype):
    """Numbers as `tc-run --bench` draws them: the power that a product takes depends on them, and its clock on the power."""
    bits = {torch.float16: 11, torch.bfloat16: 8, torch.float8_e4m3fn: 4}.get(dtype, 24)
    steps = torch.randint(0, 1 << bits, shape, device="cuda").to(torch.float32)
    return ((steps - (1 << bits - 1)) / (1 << bits)).to(dtype)


def experts(m):
    """The expert of each 128 rows: the parts are as 1 to 3 to 1 to 3 and so on."""
    tiles = m // 128
    weights = [1 + 2 * (expert % 2) for expert in range(N_EXPERTS)]
    ends = [sum(weights[: expert + 1]) * tiles // sum(weights) for expert in range(N_EXPERTS)]
    return [next(expert for expert, end in enumerate(ends) if tile < end) for tile in range(tiles)]


def write_experts(m, path):
    import numpy

    numpy.save(path, numpy.array(experts(m), dtype=numpy.int32))


def peer(torch, row, m, n, k):
    factors = ROWS[row][2]
    device = "cuda"
    torch.backends.cuda.matmul.allow_tf32 = factors == "tf32"
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    if factors == "int8":
        a = torch.randint(-8, 9, (m, k), dtype=torch.int8, device=device)
        b = torch.randint(-8, 9, (n, k), dtype=torch.int8, device=device)
        return lambda: torch._int_mm(a, b.t())
    if factors.startswith("f8"):
        a = uniform(torch, m, k, dtype=torch.float8_e4m3fn)
        b = uniform(torch, n, k, dtype=torch.float8_e4m3fn)
        if factors == "f8":
            scales = [torch.ones((), device=device)] * 2
        elif factors == "f8-blocks":
            # Of rows of 128 elements, one row of scales after another; of blocks of 128 x 128.
            scales = [torch.ones(k // 128, m, device=device).t(), torch.ones(n // 128, k // 128, device=device).t()]
        else:
            scales = [torch.ones(m, 1, device=device), torch.ones(1, n, device=device)]
        fast = factors == "f8-rows-fast"
        return lambda: torch._scaled_mm(a, b.t(), *scales, out_dtype=torch.bfloat16, use_fast_accum=fast)
    if factors == "batched":
        a = uniform(torch, BATCH, m, k, dtype=torch.float16)
        b = uniform(torch, BATCH, n, k, dtype=torch.float16)
        return lambda: torch.bmm(a, b.transpose(1, 2))
    if factors == "grouped":
        a = uniform(torch, m, k, dtype=torch.bfloat16)
        b = uniform(torch, N_EXPERTS, n, k, dtype=torch.bfloat16)
        of_tiles = experts(m)
        ends = [128 * sum(of <= expert for of in of_tiles) for expert in range(N_EXPERTS)]
        ends = torch.tensor(ends, dtype=torch.int32, device=device)
        return lambda: torch._grouped_mm(a, b.transpose(1, 2), offs=ends)
    if factors == "f32":
        a, b = uniform(torch, m, k, dtype=torch.float32), uniform(torch, k, n, dtype=torch.float32)
        return lambda: torch.matmul(a, b)
    layer = factors == "layer"
    factors = "float16" if layer else factors
    dtype = torch.float32 if factors == "tf32" else getattr(torch, factors)
    a, b = uniform(torch, m, k, dtype=dtype), uniform(torch, n, k, dtype=dtype)
    if layer:
        bias = uniform(torch, n, dtype=dtype)
        # In one kernel by cublasLt, or as Inductor makes it; the faster one counts.
        eager = lambda a, b, bias: torch.nn.functional.gelu(  # noqa: E731
            torch.nn.functional.linear(a, b, bias), approximate="tanh"
        )
        compiled = torch.compile(eager)
        compiled(a, b, bias)
        return [
            lambda: eager(a, b, bias),
            lambda: torch._addmm_activation(bias, a, b.t(), use_gelu=True),
            lambda: compiled(a, b, bias),
        ]
    return lambda: torch.nn.functional.linear(a, b)


def ours(run, row, m, n, k, defines, rotate=False):
    file, func, _ = ROWS[row]
    schedule = {"few": "@swapped", "split": "@split"}.get(row, "@persistent")
    command = [run, file, "--func", f"@{func}", "--schedule", schedule, "--device", "cuda", "--bench", "--json"]
    command += ["--rotate"] if rotate else []
    sizes = {"m": m, "n": n, "k": k}
    if row == "f8-blocks":
        sizes = {"m": m, "n": n, "blocks_of_k": k // 128}
    elif row == "batched":
        sizes["batch"] = BATCH
    elif row == "grouped":
        sizes["groups"] = N_EXPERTS
        path = f"{tempfile.gettempdir()}/experts-{m}.npy"
        write_experts(m, path)
        command += ["--input", f"expert={path}", "--memory-limit", "17179869184"]
    for name, value in {**sizes, **defines}.items():
        command += ["-D", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        result = json.loads(done.stdout)["results"][0]
        return result["timing"]["median_us"], ""
    except (ValueError, KeyError, IndexError, TypeError):
        return None, (done.stdout + done.stderr)[-800:]


def n_copies(torch, row, m, n, k):
    """So many copies of the factors fill the second-level cache twice."""
    of_two, of_four = ("float16", "bfloat16", "layer", "batched", "grouped"), ("tf32", "f32")
    factors = ROWS[row][2]
    n_left, n_right = (BATCH if row == "batched" else 1), {"batched": BATCH, "grouped": N_EXPERTS}.get(row, 1)
    n_bytes = (m * n_left + n * n_right) * k * (2 if factors in of_two else 4 if factors in of_four else 1)
    return -(-2 * torch.cuda.get_device_properties(0).L2_cache_size // n_bytes)


def time_of_turns(torch, turns):
    """The time of one of `turns`, which do the same with other copies, one after the other."""

    def all_turns():
        for turn in turns:
            turn()

    return time_with_graph(torch, all_turns)["median_us"] / len(turns)


def measure(torch, args, row, size, points):
    """The times of both sides in all rounds, the parameters of ours, and what went wrong."""
    mine, theirs, why = [], [], ""
    tried = [(ours(args.run, row, *size, point, args.rotate)[0] or float("inf"), nth) for nth, point in enumerate(points)]
    best = points[min(tried)[1]]
    for _ in range(args.rounds):
        time, why = ours(args.run, row, *size, best, args.rotate)
        if time is None:
            break
        mine.append(time)
        try:
            copies = [peer(torch, row, *size) for _ in range(n_copies(torch, row, *size) if args.rotate else 1)]
            runs = zip(*(copy if isinstance(copy, list) else [copy] for copy in copies))
            theirs.append(min(time_of_turns(torch, turns) for turns in runs))
        except RuntimeError as error:
            why = str(error).splitlines()[0]
    return mine, theirs, best, why


def layers(torch, args):
    ratios = []
    print("| M x N x K | schedule | tc, us | PyTorch, us | ratio |\n|---|---|---|---|---|")
    for *size, row, point in LAYERS:
        points = [point] if point else POINTS if row in IN_BULK else [{}]
        mine, theirs, best, why = measure(torch, args, row, size, points)
        shown = " x ".join(str(side) for side in size)
        if not mine or not theirs:
            print(f"| {shown} | {row} | failed: {why} |", flush=True)
            continue
        ratios.append(min(mine) / min(theirs))
        knobs = " ".join(f"{name}={value}" for name, value in best.items())
        print(f"| {shown} | `{row} {knobs}` | {min(mine):.1f} | {min(theirs):.1f} | {ratios[-1]:.2f} |", flush=True)
    print(f"geometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.3f}, greatest {max(ratios):.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--rows", default="f16,bf16,f16-f32,tf32,i8,f8,dense")
    parser.add_argument("--size", default="4096", help="N, or MxNxK; several with commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--layers", action="store_true", help="products of the sizes of layers")
    parser.add_argument("--rotate", action="store_true", help="no launch finds its factors in the second-level cache")
    parser.add_argument("-D", action="append", default=[], help="a parameter of the schedule")
    args = parser.parse_args()
    import torch

    defines = dict(each.split("=") for each in args.D)
    print(torch.cuda.get_device_name(0), torch.__version__, torch.version.cuda)
    if args.layers:
        return layers(torch, args)
    for size in args.size.split(","):
        sides = [int(side) for side in size.split("x")]
        m, n, k = sides if len(sides) == 3 else sides * 3
        for row in args.rows.split(","):
            points = POINTS if row in IN_BULK and not defines else [defines]
            mine, theirs, best, why = measure(torch, args, row, (m, n, k), points)
            if not mine or not theirs:
                print(f"{row} {m}x{n}x{k}: ours {min(mine, default='failed')}, the peer failed: {why}", flush=True)
                continue
            flops = 2 * m * n * k * (BATCH if row == "batched" else 1)
            print(
                f"{row:8} {m}x{n}x{k}: ours {min(mine):8.2f} best {statistics.median(mine):8.2f} median us"
                f" ({flops / min(mine) / 1e6:6.1f} TFLOP/s); torch {min(theirs):8.2f} best"
                f" {statistics.median(theirs):8.2f} median; ratio {min(mine) / min(theirs):.3f} best"
                f" {statistics.median(mine) / statistics.median(theirs):.3f} median {best or ''}",
                flush=True,
            )


if __name__ == "__main__":
    main()
