"""What is refused: at the call, with its line, by words that help."""

import re

import pytest

import tirc.tvm as tvm
from tirc import te
from tirc.tvm import autotvm

BX, TX = te.thread_axis("blockIdx.x"), te.thread_axis("threadIdx.x")


class Parts:
    """Two stages to try directives on: `s[C]` reduces, `s[D]` is the result."""

    def __init__(self):
        self.A = te.placeholder((8, 12), name="A")
        self.k = te.reduce_axis((0, 12), "k")
        self.B = te.compute((8, 12), lambda i, j: self.A[i, j] * 2, name="B")
        self.C = te.compute((8,), lambda i: te.sum(self.B[i, self.k], axis=self.k), name="C")
        self.D = te.compute((8,), lambda i: self.C[i] + 1, name="D")
        self.s = te.create_schedule(self.D.op)
        self.i = self.D.op.axis[0]

    def lower(self):
        return te.lower(self.s, [self.A, self.D])


def refusal(function, *args):
    """The error of a call; it names the line of this file at which `tirc.te` was called."""
    with pytest.raises(te.TeError) as caught:
        function(*args)
    error = caught.value
    inner = [entry for entry in caught.traceback if entry.path.name == "test_refusals.py"][-1]
    assert (error.file, error.line) == ("test_refusals.py", inner.lineno + 1)
    assert str(error).startswith(f"test_refusals.py:{inner.lineno + 1}: ")
    return str(error)


EXPRESSIONS = [
    (lambda p: te.compute((8,), lambda i: p.A[i, 0] if i > 2 else 0.0), "Python cannot tell"),
    (lambda p: te.compute((8,), lambda i: p.A[i]), "a tensor is indexed|2 dimensions"),
    (lambda p: p.A[0, 1, 2], "has 2 dimensions, and 3 indices"),
    (lambda p: p.A[0, 0:2], "not by slices"),
    (lambda p: te.compute((8,), lambda i: "x"), "is no expression"),
    (lambda p: te.compute((8, 8), lambda i: 1.0), "takes 1 arguments, and the shape has 2"),
    (lambda p: te.compute((0,), lambda i: 1.0), "an extent is at least 1"),
    (lambda p: te.compute((8.5,), lambda i: 1.0), "an extent or index is an integer"),
    (lambda p: te.compute((8,), lambda i: te.sum(p.A[i, p.k], axis=p.k) + 1), "not the whole of an element"),
    (lambda p: te.compute((8,), lambda i: p.A[i, p.k]), "reads the reduction axis `k`"),
    (lambda p: te.compute((8,), lambda i: p.A[p.i, 0]), "reads the axis `i`, over which"),
    (lambda p: te.compute((8,), lambda i: p.A[TX, 0]), "launch coordinate"),
    (lambda p: te.compute((8,), lambda i: (p.A[i, 0], p.A[i, 1])), "several results"),
    (lambda p: te.sum(p.A[0, 0], axis=p.i), "runs over reduction axes|no type"),
    (lambda p: te.sum(p.A[0, 0], axis=[p.k, p.k]), "over an axis twice"),
    (lambda p: te.sum(p.A[0, 0], axis=[]), "over no axis"),
    (lambda p: te.sum(p.A[0, 0] > 1, axis=p.k), "of truth values"),
    (lambda p: te.sum(p.A[0, 0], axis=p.k, where=p.A[0, 0]), "a condition is a truth value"),
    (lambda p: te.sum(p.A[0, 0], axis=p.k, init=te.const(0, "int32")), "initial values"),
    (lambda p: te.reduce_axis((3, 3)), "has no steps"),
    (lambda p: te.reduce_axis((0, 8), thread_tag="threadIdx.x"), "thread tag"),
    (lambda p: te.placeholder((8,), dtype="float32x4"), "no element type `float32x4`"),
    (lambda p: te.placeholder((8,), name=3), "a name is a string"),
    (lambda p: (p.i - 9) / 2, "does not say how it rounds"),
    (lambda p: p.A[0, 0] // 2, "takes integers"),
    (lambda p: p.i // 0, "divides by zero"),
    (lambda p: tvm.tir.truncmod(p.i, 0), "divides by zero"),
    (lambda p: te.exp(p.i), "takes a float"),
    (lambda p: te.round(p.A[0, 0]), "halves away from zero"),
    (lambda p: te.power(p.i, 2), "takes floats"),
    (lambda p: te.all(), "condition of nothing"),
    (lambda p: te.all(p.i), "is a truth value"),
    (lambda p: p.A[0, 0].astype("float16") + p.A[0, 0].astype("bfloat16"), "no type in common"),
    (lambda p: te.const(1, "uint32") + te.const(1, "int32"), "no type in common"),
    (lambda p: range(p.i), "Python needs a number"),
    (lambda p: te.thread_axis("threadIdx.w"), "no launch coordinate"),
    (lambda p: te.thread_axis((0, 2), "cthread"), "cthread"),
    (lambda p: te.var("n", low=1), "both ends"),
    (lambda p: te.var("x", "float32", default=1), "only a size"),
    (lambda p: te.size_var("x", "float32"), "a size is"),
    (lambda p: te.extern((8,), [p.A], None), "`te` has no `extern`"),
    (lambda p: te.scan, "`te` has no `scan`"),
    (lambda p: te.hybrid, "a program of loops"),
    (lambda p: tvm.relay, "`tvm` has no `relay`"),
    (lambda p: tvm.tir.Schedule, "`tir` has no `Schedule`"),
    (lambda p: tvm.cpu(), "for NVIDIA GPUs"),
    (lambda p: tvm.target.Target("llvm"), "the target `llvm`"),
    (lambda p: tvm.transform.PassContext(config={"tir.disable_vectorize": True}), "the option"),
    (lambda p: tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_depth": 1}}), "auto_max_depth"),
    (lambda p: tvm.transform.PassContext(disabled_pass=["x"]), "choice of passes"),
]


@pytest.mark.parametrize(("call", "text"), EXPRESSIONS)
def test_expressions(call, text):
    message = refusal(call, Parts())
    assert re.search(text, message), message
    assert "\n  help: " in message


def split_then(p, word, *args):
    p.s[p.D].split(p.i, factor=2)
    return getattr(p.s[p.D], word)(p.i, *args)


def stale(p, word, *args):
    """A loop from before the stage was taken apart."""
    _, inner = p.s[p.D].split(p.i, factor=2)
    p.s.cache_write(p.D, "local")
    return getattr(p.s[p.D], word)(inner, *args)


def said(p, *words):
    for word, *args in words:
        getattr(p.s[p.D], word)(p.i, *args)


SCHEDULES = [
    (lambda p: te.create_schedule(p.A.op), "is an argument"),
    (lambda p: te.create_schedule([]), "a schedule of nothing"),
    (lambda p: te.create_schedule("C"), "is no operation"),
    (lambda p: p.s[te.placeholder((1,))], "has no stage"),
    (lambda p: p.s[p.A].split(p.i, factor=2), "`split` of `A`, an argument"),
    (lambda p: p.s[p.D].split(p.i), "takes one of `factor` and `nparts`"),
    (lambda p: p.s[p.D].split(p.i, factor=0), "the factor is 0"),
    (lambda p: p.s[p.D].split(p.i, factor=te.var("n")), "depends on a size"),
    (lambda p: p.s[p.D].split(p.k, factor=2), "`k` is no loop of `D`"),
    (lambda p: p.s[p.D].split("i", factor=2), "is no axis"),
    (lambda p: p.s[p.D].split(p.i, factor=2, disable_predication=True), "disable_predication"),
    (lambda p: split_then(p, "unroll"), "is split or fused already, to `i_outer` and `i_inner`"),
    (lambda p: stale(p, "unroll"), "`i_inner` is no loop of `D` any more"),
    (lambda p: stale(p, "bind", TX), "`i_inner` is no loop of `D` any more"),
    (lambda p: said(p, ("bind", BX), ("unroll",)), "`unroll` of `i`, which is bound to `blockIdx.x`"),
    (lambda p: said(p, ("unroll",), ("bind", BX)), "`bind` of `i`, which is unrolled"),
    (lambda p: p.s[p.C].fuse(p.C.op.axis[0], p.k), "an axis of data and one of a reduction"),
    (lambda p: p.s[p.C].fuse(), "of no loops"),
    (lambda p: p.s[p.D].tile(p.i, p.i, 2, 2), "given twice"),
    (lambda p: p.s[p.D].reorder(p.i, p.i), "names a loop twice"),
    (lambda p: p.s[p.D].bind(p.i, p.k), "bound to a thread axis"),
    (lambda p: p.s[p.C].bind(p.k, BX), "nothing orders the blocks"),
    (lambda p: p.s[p.D].bind(p.i, te.thread_axis((0, 4), "threadIdx.x")), "has 8 iterations, and the thread axis"),
    (lambda p: p.s[p.C].vectorize(p.k), "an axis of a reduction"),
    (lambda p: p.s[p.D].parallel(p.i), "for loops of CPUs"),
    (lambda p: p.s[p.D].prefetch(p.C, p.i, 1), "a hint to CPUs"),
    (lambda p: p.s[p.D].env_threads([TX]), "no `te.scan`"),
    (lambda p: p.s[p.D].rolling_buffer(), "rolling_buffer"),
    (lambda p: p.s[p.D].transform_layout(lambda i: [i]), "changes the loops too"),
    (lambda p: p.s[p.D].pragma(p.i, "import_llvm", "x"), "has no meaning on a GPU"),
    (lambda p: p.s[p.D].tensorize(p.i, "wmma"), "takes a tensor intrinsic"),
    (lambda p: p.s[p.D].compute_at(p.s[p.C], p.k), "is a result"),
    (lambda p: p.s[p.C].compute_at(p.s[p.B], p.B.op.axis[0]), "`B` does not read `C`"),
    (lambda p: p.s[p.C].compute_at(p.D, p.i), "takes a stage"),
    (lambda p: p.s[p.C].compute_inline(), "is a reduction, and cannot be inlined"),
    (lambda p: p.s[p.D].compute_inline(), "is a result, and cannot be inlined"),
    (lambda p: (p.s[p.B].unroll(p.B.op.axis[0]), p.s[p.B].compute_inline()), "`unroll` was said of it before"),
    (lambda p: (p.s[p.B].compute_inline(), p.s[p.B].unroll(p.B.op.axis[0])), "which is inlined"),
    (lambda p: p.s[p.D].set_scope("shared"), "is a result, and lies in global memory"),
    (lambda p: p.s[p.C].set_scope("warp"), "no storage scope `warp`"),
    (lambda p: p.s[p.D].storage_align(p.i, 4, 1), "a result"),
    (lambda p: p.s[p.C].storage_align(p.k, 4, 1), "an axis of the tensor `C`"),
    (lambda p: p.s[p.B].storage_align(p.B.op.axis[0], 4, -1), "offset is negative"),
    (lambda p: p.s[p.D].double_buffer(), "a result"),
    (lambda p: p.s[p.C].set_store_predicate(p.k < 2), "an axis of the reduction"),
    (lambda p: p.s[p.D].set_store_predicate(p.i // 100 == 0), "by something else than 1 to 62"),
    (lambda p: p.s[p.D].set_store_predicate(p.A[0, 0] > 0), "of something else than loops"),
    (lambda p: p.s.cache_read(p.A, "shared", [p.D]), "`D` does not read `A`"),
    (lambda p: p.s.cache_read(p.A, "shared", []), "nothing reads"),
    (lambda p: p.s.cache_read(p.A.op, "shared", [p.B]), "is no tensor"),
    (lambda p: p.s.cache_read(p.A, "vmem", [p.B]), "no storage scope"),
    (lambda p: p.s.cache_write(p.A, "local"), "`cache_write` of `A`, an argument"),
    (lambda p: (p.s[p.C].set_scope("shared"), p.s.cache_write(p.C, "local")), "after `set_scope`, which would be lost"),
    (lambda p: (p.s[p.C].bind(p.k, TX), p.s.rfactor(p.C, p.k)), "would be lost"),
    (lambda p: (p.s[p.C].split(p.k, factor=2), p.s.cache_write(p.C, "local")), "whose reduction is split or moved"),
    (
        lambda p: (p.s[p.B].compute_at(p.s[p.C], p.k), p.s.cache_write(p.C, "local")),
        "at whose loop `k` `B` is computed",
    ),
    (lambda p: p.s.rfactor(p.D, p.i), "is no reduction that the operator declares"),
    (lambda p: p.s.rfactor(p.C, p.C.op.axis[0]), "is a loop over data"),
    (lambda p: p.s.rfactor(p.C, p.k, factor_axis=3), "it is -2 to 1"),
    (lambda p: (p.s[p.C].split(p.C.op.axis[0], factor=2), p.s.rfactor(p.C, p.k)), "would be lost"),
    (lambda p: p.s.create_group([p.C], [p.B]), "create_group"),
    (lambda p: te.lower(p.s, p.D), "takes the list of arguments"),
    (lambda p: te.lower(p.D, [p.D]), "no schedule of te"),
    (lambda p: te.lower(p.s, [p.A]), "`D` is a result, and is not among"),
    (lambda p: te.lower(p.s, [p.D]), "`A` is read, and is not among"),
    (lambda p: te.lower(p.s, [p.A, p.D, p.D]), "twice among the arguments"),
    (lambda p: te.lower(p.s, [p.A, p.C, p.D]), "`C` is computed on the way"),
    (lambda p: te.lower(p.s, [p.A, p.D, "n"]), "is no argument"),
    (lambda p: te.lower(p.s, [p.A, p.D], binds={p.A: None}), "`binds`"),
]


@pytest.mark.parametrize(("call", "text"), SCHEDULES)
def test_directives(call, text):
    p = Parts()
    message = refusal(call, p)
    assert re.search(text, message), message
    assert "\n  help: " in message


def kernel(p):
    block, thread = p.s[p.D].split(p.i, factor=4)
    p.s[p.D].bind(block, BX)
    p.s[p.D].bind(thread, TX)
    return block, thread


def whole_not_inside(p):
    p.s[p.B].compute_at(p.s[p.D], p.i)


def whole_at_the_root(p):
    kernel(p)
    p.s[p.C].set_scope("shared")


def whole_outside_of_threads(p):
    block, _ = kernel(p)
    p.s[p.C].set_scope("local")
    p.s[p.C].compute_at(p.s[p.D], block)


def whole_global_in_a_kernel(p):
    block, _ = kernel(p)
    p.s[p.C].set_scope("global")
    p.s[p.C].compute_at(p.s[p.D], block)


def whole_double_buffer(p):
    kernel(p)
    p.s[p.B].double_buffer()


def whole_data_inside_of_threads(p):
    p.s[p.C].bind(p.k, TX)
    p.s[p.C].reorder(p.k, p.C.op.axis[0])


def whole_inlined_owner(p):
    p.s[p.B].compute_inline()
    AS = p.s.cache_read(p.A, "shared", [p.B])
    p.s[AS].compute_at(p.s[p.B], p.B.op.axis[0])


def whole_predicate_of_a_split_loop(p):
    p.s[p.D].set_store_predicate(p.i < 2)
    p.s[p.D].split(p.i, factor=2)


def whole_predicate_of_an_unbound_thread(p):
    p.s[p.D].set_store_predicate(TX.var.equal(0))


def whole_a_kernel_in_a_loop(p):
    p.s[p.B].bind(p.B.op.axis[1], BX)


def whole_a_reduction_of_all_threads(p):
    block, _ = kernel(p)
    p.s[p.C].set_scope("shared")
    p.s[p.C].compute_at(p.s[p.D], block)


def whole_private_threads(p):
    _, thread = kernel(p)
    p.s[p.B].compute_at(p.s[p.D], thread)
    p.s[p.C].compute_at(p.s[p.D], thread)
    p.s[p.B].bind(p.B.op.axis[1], te.thread_axis("threadIdx.y"))


WHOLE = [
    (whole_not_inside, "is not computed inside `i` of `D`"),
    (whole_at_the_root, "outside the kernel of `D`"),
    (whole_outside_of_threads, "of which each `i_inner` of `D` has its own"),
    (whole_global_in_a_kernel, "no barrier orders them"),
    (whole_double_buffer, "not computed inside a serial loop"),
    (whole_data_inside_of_threads, "over data is inside"),
    (whole_inlined_owner, "which is inlined"),
    (whole_predicate_of_a_split_loop, "which a later directive split or fused"),
    (whole_predicate_of_an_unbound_thread, "not bound around it"),
    (whole_a_kernel_in_a_loop, "would launch it over and over"),
    (whole_a_reduction_of_all_threads, "all add to the same buffer"),
    (whole_private_threads, "not divided among them"),
]


@pytest.mark.parametrize(("function", "text"), WHOLE)
def test_schedules_as_a_whole(function, text):
    """What only the whole schedule shows is refused when it is lowered, with the line of the guilty directive."""
    p = Parts()
    function(p)
    with pytest.raises(te.TeError, match=text) as caught:
        p.lower()
    lines = function.__code__.co_firstlineno, kernel.__code__.co_firstlineno
    assert any(first < caught.value.line < first + 8 for first in lines)


def test_sizes():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], TX)
    with pytest.raises(te.TeUnsupported, match="its extent depends on a size"):
        te.lower(s, [A, B])
    m = te.var("m")
    C = te.compute((8,), lambda i: A[i] + m, name="C")
    with pytest.raises(te.TeValueError, match="no argument tells what `m` is"):
        te.lower(te.create_schedule(C.op), [A, C])


def template(body):
    """Runs a template over an operator of 64 elements."""

    @autotvm.template("t")
    def run():
        A = te.placeholder((64,), name="A")
        B = te.compute((64,), lambda i: A[i] * 2, name="B")
        s = te.create_schedule(B.op)
        body(autotvm.get_config(), s, B)
        return s, [A, B]

    return run()


def many(cfg, s, B):
    for nth in range(10):
        cfg.define_knob(f"k{nth}", [True, False])
        if cfg[f"k{nth}"].val:
            s[B].pragma(B.op.axis[0], "auto_unroll_max_step", nth)


def rejecting(cfg, s, B):
    for nth in range(10):
        cfg.define_knob(f"k{nth}", [True, False])
    if sum(int(bool(cfg[f"k{nth}"].val)) for nth in range(10)) < 10:
        cfg.raise_error("all of them")


TEMPLATES = [
    (lambda cfg, s, B: cfg.define_knob("a", []), "has no choice"),
    (lambda cfg, s, B: cfg.define_knob("a", ["x", "y"]), "neither integers nor truth values"),
    (lambda cfg, s, B: (cfg.define_knob("a", [1]), cfg.define_knob("a", [2])), "defined twice"),
    (lambda cfg, s, B: cfg.define_knob("B", [1, 2]), "is a knob, and a tensor"),
    (lambda cfg, s, B: cfg["a"], "there is no knob `a`"),
    (lambda cfg, s, B: cfg.define_split("a", B.op.axis[0], policy="primes"), "the policy `primes`"),
    (lambda cfg, s, B: cfg.define_split("a", B.op.axis[0], num_outputs=1), "is split into 1 loops"),
    (lambda cfg, s, B: cfg.define_split("a", B.op.axis[0], tail=1), "`define_split` with `tail`"),
    (lambda cfg, s, B: cfg.define_split("a", B.op.axis[0], policy="candidate"), "rows of one length"),
    (lambda cfg, s, B: cfg.define_reorder("a", [B.op.axis[0]]), "define_reorder"),
    (lambda cfg, s, B: cfg.define_annotate("a", [B.op.axis[0]]), "define_annotate"),
    (lambda cfg, s, B: cfg.raise_error("never"), "rejects all points"),
    (lambda cfg, s, B: (cfg.define_knob("a", [1, 2]), range(cfg["a"].val)), "Python needs a number"),
    (lambda cfg, s, B: te.create_schedule(B.op), "makes two schedules"),
    (many, "more than 256 paths"),
    (rejecting, "more than 256 paths"),
]


@pytest.mark.filterwarnings("ignore::tirc.te.TeWarning")
@pytest.mark.parametrize(("body", "text"), TEMPLATES)
def test_templates(body, text):
    with pytest.raises(te.TeError, match=text):
        template(body)


def test_a_directive_after_the_template():
    s, (A, B) = template(lambda cfg, s, B: cfg.define_knob("n", [1, 2]))
    with pytest.raises(te.TeUnsupported, match="after the template `t` has returned"):
        s[B].bind(B.op.axis[0], BX)


def test_a_knob_that_changes_the_operator():
    @autotvm.template("t")
    def run():
        cfg = autotvm.get_config()
        cfg.define_knob("twice", [True, False])
        A = te.placeholder((64,), name="A")
        B = te.compute((64,), lambda i: A[i] * (2 if cfg["twice"].val else 1), name="B")
        return te.create_schedule(B.op), [A, B]

    with pytest.raises(te.TeUnsupported, match="changes what is computed"):
        run()


def test_other_uses_of_autotvm():
    with pytest.raises(te.TeValueError, match="outside of a template"):
        autotvm.get_config()
    with pytest.raises(te.TeError, match="tc-tune FILE @te"):
        autotvm.tuner
    with pytest.raises(te.TeValueError, match="no template `none`"):
        autotvm.task.create("none", (), "cuda")


def test_missing_names_are_missing():
    assert not hasattr(te, "scan") and not hasattr(te, "__wrapped__")
    with pytest.raises(ImportError):
        from tirc.te import hybrid  # noqa: F401
