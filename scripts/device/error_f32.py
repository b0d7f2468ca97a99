#!/usr/bin/env python3
"""Measures how far f32 products on tensor cores are from f64, beside PyTorch's own, on one GPU, in one run.

    scripts/device/error_f32.py --tc-run target/device/tc-run \\
        --conv 'examples/conv2d_f32_tensorcore.tir --schedule @split' --matmul 'examples/matmul_f32_tensorcore.tir'

Each command is run with `--device cuda` on inputs that this script writes as .npy files. There are three kinds of inputs:
`uniform`, in [-0.5, 0.5); `positive`, in [0, 1); `scaled`, normal numbers times e to the power of three times normal ones.
Two errors against the product in f64 are told: the greatest difference over the greatest value, and the norm of the
differences over the norm of the values. The layouts are those of the operators: A[h, w, c, n], W[kh, kw, c, o], B[h, w, o, n]
for the convolution (seed 000), A[m, k], B[k, n], C[m, n] for the product of matrices.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bench_seeds import environment  # noqa: E402


def draw(torch, kind, shape):
    if kind == "uniform":
        return torch.rand(shape, device="cuda") - 0.5
    if kind == "positive":
        return torch.rand(shape, device="cuda")
    return torch.randn(shape, device="cuda") * torch.exp(3 * torch.randn(shape, device="cuda"))


def errors(found, expected):
    difference = found.double() - expected
    return (difference.abs().max() / expected.abs().max()).item(), (difference.norm() / expected.norm()).item()


def convolution(torch, n):
    """The case of seed 000: names and shapes of arguments and result, PyTorch's product, and the one in f64."""
    shapes = {"A": (14, 14, 256, 256), "W": (3, 3, 256, 512)}

    def product(inputs, dtype):
        image = inputs["A"].permute(3, 2, 0, 1).to(dtype).contiguous()
        kernel = inputs["W"].permute(3, 2, 0, 1).to(dtype).contiguous()
        return torch.nn.functional.conv2d(image, kernel, padding=1).permute(2, 3, 1, 0)

    return shapes, "B", product


def matrices(torch, n):
    """Two square matrices."""
    shapes = {"A": (n, n), "B": (n, n)}
    return shapes, "C", lambda inputs, dtype: inputs["A"].to(dtype) @ inputs["B"].to(dtype)


def run(tc_run, command, inputs, result, folder):
    """What our kernel computes of `inputs`."""
    import numpy
    import torch

    given = []
    for name, array in inputs.items():
        path = os.path.join(folder, f"{name}.npy")
        numpy.save(path, array.cpu().numpy())
        given += ["--input", f"{name}={path}"]
    out = os.path.join(folder, f"{result}.npy")
    done = subprocess.run(
        [tc_run, *shlex.split(command), "--device", "cuda", *given, "--output", f"{result}={out}"],
        env=environment(), capture_output=True, text=True, timeout=300,
    )
    if done.returncode != 0:
        sys.exit(f"error_f32: `{command}`: status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}")
    return torch.from_numpy(numpy.load(out)).cuda()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tc-run", default="target/device/tc-run", metavar="PROGRAM")
    parser.add_argument("--conv", action="append", default=[], metavar="COMMAND", help="file and options for the convolution")
    parser.add_argument("--matmul", action="append", default=[], metavar="COMMAND", help="file and options for the product")
    parser.add_argument("--size", type=int, default=4096, metavar="N", help="the extent of the matrices")
    options = parser.parse_args()
    import torch

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    print(f"{'inputs':10}{'who':50}{'greatest':>12}{'norm':>12}")
    for case, commands in ((convolution, options.conv), (matrices, options.matmul)):
        if not commands:
            continue
        shapes, result, product = case(torch, options.size)
        for kind in ("uniform", "positive", "scaled"):
            inputs = {name: draw(torch, kind, shape) for name, shape in shapes.items()}
            expected = product(inputs, torch.float64)
            rows = [("PyTorch, IEEE f32", product(inputs, torch.float32))]
            for command in commands:
                with tempfile.TemporaryDirectory() as folder:
                    rows.append((command, run(options.tc_run, command, inputs, result, folder)))
            for who, found in rows:
                greatest, norm = errors(found, expected)
                print(f"{kind:10}{who[-48:]:50}{greatest:12.2e}{norm:12.2e}")
            del rows, expected
    return 0


if __name__ == "__main__":
    sys.exit(main())
