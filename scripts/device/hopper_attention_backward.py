#!/usr/bin/env python3
"""Times the backward pass of attention of examples/hopper on one GPU beside PyTorch's, in one run, and prints the ratios.

    scripts/device/hopper_attention_backward.py target/device/tc-run [--types f16,bf16] [--heads 64,128] [--lengths 1024,4096]
        [--file examples/hopper/attention_backward_atomic.tir]

Each row has batch x length of 16,384 tokens and heads that are 2048 wide together. The peers are the two fast backends of
`scaled_dot_product_attention`: of each the forward pass runs once, and its backward operator alone is timed, called directly with
what the forward pass kept. Where that call is refused, gradients are asked of autograd, with the forward pass pinned by
`sdpa_kernel`. A peer that fails is left out, and the reason is printed; the fastest one counts. Ours runs in a process of its own,
with `tc-run --bench`, and is all of its three kernels; both sides are graphs of launches that take 200 us, replayed 50 times
after 100 ms of warm-up (a peer that no graph takes: launches between events). The two take turns, `--rounds` times, and the best
of all rounds is shown of each. Before, ours is compared with its operator on a small case. bf16 is the text of the file with `f16`
replaced.

TFLOP/s count five products, of which a score is one; `attention_backward.tir` makes seven, `attention_backward_atomic.tir` five.
"""

import math
import sys
import time

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from bench_seeds import REPETITIONS, WARM_UP_S, summary, time_with_graph  # noqa: E402
from hopper_attention import TOKENS, WIDTH, parsed, programs, tc_run, uniform  # noqa: E402

BACKENDS = ("cudnn", "flash")


def by_name(op, known):
    """Calls an operator of ATen with the known values that it has arguments for: names and order differ between versions."""
    args, kwargs = [], {}
    for arg in op._schema.arguments:
        if arg.name not in known and not arg.has_default_value():
            raise RuntimeError(f"`{op}` wants `{arg.name}`, which is not known")
        if arg.kwarg_only:
            if arg.name in known:
                kwargs[arg.name] = known[arg.name]
        else:
            args.append(known[arg.name] if arg.name in known else arg.default_value)
    return op(*args, **kwargs)


def direct(torch, backend, q, k, v, g, causal):
    """The backward operator of a backend alone, as a function, and what it gives."""
    forward = getattr(torch.ops.aten, f"_scaled_dot_product_{backend}_attention").default
    backward = getattr(torch.ops.aten, f"_scaled_dot_product_{backend}_attention_backward").default
    known = {"query": q, "key": k, "value": v, "grad_out": g, "attn_bias": None, "dropout_p": 0.0, "is_causal": causal,
             "compute_log_sumexp": True, "compute_logsumexp": True, "return_debug_mask": False}
    kept = by_name(forward, known)
    kept = dict(zip((value.name for value in forward._schema.returns), kept))
    kept["out"] = kept.get("output", kept.get("out"))
    # Flash attention renamed what it keeps for dropout.
    for old, new in (("philox_seed", "rng_state"), ("philox_offset", "unused")):
        for one, other in ((old, new), (new, old)):
            if one not in kept and other in kept:
                kept[one] = kept[other]
    known = {**kept, **known}
    work = lambda: by_name(backward, known)  # noqa: E731
    return work, work()[:3]


def by_autograd(torch, backend, q, k, v, g, causal):
    """Gradients of the forward pass of a backend, as a function, and what it gives."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    inputs = [x.detach().requires_grad_() for x in (q, k, v)]
    with torch.enable_grad(), sdpa_kernel(getattr(SDPBackend, f"{backend.upper()}_ATTENTION")):
        out = torch.nn.functional.scaled_dot_product_attention(*inputs, is_causal=causal)
    work = lambda: torch.autograd.grad(out, inputs, g, retain_graph=True)  # noqa: E731
    return work, work()


def time_with_events(torch, work):
    """Times launches between two events, for what no graph takes: right where a launch takes longer than its call."""
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def once():
        start.record()
        work()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3

    end = time.monotonic() + WARM_UP_S
    while time.monotonic() < end:
        once()
    return summary([once() for _ in range(REPETITIONS)], 1)


def expected(torch, q, k, v, g, causal):
    """The gradients of the first head, in f64, of its first 1024 rows at most: those rows of DQ, which a peer has to meet."""
    rows = min(q.shape[2], 1024)
    q, k, v, g = (x[0, 0].double() for x in (q, k, v, g))
    scores = q[:rows] @ k.T / math.sqrt(q.shape[1])
    if causal:
        later = torch.arange(k.shape[0], device="cuda")[None, :] > torch.arange(rows, device="cuda")[:, None]
        scores = scores.masked_fill(later, -math.inf)
    weights = scores.softmax(1)
    products = g[:rows] @ v.T
    sums = (weights * products).sum(1, keepdim=True)
    return (weights * (products - sums)) @ k / math.sqrt(q.shape[1])


def peers(torch, q, k, v, g, causal, told):
    """Times by backend; why one is left out is told once."""
    times = {}
    for backend in BACKENDS:
        whys = []
        for make in (direct, by_autograd):
            try:
                work, found = make(torch, backend, q, k, v, g, causal)
                wanted = expected(torch, q, k, v, g, causal)
                error = (found[0][0, 0, : wanted.shape[0]].double() - wanted).abs().max() / wanted.abs().max()
                if not error < 0.05:
                    raise RuntimeError(f"its DQ is off by {error:.2e}")
                try:
                    times[backend] = (time_with_graph if make is direct else time_with_events)(torch, work)["median_us"]
                except Exception as why:  # noqa: BLE001
                    whys.append(f"no graph: {why}")
                    torch.cuda.synchronize()
                    times[backend] = time_with_events(torch, work)["median_us"]
                break
            except Exception as why:  # noqa: BLE001 — whatever a version of PyTorch says to it
                whys.append(f"{make.__name__}: {why}")
        for why in whys:
            text = f"  {backend}, {' '.join(str(why).split())[:200]}"
            if text not in told:
                told.add(text)
                print(text, flush=True)
    return times


def main():
    args = parsed("examples/hopper/attention_backward.tir")
    import torch

    print(torch.cuda.get_device_name(0), torch.__version__, torch.version.cuda, "cuDNN", torch.backends.cudnn.version())
    ratios, told = [], set()
    for elem, dtype, file, head, causal, func in programs(torch, args, "_backward"):
        for n in map(int, args.lengths.split(",")):
            heads = TOKENS // n * WIDTH // head
            mine, theirs = [], {}
            for _ in range(args.rounds):
                result = tc_run(args.run, file, func, {"heads": heads, "n": n}, "--bench")
                if not result["ok"] or not result["timing"]:
                    sys.exit(f"{func} of {elem} is not timed: {result}")
                mine.append(result["timing"]["median_us"])
                with torch.no_grad():
                    q, k, v, g = (uniform(torch, (TOKENS // n, WIDTH // head, n, head), dtype) for _ in range(4))
                    found = peers(torch, q, k, v, g, causal, told)
                for name, us in found.items():
                    theirs[name] = min(us, theirs.get(name, math.inf))
                del q, k, v, g
                torch.cuda.empty_cache()
            flops = 10 * heads * n * n * head / (2 if causal else 1)
            line = f"{elem:4} {func:19} n {n:5}: ours {min(mine):8.1f} us ({flops / min(mine) / 1e6:5.1f} TFLOP/s);"
            if theirs:
                ratios.append(min(mine) / min(theirs.values()))
                others = ", ".join(f"{name} {us:.1f}" for name, us in theirs.items())
                line += f" {others} us; ratio {ratios[-1]:.3f}"
            else:
                line += " no peer"
            print(line, flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"geometric mean {mean:.3f}, at most {max(ratios):.3f}")


if __name__ == "__main__":
    main()
