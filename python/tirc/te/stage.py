"""A stage of a schedule: how one operation is computed, and the directives about it."""

from .errors import TeUnsupported, TeValueError, caller, warn
from .expr import Binary, Const, IterVar, Param, Unary, condition, convert
from .intrin import TensorIntrin
from .loops import Nest, factor_of
from .printer import Printer
from .walks import walk

SCOPES = [
    "global",
    "shared",
    "shared.dyn",
    "registers",
    "local",
    "wmma.matrix_a",
    "wmma.matrix_b",
    "wmma.accumulator",
    "mma.matrix_a",
    "mma.matrix_b",
    "mma.accumulator",
    "mma.rows",
    "wgmma.matrix_a",
    "wgmma.accumulator",
    "wgmma.rows",
]

_PRAGMAS = ("auto_unroll_max_step", "unroll_explicit", "loop_partition_hint")

ROOT, INLINE = "root", "inline"


def scope_of(scope):
    if scope not in SCOPES:
        raise TeUnsupported(f"there is no storage scope `{scope}`", f"there are {', '.join(SCOPES)}")
    return scope


def predicate_loops(nest, predicate):
    """The loops and launch coordinates that a predicate names; refuses what no thread can decide."""
    named = []
    for node in walk(predicate):
        if isinstance(node, IterVar):
            named.append(node.tag or nest.leaf(node))
        elif isinstance(node, Binary) and node.op in ("/", "%", "<<", ">>"):
            if not isinstance(node.b, Const) or not 1 <= node.b.value <= 62:
                raise TeUnsupported(f"a predicate with `{node.op}` by something else than 1 to 62", "compare products")
        elif not isinstance(node, (Const, Param, Binary, Unary)):
            raise TeUnsupported(
                "a predicate of something else than loops, launch coordinates and numbers", "`tx.var.equal(0)`"
            )
    wrong = next((loop for loop in named if not isinstance(loop, str) and loop.reduce), None)
    if wrong is not None:
        raise TeUnsupported(
            f"a predicate over `{wrong.short}`, an axis of the reduction", "give the reduction a `where`"
        )
    return named


class Touch:
    """A directive about a stage: does it rearrange loops, or of which loop does it say something?"""

    def __init__(self, word, directive, rearranges, loop):
        self.word, self.directive, self.rearranges, self.loop = word, directive, rearranges, loop


class Stage:
    """How the operation `op` is computed. The methods are te's."""

    def __init__(self, schedule, op, name, source):
        self._schedule, self.op, self.name, self.source = schedule, op, name, source
        self.origin_op = op
        self.tensors = list(op.outputs)
        self.is_output = False
        self.attach, self.attach_at = ROOT, None
        self.scope, self.scope_at = None, None
        # What directives said of its loops and its buffer.
        self.touches = []
        self.twofold_at, self.aligned_at = None, None
        # The loops that the predicate of its store names, and where.
        self.predicate, self.predicate_at = [], None
        # Do its elements come from a stage whose layout follows loops?
        self.relaid = False
        self.reads = []
        self.nest = Nest(self)

    @property
    def leaf_iter_vars(self):
        """The axes of its loops, outermost first."""
        return [loop.axis for loop in self.nest.leaves]

    @property
    def touched(self):
        """The first directive about its loops or its buffer."""
        return self.touches[0].word if self.touches else None

    def is_rearranged(self):
        """Are its loops others than its axes, or in another order?"""
        declared = [id(axis) for axis in [*self.op.axis, *self.op.reduce_axis]]
        return [id(loop.axis) for loop in self.nest.leaves] != declared

    @property
    def is_argument(self):
        return self.source == "argument"

    def split(self, parent, factor=None, nparts=None, disable_predication=False):
        """Splits a loop into two, by the extent of the inner one or by the number of parts."""
        if disable_predication:
            raise TeUnsupported("`disable_predication`", "guards that hold are removed by proof, and others are needed")
        if (factor is None) == (nparts is None):
            raise TeValueError("`split` takes one of `factor` and `nparts`", "give one of them")
        loop = self._computed("split").leaf(parent)
        factor = None if factor is None else factor_of(factor, "the factor")
        nparts = None if nparts is None else factor_of(nparts, "the number of parts")
        self.unsay([loop], "split")
        names = [self._loop_name(f"{loop.short}_{end}") for end in ("outer", "inner")]
        outer, inner = self.nest.split(loop, factor, nparts, names)
        by = f"factor = {self._text(factor)}" if nparts is None else f"nparts = {self._text(nparts)}"
        self._say("split", f"{outer.text}, {inner.text} = split({loop.text}, {by})", rearranges=True)
        return outer.axis, inner.axis

    def tile(self, x_parent, y_parent, x_factor, y_factor):
        """Splits two loops and moves the outer parts outside."""
        nest = self._computed("tile")
        loops = [nest.leaf(axis) for axis in (x_parent, y_parent)]
        if loops[0] is loops[1]:
            raise TeValueError(f"`tile` takes two loops, and `{loops[0].short}` is given twice", "name two loops")
        factors = [factor_of(factor, "the factor") for factor in (x_factor, y_factor)]
        self.unsay(loops, "tile")
        parts = []
        for loop, factor in zip(loops, factors):
            names = [self._loop_name(f"{loop.short}_{end}") for end in ("outer", "inner")]
            parts.append(nest.split(loop, factor, None, names))
        (xo, xi), (yo, yi) = parts
        nest.reorder([xo, yo, xi, yi])
        results = ", ".join(part.text for part in (xo, yo, xi, yi))
        given = ", ".join([*(loop.text for loop in loops), *map(self._text, factors)])
        self._say("tile", f"{results} = tile({given})", rearranges=True)
        return xo.axis, yo.axis, xi.axis, yi.axis

    def fuse(self, *args):
        """Fuses loops that follow each other."""
        axes = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else list(args)
        if not axes:
            raise TeUnsupported("`fuse` of no loops", "a `te.compute` over an axis of extent 1 has a loop to bind")
        nest = self._computed("fuse")
        loops = [nest.leaf(axis) for axis in axes]
        if len(loops) == 1:
            return axes[0]
        places = [nest.leaves.index(loop) for loop in loops]
        if len(loops) == 2 and places[0] == places[1] + 1:
            # As in TVM: of two neighbours the outer one is outer.
            loops.reverse()
            places.reverse()
        if places != list(range(places[0], places[0] + len(places))):
            raise TeValueError(
                f"`fuse` takes loops that follow each other, and {nest.shown(loops)} do not",
                f"`reorder` them first: the loops of `{self.name}` are {nest.shown()}",
            )
        if len({loop.reduce for loop in loops}) > 1:
            raise TeUnsupported(
                f"`fuse` of an axis of data and one of a reduction: {nest.shown(loops)}", "fuse each with its like"
            )
        self.unsay(loops, "fuse")
        fused = nest.fuse(loops, self._loop_name("_".join([*(loop.short for loop in loops), "fused"])))
        given = ", ".join(loop.text for loop in loops)
        self._say("fuse", f"{fused.text} = fuse({given})", rearranges=True)
        return fused.axis

    def reorder(self, *args):
        """Puts loops into the given order, within the places that they have."""
        nest = self._computed("reorder")
        loops = [nest.leaf(axis) for axis in args]
        if len({id(loop) for loop in loops}) != len(loops):
            raise TeValueError("`reorder` names a loop twice", "name each once")
        if nest.reorder(loops):
            self._say("reorder", f"reorder({', '.join(loop.text for loop in loops)})", rearranges=True)

    def bind(self, ivar, thread_ivar):
        """Binds a loop to a launch coordinate, or to virtual threads."""
        if not isinstance(thread_ivar, IterVar) or not thread_ivar.tag:
            raise TeValueError("a loop is bound to a thread axis", '`te.thread_axis("threadIdx.x")`')
        nest, kind = self._computed("bind"), thread_ivar.tag
        loop = nest.unsaid(ivar, "bind", again="bound")
        bound = [leaf for leaf in nest.leaves if leaf.kind == kind and leaf is not loop]
        other = next(iter(bound), None) if kind != "vthread" else None
        if other is not None:
            raise TeUnsupported(
                f"`{kind}` is bound twice in `{self.name}`: to `{other.short}` and to `{loop.short}`",
                "`fuse` the loops, and bind the one that results",
            )
        if loop.reduce and kind.startswith("blockIdx"):
            raise TeUnsupported(
                f"`{loop.short}` is an axis of a reduction, and nothing orders the blocks that would add to one element",
                "bind it to threads, or `rfactor` it and bind the axis of the parts",
            )
        self._check_extent(loop, thread_ivar)
        self._say_of_loop(loop, "bind", f"bind({loop.text}, {kind})", kind)

    def _check_extent(self, loop, thread):
        """A thread axis with a range has that of its loop, where both are known."""
        if thread.dom is None or not self.is_output:
            return
        have, want = convert(loop.extent), convert(thread.dom.extent)
        if isinstance(have, Const) and isinstance(want, Const) and have.value != want.value:
            raise TeValueError(
                f"`{loop.short}` has {have.value} iterations, and the thread axis `{thread.name}` has {want.value}",
                "give both the same extent, or leave out that of the thread axis",
            )

    def vectorize(self, var):
        """Runs a loop as lanes of vectors."""
        loop = self._computed("vectorize").unsaid(var, "vectorize", again=("vectorize", "unroll"))
        if loop.reduce:
            raise TeValueError(
                f"`vectorize` of `{loop.short}`, an axis of a reduction",
                "vectorize a loop over data, or `rfactor` first",
            )
        self._say_of_loop(loop, "vectorize", f"vectorize({loop.text})", "vectorize")

    def unroll(self, var):
        """Unrolls a loop."""
        loop = self._computed("unroll").unsaid(var, "unroll", again=("vectorize", "unroll"))
        self._say_of_loop(loop, "unroll", f"unroll({loop.text})", "unroll")

    def parallel(self, var):
        raise TeUnsupported("`parallel` is for loops of CPUs", "on a GPU, `bind` the loop to `blockIdx.x`")

    def pragma(self, var, pragma_type, pragma_value=None):
        """Gives passes a hint about a loop."""
        if pragma_type in ("unroll", "vectorize"):
            getattr(self, pragma_type)(var)
            return
        if pragma_type not in _PRAGMAS:
            raise TeUnsupported(
                f"the pragma `{pragma_type}` has no meaning on a GPU", f"there are {', '.join(_PRAGMAS)}"
            )
        value = convert(True if pragma_value is None else pragma_value)
        if pragma_type != "auto_unroll_max_step" and isinstance(value, Const):
            value = convert(bool(value.value))
        loop = self._computed("pragma").leaf(var)
        text = f"pragma({loop.text}, {pragma_type} = {self._text(value)})"
        self._say_of_loop(loop, pragma_type, text)

    def tensorize(self, var, tensor_intrin):
        """Lets a tensor intrinsic stand for the loops from one inwards."""
        if not isinstance(tensor_intrin, TensorIntrin):
            raise TeValueError("`tensorize` takes a tensor intrinsic", "`te.decl_tensor_intrin(…)`")
        nest = self._computed("tensorize")
        loop = nest.leaf(var)
        other = next((leaf for leaf in nest.leaves if "tensorize" in leaf.marks), None)
        if other is not None:
            raise TeUnsupported(
                f"a loop of `{self.name}` is tensorized already: `{other.short}`", "leave out one of the two"
            )
        self._say_of_loop(loop, "tensorize", f"tensorize({loop.text}, @{tensor_intrin.library_name})")

    def compute_at(self, parent, scope):
        """Computes the stage inside a loop of one that reads it."""
        self._computed("compute_at")
        if self.is_output:
            raise TeValueError(
                f"`{self.name}` is a result, and is computed at the root",
                f"`s.cache_write({self.name}, …)` can be attached",
            )
        if not isinstance(parent, Stage):
            raise TeValueError("`compute_at` takes a stage", "`s[A].compute_at(s[B], axis)`")
        loop = parent.nest.leaf(scope)
        if not self._schedule.depends(parent, self):
            raise TeValueError(
                f"`{parent.name}` does not read `{self.name}`, so it cannot be computed in its loop `{loop.short}`",
                f"`{self.name}` is read by {self._schedule.shown_readers(self)}",
            )
        self.attach, self.attach_at = (parent, scope), caller()
        self._say("compute_at", f"compute_at({self.name}, {loop.text})")

    def compute_inline(self):
        """Puts what the stage computes in the place of each read of it."""
        self._computed("compute_inline", inlined_too=True)
        if self.is_output:
            raise TeValueError(f"`{self.name}` is a result, and cannot be inlined", "leave this out")
        if self.nest.leaves and any(loop.reduce for loop in self.nest.leaves):
            raise TeValueError(
                f"`{self.name}` is a reduction, and cannot be inlined",
                "`compute_at` computes it inside a loop of its reader",
            )
        if len(self.tensors) != 1:
            raise TeValueError(f"`{self.name}` has {len(self.tensors)} results", "only a stage with one can be inlined")
        if self.relaid:
            raise TeUnsupported(
                f"`{self.name}` copies a tensor whose layout follows loops, and is not inlined",
                "write `cache_write` before the other directives of the stage",
            )
        if self.touched is not None:
            raise TeUnsupported(
                f"`{self.name}` is inlined, and `{self.touched}` was said of it before, which would have no effect",
                "leave out one of the two",
            )
        self.attach, self.attach_at = INLINE, caller()
        self._schedule.emit(f"inline({self.name})")

    def compute_root(self):
        """Computes the whole stage before its readers."""
        self._computed("compute_root", inlined_too=True)
        self.attach, self.attach_at = ROOT, None
        self._schedule.emit(f"compute_root({self.name})")

    def set_scope(self, scope):
        """Sets where the stage's buffer lies."""
        scope = scope_of(scope or "global")
        self._computed("set_scope")
        if self.is_output and scope != "global":
            raise TeUnsupported(
                f"`{self.name}` is a result, and lies in global memory", f'`s.cache_write({self.name}, "{scope}")`'
            )
        self.scope, self.scope_at = scope, caller()
        self._say("set_scope", f"set_scope({self.name}, {scope})")

    def storage_align(self, axis, factor, offset):
        """Pads the stride of a dimension of the stage's buffer."""
        nest = self._computed("storage_align")
        loop = nest.known(axis)
        if loop is None or not any(loop.axis is own for own in self.op.axis):
            raise TeValueError(
                f"`storage_align` takes an axis of the tensor `{self.name}`", f"those of `s[{self.name}].op.axis`"
            )
        self._no_result("storage_align")
        factor, offset = factor_of(factor, "the factor"), convert(offset)
        if isinstance(offset, Const) and offset.value < 0:
            raise TeValueError("the offset is negative", "it is at least 0")
        self.aligned_at = caller()
        text = f"factor = {self._text(factor)}, offset = {self._text(offset)}"
        self._say("storage_align", f"storage_align({self.name}.{loop.short}, {text})")

    def double_buffer(self):
        """Gives the stage two buffers, so that the next part is computed while one is read."""
        self._computed("double_buffer")
        self._no_result("double_buffer")
        self.twofold_at = caller()
        self._say("double_buffer", f"double_buffer({self.name})")

    def set_store_predicate(self, predicate):
        """Lets the stage store only where a condition holds."""
        nest, predicate = self._computed("set_store_predicate"), condition(predicate)
        self.predicate, self.predicate_at = predicate_loops(nest, predicate), caller()
        names = self._schedule.names.inside()
        for loop in self.nest.leaves:
            # A predicate names the loops of its own stage, without the stage.
            names.set(loop.axis, loop.short)
        self._say("set_store_predicate", f"set_store_predicate({self.name}, {Printer(names).text(predicate)})")

    def env_threads(self, threads):
        raise TeUnsupported("`env_threads` is of scans, and there is no `te.scan`", "`bind` the loops")

    def prefetch(self, tensor, var, offset):
        raise TeUnsupported("`prefetch` is a hint to CPUs", "`double_buffer` loads ahead; in text, `pipeline`")

    def rolling_buffer(self):
        raise TeUnsupported("`rolling_buffer`", "`compute_at` computes what two iterations need in each")

    def transform_layout(self, mapping_function):
        raise TeUnsupported(
            "`transform_layout` of te changes the loops too", "in text, `transform_layout` changes the buffer alone"
        )

    def _no_result(self, word):
        if self.is_output:
            raise TeUnsupported(
                f"`{word}` of `{self.name}`, a result", f"`s.cache_write({self.name}, …)` makes a stage that is none"
            )

    def _computed(self, word, inlined_too=False):
        """The loops of the stage, which is no argument and is not inlined."""
        if self.is_argument:
            raise TeValueError(f"`{word}` of `{self.name}`, an argument", "`s.cache_read` makes a stage of it")
        if self.attach == INLINE and not inlined_too:
            raise TeUnsupported(
                f"`{word}` of `{self.name}`, which is inlined and has no loops and no buffer",
                "leave out one of the two",
            )
        return self.nest

    def _say(self, word, text, rearranges=False, loop=None):
        directive = self._schedule.emit(text)
        self.touches.append(Touch(word, directive, rearranges, loop))
        return directive

    def _say_of_loop(self, loop, word, text, kind=None):
        """Says something of a loop. What it was before, if a loop is one of these, has no effect any more."""
        key = word if kind is None else "kind"
        before = loop.said_by.get(key)
        if before is not None:
            warn(f"`{loop.short}` of `{self.name}` was {loop.said()} before, which has no effect any more")
            self._take_back(before)
        if kind is None:
            loop.marks[word] = caller()
        else:
            self.nest.say(loop, kind)
        loop.said_by[key] = self._say(word, text, loop=loop)

    def unsay(self, loops, word):
        """Takes back what was said of loops that are loops no more: it has no effect, as in TVM."""
        for loop in loops:
            if loop.said_by:
                warn(f"`{loop.short}` of `{self.name}` was {loop.said()}, which has no effect after `{word}`")
        self.take_back(loops)

    def take_back(self, loops):
        """Takes back what was said of loops."""
        for directive in [one for loop in loops for one in loop.said_by.values()]:
            self._take_back(directive)

    def _take_back(self, directive):
        self._schedule.retract(directive)
        self.touches = [touch for touch in self.touches if touch.directive is not directive]

    def say_again(self, loop):
        """Says of a loop once more what was taken back."""
        for key, directive in list(loop.said_by.items()):
            loop.said_by[key] = self._say(directive.text.partition("(")[0], directive.text, loop=loop)

    def _loop_name(self, wish):
        return self._schedule.names.take(wish, f"{self.name}_{wish}")

    def _text(self, value):
        return Printer(self._schedule.names).text(value)
