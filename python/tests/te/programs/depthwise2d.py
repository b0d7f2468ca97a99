"""The document "TVM: 2D depth conv GPU optimization": each function makes the schedule of one version."""

import tirc.tvm as tvm
from tirc.tvm import te


def declaration(B=3, C=4, H=16, W=32, K=7):
    inp = te.placeholder((B, C, H, W), name="A")
    ker = te.placeholder((C, 1, K, K), name="W")
    ry = te.reduce_axis((0, K), name="ry")
    rx = te.reduce_axis((0, K), name="rx")
    pad_h = (K - 1) // 2
    pad_w = (K - 1) // 2
    padded = te.compute(
        (B, C, H + 2 * pad_h, W + 2 * pad_w),
        lambda b, c, h, w: tvm.tir.if_then_else(
            tvm.tir.all(h >= pad_h, h < H + pad_h, w >= pad_w, w < W + pad_w),
            inp[b, c, h - pad_h, w - pad_w],
            tvm.tir.const(0.0, "float32"),
        ),
        name="padded",
    )
    out = te.compute(
        (B, C, H, W),
        lambda b, c, h, w: te.sum(padded[b, c, h + ry, w + rx] * ker[c, 0, ry, rx], axis=[ry, rx]),
        name="depthwise_conv",
    )
    return te.create_schedule(out.op), inp, ker, out, padded


def naive():
    s, inp, ker, out, padded = declaration()
    b, c, h, w = s[out].op.axis
    s[out].bind(b, te.thread_axis("blockIdx.x"))
    s[padded].compute_inline()
    return s, inp, ker, out


def v1():
    s, inp, ker, out, padded = declaration()
    b, c, h, w = s[out].op.axis
    s[out].bind(b, te.thread_axis("blockIdx.x"))
    s[out].bind(c, te.thread_axis("blockIdx.y"))
    s[padded].compute_inline()
    return s, inp, ker, out


def v2():
    s, inp, ker, out, padded = declaration()
    b, c, h, w = s[out].op.axis
    bc = s[out].fuse(b, c)
    s[out].bind(bc, te.thread_axis("blockIdx.x"))
    s[out].bind(h, te.thread_axis("blockIdx.y"))
    s[padded].compute_inline()
    return s, inp, ker, out


def v3():
    s, inp, ker, out, padded = declaration()
    b, c, h, w = s[out].op.axis
    bc = s[out].fuse(b, c)
    h_outer, h_inner = s[out].split(h, factor=16)
    w_outer, w_inner = s[out].split(w, factor=16)
    s[out].bind(bc, te.thread_axis("blockIdx.x"))
    s[out].bind(h_outer, te.thread_axis("blockIdx.y"))
    s[out].bind(h_inner, te.thread_axis("threadIdx.y"))
    s[out].bind(w_inner, te.thread_axis("threadIdx.x"))
    s[padded].compute_inline()
    return s, inp, ker, out


def v4():
    s, inp, ker, out, padded = declaration()
    b, c, h, w = s[out].op.axis
    bc = s[out].fuse(b, c)
    h_outer, h_inner = s[out].split(h, factor=16)
    w_outer, w_inner = s[out].split(w, factor=16)
    s[out].reorder(bc, h_outer, w_outer, h_inner, w_inner)
    hw_outer = s[out].fuse(h_outer, w_outer)
    s[out].bind(bc, te.thread_axis("blockIdx.x"))
    s[out].bind(hw_outer, te.thread_axis("blockIdx.y"))
    s[out].bind(h_inner, te.thread_axis("threadIdx.y"))
    s[out].bind(w_inner, te.thread_axis("threadIdx.x"))
    s[padded].compute_inline()
    return s, inp, ker, out
