"""Walks over expressions."""

from .errors import TeUnsupported
from .expr import FOLD, Binary, Call, Cast, Choice, Const, Load, Param, Unary


def children(value):
    """The operands of a node, left to right."""
    if isinstance(value, Binary):
        return (value.a, value.b)
    if isinstance(value, (Unary, Cast)):
        return (value.a,)
    if isinstance(value, Choice):
        return (value.condition, value.a, value.b)
    if isinstance(value, Call):
        return tuple(value.args)
    if isinstance(value, Load):
        return tuple(value.indices)
    return getattr(value, "operands", lambda: ())()


def walk(*roots):
    """All nodes below `roots`, each once, operands before the node, left to right."""
    seen, stack = set(), [(root, False) for root in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(children(node)))


def params_of(value):
    """The parameters of schedules in `value`, where it consists of these and numbers alone."""
    leaves = [node for node in walk(value) if not children(node)]
    if not all(isinstance(leaf, (Param, Const)) for leaf in leaves):
        return []
    return [leaf for leaf in leaves if isinstance(leaf, Param)]


def evaluate(value, known):
    """The number that an expression over parameters is where `known` gives them, by name."""
    if isinstance(value, Const):
        return value.value
    if isinstance(value, Param):
        return known[value.name]
    if isinstance(value, Unary):
        inner = evaluate(value.a, known)
        return not inner if value.op == "!" else -inner
    if isinstance(value, Cast):
        return evaluate(value.a, known)
    if isinstance(value, Binary) and value.op in ("&&", "||"):
        both = (evaluate(value.a, known), evaluate(value.b, known))
        return all(both) if value.op == "&&" else any(both)
    if isinstance(value, Binary):
        return FOLD[value.op](evaluate(value.a, known), evaluate(value.b, known))
    if isinstance(value, Choice):
        return evaluate(value.a if evaluate(value.condition, known) else value.b, known)
    if isinstance(value, Call) and value.function in ("min", "max"):
        return {"min": min, "max": max}[value.function](evaluate(arg, known) for arg in value.args)
    raise TeUnsupported(
        "a schedule cannot compute this from its parameters", "use sums, products, quotients, comparisons"
    )
