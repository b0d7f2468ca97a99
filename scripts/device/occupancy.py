#!/usr/bin/env python3
"""Compares the rules of occupancy of tc-target with those of a GPU's driver.

    scripts/device/build                                              (here)
    scripts/device/occupancy.py [--ours target/device/occupancy]      (there)

Kernels that hold many numbers at once and may have from 24 to 255 registers, with and without static shared memory, are
loaded as PTX; the driver says how many registers each takes, and how many blocks of it fit on a multiprocessor, for many numbers of threads
and bytes of dynamic shared memory. Our rules answer the same points. Prints how many points differ, and the first of them;
the exit status is 1 if any does. Needs a driver, and nothing else.
"""

import argparse
import ctypes
import os
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Attributes of a device and of a function, as cuda.h numbers them.
MAJOR, MINOR, SHARED_OPTIN = 75, 76, 97
SHARED_STATIC, REGISTERS, MAX_DYNAMIC = 1, 4, 8

ALLOWED = [*range(24, 33), *range(36, 256, 3)]
STATIC = [0, 1000, 40000]
THREADS = [1, 31, 32, 33, *range(64, 1025, 32)]
DYNAMIC = [0, 1, 127, 128, 129, 900, 1024, 2048, 3000, 4096, 6000, 8192, 12345, 16384, 20480, 24576, 32768, 38912, 49152]
DYNAMIC += [57344, 65536, 74752, 75000, 98304, 100000, 115712, 115713, 131072, 163840, 200000]


def kernel(allowed, static):
    """PTX of a kernel that reads as many numbers as it may have registers before it writes the first of them."""
    name, held = f"allowed_{allowed}_{static}", allowed
    lines = [f".visible .entry {name}(.param .u64 {name}_at) .maxnreg {allowed}", "{", "  .reg .b64 %at;", f"  .reg .b32 %v<{held}>;"]
    if static:
        lines += [f"  .shared .align 4 .b8 {name}_shared[{static}];", "  .reg .b32 %kept;"]
    lines += [f"  ld.param.u64 %at, [{name}_at];"]
    if static:
        lines += [f"  ld.volatile.shared.u32 %kept, [{name}_shared];", "  st.volatile.global.u32 [%at], %kept;"]
    lines += [f"  ld.volatile.global.u32 %v{nth}, [%at + {4 * nth}];" for nth in range(held)]
    lines += ["  bar.sync 0;"]
    lines += [f"  st.volatile.global.u32 [%at + {4 * nth}], %v{held - 1 - nth};" for nth in range(held)]
    return name, "\n".join([*lines, "  ret;", "}", ""])


def ptx(target):
    kernels = [kernel(allowed, static) for static in STATIC for allowed in ALLOWED]
    head = f".version 7.8\n.target {target}\n.address_size 64\n"
    return [name for name, _ in kernels], head + "".join(text for _, text in kernels)


class Driver:
    """The calls of libcuda that are needed; each failure ends the script."""

    def __init__(self):
        self.lib = ctypes.CDLL("libcuda.so.1")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.device = device

    def call(self, name, *args):
        status = getattr(self.lib, name)(*args)
        if status != 0:
            sys.exit(f"occupancy: {name} failed with status {status}")

    def of_device(self, attribute):
        value = ctypes.c_int()
        self.call("cuDeviceGetAttribute", ctypes.byref(value), attribute, self.device)
        return value.value

    def load(self, text, names):
        module = ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(text.encode()))
        functions = []
        for name in names:
            function = ctypes.c_void_p()
            self.call("cuModuleGetFunction", ctypes.byref(function), module, ctypes.c_char_p(name.encode()))
            functions.append(function)
        return functions

    def of_function(self, function, attribute):
        value = ctypes.c_int()
        self.call("cuFuncGetAttribute", ctypes.byref(value), attribute, function)
        return value.value

    def blocks(self, function, threads, dynamic):
        value = ctypes.c_int()
        name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
        self.call(name, ctypes.byref(value), function, threads, ctypes.c_size_t(dynamic))
        return value.value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default=os.path.join(ROOT, "target/device/occupancy"), metavar="PROGRAM")
    parser.add_argument("--print-ptx", metavar="TARGET", help="only print the kernels, which needs no GPU")
    options = parser.parse_args()
    if options.print_ptx:
        sys.stdout.write(ptx(options.print_ptx)[1])
        return 0
    driver = Driver()
    target = f"sm_{driver.of_device(MAJOR)}{driver.of_device(MINOR)}"
    most = driver.of_device(SHARED_OPTIN)
    names, text = ptx(target)
    points, theirs = [], []
    for function in driver.load(text, names):
        registers, static = (driver.of_function(function, what) for what in (REGISTERS, SHARED_STATIC))
        driver.call("cuFuncSetAttribute", function, MAX_DYNAMIC, most - static)
        for dynamic in sorted({min(dynamic, most - static) for dynamic in [*DYNAMIC, most]}):
            for threads in THREADS:
                points.append((threads, registers, static + dynamic))
                theirs.append(driver.blocks(function, threads, dynamic))
    lines = "".join(f"{threads} {registers} {shared}\n" for threads, registers, shared in points)
    answer = subprocess.run([options.ours, target], input=lines, capture_output=True, text=True, timeout=120)
    if answer.returncode != 0:
        sys.exit(f"occupancy: {options.ours}: {answer.stderr.strip()}")
    ours = [int(line) for line in answer.stdout.split()]
    differ = [all for all in zip(points, theirs, ours, strict=True) if all[1] != all[2]]
    for (threads, registers, shared), driver_says, we_say in differ[:20]:
        print(f"{threads} threads of {registers} registers, {shared} bytes: driver {driver_says}, ours {we_say}")
    counts = sorted({registers for _, registers, _ in points})
    print(f"{target}: {len(points)} points, {len(set(points))} of them different, with {len(counts)} numbers of registers from")
    print(f"{counts[0]} to {counts[-1]}, blocks from {min(theirs)} to {max(theirs)}: {len(differ)} differ")
    return 1 if differ or not points else 0


if __name__ == "__main__":
    sys.exit(main())
