"""Directives: the line that each method writes, and that the compiler takes it."""

import pytest
import tools

from tirc import te

BX, BY = te.thread_axis("blockIdx.x"), te.thread_axis("blockIdx.y")
TX, TY = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")


class Product:
    """A product of matrices, whose result goes through another stage."""

    def __init__(self):
        self.A, self.B = te.placeholder((32, 40), name="A"), te.placeholder((40, 24), name="B")
        self.k = te.reduce_axis((0, 40), "k")
        self.C = te.compute((32, 24), lambda i, j: te.sum(self.A[i, self.k] * self.B[self.k, j], axis=self.k), name="C")
        self.D = te.compute((32, 24), lambda i, j: self.C[i, j] + 1, name="D")
        self.s = te.create_schedule(self.D.op)

    def lines(self):
        """The directives, once the compiler has taken them."""
        text = te.lower(self.s, [self.A, self.B, self.D]).text
        tools.opt(text, "module(schedule)")
        body = text[text.index("schedule @te") :].splitlines()
        return [line.strip() for line in body[1:-1]]

    def check(self):
        tools.check(te.lower(self.s, [self.A, self.B, self.D]).text)


@pytest.fixture
def p():
    return Product()


def test_split_fuse_tile_reorder(p):
    s, (i, j) = p.s, p.D.op.axis
    io, ii = s[p.D].split(i, factor=8)
    jo, ji = s[p.D].split(j, nparts=3)
    s[p.D].reorder(jo, io, ii, ji)
    oi = s[p.D].fuse(jo, io)
    # Of two neighbours the outer one is outer, as in TVM.
    s[p.D].fuse(ji, ii)
    s[p.C].tile(*p.C.op.axis, 4, 8)
    assert oi.name == "j.outer.i.outer.fused"
    assert p.lines() == [
        "i_outer, i_inner = split(D.i, factor = 8)",
        "j_outer, j_inner = split(D.j, nparts = 3)",
        "reorder(j_outer, i_outer, i_inner, j_inner)",
        "j_outer_i_outer_fused = fuse(j_outer, i_outer)",
        "i_inner_j_inner_fused = fuse(i_inner, j_inner)",
        "C_i_outer, C_j_outer, C_i_inner, C_j_inner = tile(C.i, C.j, 4, 8)",
    ]
    assert [axis.name for axis in s[p.D].leaf_iter_vars] == ["j.outer.i.outer.fused", "i.inner.j.inner.fused"]


def test_an_order_that_is_there_already_writes_nothing(p):
    p.s[p.D].reorder(*p.D.op.axis)
    assert p.lines() == []


def test_bind_vectorize_unroll_pragma(p):
    s, (i, j) = p.s, p.D.op.axis
    jo, ji = s[p.D].split(j, factor=4)
    s[p.D].bind(i, BX)
    s[p.D].bind(jo, te.thread_axis((0, 6), "threadIdx.x"))
    s[p.D].vectorize(ji)
    s[p.C].compute_at(s[p.D], jo)
    ko, ki = s[p.C].split(p.k, factor=8)
    s[p.C].unroll(ki)
    s[p.C].pragma(ko, "auto_unroll_max_step", 16)
    s[p.C].pragma(ko, "unroll_explicit", True)
    s[p.C].pragma(ko, "loop_partition_hint")
    assert p.lines() == [
        "j_outer, j_inner = split(D.j, factor = 4)",
        "bind(D.i, blockIdx.x)",
        "bind(j_outer, threadIdx.x)",
        "vectorize(j_inner)",
        "compute_at(C, j_outer)",
        "k_outer, k_inner = split(C.k, factor = 8)",
        "unroll(k_inner)",
        "pragma(k_outer, auto_unroll_max_step = 16)",
        "pragma(k_outer, unroll_explicit = true)",
        "pragma(k_outer, loop_partition_hint = true)",
    ]
    p.check()


def test_virtual_threads_of_any_number(p):
    s, (i, j) = p.s, p.D.op.axis
    vi, ii = s[p.D].split(i, nparts=2)
    s[p.D].reorder(vi, j, ii)
    s[p.D].bind(vi, te.thread_axis((0, 2), "vthread", name="vx"))
    s[p.D].bind(j, TX)
    s[p.C].compute_at(s[p.D], j)
    assert "bind(i_outer, vthread)" in p.lines()
    p.check()


def test_caches(p):
    s = p.s
    CL = s.cache_write(p.C, "local")
    AS = s.cache_read(p.A, "shared", [CL])
    AL = s.cache_read(AS, "local", CL)
    assert (CL.op.name, AS.op.name, AL.op.name) == ("C.local", "A.shared", "A.shared.local")
    assert [axis.name for axis in CL.op.axis] == ["i.c", "j.c"]
    # As in TVM, the axes of the reduction are the same objects, those of the data are not.
    assert s[CL].op.reduce_axis[0] is p.k and s[p.C].op.axis[0] is p.C.op.axis[0]
    assert s[p.C].op.reduce_axis == []
    s[p.C].bind(p.C.op.axis[0], BX)
    s[p.C].bind(s[p.C].op.axis[1], TX)
    s[CL].compute_at(s[p.C], p.C.op.axis[1])
    ko, ki = s[CL].split(p.k, factor=10)
    s[AS].compute_at(s[CL], ko)
    s[AL].compute_at(s[CL], ki)
    s[AS].bind(AS.op.axis[1], TX)
    s[p.D].bind(p.D.op.axis[0], BX)
    assert p.lines()[:3] == [
        "C_local = cache_write(C, local)",
        "A_shared = cache_read(A, shared, [C_local])",
        "A_shared_local = cache_read(A_shared, local, [C_local])",
    ]


def test_a_cache_of_a_scheduled_stage_takes_its_loops(p):
    s, (i, j) = p.s, p.C.op.axis
    io, ii = s[p.C].split(i, factor=8)
    s[p.C].reorder(io, j, ii)
    CG = s.cache_write(p.C, "global")
    assert len(CG.shape) == 3 and [axis.name for axis in s[p.C].op.axis] == ["i", "j"]
    s[CG].bind(CG.op.axis[0], BX)
    s[p.C].bind(s[p.C].op.axis[0], BX)
    s[p.D].bind(p.D.op.axis[0], BX)
    assert "bind(C_global.i_outer, blockIdx.x)" in p.lines()
    p.check()


def test_a_cache_of_the_result_can_be_attached(p):
    s, (i, j) = p.s, p.D.op.axis
    DL = s.cache_write(p.D, "local")
    s[p.D].bind(i, BX)
    s[p.D].bind(j, TX)
    s[DL].compute_at(s[p.D], j)
    s[p.C].compute_at(s[p.D], j)
    p.check()


def test_inline_and_root(p):
    s = p.s
    scaled = te.compute((32, 40), lambda i, j: p.A[i, j] * 2, name="scaled")
    k = te.reduce_axis((0, 40), "k")
    C = te.compute((32,), lambda i: te.sum(scaled[i, k], axis=k), name="C")
    s = te.create_schedule(C.op)
    s[scaled].compute_inline()
    s[C].compute_root()
    s[C].bind(C.op.axis[0], BX)
    text = te.lower(s, [p.A, C]).text
    assert "  inline(scaled)\n  compute_root(C)\n" in text
    tools.check(text)


def test_set_scope_align_double_buffer(p):
    s, (i, j) = p.s, p.D.op.axis
    s[p.D].bind(i, BX)
    s[p.D].bind(j, TX)
    CL = s.cache_write(p.C, "local")
    s[p.C].set_scope("local")
    s[p.C].compute_at(s[p.D], j)
    s[CL].compute_at(s[p.D], j)
    AS = s.cache_read(p.A, "shared", [CL])
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=8)
    s[AS].compute_at(s[CL], ko)
    s[AS].storage_align(AS.op.axis[0], 8, 1)
    s[AS].double_buffer()
    s[AS].bind(AS.op.axis[1], TX)
    written = p.lines()
    assert {
        "set_scope(C, local)",
        "storage_align(A_shared.ax0, factor = 8, offset = 1)",
        "double_buffer(A_shared)",
    } <= set(written)
    p.check()


def test_rfactor_and_a_predicate():
    A = te.placeholder((16, 1000), name="A")
    k = te.reduce_axis((0, 1000), "k")
    S = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="S")
    s = te.create_schedule(S.op)
    ko, ki = s[S].split(S.op.reduce_axis[0], factor=32)
    F = s.rfactor(S, ki)
    assert [axis.name for axis in F.op.axis] == ["k.inner", "i"]
    assert [axis.name for axis in s[S].op.reduce_axis] == ["k.inner.v"]
    s[S].bind(s[S].op.axis[0], BX)
    s[S].bind(s[S].op.reduce_axis[0], TX)
    s[F].compute_at(s[S], s[S].op.reduce_axis[0])
    s[S].set_store_predicate(TX.var.equal(0))
    text = te.lower(s, [A, S]).text
    assert text.endswith(
        "  k_outer, k_inner = split(S.k, factor = 32)\n"
        "  S_rf = rfactor(S, k_inner)\n"
        "  bind(S.i, blockIdx.x)\n"
        "  bind(S.k_inner, threadIdx.x)\n"
        "  compute_at(S_rf, S.k_inner)\n"
        "  set_store_predicate(S, threadIdx.x == 0)\n"
        "}\n"
    )
    tools.check(text)


def test_rfactor_of_the_whole_reduction_at_the_end():
    A = te.placeholder((16, 40), name="A")
    k = te.reduce_axis((0, 40), "k")
    S = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="S")
    s = te.create_schedule(S.op)
    F = s.rfactor(S, k, factor_axis=-1)
    assert [axis.name for axis in F.op.axis] == ["i", "k"]
    s[F].bind(F.op.axis[0], BX)
    s[S].bind(S.op.axis[0], BX)
    text = te.lower(s, [A, S]).text
    assert "S_rf = rfactor(S, S.k, factor_axis = -1)" in text
    tools.check(text)


def test_rfactor_of_several_values():
    A = te.placeholder((16, 40), name="A")
    k = te.reduce_axis((0, 40), "k")
    best = te.comm_reducer(
        lambda x, y: (te.Select(x[1] >= y[1], x[0], y[0]), te.max(x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="best",
    )
    at, value = te.compute((16,), lambda i: best((k, A[i, k]), axis=k), name="V")
    s = te.create_schedule(at.op)
    _, ki = s[at].split(k, factor=8)
    parts = s.rfactor(at, ki)
    assert len(parts) == 2
    s[parts[0]].bind(parts[0].op.axis[0], BX)
    s[at].bind(at.op.axis[0], BX)
    text = te.lower(s, [A, at, value]).text
    assert "V_v0_rf" in text or "V_rf" in text
    tools.opt(text, "module(schedule)")


def test_predicates_of_loops(p):
    s, (i, j) = p.s, p.D.op.axis
    s[p.D].set_store_predicate(te.all(i >= 2, i * 2 + j < 60))
    assert p.lines() == ["set_store_predicate(D, i >= 2 && i * 2 + j < 60)"]


def test_lines_of_the_program(p):
    p.s[p.D].bind(p.D.op.axis[0], BX)
    lowered = te.lower(p.s, [p.A, p.B, p.D], name="f", schedule_name="mine")
    assert "schedule @mine for @f {\n  bind(D.i, blockIdx.x)  // test_schedules.py:" in lowered.annotated
    assert "//" not in lowered.text
    tools.opt(lowered.annotated)


def test_names_of_tensors_that_meet():
    A = te.placeholder((8,), name="B_local")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    s.cache_write(B, "local")
    io, _ = s[B].split(B.op.axis[0], factor=4)
    s[B].bind(io, BX)
    s[s.stages[1].tensors[0]].compute_at(s[B], io)
    text = te.lower(s, [A, B]).text
    assert "B_local_1 = cache_write(B, local)" in text
    tools.check(text)


def test_several_results():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((8, 8), lambda i, j: B[j, i] * 2, name="C")
    s = te.create_schedule([C.op, B.op])
    for stage in (B, C):
        s[stage].bind(stage.op.axis[0], BX)
    text = te.lower(s, [A, C, B]).text
    assert "-> (f32[8, 8], f32[8, 8]) {" in text and "return C, B" in text
    tools.check(text)


def test_automatic_inlining():
    A = te.placeholder((8, 6), name="A")
    bias = te.placeholder((6,), name="bias")
    elementwise = te.compute((8, 6), lambda i, j: A[i, j] * 2, name="elementwise")
    broadcast = te.compute((8, 6), lambda i, j: elementwise[i, j] + bias[j], name="sum", tag="broadcast_add")
    turned = te.compute((6, 8), lambda i, j: broadcast[j, i], name="turned")
    k = te.reduce_axis((0, 8), "k")
    total = te.compute((6,), lambda i: te.sum(turned[i, k], axis=k), name="total")
    out = te.compute((6,), lambda i: total[i] + 1, name="out")

    def inlined(inline, *bound):
        s = te.create_schedule(out.op)
        for tensor in bound:
            s[tensor].bind(tensor.op.axis[0], BX)
        inline(s)
        return [line.strip() for line in te.lower(s, [A, bias, out]).text.splitlines() if "inline" in line]

    assert inlined(te.schedule.AutoInlineElemWise) == ["inline(elementwise)"]
    assert inlined(te.schedule.AutoInlineBroadcast) == ["inline(sum)"]
    assert inlined(te.schedule.AutoInlineInjective) == ["inline(elementwise)", "inline(sum)", "inline(turned)"]
    assert inlined(te.schedule.AutoInlineInjective, turned) == ["inline(elementwise)", "inline(sum)"]
    with pytest.raises(te.TeError, match="`te.schedule` has no `InferBound`"):
        te.schedule.InferBound


def test_what_is_said_of_a_loop_is_lost_when_it_is_split(p):
    """As in TVM, whose documents bind an axis and split it afterwards; here there is a warning."""
    s, (i, j) = p.s, p.D.op.axis
    s[p.D].bind(i, BX)
    s[p.D].unroll(j)
    with pytest.warns(te.TeWarning, match="`i` of `D` was bound to `blockIdx.x`, which has no effect after `split`"):
        io, ii = s[p.D].split(i, factor=8)
    with pytest.warns(te.TeWarning, match="`j` of `D` was unrolled, which has no effect after `fuse`"):
        ij = s[p.D].fuse(ii, j)
    s[p.D].bind(io, BX)
    s[p.D].bind(ij, TX)
    with pytest.warns(te.TeWarning, match="was bound to `threadIdx.x` before"):
        s[p.D].bind(ij, TY)
    assert p.lines() == [
        "i_outer, i_inner = split(D.i, factor = 8)",
        "i_inner_j_fused = fuse(i_inner, D.j)",
        "bind(i_outer, blockIdx.x)",
        "bind(i_inner_j_fused, threadIdx.y)",
    ]


def test_what_is_said_of_an_axis_holds_of_the_copy(p):
    """As in TVM: `cache_write` leaves the axes of the tensor to the copy, with what was said of them."""
    s, (i, j) = p.s, p.C.op.axis
    s[p.C].bind(i, BX)
    s[p.C].bind(j, TX)
    s[p.C].unroll(p.k)
    with pytest.warns(te.TeWarning, match="`k` of `C` was unrolled, which has no effect after `cache_write`"):
        CL = s.cache_write(p.C, "local")
    s[CL].compute_at(s[p.C], j)
    s[p.D].bind(p.D.op.axis[0], BX)
    assert p.lines() == [
        "C_local = cache_write(C, local)",
        "bind(C.i, blockIdx.x)",
        "bind(C.j, threadIdx.x)",
        "compute_at(C_local, C.j)",
        "bind(D.i, blockIdx.x)",
    ]
    p.check()


def test_a_binding_that_a_split_lost_comes_back_with_the_axis(p):
    """TVM keeps it with the axis, which `cache_write` makes a loop again."""
    s, (i, j) = p.s, p.C.op.axis
    s[p.C].bind(i, BX)
    with pytest.warns(te.TeWarning):
        s[p.C].split(i, factor=8)
    s.cache_write(p.C, "global")
    assert p.lines() == [
        "i_outer, i_inner = split(C.i, factor = 8)",
        "C_global = cache_write(C, global)",
        "bind(C.i, blockIdx.x)",
    ]
