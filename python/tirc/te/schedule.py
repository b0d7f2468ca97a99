"""Schedules: the stages of an operator, and the directives in the order in which they are given."""

from . import checks, space
from .auto_inline import AutoInlineBroadcast, AutoInlineElemWise, AutoInlineInjective
from .errors import TeUnsupported, TeValueError, caller, missing_names
from .expr import IterVar, Range
from .names import Names
from .operator import Operator
from .stage import INLINE, ROOT, Stage, scope_of
from .tensor import CacheOp, ComputeOp, Operation, PlaceholderOp, Tensor


class Read:
    """That a stage reads result `index` of the stage `source`."""

    def __init__(self, source, index):
        self.source, self.index = source, index


class Schedule:
    """A schedule of the operator that computes `outputs`."""

    def __init__(self, outputs):
        self.operator = Operator(outputs)
        self.names = Names(self.operator.taken())
        for size in self.operator.sizes:
            self.names.set(size, self.operator.names.of(size))
        self.outputs = list(outputs)
        self.stages = []
        self.trace = space.new_trace(self.names)
        self.merged, self.space, self.template = None, None, None
        self._stage_of = {}
        for op in self.operator.order:
            self._add_declared(op)
        for op in outputs:
            self._stage_of[id(op)].is_output = True

    def _add_declared(self, op):
        source = "argument" if isinstance(op, PlaceholderOp) else "compute"
        stage = Stage(self, op, self.operator.names.of(op.outputs[0]), source)
        for axis in [*op.axis, *op.reduce_axis]:
            loop = stage.nest.add(axis, self.operator.axis_name(op, axis), axis.dom.extent)
            stage.nest.leaves.append(loop)
        stage.reads = [Read(self._stage_of[id(tensor.op)], tensor.value_index) for tensor in op.input_tensors]
        self.stages.append(stage)
        self._stage_of[id(op)] = stage

    def __getitem__(self, key):
        op = key.op if isinstance(key, Tensor) else key
        stage = self._stage_of.get(id(op)) if isinstance(op, Operation) else None
        if stage is None:
            raise TeValueError(
                f"`{getattr(key, 'name', key)!s}` has no stage in this schedule", "it is of another operator"
            )
        return stage

    def __contains__(self, key):
        return id(key.op if isinstance(key, Tensor) else key) in self._stage_of

    def emit(self, text):
        """Adds a directive."""
        if self.merged is not None:
            raise TeUnsupported(
                f"a directive after the template `{self.template}` has returned its schedule",
                "write it in the template",
            )
        directive = space.Directive(text, caller())
        self.trace.append(directive)
        return directive

    def retract(self, directive):
        """Takes back a directive that has no effect any more."""
        at = next(nth for nth in reversed(range(len(self.trace))) if self.trace[nth] is directive)
        del self.trace[at]

    def normalize(self):
        return self

    def create_group(self, outputs, inputs, include_inputs=False):
        raise TeUnsupported("`create_group`", "move the stages one by one, by `compute_at`")

    def cache_read(self, tensor, scope, readers):
        """A copy of `tensor` in `scope`, which `readers` read instead."""
        scope = scope_of(scope)
        origin, index = self._tensor(tensor)
        readers = readers if isinstance(readers, (list, tuple)) else [readers]
        stages = [self[reader] for reader in readers]
        if not stages:
            raise TeValueError(f"a copy of `{tensor.name}` that nothing reads", "name its readers: `[B]`")
        for stage in stages:
            if not any(_is(read, origin, index) for read in stage.reads):
                raise TeValueError(
                    f"`{stage.name}` does not read `{tensor.name}`", f"it is read by {self.shown_readers(origin)}"
                )
        axes = [IterVar(self._axis_name(origin, nth), Range(0, extent)) for nth, extent in enumerate(tensor.shape)]
        op, stage = self._new_stage(f"{tensor.name}.{scope}", "copy", axes, [], [tensor.ty], tensor.shape)
        stage.scope, stage.scope_at = scope, caller()
        stage.reads = [Read(origin, index)]
        for reader in stages:
            for read in reader.reads:
                if _is(read, origin, index):
                    read.source, read.index = stage, 0
        self.stages.insert(self.stages.index(origin) + 1, stage)
        given = ", ".join(dict.fromkeys(reader.name for reader in stages))
        self.emit(f"{stage.name} = cache_read({self.names_of(tensor)}, {scope}, [{given}])")
        return op.outputs[0]

    def _axis_name(self, origin, nth):
        """What a copy calls axis `nth` of the stage `origin`."""
        return f"ax{nth}" if origin.is_argument else origin.nest.known(origin.op.axis[nth]).short

    def cache_write(self, tensor, scope):
        """Computes `tensor` in `scope`, and copies it out."""
        scope = scope_of(scope)
        several = isinstance(tensor, (list, tuple))
        stage = self[tensor[0] if several else tensor]
        self._check_cache_write(stage)
        first = stage.tensors[0]
        data = [loop for loop in stage.nest.leaves if not loop.reduce]
        axes = [IterVar(loop.short, Range(0, loop.extent)) for loop in data]
        if not stage.is_rearranged():
            axes = [IterVar(f"{axis.name}.c", axis.dom) for axis in stage.op.axis]
        names = [loop.short for loop in data]
        shape = [axis.dom.extent for axis in axes]
        types = [result.ty for result in stage.tensors]
        wish = first.op.name
        op, cache = self._new_stage(f"{wish}.{scope}", stage.source, axes, stage.op.reduce_axis, types, shape, names)
        for loop in cache.nest.leaves[len(axes) :]:
            loop.short = stage.nest.known(loop.axis).short
            loop.text = f"{cache.name}.{loop.short}"
        cache.scope, cache.scope_at, cache.reads = scope, caller(), stage.reads
        relaid = stage.is_rearranged()
        cache.relaid = stage.relaid or relaid
        kept = [loop for loop in map(stage.nest.known, stage.op.axis) if loop.said_by]
        stage.unsay([loop for loop in stage.nest.leaves if loop not in kept], "cache_write")
        stage.take_back([loop for loop in kept if loop.parts is None])
        self._become_copy(stage, cache)
        stage.relaid = relaid
        self.stages.insert(self.stages.index(stage), cache)
        self.emit(f"{cache.name} = cache_write({stage.name}, {scope})")
        # As in TVM, what was said of an axis of the tensor holds of the loop of the copy.
        for loop in kept:
            stage.say_again(loop)
        return list(op.outputs) if len(op.outputs) > 1 or several else op.outputs[0]

    def _check_cache_write(self, stage):
        nest = stage._computed("cache_write")
        self._check_guests(stage, "cache_write")
        kinds = [loop.kind for loop in map(nest.known, stage.op.axis) if loop.is_launch]
        if len(set(kinds)) < len(kinds):
            raise TeValueError(
                f"two axes of `{stage.name}` were bound to one coordinate, and `cache_write` makes them loops again",
                "write `cache_write` before the bindings",
            )
        if all(touch.loop is not None for touch in stage.touches):
            return
        beyond = next((touch.word for touch in stage.touches if touch.loop is None and not touch.rearranges), None)
        fresh = stage.attach == ROOT and stage.scope is None and stage.source == "compute"
        if beyond is not None or not fresh or not stage.is_rearranged():
            raise TeUnsupported(
                f"`cache_write` of `{stage.name}` after `{beyond or stage.touched}`, which would be lost",
                "write `cache_write` before the other directives of the stage",
            )
        reduce = [loop.axis for loop in nest.leaves if loop.reduce]
        declared = stage.op.reduce_axis
        self._check_guests(stage, "cache_write", at_data=True)
        after = len(nest.leaves) - len(reduce)
        in_place = all(loop.reduce for loop in nest.leaves[after:])
        if not in_place or [id(axis) for axis in reduce] != [id(axis) for axis in declared]:
            raise TeUnsupported(
                f"`cache_write` of `{stage.name}`, whose reduction is split or moved",
                "write `cache_write` first, and then say of the copy what becomes of the reduction",
            )

    def _check_guests(self, stage, word, at_data=False):
        """Refuses to take loops away at which other stages are computed."""
        for other in self.stages:
            owner, axis = other.attach if other.attach not in (ROOT, INLINE) else (None, None)
            if owner is stage and (at_data or stage.nest.now(axis).reduce):
                raise TeUnsupported(
                    f"`{word}` of `{stage.name}`, at whose loop `{stage.nest.now(axis).short}` `{other.name}` is computed",
                    f"write `{word}` before that `compute_at`",
                )

    def _become_copy(self, stage, cache):
        """Lets `stage` copy from `cache`, by the axes that the operator declares."""
        op = CacheOp(stage.op.name, stage.op.axis, [], cache.tensors)
        op.outputs = stage.tensors
        self._stage_of[id(op)] = stage
        for axis in stage.op.reduce_axis:
            stage.nest.drop(axis)
        stage.op, stage.source = op, "copy"
        stage.nest.leaves = [stage.nest.known(axis) for axis in op.axis]
        for loop in stage.nest.leaves:
            loop.parts = None
        stage.touches = []
        stage.reads = [Read(cache, nth) for nth in range(len(cache.tensors))]

    def rfactor(self, tensor, axis, factor_axis=0):
        """Makes a loop of a reduction an axis of a new tensor of parts, which `tensor` then reduces."""
        stage = self[tensor]
        loop = self._check_rfactor(stage, axis)
        rank = len(stage.op.axis)
        at = factor_axis + rank + 1 if factor_axis < 0 else factor_axis
        if not 0 <= at <= rank:
            raise TeValueError(f"`factor_axis` is {factor_axis}", f"it is {-rank - 1} to {rank}")
        data = [(IterVar(one.name, one.dom), stage.nest.known(one).short) for one in stage.op.axis]
        data.insert(at, (IterVar(axis.name, Range(0, loop.extent)), loop.short))
        others = [one for one in stage.nest.leaves if one.reduce and one is not loop]
        reduce = [IterVar(one.axis.name, Range(0, one.extent), reduce=True) for one in others]
        if not reduce:
            reduce, others = [IterVar("one", Range(0, 1), reduce=True)], []
        names = [name for _, name in data] + ([one.short for one in others] or ["one"])
        axes = [one for one, _ in data]
        types = [result.ty for result in stage.tensors]
        shape = [one.dom.extent for one in axes]
        name = f"{stage.tensors[0].op.name}.rf"
        op, parts = self._new_stage(name, "partial", axes, reduce, types, shape, names)
        parts.reads = stage.reads
        self._reduce_parts(stage, parts, loop)
        self.stages.insert(self.stages.index(stage), parts)
        suffix = f", factor_axis = {factor_axis}" if factor_axis else ""
        self.emit(f"{parts.name} = rfactor({stage.name}, {loop.text}{suffix})")
        return list(op.outputs) if len(op.outputs) > 1 else op.outputs[0]

    def _check_rfactor(self, stage, axis):
        nest = stage._computed("rfactor")
        loop = nest.leaf(axis)
        if stage.source != "compute" or not stage.op.reduce_axis:
            raise TeUnsupported(f"`{stage.name}` is no reduction that the operator declares", "`rfactor` one of these")
        if not loop.reduce:
            raise TeValueError(f"`{loop.short}` is a loop over data", "`rfactor` takes a loop of the reduction")
        lost = [one for one in stage.op.axis if nest.known(one).parts is not None or not nest.known(one).is_plain]
        self._check_guests(stage, "rfactor")
        if lost or not all(one.is_plain for one in nest.leaves):
            raise TeUnsupported(
                f"`rfactor` makes the loops of `{stage.name}` anew, and directives about them would be lost",
                "split the reduction's axes, write `rfactor`, then the other directives",
            )
        return loop

    def _reduce_parts(self, stage, parts, loop):
        """Lets `stage` reduce `parts`, over one axis of the name of `loop`."""
        merge = IterVar(f"{loop.axis.name}.v", Range(0, loop.extent), reduce=True)
        op = CacheOp(stage.op.name, stage.op.axis, [merge], parts.tensors)
        op.outputs = stage.tensors
        self._stage_of[id(op)] = stage
        stage.op, stage.source = op, "merge"
        made = stage.nest.add(merge, loop.short, loop.extent)
        stage.nest.leaves = [*(stage.nest.known(axis) for axis in op.axis), made]
        stage.touches = []
        stage.reads = [Read(parts, nth) for nth in range(len(parts.tensors))]

    def _new_stage(self, name, source, axes, reduce, types, shape, names=None):
        """A stage that the schedule makes, and its operation; `names` are those of the axes."""
        op = CacheOp(name, axes, list(reduce), [])
        op.outputs = [Tensor(op, nth, shape, ty) for nth, ty in enumerate(types)]
        stage = Stage(self, op, self.names.give(op.outputs[0], name), source)
        for nth, axis in enumerate([*axes, *reduce]):
            short = names[nth] if names is not None and nth < len(names) else axis.name
            stage.nest.leaves.append(stage.nest.add(axis, short, axis.dom.extent))
        self._stage_of[id(op)] = stage
        return op, stage

    def _tensor(self, tensor):
        if not isinstance(tensor, Tensor):
            raise TeValueError(f"`{tensor!r}` is no tensor", '`s.cache_read(A, "shared", [B])`')
        return self[tensor], tensor.value_index

    def names_of(self, tensor):
        """What directives call a tensor."""
        return self.names.of(tensor) or self.operator.names.of(tensor) or self[tensor].name

    def depends(self, reader, stage):
        """Does `reader` read `stage`, directly or through others?"""
        seen, worklist = set(), [reader]
        while worklist:
            at = worklist.pop()
            for read in at.reads:
                if read.source is stage:
                    return True
                if id(read.source) not in seen:
                    seen.add(id(read.source))
                    worklist.append(read.source)
        return False

    def readers(self, stage):
        """The stages that read `stage` directly."""
        return [other for other in self.stages if any(read.source is stage for read in other.reads)]

    def shown_readers(self, stage):
        return ", ".join(f"`{reader.name}`" for reader in self.readers(stage)) or "nothing"

    def check(self):
        """Refuses what the schedule as a whole does not make."""
        if self.merged is None:
            checks.check(self)


def _is(read, source, index):
    return read.source is source and read.index == index


def create_schedule(ops):
    """A schedule of the operator that computes `ops`, each stage by its own loops."""
    ops = ops if isinstance(ops, (list, tuple)) else [ops]
    ops = [op.op if isinstance(op, Tensor) else op for op in ops]
    for op in ops:
        if isinstance(op, PlaceholderOp):
            raise TeValueError(f"`{op.name}` is an argument", "a schedule is of what is computed")
        if not isinstance(op, ComputeOp):
            raise TeValueError(f"`{op!r}` is no operation", "`te.create_schedule(B.op)`")
    if not ops:
        raise TeValueError("a schedule of nothing", "`te.create_schedule(B.op)`")
    distinct = []
    for op in ops:
        if not any(op is other for other in distinct):
            distinct.append(op)
    return Schedule(distinct)


__all__ = [
    "AutoInlineBroadcast",
    "AutoInlineElemWise",
    "AutoInlineInjective",
    "Schedule",
    "create_schedule",
]

_BY_PASS = "`tc-opt --pass-pipeline='module(schedule)'` prints the program (docs/passes.md)"

__getattr__ = missing_names("te.schedule", {"InferBound": _BY_PASS, "ScheduleOps": _BY_PASS})
