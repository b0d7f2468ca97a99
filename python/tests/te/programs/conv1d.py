"""The document "TVM: 1D convolution GPU optimization": each function makes the schedule of one version.

As there, `v2` to `v5` start from `v1`, whose binding of the axis is lost when they split it.
"""

import tirc.tvm as tvm
from tirc.tvm import te


def naive(M=16384, N=32, dtype="float32"):
    A = te.placeholder((M,), name="A", dtype=dtype)
    W = te.placeholder((N,), name="W", dtype=dtype)
    k = te.reduce_axis((0, M + N - 1), "k")
    B = te.compute(
        (M + N - 1,),
        lambda n: te.sum(
            tvm.tir.if_then_else(
                tvm.tir.any(k < 0, k >= M, n - k < 0, n - k >= N), tvm.tir.const(0.0, "float32"), A[k] * W[n - k]
            ),
            axis=k,
        ),
        name="B",
    )
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    return s, A, W, B


def base(M=16384, N=32, dtype="float32"):
    A = te.placeholder((M,), name="A", dtype=dtype)
    W = te.placeholder((N,), name="W", dtype=dtype)
    r = te.reduce_axis((0, N), name="r")
    B = te.compute(
        (M + N - 1,),
        lambda i: te.sum(
            tvm.tir.if_then_else(tvm.tir.all(i - r >= 0, i - r < M), A[i - r], tvm.tir.const(0, dtype)) * W[r], axis=r
        ),
        name="B",
    )
    return te.create_schedule(B.op), A, W, B


def v1():
    s, A, W, B = base()
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.x"))
    return s, A, W, B


def v2():
    s, A, W, B = v1()
    block_i, thread_i = s[B].split(B.op.axis[0], factor=8)
    s[B].bind(block_i, te.thread_axis("blockIdx.x"))
    s[B].bind(thread_i, te.thread_axis("threadIdx.x"))
    return s, A, W, B


def v3():
    s, A, W, B = v1()
    block_i, thread_i = s[B].split(B.op.axis[0], factor=16)
    warp_i, lane_i = s[B].split(thread_i, factor=4)
    s[B].bind(block_i, te.thread_axis("blockIdx.x"))
    s[B].bind(warp_i, te.thread_axis("threadIdx.y"))
    s[B].bind(lane_i, te.thread_axis("threadIdx.x"))
    return s, A, W, B


def v4():
    s, A, W, B = v1()
    C_local = s.cache_write(B, "local")
    W_shared = s.cache_read(W, "shared", [C_local])
    block_i, thread_i = s[B].split(B.op.axis[0], factor=32)
    s[B].bind(block_i, te.thread_axis("blockIdx.x"))
    s[B].bind(thread_i, te.thread_axis("threadIdx.x"))
    s[C_local].compute_at(s[B], thread_i)
    rxo, rxi = s[C_local].split(C_local.op.reduce_axis[0], factor=4)
    s[W_shared].compute_at(s[C_local], rxo)
    return s, A, W, B


def v5():
    s, A, W, B = v1()
    C_local = s.cache_write(B, "local")
    W_shared = s.cache_read(W, "shared", [C_local])
    block_i, thread_i = s[B].split(B.op.axis[0], factor=32)
    warp_i, lane_i = s[B].split(thread_i, factor=4)
    s[B].bind(block_i, te.thread_axis("blockIdx.x"))
    s[B].bind(warp_i, te.thread_axis("threadIdx.y"))
    s[B].bind(lane_i, te.thread_axis("threadIdx.x"))
    s[C_local].compute_at(s[B], lane_i)
    rxo, rxi = s[C_local].split(C_local.op.reduce_axis[0], factor=8)
    s[W_shared].compute_at(s[C_local], rxo)
    s[C_local].unroll(rxi)
    return s, A, W, B
