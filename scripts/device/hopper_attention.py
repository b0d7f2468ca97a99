#!/usr/bin/env python3
"""Times the attention of examples/hopper on one GPU beside PyTorch's, in one run, and prints the ratios.

    scripts/device/hopper_attention.py target/device/tc-run [--types f16,bf16] [--heads 64,128] [--lengths 1024,4096] [--rounds 2]

Each row has batch x length of 16,384 tokens and heads that are 2048 wide together. The peers are the two fast backends of
`scaled_dot_product_attention`, each pinned by `sdpa_kernel`; the fastest one counts. Ours runs in a process of its own, with
`tc-run --bench`; both sides are graphs of launches that take 200 us, replayed 50 times after 100 ms of warm-up. The two take
turns, `--rounds` times, and the best of all rounds is shown of each. Before, ours is compared with its operator on a small case.
bf16 is the text of the file with `f16` replaced.
"""

import argparse
import json
import math
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from bench_seeds import time_with_graph  # noqa: E402

TOKENS, WIDTH = 16384, 2048


def uniform(torch, shape, dtype):
    """Numbers as `tc-run --bench` draws them: the power that a product takes depends on them, and its clock on the power."""
    bits = 11 if dtype == torch.float16 else 8
    steps = torch.randint(0, 1 << bits, shape, device="cuda").to(torch.float32)
    return ((steps - (1 << bits - 1)) / (1 << bits)).to(dtype)


def tc_run(run, file, func, sizes, *more):
    command = [run, file, "--func", f"@{func}", "--device", "cuda", "--json", *more]
    for name, value in sizes.items():
        command += ["-D", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    try:
        return json.loads(done.stdout)["results"][0]
    except (ValueError, KeyError, IndexError):
        sys.exit(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-2000:]}")


def peers(torch, q, k, v, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    times = {}
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel(backend):
            run = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)  # noqa: E731
            try:
                times[backend.name.split("_")[0].lower()] = time_with_graph(torch, run)["median_us"]
            except RuntimeError:
                continue
    return times


def parsed(file):
    """The options, of the programs of `file`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--file", default=file)
    parser.add_argument("--types", default="f16,bf16")
    parser.add_argument("--heads", default="64,128")
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384")
    parser.add_argument("--rounds", type=int, default=2)
    return parser.parse_args()


def programs(torch, args, suffix=""):
    """For each type and head the full and the causal program, once it is compared with its operator: the type's name, the type,
    the file of its text, the width of a head, whether it is causal, its name."""
    for elem in args.types.split(","):
        dtype = torch.float16 if elem == "f16" else torch.bfloat16
        with tempfile.NamedTemporaryFile("w", suffix=".tir") as file:
            file.write(re.sub(r"\bf16\b", elem, open(args.file).read()))
            file.flush()
            for head in map(int, args.heads.split(",")):
                for causal in (False, True):
                    func = f"{'causal' if causal else 'full'}{suffix}_{head}"
                    checked = tc_run(args.run, file.name, func, {"heads": 2, "n": 320}, "--check")
                    if not checked["ok"]:
                        sys.exit(f"{func} of {elem} is wrong: {checked}")
                    yield elem, dtype, file.name, head, causal, func


def main():
    args = parsed("examples/hopper/attention.tir")
    import torch

    print(torch.cuda.get_device_name(0), torch.__version__, torch.version.cuda)
    ratios = []
    for elem, dtype, file, head, causal, func in programs(torch, args):
        for n in map(int, args.lengths.split(",")):
            heads = TOKENS // n * WIDTH // head
            mine, theirs = [], {}
            for _ in range(args.rounds):
                result = tc_run(args.run, file, func, {"heads": heads, "n": n}, "--bench")
                mine.append(result["timing"]["median_us"])
                q, k, v = (uniform(torch, (1, heads, n, head), dtype) for _ in range(3))
                for name, time in peers(torch, q, k, v, causal).items():
                    theirs[name] = min(time, theirs.get(name, math.inf))
            best = min(theirs, key=theirs.get)
            flops = 4 * heads * n * n * head / (2 if causal else 1)
            ratios.append(min(mine) / theirs[best])
            others = ", ".join(f"{name} {time:.1f}" for name, time in theirs.items())
            print(
                f"{elem:4} {func:10} n {n:5}: ours {min(mine):8.1f} us ({flops / min(mine) / 1e6:5.1f} TFLOP/s);"
                f" {others} us; ratio {ratios[-1]:.3f}",
                flush=True,
            )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.3f}, at most {max(ratios):.3f}")


if __name__ == "__main__":
    main()
