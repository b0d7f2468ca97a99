#!/usr/bin/env python3
"""Errors of f32 products made of shorter ones on tensor cores, by a model of their rounding.

    python3 scripts/device/split_error.py            (needs numpy; a minute)

The model: within one instruction the products of 16 (tf32: 8) pairs and the sum so far are cut, towards zero, at EXTRA
bits below the last bit of the greatest of them, added exactly, and the result is cut to 24 bits. A step is the part of
the reduction that is summed up that way, from zero; steps are joined in f32, rounded to nearest.

Printed for each input, step and order: max|error| / max|result| and ||error|| / ||result|| against f64. Orders: `terms`,
low x high, high x low, high x high, each over the whole step; `tiles`, the three products tile by tile.
"""

import sys

import numpy as np

M = N = 128
K = 2304
STEPS = (16, 32, 64, 128, 256, 2304)
INPUTS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform [-0.5, 0.5)": lambda rng, shape: rng.random(shape) - 0.5,
    "positive [0, 1)": lambda rng, shape: rng.random(shape),
    "e^(4 normal), signed": lambda rng, shape: np.exp(4 * rng.standard_normal(shape)) * rng.choice([-1, 1], shape),
    "e^(4 normal)": lambda rng, shape: np.exp(4 * rng.standard_normal(shape)),
}


def instruction(acc, a, b, extra):
    """acc + a b, cut as the model says; all in f64, which holds each number exactly."""
    products = a[:, None, :] * b.T[None]
    greatest = np.maximum(np.abs(products).max(-1), np.abs(acc))
    unit = np.ldexp(1.0, np.frexp(greatest)[1] - 24 - extra)
    total = (np.trunc(products / unit[..., None]).sum(-1) + np.trunc(acc / unit)) * unit
    last = np.ldexp(1.0, np.frexp(total)[1] - 24)
    return np.trunc(total / last) * last


def joined(pieces, step, depth, extra, tiles):
    """Sums over steps of the three products of `pieces`, joined in f32."""
    a_high, a_low, b_high, b_low = pieces
    terms = ((a_low, b_high), (a_high, b_low), (a_high, b_high))
    result = np.zeros((a_high.shape[0], b_high.shape[1]), np.float32)
    for start in range(0, a_high.shape[1], step):
        parts = [slice(at, at + depth) for at in range(start, start + step, depth)]
        order = [(t, p) for p in parts for t in terms] if tiles else [(t, p) for t in terms for p in parts]
        acc = np.zeros(result.shape)
        for (a, b), part in order:
            acc = instruction(acc, a[:, part], b[part], extra)
        result = result + acc.astype(np.float32)
    return result.astype(np.float64)


def by_f16(a, b, step, extra, tiles):
    """Pieces of f16; rows of a and columns of b divided by a power of two that leaves a maximum of 2^14 to 2^15."""
    a_unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(a).max(1, keepdims=True), 2.0**-112))) - 14)
    b_unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(b).max(0, keepdims=True), 2.0**-112))) - 14)
    pieces = []
    for scaled in ((a / a_unit).astype(np.float32), (b / b_unit).astype(np.float32)):
        high = scaled.astype(np.float16)
        pieces += [high, (scaled - high.astype(np.float32)).astype(np.float16)]
    return joined([piece.astype(np.float64) for piece in pieces], step, 16, extra, tiles) * a_unit * b_unit


def by_tf32(a, b, step, extra, tiles):
    """Pieces of tf32: 10 bits behind the point, rounded to nearest."""
    pieces = []
    for whole in (a, b):
        high = to_tf32(whole)
        pieces += [high, to_tf32(whole - high)]
    return joined([piece.astype(np.float64) for piece in pieces], step, 8, extra, tiles)


def to_tf32(x):
    bits = x.view(np.uint32)
    return ((bits + 0x1000) & np.uint32(0xFFFFE000)).astype(np.uint32).view(np.float32)


def in_f32(a, b):
    """One sum in f32, a fused multiplication and addition after another."""
    result = np.zeros((a.shape[0], b.shape[1]), np.float32)
    for k in range(a.shape[1]):
        result = (result + a[:, k : k + 1].astype(np.float64) * b[k : k + 1]).astype(np.float32)
    return result.astype(np.float64)


def main():
    rng = np.random.default_rng(1)
    for name, draw in INPUTS.items():
        a, b = draw(rng, (M, K)).astype(np.float32), draw(rng, (K, N)).astype(np.float32)
        exact = a.astype(np.float64) @ b.astype(np.float64)

        def errors(result):
            error = result - exact
            greatest = np.abs(error).max() / np.abs(exact).max()
            return f"{greatest:.2e} {np.linalg.norm(error) / np.linalg.norm(exact):.2e}"

        print(f"{name}, K = {K}: one f32 sum {errors(in_f32(a, b))}")
        print("   step  f16, terms, 2 bits  f16, terms, 0 bits  f16, tiles, 2 bits  tf32, terms, 2 bits")
        for step in STEPS:
            columns = [by_f16(a, b, step, 2, False), by_f16(a, b, step, 0, False)]
            columns += [by_f16(a, b, step, 2, True), by_tf32(a, b, step, 2, False)]
            print(f"  {step:5}  " + "   ".join(errors(column) for column in columns))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
