#!/usr/bin/env python3
"""Times operators over rows (norms, softmax, cross entropy, rotary embedding, SwiGLU) on one GPU beside PyTorch, eager and compiled,
and beside a copy of as many bytes, in one run.

    scripts/device/rows.py target/device/tc-run FILE [--schedule @auto] [--only rms_norm,softmax] [-D m=16384]

FILE holds the operators under the names below. The rate is that of the bytes that the operator needs, each once; the bound is the
rate of `@copy` of FILE, or of PyTorch's copy where it has none.
"""

import argparse
import json
import subprocess
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from bench_seeds import time_with_graph  # noqa: E402


def operators(torch, sizes):
    functional = torch.nn.functional
    half = {"device": "cuda", "dtype": torch.float16}
    m, n = sizes.get("m", 16384), sizes.get("n", 4096)

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

    bytes_of = lambda *tensors: sum(tensor.numel() * tensor.element_size() for tensor in tensors)  # noqa: E731
    return {
        "copy": (lambda: x.clone(), 2 * bytes_of(x)),
        "rms_norm": (lambda: functional.rms_norm(x, (n,), g, 1e-5), 2 * bytes_of(x)),
        "layer_norm": (lambda: functional.layer_norm(x, (n,), g, h, 1e-5), 2 * bytes_of(x)),
        "softmax": (lambda: torch.softmax(wide, -1), 2 * bytes_of(wide)),
        "softmax_f16": (lambda: torch.softmax(x, -1), 2 * bytes_of(x)),
        "swiglu": (lambda: functional.silu(x) * z, 3 * bytes_of(x)),
        "cross_entropy": (lambda: functional.cross_entropy(logits, labels, reduction="none"), bytes_of(logits)),
        "rotary": (rotary, 2 * bytes_of(heads)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tc_run")
    parser.add_argument("file")
    parser.add_argument("--schedule", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("-D", dest="defines", action="append", default=[])
    args = parser.parse_args()
    import torch

    sizes = {name: int(value) for name, value in (pair.split("=") for pair in args.defines)}
    wanted = [name for name in args.only.split(",") if name]
    copied = None
    print(f"{'operator':16} {'ours':>9} {'eager':>9} {'compiled':>9}   ratio    GB/s  of the copy")
    for name, (work, needed) in operators(torch, sizes).items():
        if wanted and name not in wanted and name != "copy":
            continue
        command = [args.tc_run, args.file, "--device", "cuda", "--bench", "--json", "--func", "@" + name]
        for pair in args.defines:
            command += ["-D", pair]
        best = None
        for schedule in args.schedule or [None]:
            ran = subprocess.run(command + (["--schedule", schedule] if schedule else []), capture_output=True, text=True)
            try:
                rows = [row for row in json.loads(ran.stdout)["results"] if row.get("timing")]
            except ValueError:
                rows = []
            for row in rows:
                us = row["timing"]["median_us"]
                best = min(best or us, us)
        eager = time_with_graph(torch, work)["median_us"]
        try:
            compiled = time_with_graph(torch, torch.compile(work, dynamic=False))["median_us"]
        except Exception as error:  # noqa: BLE001
            print(f"{name}: not compiled: {str(error)[:80]}")
            compiled = float("nan")
        if best is None:
            print(f"{name:16} {'-':>9} {eager:9.2f} {compiled:9.2f}  {ran.stderr[:120]!r}")
            continue
        rate = needed / best / 1e3
        if name == "copy":
            copied = needed / min(best, eager) / 1e3
        peer = min(eager, compiled) if compiled == compiled else eager
        share = f"{rate / copied:.2f}" if copied else ""
        print(f"{name:16} {best:9.2f} {eager:9.2f} {compiled:9.2f} {best / peer:7.2f} {rate:7.0f}  {share}", flush=True)


if __name__ == "__main__":
    main()
