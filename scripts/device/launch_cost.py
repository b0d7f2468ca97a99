#!/usr/bin/env python3
"""What a launch costs before and after its work: empty kernels of several grids and blocks, in a graph of 200.

    scripts/device/launch_cost.py

Writes microseconds a launch, a row for each number of blocks, a column for each number of threads in one.
"""

import statistics

import cupy

LAUNCHES = 200
THREADS = (1, 32, 64, 128, 256, 512, 1024)
BLOCKS = (1, 33, 66, 132, 264, 528, 1056, 2112, 4224, 8448)

KERNEL = cupy.RawKernel(
    """extern "C" __global__ void empty(const float* __restrict__ in, float* out) {
      if (blockIdx.x == 1u << 30) out[threadIdx.x] = in[threadIdx.x];
    }""",
    "empty",
)


def microseconds(blocks, threads, stream, arrays):
    with stream:
        stream.begin_capture()
        for _ in range(LAUNCHES):
            KERNEL((blocks,), (threads,), arrays)
        graph = stream.end_capture()
        graph.launch(stream)
        stream.synchronize()
        times = []
        for _ in range(30):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            graph.launch(stream)
            end.record(stream)
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(start, end) * 1e3 / LAUNCHES)
    return statistics.median(times)


def main():
    stream = cupy.cuda.Stream(non_blocking=True)
    arrays = (cupy.zeros(1024, dtype=cupy.float32), cupy.zeros(1024, dtype=cupy.float32))
    print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    print("blocks".rjust(8), *(f"{threads:8}" for threads in THREADS))
    for blocks in BLOCKS:
        times = (microseconds(blocks, threads, stream, arrays) for threads in THREADS)
        print(f"{blocks:8}", *(f"{time:8.3f}" for time in times), flush=True)


if __name__ == "__main__":
    main()
