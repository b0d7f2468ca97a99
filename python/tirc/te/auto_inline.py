"""te's automatic inlining: stages that nothing is said of, by what their elements read."""

from .expr import Load
from .stage import ROOT
from .tensor import ComputeOp
from .walks import walk


def _candidates(schedule):
    """The stages that compute, are no results, do not reduce, and that no directive names."""
    for stage in schedule.stages:
        fresh = stage.attach == ROOT and stage.touched is None and stage.scope is None
        if fresh and not stage.is_output and isinstance(stage.op, ComputeOp) and not stage.op.reduce_axis:
            if len(stage.tensors) == 1:
                yield stage


def _is_elementwise(op):
    """Is each element computed from the elements of its own position?"""
    loads = [node for node in walk(*op.body) if isinstance(node, Load)]
    own = [id(axis) for axis in op.axis]
    return all([id(index) for index in load.indices] == own for load in loads)


def AutoInlineElemWise(schedule):
    """Inlines stages whose elements read those of their own position."""
    for stage in list(_candidates(schedule)):
        if _is_elementwise(stage.op):
            stage.compute_inline()


def AutoInlineBroadcast(schedule):
    """Inlines stages whose `tag` begins with `broadcast`, as TVM does."""
    for stage in list(_candidates(schedule)):
        if stage.op.tag.startswith("broadcast"):
            stage.compute_inline()


def AutoInlineInjective(schedule):
    """Inlines stages that do not reduce."""
    for stage in list(_candidates(schedule)):
        stage.compute_inline()
