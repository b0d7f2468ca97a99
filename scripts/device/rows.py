#!/usr/bin/env python3
"""Times the operators over rows of examples/norms.tir on one GPU beside PyTorch, eager and compiled, and beside a copy, in one run:
under their own schedules and under `@auto`.

    scripts/device/rows.py target/device/tc-run [--only rms_norm,rotary]

The rate is that of the bytes that the operator needs, each once, by the better of our two times; the last column is its share of the
rate of the fastest copy of 134 MB. Times are medians, in microseconds.
"""

import argparse
import json
import subprocess
import sys
import tempfile

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from bench_seeds import time_with_graph  # noqa: E402

FILE = "examples/norms.tir"

# What examples/norms.tir has no schedule for: rules make it.
MORE = """tir 1
te.func @copy<m, n>(X: f16[m, n]) -> f16[m, n] {
  compute Y[i: m, j: n] = X[i, j]
  return Y
}
te.func @softmax_f32<m, n>(X: f32[m, n]) -> f32[m, n] {
  compute M[i: m] = max[k: n](X[i, k])
  compute E[i: m, j: n] = exp(X[i, j] - M[i])
  compute T[i: m] = sum[k: n](E[i, k])
  compute Y[i: m, j: n] = E[i, j] / T[i]
  return Y
}
"""


def operators(torch):
    functional = torch.nn.functional
    half = {"device": "cuda", "dtype": torch.float16}
    m, n = 16384, 4096

    def matrix(rows=m, columns=n, **kind):
        return torch.rand(rows, columns, **{**half, **kind}) - 0.5

    x, z, g, h = matrix(), matrix(), matrix(1)[0], matrix(1)[0]
    wide = torch.rand(512, 32768, device="cuda") - 0.5
    logits = matrix(1024, 131072, dtype=torch.bfloat16)
    labels = torch.randint(0, 131072, (1024,), device="cuda")
    heads = torch.rand(4096, 32, 128, **half) - 0.5
    cosine, sine = (torch.rand(4096, 1, 64, device="cuda") for _ in range(2))

    def rotary():
        low, high = heads[..., :64].float(), heads[..., 64:].float()
        return torch.cat((low * cosine - high * sine, high * cosine + low * sine), -1).half()

    def size(*tensors):
        return sum(tensor.numel() * tensor.element_size() for tensor in tensors)

    rows = {"m": m, "n": n}
    # The peer, the bytes, the sizes, and whether the file has the operator.
    return {
        "copy": (lambda: x.clone(), 2 * size(x), rows, False),
        "rms_norm": (lambda: functional.rms_norm(x, (n,), g, 1e-5), 2 * size(x), rows, True),
        "layer_norm_f16": (lambda: functional.layer_norm(x, (n,), g, h, 1e-5), 2 * size(x), rows, True),
        "softmax_f16": (lambda: torch.softmax(x, -1), 2 * size(x), rows, True),
        "softmax_f32": (lambda: torch.softmax(wide, -1), 2 * size(wide), {"m": 512, "n": 32768}, False),
        "swiglu": (lambda: functional.silu(x) * z, 3 * size(x), rows, True),
        "cross_entropy": (
            lambda: functional.cross_entropy(logits, labels, reduction="none"),
            size(logits),
            {"m": 1024, "n": 131072},
            True,
        ),
        "rotary": (rotary, 2 * size(heads), {"tokens": 4096, "heads": 32}, True),
    }


def ours(command):
    """The best median of the schedules, or nothing."""
    ran = subprocess.run(command, capture_output=True, text=True)
    try:
        rows = json.loads(ran.stdout)["results"]
    except ValueError:
        return None
    return min((row["timing"]["median_us"] for row in rows if row.get("timing")), default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tc_run")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    import torch

    wanted = [name for name in args.only.split(",") if name]
    more = tempfile.NamedTemporaryFile("w", suffix=".tir")
    more.write(MORE)
    more.flush()
    copied = None
    print(f"{'operator':16} {'by hand':>9} {'@auto':>9} {'eager':>9} {'compiled':>9}   ratio    GB/s  of the copy")
    for name, (work, needed, sizes, in_file) in operators(torch).items():
        if wanted and name not in wanted and name != "copy":
            continue
        command = [args.tc_run, FILE if in_file else more.name, "--device", "cuda", "--bench", "--json", "--func", "@" + name]
        for size, value in sizes.items():
            command += ["-D", f"{size}={value}"]
        by_hand = ours(command) if in_file else None
        auto = ours(command + ["--schedule", "@auto"])
        eager = time_with_graph(torch, work)["median_us"]
        compiled = time_with_graph(torch, torch.compile(work, dynamic=False))["median_us"]
        times = [us for us in (by_hand, auto) if us]
        if not times:
            print(f"{name:16} {'-':>9} {'-':>9} {eager:9.2f} {compiled:9.2f}")
            continue
        rate = needed / min(times) / 1e3
        if name == "copy":
            copied = needed / min(*times, eager, compiled) / 1e3
        shown = [f"{us:9.2f}" if us else f"{'-':>9}" for us in (by_hand, auto)]
        ratio = min(times) / min(eager, compiled)
        print(f"{name:16} {shown[0]} {shown[1]} {eager:9.2f} {compiled:9.2f} {ratio:7.2f} {rate:7.0f}  {rate / copied:.2f}", flush=True)


if __name__ == "__main__":
    main()
