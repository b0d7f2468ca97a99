"""Random operators and random legal te schedules of them, from a seed."""

import random

from tirc import te

BLOCK = {dim: te.thread_axis(f"blockIdx.{dim}") for dim in "xyz"}
THREAD = {dim: te.thread_axis(f"threadIdx.{dim}") for dim in "xyz"}


class Case:
    """One operator with a schedule; `lowered` is its text."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        kind = self.rng.choice([self.elements, self.elements, self.stencil, self.product, self.rows, self.best])
        self.schedule, args = kind()
        self.lowered = te.lower(self.schedule, args, name=f"case{seed}")

    def size(self):
        return self.rng.choice([1, 3, 8, 12, 16, 17, 24, 33])

    def factor(self):
        return self.rng.choice([1, 2, 3, 4, 5, 8, 16])

    def maybe(self, chance=0.5):
        return self.rng.random() < chance

    def element(self, value, *others):
        """An expression of some elements."""
        for _ in range(self.rng.randint(1, 3)):
            other = self.rng.choice([*others, te.const(0.5), te.const(2)])
            value = self.rng.choice(
                [
                    lambda a, b: a + b,
                    lambda a, b: a * b,
                    lambda a, b: a - b,
                    lambda a, b: te.max(a, b),
                    lambda a, b: te.if_then_else(a > b, a, b * 0.25),
                    lambda a, b: te.Select(te.all(a > 0, b > 0), a, b),
                    lambda a, b: te.abs(a) + b,
                    lambda a, b: te.tanh(a) - b,
                ]
            )(value, other.astype(value.dtype))
        return value

    def elements(self):
        """Stages of elements after each other, some of them inlined, attached or kernels of their own."""
        shape = (self.size(), self.size())
        A = te.placeholder(shape, name="A", dtype=self.rng.choice(["float32", "float16", "int32"]))
        bias = te.placeholder((shape[1],), name="bias")
        stages = [A]
        for nth in range(self.rng.randint(1, 3)):
            last = stages[-1]
            stages.append(
                te.compute(
                    shape, lambda i, j: self.element(last[i, j].astype("float32"), bias[j], i, i + j), name=f"T{nth}"
                )
            )
        out = stages[-1]
        s = te.create_schedule(out.op)
        at = self.kernel(s, out)
        for stage in stages[1:-1]:
            how = self.rng.choice(["inline", "attach", "kernel"])
            if how == "inline":
                s[stage].compute_inline()
            elif how == "attach" and stage is stages[-2]:
                s[stage].compute_at(s[out], at)
            else:
                self.kernel(s, stage)
        return s, [A, bias, out]

    def kernel(self, s, tensor, vectorize=True):
        """Binds the loops of a stage over data; gives the innermost one that is bound."""
        stage = s[tensor]
        axes = list(stage.op.axis)
        if self.maybe() and len(axes) > 1:
            fused = stage.fuse(*axes)
            block, thread = stage.split(fused, factor=self.factor())
            stage.bind(block, BLOCK["x"])
            stage.bind(thread, THREAD["x"])
            return thread
        xo, yo, xi, yi = stage.tile(axes[0], axes[-1], self.factor(), self.factor())
        if self.maybe(0.3):
            vt, xi = stage.split(xi, nparts=2)
            stage.reorder(xo, yo, vt, xi, yi)
            stage.bind(vt, te.thread_axis((0, 2), "vthread"))
        stage.bind(xo, BLOCK["y"])
        stage.bind(yo, BLOCK["x"])
        stage.bind(xi, THREAD["y"])
        if vectorize and self.maybe(0.3):
            stage.vectorize(yi)
            return xi
        stage.bind(yi, THREAD["x"])
        return yi

    def stencil(self):
        """A sum over neighbours of a padded image, through shared memory or not."""
        height, width, reach = self.size(), self.size(), self.rng.choice([1, 2, 3])
        A = te.placeholder((height, width), name="A")
        padded = te.compute(
            (height + reach - 1, width + reach - 1),
            lambda y, x: te.if_then_else(
                te.all(y >= reach // 2, y - reach // 2 < height, x >= reach // 2, x - reach // 2 < width),
                A[y - reach // 2, x - reach // 2],
                te.const(0.0),
            ),
            name="padded",
        )
        ry, rx = te.reduce_axis((0, reach), "ry"), te.reduce_axis((0, reach), "rx")
        B = te.compute((height, width), lambda y, x: te.sum(padded[y + ry, x + rx], axis=[ry, rx]), name="B")
        s = te.create_schedule(B.op)
        s[padded].compute_inline()
        if self.maybe():
            local = s.cache_write(B, "local")
            at = self.kernel(s, B, vectorize=False)
            s[local].compute_at(s[B], at)
            if self.maybe():
                s[local].unroll(s[local].op.reduce_axis[-1])
        else:
            self.kernel(s, B, vectorize=False)
        return s, [A, B]

    def product(self):
        """A product of matrices by tiles: shared memory, registers, copies by all threads."""
        n, m, depth = self.size(), self.size(), self.size()
        A = te.placeholder((n, depth), name="A")
        B = te.placeholder((depth, m), name="B")
        k = te.reduce_axis((0, depth), name="k")
        C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
        s = te.create_schedule(C.op)
        shared = self.maybe(0.7)
        staged = [s.cache_read(tensor, "shared", [C]) for tensor in (A, B)] if shared else []
        local = s.cache_write(C, "local")
        ty, tx, inner = self.rng.choice([1, 2, 4]), self.rng.choice([2, 4, 8]), self.rng.choice([1, 2])
        io, ii = s[C].split(C.op.axis[0], factor=ty * inner)
        jo, ji = s[C].split(C.op.axis[1], factor=tx)
        iy, iv = s[C].split(ii, nparts=ty)
        s[C].reorder(io, jo, iy, ji, iv)
        s[C].bind(io, BLOCK["y"])
        s[C].bind(jo, BLOCK["x"])
        s[C].bind(iy, THREAD["y"])
        s[C].bind(ji, THREAD["x"])
        s[local].compute_at(s[C], ji)
        ko, ki = s[local].split(s[local].op.reduce_axis[0], factor=self.factor())
        s[local].reorder(ko, ki, *s[local].op.axis)
        if self.maybe(0.3):
            s[local].pragma(ko, "auto_unroll_max_step", 16)
        for tensor in staged:
            self.copied(s, tensor, local, ko, ty, tx)
        return s, [A, B, C]

    def copied(self, s, tensor, local, ko, ty, tx):
        """Lets all threads copy a tile."""
        s[tensor].compute_at(s[local], ko)
        fused = s[tensor].fuse(*s[tensor].op.axis)
        rest, x = s[tensor].split(fused, factor=tx)
        _, y = s[tensor].split(rest, factor=ty)
        s[tensor].bind(y, THREAD["y"])
        s[tensor].bind(x, THREAD["x"])
        if self.maybe(0.3):
            s[tensor].double_buffer()
        if self.maybe(0.3):
            s[tensor].storage_align(s[tensor].op.axis[0], 8, 1)

    def rows(self):
        """A reduction of rows: by threads, in parts, or over the threads of a block."""
        n, m = self.size(), self.size() + 7
        A = te.placeholder((n, m), name="A")
        k = te.reduce_axis((self.rng.choice([0, 2]), m), name="k")
        reducer = self.rng.choice([te.sum, te.max, te.min])
        where = self.rng.choice([None, lambda i: A[i, k] > 0, lambda i: i < k])
        B = te.compute(
            (n,), lambda i: reducer(A[i, k] * 2.0, axis=k, where=where(i) if where is not None else None), name="B"
        )
        s = te.create_schedule(B.op)
        how = self.rng.choice(["threads", "block", "parts"])
        if how == "threads":
            block, thread = s[B].split(B.op.axis[0], factor=8)
            s[B].bind(block, BLOCK["x"])
            s[B].bind(thread, THREAD["x"])
            return s, [A, B]
        ko, ki = s[B].split(B.op.reduce_axis[0], factor=self.rng.choice([2, 4]))
        if how == "block":
            s[B].bind(B.op.axis[0], BLOCK["x"])
            s[B].bind(ki, THREAD["x"])
            return s, [A, B]
        parts = s.rfactor(B, ki, factor_axis=self.rng.choice([0, -1]))
        s[B].bind(s[B].op.axis[0], BLOCK["x"])
        s[B].bind(s[B].op.reduce_axis[0], THREAD["x"])
        s[parts].compute_at(s[B], s[B].op.reduce_axis[0])
        if self.maybe():
            s[B].set_store_predicate(THREAD["x"].var.equal(0))
        return s, [A, B]

    def best(self):
        """The greatest element of each row and where it is, by a combiner of two values."""
        n, m = self.size(), self.size()
        A = te.placeholder((n, m), name="A")
        k = te.reduce_axis((0, m), name="k")

        def combine(x, y):
            first = te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] < y[0]))
            return te.Select(first, x[0], y[0]), te.Select(first, x[1], y[1])

        argmax = te.comm_reducer(combine, lambda t0, t1: (te.max_value(t0), te.min_value(t1)), name="argmax")
        at, value = te.compute((n,), lambda i: argmax((k, A[i, k]), axis=k), name="best")
        s = te.create_schedule(at.op)
        block, thread = s[at].split(at.op.axis[0], factor=self.factor())
        s[at].bind(block, BLOCK["x"])
        s[at].bind(thread, THREAD["x"])
        if self.maybe():
            _, inner = s[at].split(at.op.reduce_axis[0], factor=4)
            s[at].unroll(inner)
        return s, [A, at, value]
