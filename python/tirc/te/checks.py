"""What must hold of a schedule as a whole: the rules of the text that no single directive shows."""

from .errors import TeUnsupported, TeValueError
from .expr import Const, Load, Var, convert, is_const
from .stage import INLINE, ROOT
from .walks import walk

_ON_CHIP_TILES = ("wmma.", "mma.", "wgmma.")


def check(schedule):
    """Refuses a schedule that te or the compiler would refuse once it is read."""
    for stage in schedule.stages:
        if stage.is_argument or stage.attach == INLINE:
            continue
        if stage.attach == ROOT:
            _at_root(schedule, stage)
        else:
            _attached(schedule, stage)
        _known_extents(stage)
        _launched_once(stage)
        _private(stage)
        _shared_reduction(schedule, stage)
        _predicated(stage)
        _twofold(stage)
        _reduced_by_threads(stage)
        _held_by_a_warp(stage)
        _tensorized(schedule, stage)


def path(stage):
    """The loops around a stage, outermost first."""
    around, guard = [], 0
    while stage.attach not in (ROOT, INLINE):
        owner, axis = stage.attach
        leaf = owner.nest.now(axis)
        leaves = owner.nest.leaves
        if leaf not in leaves:
            raise owner.nest.stale(leaf, at=stage.attach_at)
        around = leaves[: leaves.index(leaf) + 1] + around
        stage, guard = owner, guard + 1
        if guard > 200:
            raise TeValueError(
                f"`{stage.name}` is computed inside itself", "attach it at a stage that reads it", at=stage.attach_at
            )
    return around


def scope(stage):
    """Where the buffer of a stage lies, said or inferred."""
    if stage.scope is not None:
        return stage.scope
    around = path(stage)
    if any(loop.is_thread or loop.kind == "vthread" for loop in around):
        return "local"
    return "shared" if any(loop.is_block for loop in around) else "global"


def final_readers(schedule, stage):
    """The stages that read `stage`, through those that are inlined."""
    found, worklist, seen = [], [stage], set()
    while worklist:
        for reader in schedule.readers(worklist.pop()):
            if id(reader) in seen:
                continue
            seen.add(id(reader))
            (worklist if reader.attach == INLINE else found).append(reader)
    return found


def _root_of(stage):
    while stage.attach not in (ROOT, INLINE):
        stage = stage.attach[0]
    return stage


def is_launched(schedule, stage):
    """Is something in the kernel of `stage` bound to a launch coordinate?"""
    root = _root_of(stage)
    kin = [other for other in schedule.stages if _root_of(other) is root]
    return any(loop.is_launch for other in kin for loop in other.nest.leaves)


def _at_root(schedule, stage):
    if stage.aligned_at is not None and any(_by_sizes(extent) for extent in stage.tensors[0].shape):
        raise TeUnsupported(
            f"`storage_align` of `{stage.name}`, whose size is open",
            "give the size a number or a default, or compute the stage inside a loop",
            at=stage.aligned_at,
        )
    where = stage.scope or "global"
    if where == "global":
        return
    readers = final_readers(schedule, stage)
    inside = next((one for one in readers if is_launched(schedule, one)), None)
    if inside is None and not any(is_launched(schedule, other) for other in schedule.stages):
        return
    reader = inside or next(iter(readers), None)
    if reader is not None:
        what = "kernel" if inside is not None else "loops"
        raise TeValueError(
            f"`{stage.name}` lies in `{where}` memory, and is computed at the root, outside the {what} of `{reader.name}`",
            f"`s[{stage.name}].compute_at(s[{reader.name}], …)` one of {reader.nest.shown()}",
            at=stage.scope_at,
        )


def _known_extents(stage):
    """Threads, lanes and copies of an unrolled loop are a number that is known."""
    for loop in stage.nest.leaves:
        if loop.kind is None or loop.is_block or isinstance(convert(loop.extent), Const):
            continue
        # The loops over data of an attached stage follow from what its reader needs.
        if stage.attach != ROOT and not loop.reduce:
            continue
        if not _by_sizes(loop.extent):
            continue
        raise TeUnsupported(
            f"`{loop.short}` of `{stage.name}` is {loop.said()}, and its extent depends on a size",
            "`split` it by a factor, and take the inner loop",
            at=loop.kind_at,
        )


def _by_sizes(extent):
    return any(isinstance(node, Var) and node.default is None for node in walk(convert(extent)))


def _attached(schedule, stage):
    owner, axis = stage.attach
    if owner.attach == INLINE:
        raise TeValueError(
            f"`{stage.name}` is computed at `{owner.nest.now(axis).short}` of `{owner.name}`, which is inlined",
            f"compute it at a loop of {schedule.shown_readers(owner)}",
            at=stage.attach_at,
        )
    around, leaf = path(stage), owner.nest.now(axis)
    for reader in final_readers(schedule, stage):
        if reader is not owner and not any(loop is leaf for loop in path(reader)):
            raise TeValueError(
                f"`{reader.name}` reads `{stage.name}`, and is not computed inside `{leaf.short}` of `{owner.name}`",
                f"compute `{stage.name}` at a loop that holds all its readers: {schedule.shown_readers(stage)}",
                at=stage.attach_at,
            )
        _wide_enough(stage, around, reader)
    where = scope(stage)
    launched = any(loop.is_launch for loop in around)
    if where == "global" and any(loop.is_block for loop in launches(schedule, stage)):
        raise TeUnsupported(
            f"`{stage.name}` lies in global memory inside a kernel of several blocks, where no barrier orders them",
            "put it into `shared` or `local`, or compute it at the root",
            at=stage.attach_at,
        )
    if where != "global" and not launched and is_launched(schedule, stage):
        raise TeUnsupported(
            f"`{stage.name}` lies in `{where}` memory, and the loop `{leaf.short}` stands outside the kernel",
            f"compute it at a loop inside those bound to blocks: {owner.nest.shown()}",
            at=stage.attach_at,
        )


def launches(schedule, stage):
    """The loops of the kernel of `stage` that are bound to a launch coordinate and have several iterations."""
    root = _root_of(stage)
    kin = [other for other in schedule.stages if other.attach != INLINE and _root_of(other) is root]
    return [loop for other in kin for loop in other.nest.leaves if loop.is_launch and not is_const(loop.extent, 1)]


def _launched_once(stage):
    """Refuses a kernel that a loop of the host launches over and over."""
    nest = [*path(stage), *stage.nest.leaves]
    first = next((nth for nth, loop in enumerate(nest) if loop.is_launch), 0)
    serial = [loop for loop in nest[:first] if loop.kind in (None, "vectorize") and not is_const(loop.extent, 1)]
    # Threads that reduce together go through the rest of the reduction in their kernel.
    outside = [loop for loop in serial if not (loop.reduce and nest[first].reduce)]
    if outside:
        raise TeUnsupported(
            f"the kernel of `{stage.name}` begins at `{nest[first].short}`, inside of the loop `{outside[0].short}`, which "
            "would launch it over and over",
            f"bind `{outside[0].short}` to a coordinate of blocks, or `reorder` it inside of `{nest[first].short}`",
            at=nest[first].kind_at,
        )


def rank(where):
    """How many threads share a buffer, from all (0) to one: a loop over blocks has the rank 0, one over threads 1."""
    return {"global": 0, "shared": 1, "shared.dyn": 1, "registers": 1}.get(where, 2)


def _wide_enough(stage, around, reader):
    """A buffer that each thread, or block, has for itself is computed inside of the loops that choose its part."""
    own = rank(scope(stage))
    inside = [loop for loop in [*path(reader)[len(around) :], *reader.nest.leaves] if loop not in around]
    bound = {loop.kind for loop in [*around, *stage.nest.leaves]}
    needed = _axes_read(reader, stage)
    for loop in inside:
        chooses = (
            loop.is_launch and loop.kind not in bound and own > int(loop.is_thread) and not is_const(loop.extent, 1)
        )
        if chooses and (needed is None or loop not in reader.nest.leaves or loop.roots & needed):
            raise TeUnsupported(
                f"`{stage.name}` lies in `{scope(stage)}` memory, of which each `{loop.short}` of `{reader.name}` has its own, "
                "and is computed outside of that loop",
                f"compute it inside the loop `{loop.short}`, or put it into a wider scope",
                at=stage.attach_at,
            )


def _axes_read(reader, stage):
    """The axes of `reader` on which the part of `stage` depends that it reads, by number; `None` if that is unknown."""
    body = getattr(reader.op, "body", None)
    if body is None or not any(read.source is stage for read in reader.reads):
        return None
    return {id(node) for value in walk(*body) if isinstance(value, Load) for node in walk(*value.indices)}


def _private(stage):
    """Refuses a loop over threads, or blocks, of a stage of which each computes all that it needs."""
    own = rank(scope(stage))
    for loop in stage.nest.leaves:
        if loop.reduce or not loop.is_launch or own <= int(loop.is_thread) or is_const(loop.extent, 1):
            continue
        if scope(stage).startswith(_ON_CHIP_TILES) and loop.is_thread:
            continue
        what = "thread" if loop.is_thread else "block"
        raise TeUnsupported(
            f"`{stage.name}` lies in `{scope(stage)}` memory, so each {what} computes all that it needs of it, and its loop "
            f"`{loop.short}` is not divided among them",
            f"leave `{loop.short}` unbound, or put `{stage.name}` into a wider scope",
            at=loop.kind_at,
        )


def _shared_reduction(schedule, stage):
    """Refuses a reduction that each thread of a kernel runs, all into one buffer."""
    if not stage.op.reduce_axis:
        return
    own = {loop.kind for loop in [*path(stage), *stage.nest.leaves]}
    for loop in launches(schedule, stage):
        if loop.kind not in own and rank(scope(stage)) <= int(loop.is_thread):
            raise TeUnsupported(
                f"each of `{loop.kind}` runs the whole reduction of `{stage.name}`, and all add to the same buffer in "
                f"`{scope(stage)}` memory",
                f"bind a loop of `{stage.name}` to `{loop.kind}`, or put it into `local`",
                at=stage.attach_at or loop.kind_at,
            )


def _predicated(stage):
    """The loops that a predicate names are there at the end."""
    kinds = {loop.kind for loop in [*path(stage), *stage.nest.leaves]}
    for one in stage.predicate:
        if isinstance(one, str) and one not in kinds:
            raise TeValueError(
                f"the predicate of `{stage.name}` asks for `{one}`, which is not bound around it",
                "bind a loop to it",
                at=stage.predicate_at,
            )
        if not isinstance(one, str) and one not in stage.nest.leaves:
            raise TeUnsupported(
                f"the predicate of `{stage.name}` names `{one.short}`, which a later directive split or fused",
                "write `set_store_predicate` after it",
                at=stage.predicate_at,
            )


def _twofold(stage):
    if stage.twofold_at is None:
        return
    leaf = stage.attach[0].nest.now(stage.attach[1]) if stage.attach not in (ROOT, INLINE) else None
    if leaf is None or leaf.kind is not None:
        raise TeUnsupported(
            f"`double_buffer` of `{stage.name}`, which is not computed inside a serial loop",
            "`compute_at` a loop that is not bound",
            at=stage.twofold_at,
        )


def _reduced_by_threads(stage):
    leaves = stage.nest.leaves
    thread = next((loop for loop in leaves if loop.reduce and loop.is_launch), None)
    if thread is None:
        return
    first = next(nth for nth, loop in enumerate(leaves) if loop.reduce)
    inside = next((loop for loop in leaves[first:] if not loop.reduce), None)
    if inside is not None:
        raise TeValueError(
            f"`{stage.name}` is reduced by threads over `{thread.short}`, and its loop `{inside.short}` over data is inside",
            "`reorder` the loops over data outside of those of the reduction",
            at=thread.kind_at,
        )


def _held_by_a_warp(stage):
    if stage.scope is None or not stage.scope.startswith(_ON_CHIP_TILES):
        return
    loop = next((loop for loop in stage.nest.leaves if loop.kind == "threadIdx.x"), None)
    if loop is not None:
        raise TeUnsupported(
            f"the threads of a warp hold `{stage.name}` together, so its loop `{loop.short}` is not bound to `threadIdx.x`",
            "leave it unbound, and `tensorize` it",
            at=loop.kind_at,
        )


def _tensorized(schedule, stage):
    leaves = stage.nest.leaves
    first = next((nth for nth, loop in enumerate(leaves) if "tensorize" in loop.marks), None)
    if first is None:
        return
    at = leaves[first].marks["tensorize"]
    said = next((loop for loop in leaves[first:] if loop.kind is not None), None)
    if said is not None:
        raise TeValueError(
            f"`{said.short}` is {said.said()}, inside of the tensorized loop `{leaves[first].short}`",
            "an intrinsic stands for plain loops",
            at=at,
        )
    for other in schedule.stages:
        if other.attach in (ROOT, INLINE) or other.attach[0] is not stage:
            continue
        if any(stage.nest.now(other.attach[1]) is loop for loop in leaves[first:]):
            raise TeValueError(
                f"`{other.name}` is computed inside of the tensorized loop `{leaves[first].short}`",
                "compute it at a loop outside",
                at=at,
            )
