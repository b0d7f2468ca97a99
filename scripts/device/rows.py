#!/usr/bin/env python3
"""Times operators over rows and their gradients on one GPU beside PyTorch, eager and compiled, and beside a copy, in one run.

    scripts/device/rows.py target/device/tc-run [--only rms_norm,rotary] [--quick] [--budget 220]

Ours are the operators of examples/norms.tir, examples/norms_backward.tir and examples/hopper/softmax_rows.tir: each schedule at its
first point and each program that fits the size; the fastest counts and is named. `@auto` stands beside it at the first size.
PyTorch's gradients are its own operators, called without autograd, and formulas that `torch.compile` makes kernels of.

Sizes move 134 MB or more, the second-level cache has 50 MB; those that fit it, or nearly so, are marked `small`. The rate is that
of the bytes that the operator needs, each once, by the better of our two times; the column behind is its share of the rate of the
fastest copy of 134 MB. Times are medians, in microseconds. What fails is told and left out. `--quick` has the first size of each
operator. After `--budget` seconds nothing is begun; the first sizes of all operators come first.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from bench_seeds import time_with_graph  # noqa: E402

NORMS = "examples/norms.tir"
BACKWARD = "examples/norms_backward.tir"
SOFTMAX = "examples/hopper/softmax_rows.tir"

COPY = """tir 1
te.func @copy<m, n>(X: f16[m, n]) -> f16[m, n] {
  compute Y[i: m, j: n] = X[i, j]
  return Y
}
"""


class Case:
    """An operator at a size: what PyTorch does eagerly, what it compiles, and the bytes that have to move."""

    def __init__(self, eager, compiled, needed):
        self.eager, self.compiled, self.needed = eager, compiled, needed


def size(*tensors):
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def matrix(torch, *shape, dtype="float16"):
    return (torch.rand(*shape, device="cuda") - 0.5).to(getattr(torch, dtype))


# Forwards.


def copy(torch, m, n):
    x = matrix(torch, m, n)
    return Case(lambda: x.clone(), lambda: x.clone(), 2 * size(x))


def rms_norm(torch, m, n):
    x, g = matrix(torch, m, n), matrix(torch, n)
    work = lambda: torch.nn.functional.rms_norm(x, (n,), g, 1e-5)  # noqa: E731
    return Case(work, work, 2 * size(x))


def layer_norm(torch, m, n):
    x, g, h = matrix(torch, m, n), matrix(torch, n), matrix(torch, n)
    work = lambda: torch.nn.functional.layer_norm(x, (n,), g, h, 1e-5)  # noqa: E731
    return Case(work, work, 2 * size(x))


def softmax(dtype):
    def make(torch, m, n):
        x = matrix(torch, m, n, dtype=dtype)
        work = lambda: torch.softmax(x, -1)  # noqa: E731
        return Case(work, work, 2 * size(x))

    return make


def swiglu(torch, m, n):
    x, z = matrix(torch, m, n), matrix(torch, m, n)
    work = lambda: torch.nn.functional.silu(x) * z  # noqa: E731
    return Case(work, work, 3 * size(x))


def cross_entropy(torch, m, n):
    x = matrix(torch, m, n, dtype="bfloat16")
    labels = torch.randint(0, n, (m,), device="cuda")
    work = lambda: torch.nn.functional.cross_entropy(x, labels, reduction="none")  # noqa: E731
    return Case(work, work, size(x))


def turned(torch, heads, cosine, sine):
    low, high = heads[..., :64].float(), heads[..., 64:].float()
    return torch.cat((low * cosine - high * sine, high * cosine + low * sine), -1).half()


def rotary(torch, tokens, heads):
    x = matrix(torch, tokens, heads, 128)
    cosine, sine = (torch.rand(tokens, 1, 64, device="cuda") for _ in range(2))
    work = lambda: turned(torch, x, cosine, sine)  # noqa: E731
    return Case(work, work, 2 * size(x))


# Backwards.


def rms_norm_backward(torch, m, n):
    x, dy, g = matrix(torch, m, n), matrix(torch, m, n), matrix(torch, n)
    r = torch.rsqrt((x.float() ** 2).mean(-1, keepdim=True) + 1e-5)

    def formula():
        x32, w = x.float(), dy.float() * g.float()
        s = (w * x32).sum(-1, keepdim=True)
        return (r * (w - x32 * (r * r * s / n))).half(), (dy.float() * (x32 * r)).sum(0)

    own = getattr(torch.ops.aten, "_fused_rms_norm_backward", None)
    eager = (lambda: own(dy, x, [n], r, g, [True, True])) if own else formula
    return Case(eager, formula, 3 * size(x))


def layer_norm_backward(torch, m, n):
    x, dy, g, h = matrix(torch, m, n), matrix(torch, m, n), matrix(torch, n), matrix(torch, n)
    _, mean, r = torch.native_layer_norm(x, [n], g, h, 1e-5)
    mean, r = mean.float(), r.float()

    def formula():
        w, z = dy.float() * g.float(), (x.float() - mean) * r
        a, b = w.mean(-1, keepdim=True), (w * z).mean(-1, keepdim=True)
        return (r * (w - a - z * b)).half(), (dy.float() * z).sum(0), dy.float().sum(0)

    own = torch.ops.aten.native_layer_norm_backward
    return Case(lambda: own(dy, x, [n], mean, r, g, h, [True, True, True]), formula, 3 * size(x))


def softmax_backward(torch, m, n):
    y, dy = torch.softmax(matrix(torch, m, n), -1), matrix(torch, m, n)

    def formula():
        y32, dy32 = y.float(), dy.float()
        return (y32 * (dy32 - (y32 * dy32).sum(-1, keepdim=True))).half()

    own = torch.ops.aten._softmax_backward_data
    return Case(lambda: own(dy, y, -1, torch.float16), formula, 3 * size(y))


def swiglu_backward(torch, m, n):
    x, z, dy = (matrix(torch, m, n) for _ in range(3))

    def formula():
        x32, z32, dy32 = x.float(), z.float(), dy.float()
        u = torch.sigmoid(x32)
        return (dy32 * z32 * (u * (1 + x32 * (1 - u)))).half(), (dy32 * (x32 * u)).half()

    own = torch.ops.aten.silu_backward
    return Case(lambda: (own(dy * z, x), dy * torch.nn.functional.silu(x)), formula, 5 * size(x))


def cross_entropy_backward(torch, m, n):
    x, dy = matrix(torch, m, n, dtype="bfloat16"), matrix(torch, m, dtype="float32")
    labels = torch.randint(0, n, (m,), device="cuda")
    e = torch.logsumexp(x.float(), -1)
    logarithms, dy16, zero = torch.log_softmax(x, -1), dy.bfloat16(), torch.zeros((), device="cuda", dtype=torch.bfloat16)
    aten = torch.ops.aten

    def formula():
        is_label = torch.arange(n, device="cuda") == labels[:, None]
        return ((torch.exp(x.float() - e[:, None]) - is_label.float()) * dy[:, None]).bfloat16()

    def eager():
        step = aten.nll_loss_backward(dy16, logarithms, labels, None, 0, -100, zero)
        return aten._log_softmax_backward_data(step, logarithms, -1, torch.bfloat16)

    return Case(eager, formula, 2 * size(x))


def rotary_backward(torch, tokens, heads):
    dy = matrix(torch, tokens, heads, 128)
    cosine, sine = (torch.rand(tokens, 1, 64, device="cuda") for _ in range(2))
    work = lambda: turned(torch, dy, cosine, -sine)  # noqa: E731
    return Case(work, work, 2 * size(dy))


ROWS = [{"m": m, "n": n} for m, n in ((16384, 4096), (8192, 8192), (32768, 4096), (1024, 1024))]
LONG = [{"m": m, "n": n} for m, n in ((512, 32768), (1024, 32768), (2048, 32768), (1024, 1024))]
CLASSES = [{"m": m, "n": n} for m, n in ((1024, 131072), (2048, 65536), (1024, 128256), (256, 4096))]
HEADS = [{"tokens": t, "heads": k} for t, k in ((4096, 32), (16384, 32), (8192, 64), (32768, 16))]
SMALL = [{"m": 1024, "n": 1024}, {"m": 256, "n": 4096}, {"tokens": 4096, "heads": 32}]

# The operator, what makes its cases, the files that have it, and its sizes, those of `--quick` first.
OPERATORS = [
    ("rms_norm", rms_norm, [NORMS], ROWS),
    ("layer_norm_f16", layer_norm, [NORMS], ROWS),
    ("softmax_f16", softmax("float16"), [NORMS, SOFTMAX], ROWS),
    ("softmax_f32", softmax("float32"), [SOFTMAX], LONG),
    ("swiglu", swiglu, [NORMS], ROWS),
    ("cross_entropy", cross_entropy, [NORMS], CLASSES),
    ("rotary", rotary, [NORMS], HEADS),
    ("rms_norm_backward", rms_norm_backward, [BACKWARD], [ROWS[0], ROWS[2]]),
    ("layer_norm_backward", layer_norm_backward, [BACKWARD], [ROWS[0], ROWS[2]]),
    ("softmax_backward", softmax_backward, [BACKWARD], [ROWS[0]]),
    ("swiglu_backward", swiglu_backward, [BACKWARD], [ROWS[0]]),
    ("cross_entropy_backward", cross_entropy_backward, [BACKWARD], [CLASSES[0]]),
    ("rotary_backward", rotary_backward, [BACKWARD], [HEADS[0], HEADS[1]]),
]


def ours(command):
    """The shortest median of the schedules and programs, and whose it is; or nothing, and why."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error).splitlines()[0][-100:]
    try:
        rows = json.loads(ran.stdout)["results"]
    except (ValueError, KeyError):
        return None, (ran.stderr.strip() or "no answer").splitlines()[0][:100]
    timed = [(row["timing"]["median_us"], name_of(row)) for row in rows if row.get("timing")]
    said = [one.get("message", "") for row in rows for one in row.get("diagnostics") or []]
    return min(timed) if timed else (None, (said or ["no answer"])[0][:100])


def name_of(row):
    return "@" + (row.get("schedule") or row.get("func") or "?")


def peer(torch, work, compiles=False):
    """The median of PyTorch's work, or nothing, and why."""
    try:
        if compiles:
            torch.compiler.reset()
            work = torch.compile(work, dynamic=False)
        return time_with_graph(torch, work)["median_us"], ""
    except Exception as error:  # noqa: BLE001: a peer that fails is told
        return None, f"{type(error).__name__}: {str(error).strip().splitlines()[0][:80] if str(error).strip() else ''}"


def shown(us):
    return f"{us:9.2f}" if us else f"{'-':>9}"


class Table:
    def __init__(self, torch, tc_run):
        self.torch, self.tc_run, self.copied = torch, tc_run, None

    def row(self, name, make, files, sizes, is_first):
        """Times an operator at a size and prints what came."""
        torch, why = self.torch, []

        def best(*more):
            found, failed = [], []
            for file in files:
                command = [self.tc_run, file, "--device", "cuda", "--bench", "--json", "--func", "@" + name, *more]
                command += [word for symbol, value in sizes.items() for word in ("-D", f"{symbol}={value}")]
                us, said = ours(command)
                found += [(us, said)] if us else []
                failed += [f"{file}: {said}"] if not us else []
            if not found:
                why.extend(failed)
            return min(found, default=(None, ""))

        by_hand, whose = best() if name != "copy" else (None, "")
        files = files[:1]
        auto, _ = best("--schedule", "@auto") if is_first else (None, "")
        case, eager, compiled = None, None, None
        try:
            case = make(torch, **sizes)
        except Exception as error:  # noqa: BLE001
            why.append(f"PyTorch: {type(error).__name__}: {str(error)[:80]}")
        if case:
            eager, said = peer(torch, case.eager)
            why += [f"eager: {said}"] if said else []
            compiled, said = peer(torch, case.compiled, compiles=True)
            why += [f"compiled: {said}"] if said else []
        mine, theirs = [us for us in (by_hand, auto) if us], [us for us in (eager, compiled) if us]
        if name == "copy" and mine + theirs and case:
            self.copied = case.needed / min(mine + theirs) / 1e3
        dims = "x".join(str(value) for value in sizes.values())
        line = f"{name:22} {dims:>12} {shown(by_hand)} {shown(auto)} {shown(eager)} {shown(compiled)}"
        line += f" {min(mine) / min(theirs):7.2f}" if mine and theirs else f" {'-':>7}"
        rate = case.needed / min(mine) / 1e3 if mine and case else None
        line += f" {rate:7.0f}" if rate else f" {'-':>7}"
        line += f" {rate / self.copied:7.2f}" if rate and self.copied else f" {'-':>7}"
        print(f"{line}  {whose}{' small' if sizes in SMALL else ''}".rstrip(), flush=True)
        for one in why:
            print(f"    {one}", flush=True)
        del case
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tc_run")
    parser.add_argument("--only", default="", metavar="NAMES", help="these operators, by comma")
    parser.add_argument("--quick", action="store_true", help="the first size of each operator")
    parser.add_argument("--budget", type=float, default=220, metavar="S", help="seconds after which nothing is begun")
    args = parser.parse_args()
    import torch

    start = time.monotonic()
    wanted = [name for name in args.only.split(",") if name]
    known = [name for name, *_ in OPERATORS]
    if any(name not in known for name in wanted):
        parser.error(f"the operators are {', '.join(known)}")
    table = Table(torch, args.tc_run)
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    print(f"{'operator':22} {'size':>12} {'by hand':>9} {'@auto':>9} {'eager':>9} {'compiled':>9}   ratio    GB/s of copy  fastest")
    left_out = []
    with tempfile.NamedTemporaryFile("w", suffix=".tir") as more, torch.no_grad():
        more.write(COPY)
        more.flush()
        table.row("copy", copy, [more.name], ROWS[0], True)
        for nth in range(1 if args.quick else max(len(sizes) for *_, sizes in OPERATORS)):
            for name, make, files, sizes in OPERATORS:
                if nth >= len(sizes) or wanted and name not in wanted:
                    continue
                if time.monotonic() - start > args.budget:
                    left_out.append(f"{name} {'x'.join(map(str, sizes[nth].values()))}")
                    continue
                table.row(name, make, files, sizes[nth], nth == 0)
    if left_out:
        print(f"left out, as {args.budget:.0f} s are over: {', '.join(left_out)}")
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()
