"""The programs of the documents make the programs of our examples."""

import re

import pytest
import tools
from programs import conv1d, conv2d_hwcn, conv2d_tensorcore, depthwise2d, depthwise_nchw, spaces

import tirc.tvm as tvm

# The document binds an axis that a later version splits, which TVM loses without a word.
pytestmark = pytest.mark.filterwarnings("ignore::tirc.te.TeWarning")


def example(file, schedule, function):
    return tools.only((tools.EXAMPLES / file).read_text(), schedule, function)


def compare(lowered, text, schedule, *options):
    """The loops after the schedule, and the CUDA C++ of the whole pipeline, are the same up to names."""
    name = lowered.name
    ours, theirs = (tools.scheduled(one, s, name, *options) for one, s in ((lowered.text, "te"), (text, schedule)))
    assert tools.difference(ours, theirs) is None
    ours, theirs = (tools.cuda(one, s, name, *options) for one, s in ((lowered.text, "te"), (text, schedule)))
    assert tools.difference(ours, theirs) is None


def test_conv1d_naive():
    s, A, W, B = conv1d.naive()
    compare(tvm.lower(s, [A, W, B], name="conv1d_naive"), example("conv1d.tir", "naive", "conv1d_naive"), "naive")


@pytest.mark.parametrize("version", ["v1", "v2", "v3", "v4", "v5"])
def test_conv1d(version):
    s, A, W, B = getattr(conv1d, version)()
    text = example("conv1d.tir", version, "conv1d")
    # The document writes `i - r >= 0`, and TVM's passes print `0 <= i - r`, which is how the example has it. No pass of
    # tc turns a comparison of indices round, so this one differs.
    turned = text.replace("0 <= i - r", "i - r >= 0")
    assert turned != text
    compare(tvm.lower(s, [A, W, B], name="conv1d"), turned, version)


@pytest.mark.parametrize("version", ["naive", "v1", "v2", "v3", "v4"])
def test_depthwise2d(version):
    s, A, W, B = getattr(depthwise2d, version)()
    compare(tvm.lower(s, [A, W, B], name="depthwise2d"), example("depthwise2d.tir", version, "depthwise2d"), version)


def test_conv2d_hwcn():
    s, A, W, B = conv2d_hwcn.tutorial()
    lowered = tvm.lower(s, [A, W, B], name="conv2d_hwcn")
    compare(lowered, example("conv2d_hwcn.tir", "tutorial", "conv2d_hwcn"), "tutorial")


@pytest.mark.parametrize("version", ["channel", "blocked", "threads", "vthread_plain"])
def test_depthwise_nchw(version):
    s, args = getattr(depthwise_nchw, version)()
    compare(tvm.lower(s, args, name="depthwise"), example("depthwise_nchw.tir", version, "depthwise"), version)


def test_depthwise_nchw_at_another_point():
    s, args = depthwise_nchw.threads()
    text = example("depthwise_nchw.tir", "threads", "depthwise")
    compare(tvm.lower(s, args, name="depthwise"), text, "threads", 'param="num_thread_y=4 num_thread_x=16"')


def test_depthwise_nchw_fused():
    name = "depthwise_scale_shift_relu"
    s, args = depthwise_nchw.fused()
    compare(tvm.lower(s, args, name=name), example("depthwise_nchw.tir", "fused", name), "fused")


def test_tensorcore_before_intrinsics():
    s, A, W, Conv = conv2d_tensorcore.schedule(tensorized=False)
    lowered = tvm.lower(s, [A, W, Conv], name="conv_tensorcore")
    compare(lowered, example("conv2d_tensorcore.tir", "loops", "conv_tensorcore"), "loops")


def test_tensorcore():
    s, A, W, Conv = conv2d_tensorcore.schedule(tensorized=True)
    with tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}}):
        lowered = tvm.lower(s, [A, W, Conv], name="conv_tensorcore")
    text = example("conv2d_tensorcore.tir", "tensorcore", "conv_tensorcore")
    ours, theirs = (tools.cuda(one, s, lowered.name) for one, s in ((lowered.text, "te"), (text, "tensorcore")))
    assert tools.difference(ours, theirs) is None
    # The loops before the intrinsics replace them name the intrinsics: the library's here, those of the file there.
    assert re.findall(r"@wmma_\w+", lowered.text) == [
        "@wmma_load_a_16x16x16_f16",
        "@wmma_load_b_16x16x16_f16",
        "@wmma_store_16x16x16_f32",
        "@wmma_16x16x16_f16_f32",
    ]


def test_small_documents_are_right():
    """The simulator compares what the programs compute with the operators, at sizes that it checks whole."""
    s, A, W, B = conv2d_hwcn.tutorial(batch=64, in_channel=8, out_channel=64, in_size=2)
    tools.check(tvm.lower(s, [A, W, B]).text)
    s, A, W, B = conv2d_tensorcore.schedule(True, batch=128, height=1, width=2, in_channels=32, out_channels=128)
    tools.check(tvm.lower(s, [A, W, B]).text)
    s, A, W, B = conv1d.v5()
    tools.check(tvm.lower(s, [A, W, B]).text)


def test_the_comparison_sees_a_difference():
    s, A, W, B = depthwise2d.v3()
    lowered = tvm.lower(s, [A, W, B], name="depthwise2d")
    with pytest.raises(AssertionError):
        compare(lowered, example("depthwise2d.tir", "v4", "depthwise2d"), "v4")


CONV1D_POINTS = [
    "block=32 lanes=4 step=8 use_local=1 use_shared=1 unroll_step=1",
    "block=256 lanes=32 step=1 use_local=1 use_shared=0 unroll_step=0",
    "block=64 lanes=16 step=32 use_local=0 use_shared=0 unroll_step=1",
]
DEPTHWISE_POINTS = [
    f"tile_h={h} tile_w={w} order={order} split_r={r} use_local={local} use_shared={shared} max_unroll={unroll}"
    for h, w, order, r, local, shared, unroll in (
        (1, 32, 0, 1, 0, 0, 0),
        (4, 8, 1, 7, 1, 0, 16),
        (16, 16, 2, 1, 1, 1, 64),
        (8, 4, 0, 7, 0, 1, 512),
    )
]


@pytest.mark.parametrize("point", CONV1D_POINTS)
def test_the_space_of_conv1d(point):
    s, args = spaces.conv1d_space()
    text = example("conv1d.tir", "autotvm", "conv1d").replace("0 <= i - r", "i - r >= 0")
    compare(tvm.lower(s, args, name="conv1d"), text, "autotvm", f'param="{point}"')


@pytest.mark.parametrize("point", DEPTHWISE_POINTS)
def test_the_space_of_depthwise2d(point):
    s, args = spaces.depthwise2d_space()
    lowered = tvm.lower(s, args, name="depthwise2d")
    compare(lowered, example("depthwise2d.tir", "autotvm", "depthwise2d"), "autotvm", f'param="{point}"')


def test_the_document_counts_2880_points():
    """The condition of the example is for the target, and holds of all points."""
    s, args = spaces.depthwise2d_space()
    out = tools.opt(tvm.lower(s, args, name="depthwise2d").text, None, "--list-space=te")
    assert "2880" in out.replace(",", "")
