#!/usr/bin/env python3
"""Times our kernels and PyTorch's on one GPU, in one run, and prints the ratios.

Needs PyTorch with CUDA for its side, and for ours programs built by `scripts/device/build`:

    scripts/device/bench_seeds.py \
        --ours 'conv1d=target/device/tc-run examples/conv1d.tir --schedule @v5 --device cuda --bench --json' \
        --ours 'depthwise2d=target/device/tc-run examples/depthwise2d.tir --device cuda --bench --json'

What stands before `=` is a case (see `--list`); what follows is a command, run without a shell, that prints this:

    {"tc-run": 1, "device": "cuda:0 NVIDIA H200", "results": [
        {"func": "conv1d", "schedule": "v5", "params": {}, "ok": true,
         "timing": {"median_us": 2.3, "low_us": 2.2, "high_us": 2.4, "n": 50, "launches_per_replay": 96, "l2": "kept"},
         "diagnostics": []}]}

with one result for each schedule; `timing` is null where `ok` is false. A command that fails is a row that says so.

Both sides are measured the same way: launches captured into one CUDA graph, as many as take 200 us; replayed 50 times
after 100 ms of warm-up, each between two events; the median, with its 95 % confidence interval from order statistics.
A table goes to standard output, and everything as JSON to the file that `--json` names.
"""

import argparse
import glob
import json
import math
import os
import shlex
import subprocess
import sys
import time

MIN_REPLAY_US = 200.0
WARM_UP_S = 0.1
REPETITIONS = 50
MAX_LAUNCHES = 4096


def median_interval(n):
    """The indices between which the median of `n` ordered samples lies with at least 95 %."""
    log_probability, below, low = -n * math.log(2), 0.0, 0
    for k in range(n // 2):
        below += math.exp(log_probability)
        if below > 0.025:
            break
        low = k
        log_probability += math.log((n - k) / (k + 1))
    return low, n - 1 - low


def summary(samples, launches):
    samples = sorted(samples)
    n = len(samples)
    low, high = median_interval(n)
    return {
        "median_us": (samples[(n - 1) // 2] + samples[n // 2]) / 2,
        "low_us": samples[low],
        "high_us": samples[high],
        "n": n,
        "launches_per_replay": launches,
        "l2": "kept",
    }


def time_with_graph(torch, work):
    """Times `work`, a function that launches kernels, by replaying a graph of many calls."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        # Outside of the capture: the libraries choose their algorithms and allocate.
        for _ in range(5):
            work()
    side.synchronize()

    def capture(launches):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            for _ in range(launches):
                work()
        return graph

    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def replay(graph):
        with torch.cuda.stream(side):
            start.record()
            graph.replay()
            stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) * 1e3

    launches = 1
    while True:
        graph = capture(launches)
        replay(graph)
        us = replay(graph)
        if us >= MIN_REPLAY_US or launches >= MAX_LAUNCHES:
            break
        wanted = math.ceil(launches * MIN_REPLAY_US * 1.1 / max(us, 0.1))
        launches = min(max(wanted, launches + 1), launches * 16, MAX_LAUNCHES)
    end = time.monotonic() + WARM_UP_S
    while time.monotonic() < end:
        replay(graph)
    return summary([replay(graph) / launches for _ in range(REPETITIONS)], launches)


def conv1d(torch):
    """Full convolution: B[i] = sum over r of A[i - r] * W[r], with 16384 and 32 elements."""
    n, k = 16384, 32
    a = torch.rand(n, device="cuda") - 0.5
    w = torch.rand(k, device="cuda") - 0.5
    # conv1d correlates, so the filter is turned round once, outside of what is timed.
    x, flipped = a.view(1, 1, n), w.flip(0).view(1, 1, k).contiguous()

    def work():
        return torch.nn.functional.conv1d(x, flipped, padding=k - 1)

    expected = torch.zeros(n + k - 1, dtype=torch.float64, device="cuda")
    for r in range(k):
        expected[r : r + n] += a.double() * w[r].double()
    return work, expected


def depthwise2d(torch):
    """Depthwise convolution of a 3x4x16x32 image by 7x7 filters, padded to the same size."""
    batch, channels, height, width, k = 3, 4, 16, 32, 7
    pad = (k - 1) // 2
    image = torch.rand(batch, channels, height, width, device="cuda") - 0.5
    kernel = torch.rand(channels, 1, k, k, device="cuda") - 0.5

    def work():
        return torch.nn.functional.conv2d(image, kernel, padding=pad, groups=channels)

    padded = torch.nn.functional.pad(image.double(), (pad, pad, pad, pad))
    expected = torch.zeros(batch, channels, height, width, dtype=torch.float64, device="cuda")
    for y in range(k):
        for x in range(k):
            weight = kernel[:, 0, y, x].double().view(1, channels, 1, 1)
            expected += padded[:, :, y : y + height, x : x + width] * weight
    return work, expected


def conv2d(torch):
    """Convolution of 256 images of 256 channels of 14x14 by 512 filters of 3x3, padded to the same size, in IEEE f32.

    The layout is PyTorch's own, NCHW, not the operator's HWCN. The check is against 8 of the images.
    """
    image = torch.rand(256, 256, 14, 14, device="cuda") - 0.5
    kernel = torch.rand(512, 256, 3, 3, device="cuda") - 0.5

    def work():
        return torch.nn.functional.conv2d(image, kernel, padding=1)

    expected = torch.nn.functional.conv2d(image[:8].double(), kernel.double(), padding=1)
    return work, expected


def conv2d_f16(channels_last):
    """The convolution of `conv2d` from f16 to f16; `channels_last` is NHWC. PyTorch has none from f16 to f32."""

    def make(torch):
        image = (torch.rand(256, 256, 14, 14, device="cuda") - 0.5).half()
        kernel = (torch.rand(512, 256, 3, 3, device="cuda") - 0.5).half()
        if channels_last:
            image, kernel = (x.to(memory_format=torch.channels_last) for x in (image, kernel))

        def work():
            return torch.nn.functional.conv2d(image, kernel, padding=1)

        return work, torch.nn.functional.conv2d(image[:8].double(), kernel.double(), padding=1).contiguous()

    return make


def matmul(dtype, n):
    """The product of two square matrices; i8 into i32, the others into their own type."""

    def make(torch):
        kind = getattr(torch, dtype)
        if dtype == "int8":
            a, b = (torch.randint(-8, 8, (n, n), device="cuda", dtype=torch.int8) for _ in range(2))
            b = b.t()
            return lambda: torch._int_mm(a, b), (a.double() @ b.double())
        a, b = ((torch.rand(n, n, device="cuda") - 0.5).to(kind) for _ in range(2))
        return lambda: a @ b, a.double() @ b.double()

    return make


def depthwise(hw, k, multiplier, fused=False):
    """Depthwise convolution of one image of 256 channels, padded to the same size; with `fused`, scale_shift and relu."""

    def make(torch):
        image = torch.rand(1, 256, hw, hw, device="cuda") - 0.5
        kernel = torch.rand(256 * multiplier, 1, k, k, device="cuda") - 0.5
        scale = torch.rand(1, 256 * multiplier, 1, 1, device="cuda") - 0.5
        shift = torch.rand(1, 256 * multiplier, 1, 1, device="cuda") - 0.5

        def whole(image, kernel, scale, shift):
            result = torch.nn.functional.conv2d(image, kernel, padding=k // 2, groups=256)
            return torch.relu(result * scale + shift) if fused else result

        expected = whole(image.double(), kernel.double(), scale.double(), shift.double())
        return lambda: whole(image, kernel, scale, shift), expected

    return make


CASES = {
    "conv1d": conv1d,
    "depthwise2d": depthwise2d,
    "conv2d": conv2d,
    "conv2d-f16-nchw": conv2d_f16(channels_last=False),
    "conv2d-f16-nhwc": conv2d_f16(channels_last=True),
    "matmul-f16": matmul("float16", 4096),
    "matmul-bf16": matmul("bfloat16", 4096),
    "matmul-i8": matmul("int8", 4096),
    "matmul-f32": matmul("float32", 4096),
    "depthwise-32-3-1": depthwise(32, 3, 1),
    "depthwise-64-3-1": depthwise(64, 3, 1),
    "depthwise-96-3-1": depthwise(96, 3, 1),
    "depthwise-96-5-1": depthwise(96, 5, 1),
    "depthwise-96-3-2": depthwise(96, 3, 2),
    "depthwise-96-5-2": depthwise(96, 5, 2),
    "depthwise-fused": depthwise(96, 3, 1, fused=True),
}


def bench_torch(names):
    import torch

    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    results = {}
    with torch.no_grad():
        for name in names:
            make = CASES[name]
            work, expected = make(torch)
            result = work()
            found = result.double().flatten()[: expected.numel()]
            error = (found - expected.flatten()).abs().max() / expected.abs().max()
            if not error < (1e-5 if result.dtype in (torch.float32, torch.int32) else 1e-2):
                sys.exit(f"bench_seeds: PyTorch's {name} is not the operator meant: relative error {error:.2e}")
            results[name] = time_with_graph(torch, work)
    about = f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}, {torch.cuda.get_device_name()}"
    return about, results


def environment():
    """Our programs find NVRTC where PyTorch brought it along, if no other place is named and no toolkit is installed.

    What comes with PyTorch lacks the header that fragments of `wmma` need.
    """
    env = dict(os.environ)
    if "TC_CUDA_HOME" not in env and os.path.exists("/usr/local/cuda/include/crt/mma.h"):
        env["TC_CUDA_HOME"] = "/usr/local/cuda"
    if "TC_CUDA_HOME" not in env:
        folders = [os.path.join(path, "nvidia") for path in sys.path if path]
        found = [folder for folder in folders if glob.glob(os.path.join(folder, "*", "lib", "libnvrtc.so.*"))]
        if found:
            env["TC_CUDA_HOME"] = os.pathsep.join(os.path.dirname(folder) for folder in found)
    return env


def bench_ours(command, env, timeout):
    """The results that a command prints, or one result that says why there are none."""
    def failed(why):
        return "", [{"func": "?", "schedule": "?", "ok": False, "timing": None, "why": why}]

    try:
        done = subprocess.run(shlex.split(command), env=env, capture_output=True, text=True, timeout=timeout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return failed(str(error))
    try:
        document = json.loads(done.stdout)
        if document["tc-run"] != 1:
            return failed(f"version {document['tc-run']} of the output is not known")
        return document.get("device", ""), list(document["results"])
    except (ValueError, KeyError, TypeError):
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[0]
        return failed(f"status {done.returncode}: {last}")


def row(case, result, theirs):
    name = f"{result.get('func', '?')} @{result.get('schedule', '?')}"
    params = result.get("params") or {}
    if params:
        name += " (" + ", ".join(f"{key}={value}" for key, value in params.items()) + ")"
    timing = result.get("timing")
    if not result.get("ok") or not timing:
        why = result.get("why") or next((d.get("message") for d in result.get("diagnostics") or []), "failed")
        return [case, name, "-", "-", shown(theirs), "-", str(why)[:80]]
    ratio = f"{theirs['median_us'] / timing['median_us']:.2f}" if theirs else "-"
    span = f"{timing['low_us']:.2f} to {timing['high_us']:.2f}"
    return [case, name, f"{timing['median_us']:.2f}", span, shown(theirs), ratio, ""]


def shown(timing):
    return f"{timing['median_us']:.2f}" if timing else "-"


def table(rows):
    header = ["case", "schedule", "ours us", "95 % interval", "PyTorch us", "PyTorch/ours", ""]
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in [header, *rows]]
    lines.insert(1, "  ".join("-" * width for width in widths).rstrip())
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="append", default=[], metavar="CASE=COMMAND", help="a command of ours to time")
    parser.add_argument("--json", metavar="FILE", help="where the numbers go")
    parser.add_argument("--no-torch", action="store_true", help="leave PyTorch's side out")
    parser.add_argument(
        "--gpu-tests", action="append", default=[], metavar="PROGRAM", help="run these tests first, and stop if they fail"
    )
    parser.add_argument("--timeout", type=float, default=120, metavar="S", help="seconds that one command may take")
    parser.add_argument("--list", action="store_true", help="list the cases")
    options = parser.parse_args()
    if options.list:
        for name, make in CASES.items():
            print(f"{name}: {make.__doc__ or make.__qualname__.split('.')[0]}")
        return 0
    commands = []
    for ours in options.ours:
        case, equals, command = ours.partition("=")
        if not equals or case not in CASES:
            parser.error(f"`{ours}` is not CASE=COMMAND with a case of {', '.join(CASES)}")
        commands.append((case, command))
    env = environment()
    for program in options.gpu_tests:
        subprocess.run([program], env={**env, "TC_REQUIRE_GPU": "1"}, check=True, timeout=options.timeout)
    about, theirs = ("", {}) if options.no_torch else bench_torch(list(dict.fromkeys(case for case, _ in commands)) or list(CASES))
    rows, document = [], {"bench_seeds": 1, "peer": about, "torch": theirs, "ours": []}
    for case, command in commands:
        device, results = bench_ours(command, env, options.timeout)
        for result in results:
            document["ours"].append({"case": case, "command": command, "device": device, "result": result})
            rows.append(row(case, result, theirs.get(case)))
    if not commands:
        rows = [[case, "", "-", "-", shown(timing), "-", ""] for case, timing in theirs.items()]
    print(about)
    print(table(rows))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(document, file, indent=1)
            file.write("\n")
    else:
        print(json.dumps(document))
    return 0 if all(entry["result"].get("ok") for entry in document["ours"]) else 1


if __name__ == "__main__":
    sys.exit(main())
