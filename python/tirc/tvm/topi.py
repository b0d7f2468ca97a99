"""The operators of `topi` that the document on depthwise convolution calls, as `te.compute`s."""

from .. import te
from ..te.errors import TeValueError, missing_names


def _same_padding(size, kernel, stride):
    """How many elements a `SAME` padding adds before, and how many after."""
    out = (size + stride - 1) // stride
    total = max((out - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


class nn:
    """TVM's module `topi.nn`."""

    @staticmethod
    def depthwise_conv2d_nchw(Input, Filter, stride, padding, dilation=1, out_dtype=None):
        """A depthwise convolution, layout NCHW, of sizes that are numbers."""
        batch, channels, height, width = map(int, Input.shape)
        _, multiplier, kernel_h, kernel_w = map(int, Filter.shape)
        strides = list(stride) if isinstance(stride, (list, tuple)) else [stride, stride]
        if dilation != 1:
            raise TeValueError("`depthwise_conv2d_nchw` with a dilation", "write the `te.compute`")
        top, bottom, left, right = _padding(padding, (height, width), (kernel_h, kernel_w), strides)
        padded = te.compute(
            (batch, channels, height + top + bottom, width + left + right),
            lambda b, c, i, j: te.Select(
                te.all(i >= top, i - top < height, j >= left, j - left < width),
                Input[b, c, i - top, j - left],
                te.const(0.0, Input.dtype),
            ),
            name="PaddedInput",
        )
        di, dj = te.reduce_axis((0, kernel_h), name="di"), te.reduce_axis((0, kernel_w), name="dj")
        out_h = (height + top + bottom - kernel_h) // strides[0] + 1
        out_w = (width + left + right - kernel_w) // strides[1] + 1
        ty = out_dtype or Input.dtype
        return te.compute(
            (batch, channels * multiplier, out_h, out_w),
            lambda b, c, i, j: te.sum(
                padded[b, c // multiplier, i * strides[0] + di, j * strides[1] + dj].astype(ty)
                * Filter[c // multiplier, c % multiplier, di, dj].astype(ty),
                axis=[di, dj],
            ),
            name="DepthwiseConv2d",
        )

    depthwise_conv2d = depthwise_conv2d_nchw

    @staticmethod
    def scale_shift_nchw(Input, Scale, Shift):
        """Each channel times a number, plus a number."""
        return te.compute(Input.shape, lambda b, c, i, j: Input[b, c, i, j] * Scale[c] + Shift[c], name="ScaleShift")

    scale_shift = scale_shift_nchw

    @staticmethod
    def relu(x):
        """The elements that are positive, 0 for the others."""
        return te.compute(x.shape, lambda *i: te.max(x(*i), te.const(0, x.dtype)), name="Relu")


def _padding(padding, sizes, kernels, strides):
    if padding == "SAME":
        pairs = [_same_padding(*one) for one in zip(sizes, kernels, strides)]
        return (*pairs[0], *pairs[1])
    if padding == "VALID":
        return 0, 0, 0, 0
    ends = [padding, padding] if isinstance(padding, int) else list(padding)
    if len(ends) != 2:
        raise TeValueError(f"the padding `{padding}`", 'it is "SAME", "VALID", a number or two')
    return ends[0], ends[0], ends[1], ends[1]


__getattr__ = missing_names("topi", {})
