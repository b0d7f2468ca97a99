#!/usr/bin/env python3
"""Times the attention programs that the other scripts leave out on one GPU beside their peers, in one run, and prints the ratios.

    scripts/device/attention_others.py target/device/tc-run [--only warps,backward,lengths,f8] [--rounds 1] [--budget 220]

    warps     examples/attention.tir, compiled for sm_90, beside the flash backend of `scaled_dot_product_attention`
    backward  examples/attention_backward.tir, compiled for sm_90, beside that backend's backward
    lengths   @packed_causal_128 of examples/hopper/attention_varlen.tir beside PyTorch's flash attention of packed sequences, and
              beside what the same sequences cost in a padded batch: by @padded_causal_128, and by the flash backend on all rows
    f8        both forms of examples/hopper/attention_fp8.tir beside our program in f16: PyTorch has no attention in f8

Rows have 16,384 tokens and heads that are 2048 wide together, in f16. Before a program is timed its values are compared: those of
packed sequences and of f8 with a softmax in f64, others with the operator's on a small case. Ours runs in a process of its own,
with `tc-run --bench`; both sides are graphs of launches that take 200 us, replayed 50 times after 100 ms of warm-up. The sides
take turns, `--rounds` times, and the best of all rounds is shown of each. What fails is told and left out. After `--budget`
seconds nothing is begun.

TFLOP/s count two products, of gradients five (ours makes seven), of causal attention half of them.
"""

import argparse
import inspect
import math
import os
import random
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hopper_attention_backward as backward  # noqa: E402
from attention_decode import tc_run  # noqa: E402
from bench_seeds import time_with_graph  # noqa: E402
from hopper_attention import TOKENS, WIDTH, uniform  # noqa: E402

WARPS, GRADIENTS = "examples/attention.tir", "examples/attention_backward.tir"
LENGTHS, F8, F16 = (f"examples/hopper/attention{name}.tir" for name in ("_varlen", "_fp8", ""))
KINDS = [(head, causal) for head in (64, 128) for causal in (False, True)]
# Rows and keys of a small case: several tiles and steps, of which the last are not full.
SMALL = 300


class Session:
    """The options, how much time is left, and the ratios by what they are of."""

    def __init__(self, args, torch, folder):
        self.args, self.torch, self.folder = args, torch, folder
        self.end = time.monotonic() + args.budget
        self.ratios = {}

    def is_over(self):
        return time.monotonic() > self.end

    def run(self, file, func, sizes, *more):
        return tc_run(self.args.run, file, func, sizes, *more)

    def bench(self, file, func, sizes, *more):
        return self.run(file, func, sizes, "--bench", *more)["timing"]["median_us"]

    def best(self, works):
        """The least time of each of the functions `works`, which take turns. One that fails is told, and has none."""
        times = {}
        for _ in range(self.args.rounds):
            for name, work in works.items():
                try:
                    times[name] = min(work(), times.get(name, math.inf))
                except (Exception, SystemExit) as why:  # noqa: BLE001 — whatever a version of PyTorch says to it
                    print(f"  left out: {name}: {' '.join(str(why).split())[:300]}", flush=True)
        return times

    def told(self, row, times, flops, ours="ours"):
        """Prints a row: our time, and its ratio to each of the others."""
        if ours not in times:
            return
        line = f"{row}: {ours} {times[ours]:8.1f} us ({flops / times[ours] / 1e6:5.1f} TFLOP/s)"
        for name, us in times.items():
            if name != ours:
                ratio = times[ours] / us
                self.ratios.setdefault(f"{row.split()[0]} / {name}", []).append(ratio)
                line += f"; {name} {us:.1f} us, ratio {ratio:.3f}"
        print(line, flush=True)

    def array(self, name, values):
        """`--input` of `values`."""
        import numpy

        path = os.path.join(self.folder, f"{name}.npy")
        numpy.save(path, values)
        return ["--input", f"{name}={path}"]


def name_of(head, causal, middle=""):
    return f"{'causal' if causal else 'full'}{middle}_{head}"


def flash(torch, q, k, v, causal):
    """The time of the flash backend."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        run = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)  # noqa: E731
        return time_with_graph(torch, run)["median_us"]


# Programs by warps.


def warps(session):
    torch = session.torch
    for head, causal in KINDS:
        func = name_of(head, causal)
        session.run(WARPS, func, {"kv": 1, "group": 2, "n": SMALL}, "--check", "--target", "sm_90")
        for n in (1024, 4096):
            if session.is_over():
                return
            heads = TOKENS // n * WIDTH // head

            def theirs():
                q, k, v = (uniform(torch, (1, heads, n, head), torch.float16) for _ in range(3))
                return flash(torch, q, k, v, causal)

            sizes = {"kv": heads, "group": 1, "n": n}
            works = {"ours": lambda: session.bench(WARPS, func, sizes, "--target", "sm_90"), "flash": theirs}
            flops = 4 * heads * n * n * head / (2 if causal else 1)
            session.told(f"warps {func:10} n {n:5}", session.best(works), flops)


def gradients(session):
    torch = session.torch
    backward.BACKENDS = ("flash",)
    told = set()
    for head, causal in KINDS:
        func = name_of(head, causal, "_backward")
        session.run(GRADIENTS, func, {"heads": 2, "n": SMALL}, "--check", "--target", "sm_90")
        for n in (4096,):
            if session.is_over():
                return
            heads = TOKENS // n * WIDTH // head

            def theirs():
                with torch.no_grad():
                    shape = (TOKENS // n, WIDTH // head, n, head)
                    q, k, v, g = (uniform(torch, shape, torch.float16) for _ in range(4))
                    found = backward.peers(torch, q, k, v, g, causal, told)
                if not found:
                    raise RuntimeError("it failed as told")
                return found["flash"]

            sizes = {"heads": heads, "n": n}
            works = {"ours": lambda: session.bench(GRADIENTS, func, sizes, "--target", "sm_90"), "flash": theirs}
            flops = 10 * heads * n * n * head / (2 if causal else 1)
            session.told(f"backward {func:19} n {n:5}", session.best(works), flops)


# Sequences of unequal lengths.


def softmax(q, k, v, scale, causal):
    """Attention of one head in f64."""
    import numpy

    scores = (q @ k.T) * scale
    if causal:
        scores[numpy.triu_indices(len(q), 1)] = -numpy.inf
    weights = numpy.exp(scores - scores.max(1, keepdims=True))
    return weights @ v / weights.sum(1, keepdims=True)


def judged(what, found, expected, bound):
    """Stops if `found` is off by more than `bound` of the greatest expected value."""
    import numpy

    error, size = numpy.abs(found - expected).max(), numpy.abs(expected).max()
    if not error < bound * size:
        sys.exit(f"{what} is wrong: off by {error:.2e} where values are up to {size:.2e}")
    print(f"  {what}: equal to f64 but for {error:.1e}, where values are up to {size:.1e}", flush=True)


def starts(lengths):
    import numpy

    return numpy.cumsum([0, *lengths]).astype(numpy.int32)


def compare_lengths(session):
    import numpy

    # Sequences without rows, with one, of a tile and more, and a start that is less than the one before.
    odd = session.array("start", numpy.array([3, 0, 130, 129, 323, 390], dtype=numpy.int32))
    session.run(LENGTHS, "packed_causal_128", {"batch": 5, "heads": 1, "total": 400}, "--check", *odd)
    lens = session.array("length", numpy.array([-3, 150, 999], dtype=numpy.int32))
    session.run(LENGTHS, "padded_causal_128", {"batch": 3, "heads": 1, "n": 210}, "--check", *lens)
    lengths, heads = [1500, 1, 193, 900], 2
    start, chance = starts(lengths), numpy.random.default_rng(0)
    # Scores of some units, so that weights differ.
    shape = (int(start[-1]), heads, 128)
    inputs = {name: (chance.standard_normal(shape) * by).astype(numpy.float16) for name, by in (("Q", 2), ("K", 1), ("V", 1))}
    given = [part for name, values in inputs.items() for part in session.array(name, values)]
    result = os.path.join(session.folder, "C.npy")
    sizes = {"batch": len(lengths), "heads": heads, "total": shape[0]}
    session.run(LENGTHS, "packed_causal_128", sizes, *given, *session.array("start", start), "--output", f"C={result}")
    found = numpy.load(result).astype(numpy.float64)
    expected = numpy.zeros_like(found)
    for first, last in zip(start, start[1:]):
        for h in range(heads):
            q, k, v = (inputs[name][first:last, h].astype(numpy.float64) for name in "QKV")
            expected[first:last, h] = softmax(q, k, v, 128**-0.5, True)
    judged("packed_causal_128", found, expected, 0.01)


def packed_peer(torch, q, k, v, start, longest):
    """PyTorch's attention of packed sequences as a function: its public name, or the operator behind it."""
    try:
        from torch.nn.attention.varlen import varlen_attn

        known = {"cu_seq_q": start, "cu_seq_k": start, "max_q": longest, "max_k": longest}
        takes = inspect.signature(varlen_attn).parameters
        # Versions differ in how causal attention is asked for.
        known |= {"is_causal": True} if "is_causal" in takes else {"window_size": (-1, 0)}
        work = lambda: varlen_attn(q, k, v, **known)  # noqa: E731
        work()
        return work
    except Exception as why:  # noqa: BLE001
        print(f"  no varlen_attn: {' '.join(str(why).split())[:200]}", flush=True)
    op = torch.ops.aten._flash_attention_forward.default
    known = {"query": q, "key": k, "value": v, "cum_seq_q": start, "cum_seq_k": start, "max_q": longest, "max_k": longest,
             "dropout_p": 0.0, "is_causal": True, "return_debug_mask": False}
    return lambda: backward.by_name(op, known)[0]


def lengths(session):
    import numpy

    torch = session.torch
    compare_lengths(session)
    heads, head = WIDTH // 128, 128
    for shortest, longest in ((1024, 2048), (64, 4096)):
        if session.is_over():
            return
        chance, drawn = random.Random(0), []
        while sum(drawn) < TOKENS:
            drawn.append(min(chance.randint(shortest, longest), TOKENS - sum(drawn)))
        start, most = starts(drawn), max(drawn)

        def theirs():
            q, k, v = (uniform(torch, (TOKENS, heads, head), torch.float16) for _ in range(3))
            peer = packed_peer(torch, q, k, v, torch.from_numpy(start).cuda(), most)
            found = peer().float()
            for first, last in zip(start[:2], start[1:3]):
                one = (x[first:last].transpose(0, 1).unsqueeze(0).float() for x in (q, k, v))
                wanted = torch.nn.functional.scaled_dot_product_attention(*one, is_causal=True)[0].transpose(0, 1)
                error = (found[first:last] - wanted).abs().max().item()
                if not error < 0.01 * wanted.abs().max().item():
                    raise RuntimeError(f"its results are off by {error:.1e}")
            return time_with_graph(torch, peer)["median_us"]

        def padded():
            q, k, v = (uniform(torch, (len(drawn), heads, most, head), torch.float16) for _ in range(3))
            return flash(torch, q, k, v, True)

        packed_sizes = {"batch": len(drawn), "heads": heads, "total": TOKENS}
        padded_sizes = {"batch": len(drawn), "heads": heads, "n": most}
        more = ["--memory-limit", str(64 << 30)]
        given = session.array("start", start), session.array("length", numpy.array(drawn, dtype=numpy.int32))
        works = {
            "packed": lambda: session.bench(LENGTHS, "packed_causal_128", packed_sizes, *given[0], *more),
            "flash packed": theirs,
            "ours padded": lambda: session.bench(LENGTHS, "padded_causal_128", padded_sizes, *given[1], *more),
            "flash padded": padded,
        }
        flops = 2 * heads * head * sum(n * n for n in drawn)
        row = f"lengths causal_128 {len(drawn):3} of {min(drawn)} to {most}"
        session.told(row, session.best(works), flops, "packed")


# Floats of 8 bits.


def f8_values():
    """The values of f8e4m3 by their bits."""
    import numpy

    bits = numpy.arange(256)
    exponents, fractions = bits >> 3 & 15, bits & 7
    values = numpy.where(exponents == 0, fractions * 2.0**-9, (8 + fractions) * 2.0 ** (exponents - 10))
    values[exponents * 8 + fractions == 127] = numpy.nan
    return numpy.where(bits < 128, values, -values)


def compare_f8(session, func, causal):
    """Compares with f64 where weights differ: the operator's own cast makes `--check` blind to an order of keys that is wrong."""
    import numpy

    heads, n, head = 2, 304, 128
    chance, values = numpy.random.default_rng(0), f8_values()
    # Numbers below 2, of either sign.
    shape = (heads, n, head)
    q, k, v = ((chance.integers(0, 64, shape) + chance.choice([0, 128], shape)).astype(numpy.uint8) for _ in range(3))
    scales = {"of_q": [2.0, 1.5], "of_k": [2.0, 3.0], "of_v": [0.5, 2.0]}
    given = [part for name, two in scales.items() for part in session.array(name, numpy.array(two, dtype=numpy.float32))]
    grouped = func.startswith("grouped")
    given += session.array("Q", q) + session.array("K", k.reshape(heads, n // 4, 4, head) if grouped else k)
    given += session.array("VT", numpy.ascontiguousarray(v.transpose(0, 2, 1))) if grouped else session.array("V", v)
    result = os.path.join(session.folder, "C.npy")
    session.run(F8, func, {"heads": heads, "n": n}, *given, "--output", f"C={result}")
    found = (numpy.load(result).astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    expected = numpy.empty_like(found)
    for b in range(heads):
        scale = scales["of_q"][b] * scales["of_k"][b] * head**-0.5
        expected[b] = softmax(values[q[b]], values[k[b]], values[v[b]], scale, causal) * scales["of_v"][b]
    # Weights have three bits behind the point.
    judged(func, found, expected, 0.1)


def f8(session):
    import numpy

    head = 128
    for causal in (False, True):
        # By what is told of them: a first kernel turns the values, or keys come in groups.
        funcs = {"turned": name_of(head, causal, "_f8"), "grouped": "grouped_" + name_of(head, causal, "_f8")}
        for func in funcs.values():
            compare_f8(session, func, causal)
        for n in (4096, 8192):
            if session.is_over():
                return
            heads = TOKENS // n * WIDTH // head
            sizes = {"heads": heads, "n": n}
            # Scores as those of the program in f16.
            one = numpy.ones(heads, dtype=numpy.float32)
            ones = [part for name in ("of_q", "of_k", "of_v") for part in session.array(name, one)]
            works = {name: lambda func=func: session.bench(F8, func, sizes, *ones) for name, func in funcs.items()}
            works["f16"] = lambda: session.bench(F16, name_of(head, causal), sizes)
            times = session.best(works)
            flops = 4 * heads * n * n * head / (2 if causal else 1)
            for form in funcs:
                two = {name: times[name] for name in (form, "f16") if name in times}
                session.told(f"f8-{form} {name_of(head, causal):10} n {n:5}", two, flops, form)


PARTS = {"warps": warps, "backward": gradients, "lengths": lengths, "f8": f8}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--budget", type=float, default=220)
    args = parser.parse_args()
    import torch

    torch.manual_seed(0)
    print(torch.cuda.get_device_name(0), torch.__version__, torch.version.cuda)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(args, torch, folder)
        for part in args.only.split(","):
            try:
                PARTS[part](session)
            except (Exception, SystemExit) as why:  # noqa: BLE001
                print(f"{part}: {str(why)[-1500:]}", flush=True)
            if session.is_over():
                print(f"{part}: the time is over", flush=True)
                break
    means = {what: math.exp(sum(map(math.log, ratios)) / len(ratios)) for what, ratios in session.ratios.items()}
    print("geometric means: " + ", ".join(f"{what} {mean:.3f}" for what, mean in means.items()))


if __name__ == "__main__":
    main()
