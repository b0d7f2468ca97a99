#!/usr/bin/env python3
"""Times the convolution of examples/hopper/conv.tir beside cuDNN by way of PyTorch, in one run, and prints the ratios.

    scripts/device/hopper_convs.py target/device/tc-run [--only 3x3] [--rounds 3]
    scripts/device/hopper_convs.py target/device/tc-run --documents [--rounds 3]

With `--documents` it is the convolution of the documents, 14 x 14, 256 to 512 channels, 3 x 3, batch 256, by conv_blocked.tir
(f16; cuDNN's result is f16, ours f32) and by conv_f32.tir (f32 on both sides, cuDNN's without tf32), at the points of the files.
The shapes are the distinct ones of ResNet-50 at a batch of 64, without the first layer: f16, channels last on both sides, no bias.
Of ours a few points of the schedule's space are tried first, once each; the best then takes turns with cuDNN, which chooses its
algorithm by trying (`torch.backends.cudnn.benchmark`). Both are graphs of launches that take 200 us, replayed 50 times.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from bench_seeds import time_with_graph  # noqa: E402
from hopper_products import uniform  # noqa: E402

FILE = "examples/hopper/conv.tir"
BATCH = 64

# Size of the image, channels in, channels out, kernel, stride.
SHAPES = [
    (56, 64, 64, 1, 1), (56, 64, 64, 3, 1), (56, 64, 256, 1, 1), (56, 256, 64, 1, 1),
    (56, 256, 128, 1, 1), (56, 128, 128, 3, 2), (28, 128, 512, 1, 1), (56, 256, 512, 1, 2), (28, 512, 128, 1, 1),
    (28, 128, 128, 3, 1), (28, 512, 256, 1, 1), (28, 256, 256, 3, 2), (14, 256, 1024, 1, 1), (28, 512, 1024, 1, 2),
    (14, 1024, 256, 1, 1), (14, 256, 256, 3, 1), (14, 1024, 512, 1, 1), (14, 512, 512, 3, 2), (7, 512, 2048, 1, 1),
    (14, 1024, 2048, 1, 2), (7, 2048, 512, 1, 1), (7, 512, 512, 3, 1),
]  # fmt: skip

# By the size of the result: images, rows and warpgroups of a tile.
BOXES = {
    56: [(2, 8, 2), (4, 8, 4)], 28: [(8, 4, 2), (16, 4, 4)], 14: [(32, 2, 2), (64, 2, 4)],
    7: [(64, 1, 2), (16, 1, 2), (64, 1, 1)],
}  # fmt: skip
# By the warpgroups and the channels of a tile: slots of the ring.
STAGES = {
    (2, 64): 8, (2, 128): 6, (2, 192): 4, (2, 256): 3, (4, 64): 4, (4, 128): 3, (1, 64): 8, (1, 128): 8, (1, 256): 4,
}  # fmt: skip


def ours(run, shape, point):
    size, ins, outs, kernel, stride = shape
    images, rows, groups, channels = point
    command = [run, FILE, "--schedule", "@persistent", "--device", "cuda", "--bench", "--json"]
    sizes = {"batch": BATCH, "size": size, "ins": ins, "outs": outs, "kernel": kernel, "stride": stride}
    knobs = {"images": images, "rows": rows, "groups": groups, "channels": channels}
    knobs["stages"] = STAGES[groups, channels]
    for name, value in {**sizes, **knobs}.items():
        command += ["-D", f"{name}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        return json.loads(done.stdout)["results"][0]["timing"]["median_us"], ""
    except (ValueError, KeyError, IndexError, TypeError):
        return math.inf, (done.stdout + done.stderr)[-800:]


def peer(torch, shape):
    size, ins, outs, kernel, stride = shape
    a = uniform(torch, BATCH, ins, size, size, dtype=torch.float16)
    w = uniform(torch, outs, ins, kernel, kernel, dtype=torch.float16)
    a, w = (each.to(memory_format=torch.channels_last) for each in (a, w))
    return lambda: torch.nn.functional.conv2d(a, w, stride=stride, padding=kernel // 2)


def documents(run, torch, rounds):
    """The convolution of the documents, in both types."""
    torch.backends.cudnn.allow_tf32 = False
    for name, dtype in ("conv_blocked", torch.float16), ("conv_f32", torch.float32):
        a, w = uniform(torch, 256, 256, 14, 14, dtype=dtype), uniform(torch, 512, 256, 3, 3, dtype=dtype)
        if dtype == torch.float16:
            a, w = (each.to(memory_format=torch.channels_last) for each in (a, w))
        mine, theirs = [], []
        command = [run, f"examples/hopper/{name}.tir", "--device", "cuda", "--bench", "--json"]
        for _ in range(rounds):
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            mine.append(json.loads(done.stdout)["results"][0]["timing"]["median_us"])
            run_theirs = lambda: torch.nn.functional.conv2d(a, w, padding=1)  # noqa: E731
            theirs.append(time_with_graph(torch, run_theirs)["median_us"])
        print(
            f"{name:24} ours {min(mine):7.2f} best {statistics.median(mine):7.2f} median us; cuDNN {min(theirs):7.2f} best"
            f" {statistics.median(theirs):7.2f} median; ratio {min(mine) / min(theirs):.3f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("run")
    parser.add_argument("--documents", action="store_true")
    parser.add_argument("--only", help="1x1 or 3x3")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    import torch

    torch.backends.cudnn.benchmark = True
    print(torch.cuda.get_device_name(0), torch.__version__, torch.version.cuda, torch.backends.cudnn.version())
    if args.documents:
        return documents(args.run, torch, args.rounds)
    ratios = []
    for shape in SHAPES:
        size, ins, outs, kernel, stride = shape
        if args.only and args.only != f"{kernel}x{kernel}":
            continue
        out = (size - 1) // stride + 1
        points = [
            (*box, channels) for box in BOXES[out] for groups, channels in STAGES if channels <= outs and groups == box[2]
        ]
        tried = [(*ours(args.run, shape, point), point) for point in points]
        _, why, best = min(tried)
        mine, theirs = [], []
        for _ in range(args.rounds):
            mine.append(ours(args.run, shape, best)[0])
            theirs.append(time_with_graph(torch, peer(torch, shape))["median_us"])
        if math.isinf(min(mine)):
            print(f"{shape}: failed: {why}")
            continue
        ratios.append(min(mine) / min(theirs))
        flops = 2 * BATCH * out * out * outs * ins * kernel * kernel
        name = f"{size}x{size} {ins}->{outs} {kernel}x{kernel}/{stride}"
        print(
            f"{name:24} ours {min(mine):7.2f} best {statistics.median(mine):7.2f} median us"
            f" ({flops / min(mine) / 1e6:5.1f} TFLOP/s) at {best}; cuDNN {min(theirs):7.2f} best"
            f" {statistics.median(theirs):7.2f} median; ratio {ratios[-1]:.3f}",
            flush=True,
        )
    print(f"geometric mean of the ratios: {statistics.geometric_mean(ratios):.3f} of {len(ratios)} shapes")


if __name__ == "__main__":
    main()
