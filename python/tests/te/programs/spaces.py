"""Search spaces of the documents on convolutions as templates of AutoTVM; the documents name what they span."""

from programs import conv1d, depthwise2d
from tirc.tvm import autotvm, te

BX, BY = te.thread_axis("blockIdx.x"), te.thread_axis("blockIdx.y")
TX, TY = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")


@autotvm.template("conv1d")
def conv1d_space():
    cfg = autotvm.get_config()
    cfg.define_knob("block", [32, 64, 128, 256, 512, 1024])
    cfg.define_knob("use_local", [True, False])
    cfg.define_knob("use_shared", [True, False])
    cfg.define_knob("unroll_step", [True, False])
    s, A, W, B = conv1d.base()
    cfg.define_split("step", B.op.reduce_axis[0])
    cfg.define_knob("lanes", [4, 8, 16, 32, 64])
    if cfg["lanes"].val > cfg["block"].val:
        cfg.raise_error("more lanes than threads")
    if cfg["use_shared"].val and not cfg["use_local"].val:
        cfg.raise_error("shared memory without a local sum")
    acc = s.cache_write(B, "local") if cfg["use_local"].val else B
    bx, t = s[B].split(B.op.axis[0], factor=cfg["block"].val)
    ty, tx = s[B].split(t, factor=cfg["lanes"].val)
    s[B].bind(bx, BX)
    s[B].bind(ty, TY)
    s[B].bind(tx, TX)
    if cfg["use_local"].val:
        s[acc].compute_at(s[B], tx)
    ro, ri = cfg["step"].apply(s, acc, s[acc].op.reduce_axis[0])
    if cfg["use_shared"].val:
        WS = s.cache_read(W, "shared", [acc])
        s[WS].compute_at(s[acc], ro)
    if cfg["unroll_step"].val:
        s[acc].unroll(ri)
    return s, [A, W, B]


@autotvm.template("depthwise2d")
def depthwise2d_space():
    s, A, W, out, padded = depthwise2d.declaration()
    b, c, h, w = out.op.axis
    cfg = autotvm.get_config()
    cfg.define_split("tile_h", h)
    cfg.define_split("tile_w", w)
    cfg.define_knob("order", [0, 1, 2])
    cfg.define_knob("split_r", [1, 7])
    cfg.define_knob("use_local", [False, True])
    cfg.define_knob("use_shared", [False, True])
    cfg.define_knob("max_unroll", [0, 16, 64, 512])
    s[padded].compute_inline()
    acc = s.cache_write(out, "local") if cfg["use_local"].val else out
    if cfg["use_shared"].val:
        WS = s.cache_read(W, "shared", [acc])
    bc = s[out].fuse(b, c)
    ho, hi = cfg["tile_h"].apply(s, out, h)
    wo, wi = cfg["tile_w"].apply(s, out, w)
    s[out].reorder(bc, ho, wo, hi, wi)
    hw = s[out].fuse(ho, wo)
    s[out].bind(bc, BX)
    s[out].bind(hw, BY)
    s[out].bind(hi, TY)
    s[out].bind(wi, TX)
    if cfg["use_local"].val:
        s[acc].compute_at(s[out], wi)
    ry, rx = s[acc].op.reduce_axis
    ryo, ryi = s[acc].split(ry, factor=cfg["split_r"].val)
    order = cfg["order"].val
    if order == 0:
        s[acc].reorder(ryo, ryi, rx)
    elif order == 1:
        s[acc].reorder(ryo, rx, ryi)
    else:
        s[acc].reorder(rx, ryo, ryi)
    if cfg["use_shared"].val:
        s[WS].compute_at(s[out], hw)
    s[acc].pragma(ryo, "auto_unroll_max_step", cfg["max_unroll"].val)
    s[acc].pragma(ryo, "unroll_explicit", True)
    return s, [A, W, out]
