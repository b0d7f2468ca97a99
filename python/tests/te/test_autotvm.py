"""Templates: knobs become parameters, and what Python's `if` asks of them becomes `if` in the schedule."""

import pytest
import tools
from programs import conv1d

from tirc import te
from tirc.tvm import autotvm

BX, TX, TY = (te.thread_axis(tag) for tag in ("blockIdx.x", "threadIdx.x", "threadIdx.y"))


def lower(result, name="f"):
    return te.lower(*result, name=name)


@autotvm.template("conv1d_gpu")
def conv1d_gpu(M=512, N=32):
    s, A, W, B = conv1d.base(M, N)
    cfg = autotvm.get_config()
    cfg.define_knob("block", [32, 64, 128])
    cfg.define_knob("lanes", [4, 8])
    cfg.define_split("step", B.op.reduce_axis[0], num_outputs=2)
    cfg.define_knob("use_local", [True, False])
    cfg.define_knob("use_shared", [True, False])
    cfg.define_knob("unroll_step", [True, False])
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


CONV1D = """\
schedule @te for @f (
    block: i32 in [32, 64, 128],
    lanes: i32 in [4, 8],
    step: i32 in divisors(32),
    use_local: bool in [true, false],
    use_shared: bool in [true, false],
    unroll_step: bool in [true, false],
) where !use_shared || use_local {
  if use_shared {
    B_local = cache_write(B, local)
  } else if use_local {
    B_local = cache_write(B, local)
  }
  i_outer, i_inner = split(B.i, factor = block)
  i_inner_outer, i_inner_inner = split(i_inner, factor = lanes)
  bind(i_outer, blockIdx.x)
  bind(i_inner_outer, threadIdx.y)
  bind(i_inner_inner, threadIdx.x)
  if use_shared {
    compute_at(B_local, i_inner_inner)
    r_outer, r_inner = split(B_local.r, factor = step)
    W_shared = cache_read(W, shared, [B_local])
    compute_at(W_shared, r_outer)
  } else if use_local {
    compute_at(B_local, i_inner_inner)
    r_outer, r_inner = split(B_local.r, factor = step)
  } else {
    r_outer, r_inner = split(B.r, factor = step)
  }
  if unroll_step {
    unroll(r_inner)
  }
}
"""


def test_paths_become_branches():
    text = lower(conv1d_gpu()).text
    assert text[text.index("schedule @te") :] == CONV1D


@pytest.mark.parametrize(
    "point",
    [
        "block=32 lanes=4 step=8 use_local=1 use_shared=1 unroll_step=1",
        "block=64 lanes=8 step=1 use_local=0 use_shared=0 unroll_step=0",
        "block=128 lanes=4 step=32 use_local=1 use_shared=0 unroll_step=1",
    ],
)
def test_points_are_right(point):
    defines = [flag for value in point.split() for flag in ("-D", value)]
    tools.check(lower(conv1d_gpu()).text, *defines)


def test_a_point_that_is_rejected():
    pipeline = 'module(schedule{name=te param="use_local=0 use_shared=1"})'
    status, _, err = tools.run("tc-opt", lower(conv1d_gpu()).text, f"--pass-pipeline={pipeline}")
    assert status == 1 and "!use_shared || use_local" in err


def rows(policy_of):
    """A template over an axis of 64 elements and one of 48."""

    @autotvm.template("rows")
    def rows_of():
        A = te.placeholder((64, 48), name="A")
        B = te.compute((64, 48), lambda i, j: A[i, j] * 2, name="B")
        s = te.create_schedule(B.op)
        cfg = autotvm.get_config()
        policy_of(cfg, s, B)
        return s, [A, B]

    return lower(rows_of()).text


def test_splits_into_several_loops():
    def body(cfg, s, B):
        i, j = B.op.axis
        cfg.define_split("tile_i", i, num_outputs=4)
        assert cfg["tile_i"].size[0] == -1
        a, b, c, d = cfg["tile_i"].apply(s, B, i)
        s[B].bind(a, BX)
        s[B].bind(c, TX)

    text = rows(body)
    assert (
        "    tile_i_1: i32 in divisors(64),\n    tile_i_2: i32 in divisors(64),\n    tile_i_3: i32 in divisors(64),\n"
        in text
    )
    assert ") where 64 % (tile_i_1 * tile_i_2 * tile_i_3) == 0 {" in text
    assert "i_outer, i_inner = split(B.i, factor = tile_i_1 * tile_i_2 * tile_i_3)" in text
    assert "split(i_inner, factor = tile_i_2 * tile_i_3)" in text
    tools.check(text, "-D", "tile_i_1=2", "-D", "tile_i_2=8", "-D", "tile_i_3=2")


@pytest.mark.parametrize(
    ("kwargs", "choices", "where"),
    [
        ({"policy": "factors"}, "divisors(48)", ""),
        ({"policy": "factors", "max_factor": 6}, "[1, 2, 3, 4, 6]", ""),
        ({"policy": "power2"}, "[1, 2, 4, 8, 16, 32]", ""),
        ({"policy": "verbose"}, "range(1, 49, 1)", ""),
        ({"policy": "candidate", "candidate": [[-1, 8], [-1, 3]]}, "[8, 3]", ""),
        ({"filter": lambda entity: entity.size[-1] <= 16}, "divisors(48)", " where t <= 16"),
    ],
)
def test_policies(kwargs, choices, where):
    def body(cfg, s, B):
        cfg.define_split("t", B.op.axis[1], **kwargs)
        outer, inner = cfg["t"].apply(s, B, B.op.axis[1])
        s[B].bind(B.op.axis[0], BX)
        s[B].bind(inner, TX)

    text = rows(body)
    assert f"(\n    t: i32 in {choices},\n){where} {{" in text
    tools.check(text)


def test_candidates_of_three_loops():
    def body(cfg, s, B):
        cfg.define_split("t", B.op.axis[1], policy="candidate", candidate=[[-1, 4, 2], [-1, 2, 8]], num_outputs=3)
        a, b, c = cfg["t"].apply(s, B, B.op.axis[1])
        s[B].bind(B.op.axis[0], BX)
        s[B].bind(a, TX)

    text = rows(body)
    assert "where t_1 == 4 && t_2 == 2 || t_1 == 2 && t_2 == 8 {" in text
    tools.check(text, "-D", "t_1=2", "-D", "t_2=8")


def test_questions_that_earlier_answers_decide():
    def body(cfg, s, B):
        cfg.define_knob("n", [1, 4, 16])
        i, j = B.op.axis
        if cfg["n"].val > 2:
            if cfg["n"].val > 1:
                i, _ = s[B].split(i, factor=cfg["n"].val)
            if cfg["n"].val == 1:
                raise AssertionError("no point comes here")
        s[B].bind(i, BX)

    text = rows(body)
    assert (
        "  if n > 2 {\n    i_outer, i_inner = split(B.i, factor = n)\n    bind(i_outer, blockIdx.x)\n"
        "  } else {\n    bind(B.i, blockIdx.x)\n  }\n" in text
    )
    tools.check(text)


def test_numbers_computed_from_knobs():
    def body(cfg, s, B):
        cfg.define_knob("threads", [4, 8])
        cfg.define_knob("each", [1, 2])
        threads, each = cfg["threads"].val, cfg["each"].val
        outer, inner = s[B].split(B.op.axis[1], factor=threads * each)
        x, v = s[B].split(inner, nparts=threads)
        s[B].bind(B.op.axis[0], BX)
        s[B].bind(outer, TY)
        s[B].bind(x, te.thread_axis((0, threads), "threadIdx.x"))

    text = rows(body)
    assert "split(B.j, factor = threads * each)" in text
    tools.check(text)


def test_tasks():
    task = autotvm.task.create("conv1d_gpu", args=(256, 16), target="cuda")
    assert task.config_space.startswith("(\n    block: i32 in [32, 64, 128],")
    text = str(task.lower())
    assert "te.func @conv1d_gpu(A: f32[256], W: f32[16])" in text
    tools.check(text)
    space = tools.opt(text, None, "--list-space=te")
    assert "use_shared" in space
