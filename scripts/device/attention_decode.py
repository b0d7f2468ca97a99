#!/usr/bin/env python3
"""Times the attention for decoding of examples/attention_decode.tir on one GPU beside a sum that only reads as many bytes, and
beside PyTorch's paged attention (`PagedAttention` with a compiled `flex_attention`), in one run.

    scripts/device/attention_decode.py target/device/tc-run [--pages 16,64] [--batch 64] [--kv 8] [--rounds 2] [--autotune]

A batch has 64 sequences of 1024 to 16384 keys, 8 heads of keys, 64 heads of queries, heads of 128 in f16; the pages of a
sequence are drawn from the whole cache. Lengths and pages come from a fixed seed, and go to `tc-run` as files. Before anything is
timed, ours is compared with its operator on a small batch with odd lengths and pages that are not there, and with PyTorch in f32
on a batch of four long sequences. A peer that fails is left out, and the reason printed.

The rate is that of the keys and values that count, each read once, and stands beside that of the fastest sum. Times are medians,
in microseconds; the sides take turns, `--rounds` times, and the best of all rounds is shown of each.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from bench_seeds import time_with_graph  # noqa: E402

GROUP, HEAD = 8, 128
SHORTEST, LONGEST = 1024, 16384

READ_ONLY = """tir 1
tir.func @read_only<m: 1..1048576>(X: f32[m, 16384], Y: f32[m]) attributes {noalias} {
  for i in 0..m bind(blockIdx.x) {
    for t in 0..256 bind(threadIdx.x) {
      alloc P: f32[4] in local
      for e in 0..4 vectorize {
        P[e] = 0.0
      }
      for k in 0..16 unroll {
        for e in 0..4 vectorize {
          P[e] = P[e] + X[i, k * 1024 + t * 4 + e]
        }
      }
      total = gpu.all_reduce(P[0] + P[1] + P[2] + P[3], axes = [threadIdx.x]) (a: f32, b: f32) {
        yield a + b
      }
      if t == 0 {
        Y[i] = total
      }
    }
  }
}
"""


def tc_run(run, file, func, sizes, *more):
    command = [run, file, "--func", f"@{func}", "--device", "cuda", "--json", *more]
    for name, value in sizes.items():
        command += ["-D", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500)
    try:
        result = json.loads(done.stdout)["results"][0]
    except (ValueError, KeyError, IndexError):
        sys.exit(f"{' '.join(command)}\n{(done.stdout + done.stderr)[-2000:]}")
    if done.returncode or not result["ok"]:
        sys.exit(f"{' '.join(command)}\n{json.dumps(result.get('diagnostics'))[:2000]}\n{done.stderr[-1000:]}")
    return result


class Batch:
    """The lengths and the tables of a batch, and the files of both."""

    def __init__(self, folder, name, page, lengths, most=None, strange=False):
        import numpy

        chance = random.Random(1)
        self.page, self.lengths = page, lengths
        needed = [-(-max(n, 0) // page) for n in lengths]
        self.most = most or max(needed)
        self.pages = sum(needed)
        free = list(range(self.pages))
        chance.shuffle(free)
        self.tables = []
        for count in needed:
            self.tables.append(free[:count])
            free = free[count:]
        table = numpy.full((len(lengths), self.most), -1, dtype=numpy.int32)
        for row, pages in zip(table, self.tables):
            row[: len(pages)] = pages
            if strange and len(pages) > 2:
                row[0], row[2] = -7, self.pages + 5
        self.files = []
        for kind, array in (("table", table), ("length", numpy.array(lengths, dtype=numpy.int32))):
            path = os.path.join(folder, f"{name}-{kind}.npy")
            numpy.save(path, array)
            self.files += ["--input", f"{kind}={path}"]

    def sizes(self, kv):
        return {"batch": len(self.lengths), "kv": kv, "pages": self.pages, "most": self.most}

    def bytes(self, kv):
        return sum(self.lengths) * kv * HEAD * 2 * 2


def reference(torch, batch, b, q, keys, values):
    """The result of sequence `b` in f32."""
    n, kv = batch.lengths[b], keys.shape[2]
    pages = torch.tensor(batch.tables[b], device="cuda")
    k, v = (cache[pages].flatten(0, 1)[:n].float() for cache in (keys, values))
    scores = torch.einsum("ghd,ngd->ghn", q[b].view(kv, GROUP, HEAD).float(), k) / math.sqrt(HEAD)
    return torch.einsum("ghn,ngd->ghd", torch.softmax(scores, -1), v).reshape(kv * GROUP, HEAD)


def uniform(torch, *shape):
    return torch.rand(*shape, device="cuda", dtype=torch.float16) - 0.5


def compare(torch, args, folder, page):
    """Stops if ours differs from its operator or from PyTorch."""
    odd = Batch(folder, f"odd-{page}", page, [1, 0, 1024, 1025, 777, 64], most=-(-1300 // page), strange=True)
    tc_run(args.run, args.file, f"decode_{page}", odd.sizes(2), "--check", *odd.files)

    import numpy

    batch = Batch(folder, f"long-{page}", page, [LONGEST, 5000, SHORTEST, 9999])
    # Scores of some units, so that the weights differ.
    q = uniform(torch, 4, args.kv * GROUP, HEAD) * 8
    keys, values = (uniform(torch, batch.pages, page, args.kv, HEAD) for _ in range(2))
    inputs = []
    for name, tensor in (("Q", q), ("K", keys), ("V", values)):
        path = os.path.join(folder, f"{name}.npy")
        numpy.save(path, tensor.cpu().numpy())
        inputs += ["--input", f"{name}={path}"]
    result = os.path.join(folder, "C.npy")
    tc_run(args.run, args.file, f"decode_{page}", batch.sizes(args.kv), *inputs, *batch.files, "--output", f"C={result}")
    found = torch.from_numpy(numpy.load(result).astype(numpy.float32)).cuda()
    expected = torch.stack([reference(torch, batch, b, q, keys, values) for b in range(4)])
    error = (found - expected).abs().max().item()
    size = expected.abs().max().item()
    if not error < 0.01 * size:
        sys.exit(f"decode_{page} is wrong: off by {error:.2e} where results are up to {size:.2e}")
    print(f"pages of {page}: equal to PyTorch in f32 but for {error:.1e}, where results are up to {size:.1e}", flush=True)


def flex(torch, args, batch, q, keys, values):
    """Functions that run PyTorch's paged attention, by name."""
    from torch.nn.attention.experimental._paged_attention import PagedAttention
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    page, lengths = batch.page, batch.lengths
    paged = PagedAttention(batch.pages, page, len(lengths), device="cuda")
    for b, (n, pages) in enumerate(zip(lengths, batch.tables)):
        # `reserve` takes from this list, so the table is ours.
        paged.empty_pages = list(pages)
        paged.reserve(torch.tensor(b, device="cuda"), torch.tensor(n, device="cuda"))
        if paged.page_table[b, : len(pages)].tolist() != pages:
            raise RuntimeError("the pages are not those that were given")
    ends = torch.tensor(lengths, device="cuda")

    def within(b, h, i, j):
        return j < ends[b]

    logical = create_block_mask(within, len(lengths), None, 1, batch.most * page, device="cuda", BLOCK_SIZE=(128, page))
    mask = paged.convert_logical_block_mask(logical)
    row = q.unsqueeze(2)
    # The cache as ours has it, and as `PagedAttention.assign` fills it: heads outermost.
    together = [cache.flatten(0, 1).transpose(0, 1).unsqueeze(0) for cache in (keys, values)]
    apart = [cache.contiguous() for cache in together]
    mode = {"mode": "max-autotune-no-cudagraphs"} if args.autotune else {}
    works = {}
    for layout, (k, v) in (("keys outermost", together), ("heads outermost", apart)):
        for options in (None, {"BLOCK_N": page}):
            compiled = torch.compile(flex_attention, dynamic=False, **mode)

            def work(compiled=compiled, k=k, v=v, options=options):
                return compiled(row, k, v, block_mask=mask, enable_gqa=True, kernel_options=options)

            works[layout + (f", BLOCK_N {page}" if options else "")] = work
    return works


def peers(torch, args, batch, q, keys, values):
    """Those of PyTorch's functions that are right, and why others are not there."""
    right, reasons = {}, []
    torch._dynamo.reset()
    try:
        works = flex(torch, args, batch, q, keys, values)
    except Exception as error:  # noqa: BLE001
        return right, [f"{type(error).__name__}: {str(error).strip()[:300]}"]
    expected = torch.stack([reference(torch, batch, b, q, keys, values) for b in range(2)])
    for name, work in works.items():
        try:
            error = (work()[:2, :, 0].float() - expected).abs().max().item()
            if not error < 0.01 * expected.abs().max().item():
                raise RuntimeError(f"its results are off by {error:.1e}")
            right[name] = work
        except Exception as error:  # noqa: BLE001
            reasons.append(f"{name}: {type(error).__name__}: {str(error).strip()[:300]}")
    return right, reasons


def read_only(torch, args, folder, keys, values):
    """The bytes a microsecond of the fastest sum over the cache, and whose it is."""
    rates = {}
    cache = torch.stack([keys.flatten(), values.flatten()])
    n = cache.numel() * 2
    for kind in ("float32", "int32"):
        flat = cache.view(-1).view(getattr(torch, kind))
        rates[f"torch.sum of {kind}"] = n / time_with_graph(torch, flat.sum)["median_us"]
        rows = flat[: n // 65536 * 16384].view(-1, 16384)
        timed = time_with_graph(torch, lambda rows=rows: rows.sum(-1))
        rates[f"torch.sum of rows of {kind}"] = rows.numel() * 4 / timed["median_us"]
    file = os.path.join(folder, "read_only.tir")
    with open(file, "w") as out:
        out.write(READ_ONLY)
    m = n // 65536
    rates["ours"] = m * 65536 / tc_run(args.run, file, "read_only", {"m": m}, "--bench", "--memory-limit", str(64 << 30))["timing"]["median_us"]
    best = max(rates, key=rates.get)
    return rates[best], best, rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("--file", default="examples/attention_decode.tir")
    parser.add_argument("--pages", default="16,64")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--kv", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--autotune", action="store_true", help="let torch.compile try more configurations of the peer")
    args = parser.parse_args()
    import torch

    torch.manual_seed(0)
    print(torch.cuda.get_device_name(0), torch.__version__, torch.version.cuda)
    chance = random.Random(0)
    lengths = [chance.randint(SHORTEST, LONGEST) for _ in range(args.batch)]
    print(f"{args.batch} sequences, {sum(lengths)} keys, {min(lengths)} to {max(lengths)}, mean {sum(lengths) / args.batch:.0f}")
    with tempfile.TemporaryDirectory() as folder:
        pages = list(map(int, args.pages.split(",")))
        for page in pages:
            compare(torch, args, folder, page)
        for page in pages:
            batch = Batch(folder, f"all-{page}", page, lengths, most=LONGEST // page)
            q = uniform(torch, args.batch, args.kv * GROUP, HEAD)
            keys, values = (uniform(torch, batch.pages, page, args.kv, HEAD) for _ in range(2))
            works, reasons = peers(torch, args, batch, q, keys, values)
            mine, theirs, sums = math.inf, {}, (0.0, "", {})
            for _ in range(args.rounds):
                timed = tc_run(args.run, args.file, f"decode_{page}", batch.sizes(args.kv), "--bench", "--memory-limit", str(64 << 30), *batch.files)
                mine = min(mine, timed["timing"]["median_us"])
                sums = max(sums, read_only(torch, args, folder, keys, values), key=lambda one: one[0])
                for name, work in works.items():
                    theirs[name] = min(theirs.get(name, math.inf), time_with_graph(torch, work)["median_us"])
            needed = batch.bytes(args.kv)
            print(f"pages of {page}: sums in GB/s: " + ", ".join(f"{name} {rate / 1e3:.0f}" for name, rate in sums[2].items()))
            for reason in reasons:
                print(f"pages of {page}: left out: flex_attention, {reason}")
            peer = "no flex_attention"
            if theirs:
                name = min(theirs, key=theirs.get)
                print(f"pages of {page}: flex_attention: " + ", ".join(f"{name} {time:.1f} us" for name, time in theirs.items()))
                peer = f"flex_attention {theirs[name]:.1f} us ({name}), ratio {mine / theirs[name]:.3f}"
            print(
                f"pages of {page}: ours {mine:.1f} us, {needed / mine / 1e3:.0f} GB/s, {needed / mine / sums[0]:.3f} of the sum"
                f" ({sums[1]}); {peer}",
                flush=True,
            )


if __name__ == "__main__":
    main()
