"""Operators: expressions, types, sizes, reductions, and their text."""

import functools

import pytest
import tools

from tirc import te
from tirc.tvm import tir


def kernel(tensor):
    """A schedule with one thread for each element of the first axis."""
    s = te.create_schedule(tensor.op)
    axis = tensor.op.axis[0]
    for other in s.operator.order:
        if other.input_tensors:
            block, thread = s[other].split(other.axis[0] if other is not tensor.op else axis, factor=32)
            s[other].bind(block, te.thread_axis("blockIdx.x"))
            s[other].bind(thread, te.thread_axis("threadIdx.x"))
    return s


def line(tensor, *args):
    """The text of the last `compute` of an operator."""
    text = te.lower(te.create_schedule(tensor.op), [*args, tensor]).text
    tools.opt(text)
    found = [one.strip() for one in text.replace("=\n    ", "= ").splitlines() if one.strip().startswith("compute")]
    return found[-1].split(" = ", 1)[1]


@pytest.fixture
def A():
    return te.placeholder((64,), name="A")


@pytest.fixture
def H():
    return te.placeholder((64,), name="H", dtype="float16")


@pytest.fixture
def N():
    return te.placeholder((64,), name="N", dtype="int32")


def element(function, *tensors):
    return line(te.compute((64,), lambda i: function(i, *(tensor[i] for tensor in tensors)), name="B"), *tensors)


CASES = [
    (lambda i, a: a * 2 + 1, "A[i] * 2.0 + 1.0"),
    (lambda i, a: (a + 1) * (a - 1), "(A[i] + 1.0) * (A[i] - 1.0)"),
    (lambda i, a: a - (a - 1), "A[i] - (A[i] - 1.0)"),
    (lambda i, a: 1 / a, "1.0 / A[i]"),
    (lambda i, a: -a * 2, "-A[i] * 2.0"),
    (lambda i, a: a + i, "A[i] + cast<f32>(i)"),
    (lambda i, a: te.exp(a) + te.tanh(a), "exp(A[i]) + tanh(A[i])"),
    (lambda i, a: te.sigmoid(a) * te.rsqrt(a), "sigmoid(A[i]) * rsqrt(A[i])"),
    (lambda i, a: te.power(te.abs(a), 2.0), "pow(abs(A[i]), 2.0)"),
    (lambda i, a: te.nearbyint(a), "round(A[i])"),
    (lambda i, a: te.max(a, 0), "max(A[i], 0.0)"),
    (lambda i, a: te.max(te.min(a, 1), te.const(0.0)), "max(min(A[i], 1.0), 0.0)"),
    (lambda i, a: te.if_then_else(te.all(i > 1, a > 0), a, 0.0), "if_then_else(i > 1 && A[i] > 0.0, A[i], 0.0)"),
    (lambda i, a: te.Select(te.any(i > 1, tir.Not(a > 0)), a, 0.0), "select(i > 1 || !(A[i] > 0.0), A[i], 0.0)"),
    (
        lambda i, a: tir.And(i > 1, tir.Or(i < 9, a < 1)).astype("float32"),
        "select(i > 1 && (i < 9 || A[i] < 1.0), 1.0, 0.0)",
    ),
    (lambda i, a: (i // 4 * 4 + i % 4).astype("float32") * a, "cast<f32>(i / 4 * 4 + i % 4) * A[i]"),
    (lambda i, a: a * te.min_value("float32"), "A[i] * -3.4028234663852886e+38"),
    (lambda i, a: a + te.infinity("float32"), "A[i] + inf"),
    (lambda i, a: a.astype("float16").astype("float32"), "cast<f32>(cast<f16>(A[i]))"),
    (lambda i, a: (a != 0).astype("float32"), "select(A[i] != 0.0, 1.0, 0.0)"),
    (lambda i, a: a.astype("bool").astype("int32"), "select(A[i] != 0.0, 1i32, 0i32)"),
    (lambda i, a: tir.truncdiv(i - 8, 3), "cast<i32>(tdiv(i - 8, 3))"),
    (lambda i, a: i * 1 + 0, "cast<i32>(i)"),
    (lambda i, a: a * (3 + 4), "A[i] * 7.0"),
]


@pytest.mark.parametrize(("function", "text"), CASES)
def test_expressions_of_floats(function, text, A):
    assert element(function, A) == text


def test_types_follow_tvm(A, H, N):
    # A float of Python is a `float32`, and wins over `float16`; an int takes the type of the other operand.
    assert element(lambda i, h: h + 1.0, H) == "cast<f32>(H[i]) + 1.0"
    assert element(lambda i, h: h + 1, H) == "H[i] + 1.0"
    assert element(lambda i, h, a: h * a, H, A) == "cast<f32>(H[i]) * A[i]"
    assert element(lambda i, n: n + i, N) == "N[i] + cast<i32>(i)"
    assert element(lambda i, n: n // 2 + (n << 1), N) == "N[i] / 2 + (N[i] << 1)"
    assert element(lambda i, n: (n & 3) | (n ^ 1), N) == "N[i] & 3 | N[i] ^ 1"
    assert element(lambda i, n: ~n, N) == "N[i] ^ -1"
    assert element(lambda i, n: te.popcount(n), N) == "popcount(N[i])"
    assert element(lambda i, n, a: n * a, N, A) == "cast<f32>(N[i]) * A[i]"


@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "float8_e4m3",
        "float8_e5m2",
    ],
)
def test_every_type_is_copied(dtype):
    A = te.placeholder((40,), name="A", dtype=dtype)
    B = te.compute((40,), lambda i: A[39 - i], name="B")
    assert B.dtype == dtype
    tools.check(te.lower(kernel(B), [A, B]).text)


def test_indices_of_data(A, N):
    B = te.compute((64,), lambda i: A[tir.floormod(N[i], 64)], name="B")
    text = te.lower(kernel(B), [A, N, B]).text
    assert "A[cast<index>(N[i] % 64)]" in text
    tools.check(text)


def test_names_are_legal_and_unique():
    size = te.size_var("n")
    A = te.placeholder((size, 8), name="in")
    B = te.compute((size, 8), lambda n, A_: A[n, A_] + 1, name="A.b")
    C = te.compute((size, 8), lambda i, j: B[i, j] * 2, name="A.b")
    D = te.compute((size, 8), lambda f32, i: C[f32, i] - 1, name="8x")
    text = te.lower(te.create_schedule(D.op), [A, D], name="a.b").text
    assert "te.func @a_b<n>(in_: f32[n, 8]) -> f32[n, 8] {" in text
    assert "compute A_b[n_1: n, A_: 8] = in_[n_1, A_] + 1.0" in text
    assert "compute A_b_1[i: n, j: 8] = A_b[i, j] * 2.0" in text
    assert "compute x8x[f32_: n, i: 8] = A_b_1[f32_, i] - 1.0" in text
    tools.opt(text, "module(schedule)")


def test_sizes_and_scalars():
    n, m = te.var("n"), te.size_var("m", low=1, high=4097, default=100)
    alpha = te.var("alpha", "float32")
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, (m + 1) // 2), lambda i, j: A[i, te.min(j * 2, m - 1)] * alpha + n, name="B")
    s = kernel(B)
    text = te.lower(s, [n, alpha, A, B], name="f").text
    assert "te.func @f<n, m: 1..4097 = 100>(alpha: f32[], A: f32[n, m]) -> f32[n, (m + 1) / 2] {" in text
    tools.check(text)


def test_a_result_without_dimensions():
    A = te.placeholder((100,), name="A")
    k = te.reduce_axis((0, 100), "k")
    B = te.compute((), lambda: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=32)
    s[B].bind(ki, te.thread_axis("threadIdx.x"))
    text = te.lower(s, [A, B]).text
    assert "compute B[] = sum[k: 100](A[k])" in text
    tools.check(text)


def test_reductions():
    A = te.placeholder((16, 20), name="A")
    C = te.placeholder((16,), name="C")
    k, r = te.reduce_axis((2, 20), "k"), te.reduce_axis((0, 3), "k")
    B = te.compute((16,), lambda i: te.sum(A[i, k] * r, axis=[k, r], where=k > i, init=C[i]), name="B")
    text = te.lower(kernel(B), [A, C, B]).text
    assert "sum[k: 2..20, k_1: 3](A[i, k] * cast<f32>(k_1), where = k > i, init = C[i])" in text
    tools.check(text)
    for reducer, word in ((te.max, "max"), (te.min, "min")):
        k = te.reduce_axis((0, 20), "k")
        B = te.compute((16,), lambda i: reducer(A[i, k], axis=k), name="B")
        assert line(B, A) == f"{word}[k: 20](A[i, k])"


def test_a_bound_that_follows_the_element():
    A = te.placeholder((16, 16), name="A")

    def row(i):
        k = te.reduce_axis((0, i + 1), "k")
        return te.sum(A[i, k], axis=k)

    B = te.compute((16,), row, name="B")
    text = te.lower(kernel(B), [A, B]).text
    assert "sum[k: i + 1](A[i, k])" in text
    tools.check(text)


def test_combiners():
    A = te.placeholder((10, 12), name="A")
    k = te.reduce_axis((0, 12), "k")
    product = te.comm_reducer(lambda x, y: x * y, lambda t: te.const(1, t), name="mul")
    B = te.compute((10,), lambda i: product(A[i, k], axis=k), name="B")
    text = te.lower(kernel(B), [A, B]).text
    assert "te.combiner @mul(a0: f32, b0: f32) {" in text
    tools.check(text)
    first = te.comm_reducer(
        lambda x, y: (te.Select(x[1] >= y[1], x[0], y[0]), te.Select(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    at, value = te.compute((10,), lambda i: first((k, A[i, k]), axis=k), name="best")
    s = te.create_schedule(at.op)
    s[at].bind(at.op.axis[0], te.thread_axis("threadIdx.x"))
    text = te.lower(s, [A, at, value]).text
    assert "compute best_v0, best_v1[i: 10] = argmax[k: 12](cast<i32>(k), A[i, k])" in text
    tools.check(text)


def test_one_reduction_axis_of_two_stages():
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    S = te.compute((8,), lambda i: te.sum(A[i, k], axis=k), name="S")
    T = te.compute((8,), lambda i: te.max(A[i, k] - S[i], axis=k), name="T")
    s = te.create_schedule(T.op)
    for stage in (S, T):
        s[stage].bind(stage.op.axis[0], te.thread_axis("blockIdx.x"))
        ko, ki = s[stage].split(k, factor=4)
        s[stage].unroll(ki)
    text = te.lower(s, [A, T]).text
    assert "split(S.k, factor = 4)" in text and "split(T.k, factor = 4)" in text
    tools.check(text)


def test_slices_and_varargs(A):
    M = te.placeholder((4, 5), name="M")
    B = te.compute((4, 5), lambda *i: M[i[0]][i[1]] + M(*i), name="B")
    assert line(B, M) == "M[i0, i1] + M[i0, i1]"


def test_long_lines_break(A):
    total = te.compute((64,), lambda i: sum((A[i] * nth for nth in range(2, 30)), te.const(0.0)), name="long_name")
    text = te.lower(kernel(total), [A, total]).text
    assert "compute long_name[i: 64] =\n    0.0 + A[i] * 2.0" in text
    tools.check(text)


def test_long_sums_and_deep_expressions(A):
    long = te.compute((64,), lambda i: functools.reduce(lambda a, b: a + b, [A[i]] * 3000), name="B")
    text = te.lower(te.create_schedule(long.op), [A, long]).text
    assert text.count("A[i]") == 3000

    def nested(i):
        value = A[i]
        for _ in range(3000):
            value = te.exp(value)
        return value

    deep = te.compute((64,), nested, name="B")
    with pytest.raises(te.TeUnsupported, match="nested too deeply"):
        te.lower(te.create_schedule(deep.op), [A, deep])


class Number:
    """As much of a number of NumPy as is asked for."""

    shape = ()

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype

    def item(self):
        return self.value


def test_numbers_of_numpy(A, H):
    assert element(lambda i, a: a * Number(3, "int64"), A) == "A[i] * 3.0"
    assert element(lambda i, h: h + Number(0.5, "float16"), H) == "H[i] + 0.5"
    assert element(lambda i, a: te.if_then_else(Number(True, "bool"), a, 0.0), A) == "A[i]"
    assert int(te.placeholder((Number(8, "int32"),)).shape[0]) == 8
