"""The document "Optimize deep learning GPU operators with TVM: a depthwise convolution example", of 2017.

Its names are those that TVM then had at its top: `tvm.compute`, `tvm.select`. It shows pieces; what it leaves out is as in
`examples/depthwise_nchw.tir`: where the stages in shared memory are computed, and who copies them.
"""

import tirc.tvm as tvm
from tirc.tvm import autotvm, topi


def declaration(batch=1, in_channel=256, channel_multiplier=1, size=96, kernel=3, stride_h=1, stride_w=1):
    in_height = in_width = size
    pad_top = pad_left = (kernel - 1) // 2
    Input = tvm.placeholder((batch, in_channel, in_height, in_width), name="Input")
    Filter = tvm.placeholder((in_channel, channel_multiplier, kernel, kernel), name="Filter")
    PaddedInput = tvm.compute(
        (batch, in_channel, in_height + kernel - 1, in_width + kernel - 1),
        lambda b, c, i, j: tvm.select(
            tvm.all(i >= pad_top, i - pad_top < in_height, j >= pad_left, j - pad_left < in_width),
            Input[b, c, i - pad_top, j - pad_left],
            tvm.const(0.0),
        ),
        name="PaddedInput",
    )
    di = tvm.reduce_axis((0, kernel), name="di")
    dj = tvm.reduce_axis((0, kernel), name="dj")
    Output = tvm.compute(
        (batch, in_channel * channel_multiplier, in_height // stride_h, in_width // stride_w),
        lambda b, c, i, j: tvm.sum(
            PaddedInput[b, c / channel_multiplier, i * stride_h + di, j * stride_w + dj]
            * Filter[c / channel_multiplier, c % channel_multiplier, di, dj],
            axis=[di, dj],
        ),
        name="DepthwiseConv2d",
    )
    return Input, Filter, PaddedInput, Output


block_x = tvm.thread_axis("blockIdx.x")
block_y = tvm.thread_axis("blockIdx.y")


def channel():
    Input, Filter, PaddedInput, Output = declaration()
    s = tvm.create_schedule(Output.op)
    s[PaddedInput].compute_inline()
    IS = s.cache_read(PaddedInput, "shared", [Output])
    FS = s.cache_read(Filter, "shared", [Output])
    s[Output].bind(Output.op.axis[0], block_y)
    s[Output].bind(Output.op.axis[1], block_x)
    s[IS].compute_at(s[Output], Output.op.axis[1])
    s[FS].compute_at(s[Output], Output.op.axis[1])
    return s, [Input, Filter, Output]


def blocked(blocking_h=32, blocking_w=32):
    Input, Filter, PaddedInput, Output = declaration()
    s = tvm.create_schedule(Output.op)
    s[PaddedInput].compute_inline()
    IS = s.cache_read(PaddedInput, "shared", [Output])
    FS = s.cache_read(Filter, "shared", [Output])
    bx1, hi = s[Output].split(Output.op.axis[2], factor=blocking_h)
    bx2, wi = s[Output].split(Output.op.axis[3], factor=blocking_w)
    s[Output].reorder(Output.op.axis[0], Output.op.axis[1], bx1, bx2, hi, wi)
    by = s[Output].fuse(Output.op.axis[0], Output.op.axis[1])
    s[Output].bind(by, block_y)
    bx = s[Output].fuse(bx1, bx2)
    s[Output].bind(bx, block_x)
    s[IS].compute_at(s[Output], bx)
    s[FS].compute_at(s[Output], bx)
    return s, [Input, Filter, Output]


@autotvm.template("depthwise_threads")
def threads():
    cfg = autotvm.get_config()
    cfg.define_knob("num_thread_y", [8, 4, 1, 32, 16, 2])
    cfg.define_knob("num_thread_x", [32, 1, 8, 16, 4])
    num_thread_y, num_thread_x = cfg["num_thread_y"].val, cfg["num_thread_x"].val
    thread_y = tvm.thread_axis((0, num_thread_y), "threadIdx.y")
    thread_x = tvm.thread_axis((0, num_thread_x), "threadIdx.x")
    Input, Filter, PaddedInput, Output = declaration()
    s = tvm.create_schedule(Output.op)
    s[PaddedInput].compute_inline()
    IS = s.cache_read(PaddedInput, "shared", [Output])
    FS = s.cache_read(Filter, "shared", [Output])
    CL = s.cache_write(Output, "local")
    bx1, h_dim = s[Output].split(Output.op.axis[2], factor=32)
    bx2, w_dim = s[Output].split(Output.op.axis[3], factor=32)
    s[Output].reorder(bx1, bx2, h_dim, w_dim)
    by = s[Output].fuse(Output.op.axis[0], Output.op.axis[1])
    bx = s[Output].fuse(bx1, bx2)
    s[Output].bind(by, block_y)
    s[Output].bind(bx, block_x)
    ty, yi = s[Output].split(h_dim, nparts=num_thread_y)
    tx, xi = s[Output].split(w_dim, nparts=num_thread_x)
    s[Output].reorder(ty, tx, yi, xi)
    s[Output].bind(ty, thread_y)
    s[Output].bind(tx, thread_x)
    s[CL].compute_at(s[Output], tx)
    s[IS].compute_at(s[Output], bx)
    s[FS].compute_at(s[Output], bx)
    for stage in (IS, FS):
        *_, h, w = s[stage].op.axis
        y, _ = s[stage].split(h, nparts=num_thread_y)
        x, _ = s[stage].split(w, nparts=num_thread_x)
        s[stage].bind(y, thread_y)
        s[stage].bind(x, thread_x)
    return s, [Input, Filter, Output]


def vthread_plain(num_vthread_y=2, num_vthread_x=2, num_thread_y=8, num_thread_x=8):
    Input, Filter, PaddedInput, Output = declaration()
    thread_vy = tvm.thread_axis((0, num_vthread_y), "vthread", name="vy")
    thread_vx = tvm.thread_axis((0, num_vthread_x), "vthread", name="vx")
    thread_y = tvm.thread_axis((0, num_thread_y), "threadIdx.y")
    thread_x = tvm.thread_axis((0, num_thread_x), "threadIdx.x")
    s = tvm.create_schedule(Output.op)
    s[PaddedInput].compute_inline()
    b, c, h_dim, w_dim = Output.op.axis
    s[Output].bind(b, block_y)
    s[Output].bind(c, block_x)
    tvy, vy_i = s[Output].split(h_dim, nparts=num_vthread_y)
    ty, yi = s[Output].split(vy_i, nparts=num_thread_y)
    tvx, vx_i = s[Output].split(w_dim, nparts=num_vthread_x)
    tx, xi = s[Output].split(vx_i, nparts=num_thread_x)
    s[Output].reorder(tvy, tvx, ty, tx, yi, xi)
    s[Output].bind(tvy, thread_vy)
    s[Output].bind(tvx, thread_vx)
    s[Output].bind(ty, thread_y)
    s[Output].bind(tx, thread_x)
    return s, [Input, Filter, Output]


def fused(channels=256, size=96):
    Input = tvm.placeholder((1, channels, size, size), name="Input")
    Filter = tvm.placeholder((channels, 1, 3, 3), name="Filter")
    Scale = tvm.placeholder((channels,), name="Scale")
    Shift = tvm.placeholder((channels,), name="Shift")
    DepthwiseConv2d = topi.nn.depthwise_conv2d(Input, Filter, [1, 1], "SAME")
    ScaleShift = topi.nn.scale_shift(DepthwiseConv2d, Scale, Shift)
    Relu = topi.nn.relu(ScaleShift)
    Output = Relu
    s = tvm.create_schedule(Output.op)
    s[DepthwiseConv2d.op.input_tensors[0]].compute_inline()
    s[ScaleShift].compute_inline()
    s[DepthwiseConv2d].set_scope("local")
    by = s[Output].fuse(Output.op.axis[0], Output.op.axis[1])
    bh, h_dim = s[Output].split(Output.op.axis[2], factor=32)
    bw, w_dim = s[Output].split(Output.op.axis[3], factor=32)
    s[Output].reorder(bh, bw, h_dim, w_dim)
    bx = s[Output].fuse(bh, bw)
    s[Output].bind(by, block_y)
    s[Output].bind(bx, block_x)
    ty, yi = s[Output].split(h_dim, nparts=8)
    tx, xi = s[Output].split(w_dim, nparts=8)
    s[Output].reorder(ty, tx, yi, xi)
    s[Output].bind(ty, tvm.thread_axis("threadIdx.y"))
    s[Output].bind(tx, tvm.thread_axis("threadIdx.x"))
    s[DepthwiseConv2d].compute_at(s[Output], tx)
    return s, [Input, Filter, Scale, Shift, Output]
