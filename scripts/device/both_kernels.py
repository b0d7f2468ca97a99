#!/usr/bin/env python3
"""Kernels of both emitters side by side on a GPU, without tc there: equal bit for bit? And how long does each take?

    python3 scripts/device/both_kernels.py write target/device/both      (here: with a tc-opt that has MLIR)
    python3 scripts/device/both_kernels.py run target/device/both        (there: needs CuPy)

`write` writes each schedule of each example as CUDA C++, as MLIR and as PTX made of that. `run` compiles the CUDA by
NVRTC (`--fmad=false`), loads the PTX, fills all buffers with the same numbers, launches the kernels of both as the
comment at the top of the text says, and compares all buffers byte by byte. Times are the median of 9 measurements of up
to 50 runs in a row each, between two events; what takes under 10 us is mostly the launch. both.py does the same by
`tc-run`.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

import both

BYTES = {"f64": 8, "i64": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2, "i16": 2, "i8": 1}


def write(folder, tool="target/release/tc-opt"):
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(pathlib.Path("examples").glob("*.tir"))
    todo = [(path, func, schedule) for path in files for func, schedule, _ in both.cases(path)]

    def one(case):
        path, func, schedule = case
        pipeline = f"--pass-pipeline=cuda{{func={func} schedule={schedule}}}"
        for ending, emit in (("mlir", ["mlir"]), ("cu", ["cuda"]), ("ptx", ["ptx", "--via=mlir"])):
            how = [f"--emit={emit[0]}", *emit[1:], "--target=sm_90"]
            done = subprocess.run([tool, str(path), pipeline, *how], capture_output=True, text=True)
            if done.returncode != 0:
                return f"{path.name} @{schedule}: {both.first_line(done)}"
            (folder / f"{path.stem}.{func}.{schedule}.{ending}").write_text(done.stdout)
        return None

    with concurrent.futures.ThreadPoolExecutor() as pool:
        for refused in filter(None, pool.map(one, todo)):
            print(refused)


def parse(text):
    """The launches (kernel, grid, block, bytes of shared memory), and what each kernel takes (name, numbers, type)."""
    launch = r"//   (\w+): grid \((\d+), (\d+), (\d+)\), block \((\d+), (\d+), (\d+)\)(?:, (\d+) bytes)?"
    launches = []
    for found in re.finditer(launch, text):
        numbers = [int(number or 0) for number in found.groups()[1:]]
        launches.append((found[1], tuple(numbers[:3]), tuple(numbers[3:6]), numbers[6]))
    takes = {}
    for found in re.finditer(r"gpu\.func @(\w+)\((.*?)\)\s*(?:workgroup|kernel)", text, re.S):
        params = re.findall(r"%([\w$.-]+): memref<(\d+)x(\w+), #global>", found[2])
        assert found[2].count("%") == len(params), f"buffers of known sizes only: {found[2]}"
        takes[found[1]] = [(name.removesuffix("_bytes"), int(n), number) for name, n, number in params]
    return launches, takes


def content(rng, number, n):
    import numpy as np

    if number in ("f16", "f32", "f64"):
        return (rng.random(n) - 0.5).astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[number])
    if number == "bf16":
        return ((rng.random(n) - 0.5).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if number in ("i32", "i64"):
        # They may be indices.
        return rng.integers(0, 100, n).astype({"i32": np.int32, "i64": np.int64}[number])
    return rng.integers(0, 256, n * BYTES[number]).astype(np.uint8)


def run(folder):
    import cupy as cp
    import numpy as np

    rng = np.random.default_rng(1)
    print("| kernels | results | CUDA us | MLIR us | ratio | registers | of MLIR |\n|---|---|---|---|---|---|---|")
    wrong = 0
    for path in sorted(folder.glob("*.mlir")):
        launches, takes = parse(path.read_text())
        buffers = {}
        for name, n, number in (param for params in takes.values() for param in params):
            known = buffers.get(name)
            # Bytes are how a kernel sees what it views as something else.
            if known is None or known[0] * BYTES[known[1]] < n * BYTES[number] or known[1] == "i8":
                buffers[name] = (n, number)
        start = {name: cp.asarray(content(rng, number, n)).view(cp.uint8) for name, (n, number) in buffers.items()}
        options = ("--fmad=false", "-std=c++17", "-I/usr/local/cuda/include")
        ways = [
            cp.RawModule(code=path.with_suffix(".cu").read_text(), options=options, backend="nvrtc"),
            cp.RawModule(path=str(path.with_suffix(".ptx"))),
        ]
        results, times, registers = [], [], []
        for module in ways:
            arrays = {name: array.copy() for name, array in start.items()}
            kernels = []
            for name, grid, block, shared in launches:
                kernel = module.get_function(name)
                if shared:
                    kernel.max_dynamic_shared_size_bytes = shared
                kernels.append((kernel, grid, block, tuple(arrays[param] for param, _, _ in takes[name]), shared))

            def go():
                for kernel, grid, block, args, shared in kernels:
                    kernel(grid, block, args, shared_mem=shared)

            def time(n):
                first, last = cp.cuda.Event(), cp.cuda.Event()
                first.record()
                for _ in range(n):
                    go()
                last.record()
                last.synchronize()
                return cp.cuda.get_elapsed_time(first, last) * 1000 / n

            go()
            results.append({name: array.copy() for name, array in arrays.items()})
            n = max(1, min(50, int(20000 / time(1))))
            times.append(sorted(time(n) for _ in range(9))[4])
            registers.append(max(kernel.num_regs for kernel, *_ in kernels))
        cuda, mlir = results
        differ = [name for name in start if not bool((cuda[name] == mlir[name]).all())]
        written = any(not bool((cuda[name] == start[name]).all()) for name in start)
        verdict = "DIFFER: " + ", ".join(differ) if differ else "equal" if written else "NOTHING WRITTEN"
        wrong += verdict != "equal"
        ratio = times[1] / times[0]
        shown = f"{times[0]:.1f} | {times[1]:.1f} | {ratio:.2f} | {registers[0]} | {registers[1]}"
        print(f"| {path.stem} | {verdict} | {shown} |", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    what, folder, *rest = sys.argv[1:] if len(sys.argv) > 2 else sys.exit(__doc__)
    sys.exit(write(pathlib.Path(folder), *rest) if what == "write" else run(pathlib.Path(folder)))
