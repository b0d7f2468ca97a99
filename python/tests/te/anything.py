"""Random directives in random order: what `tirc.te` takes, the compiler has to take as well."""

import random

from tirc import te

OPERATORS = ["chain", "product", "window", "pair", "sized", "best"]


def chain(rng):
    A = te.placeholder((12, 16), name="A")
    B = te.compute((12, 16), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((12, 16), lambda i, j: B[i, j] + A[j % 12, i], name="C")
    D = te.compute((12, 16), lambda i, j: C[i, j] * B[i, j], name="D")
    return [A, D], [D]


def product(rng):
    A, B = te.placeholder((12, 10), name="A"), te.placeholder((10, 8), name="B")
    k = te.reduce_axis((0, 10), "k")
    scaled = te.compute((12, 10), lambda i, j: A[i, j] * 0.5, name="scaled")
    C = te.compute((12, 8), lambda i, j: te.sum(scaled[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((12, 8), lambda i, j: te.max(C[i, j], 0.0), name="D")
    return [A, B, D], [D]


def window(rng):
    A = te.placeholder((20,), name="A")
    r, q = te.reduce_axis((0, 4), "r"), te.reduce_axis((0, 2), "q")
    padded = te.compute(
        (26,), lambda i: te.if_then_else(te.all(i >= 3, i < 23), A[i - 3], te.const(0.0)), name="padded"
    )
    B = te.compute((20,), lambda i: te.sum(padded[i + r + q], axis=[r, q]), name="B")
    return [A, B], [B]


def pair(rng):
    A = te.placeholder((6, 9), name="A")
    k = te.reduce_axis((0, 9), "k")
    S = te.compute((6,), lambda i: te.sum(A[i, k], axis=k), name="S")
    T = te.compute((6, 9), lambda i, j: A[i, j] - S[i], name="T")
    return [A, S, T], [S, T]


def sized(rng):
    n = te.size_var("n", low=1, high=100, default=rng.choice([None, 24]))
    A = te.placeholder((n, 6), name="A")
    k = te.reduce_axis((0, n), "k")
    S = te.compute((6,), lambda j: te.sum(A[k, j], axis=k), name="S")
    T = te.compute((n, 6), lambda i, j: A[i, j] - S[j], name="T")
    return [A, T], [T]


def best(rng):
    A = te.placeholder((6, 9), name="A")
    k = te.reduce_axis((0, 9), "k")

    def combine(x, y):
        return te.Select(x[1] >= y[1], x[0], y[0]), te.max(x[1], y[1])

    reducer = te.comm_reducer(combine, lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="best")
    at, value = te.compute((6,), lambda i: reducer((k, A[i, k]), axis=k), name="V")
    T = te.compute((6, 9), lambda i, j: A[i, j] - value[i], name="T")
    return [A, at, value, T], [at, T]


class Attempt:
    """A schedule of random directives; `refused` counts those that `tirc.te` refuses."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        args, outputs = globals()[self.rng.choice(OPERATORS)](self.rng)
        self.s = te.create_schedule([tensor.op for tensor in outputs])
        self.tensors = [stage.tensors[0] for stage in self.s.stages if not stage.is_argument]
        self.arguments = [stage.tensors[0] for stage in self.s.stages if stage.is_argument]
        self.refused = self.taken = 0
        for _ in range(self.rng.randint(3, 25)):
            try:
                self.directive()
                self.taken += 1
            except te.TeError:
                self.refused += 1
        self.text = None
        try:
            self.text = te.lower(self.s, args, name="f").text
        except te.TeError as error:
            self.error = error

    def directive(self):
        rng, s = self.rng, self.s
        tensor = rng.choice(self.tensors)
        stage = s[tensor]
        axes = list(stage.leaf_iter_vars)
        word = rng.choice(
            [
                "split",
                "split",
                "split",
                "fuse",
                "reorder",
                "bind",
                "bind",
                "bind",
                "vectorize",
                "unroll",
                "compute_at",
                "compute_at",
                "compute_at",
                "inline",
                "cache_read",
                "cache_write",
                "rfactor",
                "set_scope",
                "storage_align",
                "double_buffer",
                "pragma",
                "predicate",
                "root",
                "tile",
            ]
        )
        axis = rng.choice(axes)
        if word == "split":
            stage.split(axis, **{rng.choice(["factor", "nparts"]): rng.choice([1, 2, 3, 4, 8])})
        elif word == "tile":
            stage.tile(axis, rng.choice(axes), 2, 4)
        elif word == "fuse":
            at = rng.randrange(len(axes))
            stage.fuse(*axes[at : at + rng.choice([2, 2, 3])])
        elif word == "reorder":
            stage.reorder(*rng.sample(axes, rng.randint(1, len(axes))))
        elif word == "bind":
            tag = rng.choice(["blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y", "vthread"])
            stage.bind(axis, te.thread_axis(tag))
        elif word in ("vectorize", "unroll"):
            getattr(stage, word)(axis)
        elif word == "compute_at":
            other = s[rng.choice(self.tensors)]
            stage.compute_at(other, rng.choice(list(other.leaf_iter_vars)))
        elif word == "inline":
            stage.compute_inline()
        elif word == "root":
            stage.compute_root()
        elif word == "cache_read":
            tensor = rng.choice([tensor, *self.arguments])
            readers = [one.tensors[0] for one in s.readers(s[tensor])]
            rng.shuffle(readers)
            readers = readers[: rng.randint(1, 2)]
            self.tensors.append(s.cache_read(tensor, rng.choice(["shared", "local", "global"]), readers))
        elif word == "cache_write":
            self.tensors.append(s.cache_write(tensor, rng.choice(["shared", "local", "global"])))
        elif word == "rfactor":
            self.tensors.append(s.rfactor(tensor, axis, rng.choice([0, -1, 1])))
        elif word == "set_scope":
            stage.set_scope(rng.choice(["shared", "local", "global"]))
        elif word == "storage_align":
            stage.storage_align(rng.choice(stage.op.axis), 4, rng.choice([0, 1]))
        elif word == "double_buffer":
            stage.double_buffer()
        elif word == "pragma":
            stage.pragma(axis, rng.choice(["auto_unroll_max_step", "unroll_explicit"]), rng.choice([0, 16]))
        elif word == "predicate":
            stage.set_store_predicate(axis < 3)
