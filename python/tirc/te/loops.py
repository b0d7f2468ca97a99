"""The loops of a stage: which there are, in which order, and what directives have said of them."""

from .errors import TeUnsupported, TeValueError, caller
from .expr import Const, IterVar, Param, as_size
from .walks import children, walk


class Loop:
    """An axis of a stage, or a loop that directives made of axes.

    `text` is what schedules call it, `short` its name alone. `kind` is what it is bound to, or `vectorize` or `unroll`;
    `marks` are hints and intrinsics; `said_by` has the directives that say so. `parts` are the loops that a split or a fusion
    made of it: what was said of it has no effect then, as in TVM.
    """

    def __init__(self, axis, text, short, extent, reduce):
        self.axis, self.text, self.short, self.extent, self.reduce = axis, text, short, extent, reduce
        self.kind, self.kind_at, self.marks, self.parts = None, None, {}, None
        self.said_by = {}
        # The axes of the stage that the loop runs over, by number.
        self.roots = {id(axis)}

    @property
    def is_plain(self):
        return self.kind is None and not self.marks

    @property
    def is_bound(self):
        """Is it bound, to a launch coordinate or to virtual threads?"""
        return self.kind is not None and self.kind not in ("vectorize", "unroll")

    @property
    def is_launch(self):
        """Is it bound to a launch coordinate?"""
        return self.kind is not None and "." in self.kind

    @property
    def is_thread(self):
        return self.is_launch and self.kind.startswith("threadIdx")

    @property
    def is_block(self):
        return self.is_launch and self.kind.startswith("blockIdx")

    def said(self):
        """What a directive has said of it."""
        if self.kind in ("vectorize", "unroll"):
            return "vectorized" if self.kind == "vectorize" else "unrolled"
        if self.kind is not None:
            return f"bound to `{self.kind}`"
        return "tensorized" if "tensorize" in self.marks else "given a pragma"


class Nest:
    """The loops of one stage, outermost first."""

    def __init__(self, stage):
        self.stage = stage
        self._of = {}
        self.leaves = []

    def add(self, axis, short, extent, text=None, reduce=None):
        """A loop for `axis`, which is not in the nest yet."""
        reduce = axis.reduce if reduce is None else reduce
        loop = Loop(axis, text or f"{self.stage.name}.{short}", short, extent, reduce)
        self._of[id(axis)] = loop
        return loop

    def drop(self, axis):
        del self._of[id(axis)]

    def known(self, axis):
        """The loop of `axis`, be it split or fused, or `None`."""
        return self._of.get(id(axis)) if isinstance(axis, IterVar) else None

    def leaf(self, axis):
        """The loop of `axis`, which is one of the nest as it is."""
        if not isinstance(axis, IterVar):
            raise TeValueError(f"`{axis!r}` is no axis", "axes are those of `s[B].op.axis`, and what directives return")
        loop = self.known(axis)
        if loop is None:
            raise TeValueError(
                f"`{axis.name}` is no loop of `{self.stage.name}`",
                f"its loops are {self.shown()}; after `cache_write` and `rfactor` ask `s[…].op` for its axes again",
            )
        if loop.parts is not None:
            parts = " and ".join(f"`{part.short}`" for part in loop.parts)
            raise TeValueError(f"`{loop.short}` is split or fused already, to {parts}", "name one of these")
        if loop not in self.leaves:
            raise self.stale(loop)
        return loop

    def stale(self, loop, at=None):
        """What is wrong with a loop from before the stage was taken apart."""
        return TeValueError(
            f"`{loop.short}` is no loop of `{self.stage.name}` any more",
            f"its loops are {self.shown()}; after `cache_write` and `rfactor` ask `s[…].op` for its axes again",
            at=at,
        )

    def shown(self, loops=None):
        """The names of the loops, as a message lists them."""
        return ", ".join(f"`{loop.short}`" for loop in (self.leaves if loops is None else loops)) or "none"

    def unsaid(self, axis, word, again=()):
        """The loop of `axis`, which is neither bound nor vectorized nor unrolled, unless it is one of `again`."""
        loop = self.leaf(axis)
        if loop.kind is not None and not (loop.is_bound if again == "bound" else loop.kind in again):
            raise TeUnsupported(f"`{word}` of `{loop.short}`, which is {loop.said()}", "a loop is one of these")
        return loop

    def say(self, loop, kind):
        loop.kind, loop.kind_at = kind, caller()

    def replace(self, old, new):
        """Puts the loops `new` in the place of `old`, which follow each other."""
        at = self.leaves.index(old[0])
        self.leaves[at : at + len(old)] = new
        for loop in old:
            loop.parts = new

    def split(self, loop, factor, nparts, names):
        """Splits a loop; `names` are those of the outer and the inner part."""
        rest = quotient_up(loop.extent, nparts if factor is None else factor)
        extents = (rest, factor) if nparts is None else (nparts, rest)
        parts = []
        for name, extent, end in zip(names, extents, ("outer", "inner")):
            axis = IterVar(f"{loop.axis.name}.{end}", None, reduce=loop.reduce)
            part = self.add(axis, name, extent, text=name)
            part.roots = loop.roots
            parts.append(part)
        self.replace([loop], parts)
        return parts

    def fuse(self, loops, name):
        extent = loops[0].extent
        for loop in loops[1:]:
            extent = extent * loop.extent
        axis = IterVar(".".join(loop.axis.name for loop in loops) + ".fused", None, reduce=loops[0].reduce)
        fused = self.add(axis, name, extent, text=name)
        fused.roots = set().union(*(loop.roots for loop in loops))
        self.replace(loops, [fused])
        return fused

    def reorder(self, loops):
        """Puts loops into the given order, within their places; says whether that changes anything."""
        before = list(self.leaves)
        places = sorted(self.leaves.index(loop) for loop in loops)
        for place, loop in zip(places, loops):
            self.leaves[place] = loop
        return before != self.leaves

    def now(self, axis):
        """The leaf at which a stage stands that was attached at `axis`: of a split loop the inner part."""
        loop = self._of[id(axis)]
        while loop.parts is not None:
            loop = loop.parts[-1]
        return loop


def quotient_up(a, b):
    """`a / b`, rounded up."""
    return (as_size(a) + as_size(b) - 1) // b


def factor_of(value, word):
    """A factor: a number of at least 1, or an expression over parameters."""
    value = as_size(value)
    if isinstance(value, Const):
        if value.value < 1:
            raise TeValueError(f"{word} is {value.value}", "it is at least 1")
        return value
    if not all(isinstance(node, (Param, Const)) for node in walk(value) if not children(node)):
        raise TeUnsupported(
            f"{word} depends on a size", "it is a number, or an expression over knobs; `cfg.define_knob` makes one"
        )
    return value
