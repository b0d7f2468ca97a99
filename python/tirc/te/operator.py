"""The operator: what its tensors compute, as a `te.func`."""

from . import dtypes
from .errors import TeUnsupported, TeValueError
from .expr import Var
from .names import Names
from .printer import Printer
from .reduce import Reduce
from .tensor import ComputeOp, PlaceholderOp, Tensor
from .walks import walk

_WIDTH = 118


def operations(outputs):
    """All operations that `outputs` need, each after those that it reads."""
    order, seen = [], set()
    stack = [(op, False) for op in reversed(outputs)]
    while stack:
        op, done = stack.pop()
        if done:
            order.append(op)
        elif id(op) not in seen:
            seen.add(id(op))
            if not isinstance(op, (ComputeOp, PlaceholderOp)):
                raise TeUnsupported(f"`{op.name}` is no `te.compute`", "a schedule is of what the program computes")
            stack.append((op, True))
            stack.extend((tensor.op, False) for tensor in reversed(op.input_tensors))
    return order


def tensor_wish(op, nth):
    """The name that a result would like to have."""
    return op.name if op.num_outputs == 1 else f"{op.name}_v{nth}"


class Operator:
    """The operations behind some outputs, and what they are called in the text."""

    def __init__(self, outputs):
        self.outputs = outputs
        self.order = operations(outputs)
        self.names = Names()
        self.sizes = []
        self.combiners = []
        self._axes = {}
        for op in self.order:
            self._name_sizes(op)
        for op in self.order:
            for nth, tensor in enumerate(op.outputs):
                self.names.give(tensor, tensor_wish(op, nth))
        for op in self.order:
            self._name_axes(op)
        self._name_combiners()

    def _name_sizes(self, op):
        values = [extent for tensor in op.outputs for extent in tensor.shape]
        for node in walk(*values, *getattr(op, "body", [])):
            if isinstance(node, Var) and not any(node is known for known in self.sizes):
                self.sizes.append(node)
                self.names.give(node, node.name)

    def _name_axes(self, op):
        # Axes of two stages may have one name, and one reduction axis may serve two stages.
        inner = self.names.inside()
        for axis in [*op.axis, *op.reduce_axis]:
            self._axes[id(op), id(axis)] = inner.take(axis.name)

    def _name_combiners(self):
        symbols = Names({"sum", "max", "min", "prod"})
        for group in self._groups():
            types = tuple(source.ty for source in group.sources)
            known = [name for combiner, of, _, name in self.combiners if combiner is group.combiner and of == types]
            if not known:
                known = [symbols.take(group.combiner.name)]
                self.combiners.append((group.combiner, types, group.applied, known[0]))
            self.names.set(group.applied, known[0])

    def _groups(self):
        for op in self.order:
            for value in getattr(op, "body", [])[:1]:
                if isinstance(value, Reduce) and not value.group.combiner.is_builtin:
                    yield value.group

    def axis_name(self, op, axis):
        """What an axis of `op` is called."""
        return self._axes[id(op), id(axis)]

    def taken(self):
        """All names of the operator, those of axes too."""
        return self.names.taken() | set(self._axes.values())

    def text(self, name, args):
        """The items of the operator `name`, whose arguments and results `args` lists."""
        params = self._params(args)
        printer = Printer(self.names)
        head = f"te.func @{name}{self._size_list(printer)}"
        params = ", ".join(params)
        results = [self._type(printer, tensor) for op in self.outputs for tensor in op.outputs]
        results = results[0] if len(results) == 1 else f"({', '.join(results)})"
        line = f"{head}({params}) -> {results} {{"
        if len(line) > _WIDTH:
            line = f"{head}(\n    {params})\n    -> {results} {{"
        body = [line for op in self.order if isinstance(op, ComputeOp) for line in self._compute(op)]
        returned = ", ".join(printer.name(tensor) for op in self.outputs for tensor in op.outputs)
        items = [self._combiner(*one) for one in self.combiners]
        return "\n".join([*items, line, *body, f"  return {returned}", "}", ""])

    def order_of(self, args):
        """The position in `args` of each argument of a kernel: parameters in their order, then results."""
        results = [tensor for op in self.outputs for tensor in op.outputs]
        at = {id(arg): nth for nth, arg in enumerate(args)}
        sizes = [nth for nth, arg in enumerate(args) if isinstance(arg, Var) and arg.ty == dtypes.INDEX]
        of_results = [at[id(result)] for result in results]
        params = [nth for nth in range(len(args)) if nth not in of_results and nth not in sizes]
        return params + of_results

    def _params(self, args):
        """The parameters: those arguments that are no results and no sizes."""
        params, given = [], []
        printer = Printer(self.names)
        results = [tensor for op in self.outputs for tensor in op.outputs]
        for arg in args:
            if isinstance(arg, (Tensor, Var)):
                if any(arg is other for other in given):
                    raise TeValueError(f"`{arg.name}` is twice among the arguments", "name each argument once")
                given.append(arg)
            if isinstance(arg, Var) and arg.ty == dtypes.INDEX:
                if not any(arg is known for known in self.sizes):
                    self.sizes.append(arg)
                    self.names.give(arg, arg.name)
            elif isinstance(arg, Var):
                params.append(f"{self.names.give(arg, arg.name)}: {dtypes.text(arg.ty)}[]")
            elif isinstance(arg, Tensor) and isinstance(arg.op, PlaceholderOp):
                self._name_sizes(arg.op)
                params.append(f"{self.names.give(arg, arg.name)}: {self._type(printer, arg)}")
            elif isinstance(arg, Tensor) and not any(arg is result for result in results):
                raise TeValueError(
                    f"`{arg.name}` is computed on the way, and is an argument",
                    f"make it a result: `te.create_schedule([…, {arg.name}.op])`",
                )
            elif not isinstance(arg, Tensor):
                raise TeValueError(f"`{arg!r}` is no argument", "arguments are tensors, sizes and numbers (`te.var`)")
        self._all_given(given, results)
        return params

    def _all_given(self, given, results):
        """Is each placeholder, result, size and number among the arguments, or told by their shapes?"""
        needed = [op.outputs[0] for op in self.order if isinstance(op, PlaceholderOp)] + results
        for tensor in needed:
            if not any(tensor is other for other in given):
                word = "a result" if any(tensor is result for result in results) else "read"
                raise TeValueError(f"`{tensor.name}` is {word}, and is not among the arguments", "add it to the list")
        shapes = [extent for tensor in given if isinstance(tensor, Tensor) for extent in tensor.shape]
        told = [node for node in walk(*shapes) if isinstance(node, Var)] + given
        for size in self.sizes:
            if not any(size is other for other in told):
                raise TeValueError(f"no argument tells what `{size.name}` is", "add it to the list of arguments")

    def _size_list(self, printer):
        sizes = [size for size in self.sizes if size.ty == dtypes.INDEX]
        shown = []
        for size in sizes:
            text = printer.name(size)
            if size.low is not None:
                text += f": {size.low}..{size.high}"
            shown.append(text if size.default is None else f"{text} = {size.default}")
        return f"<{', '.join(shown)}>" if shown else ""

    def _type(self, printer, tensor):
        shape = ", ".join(printer.text(extent) for extent in tensor.shape)
        return f"{dtypes.text(tensor.ty)}[{shape}]"

    def _compute(self, op):
        names = self.names.inside()
        for axis in [*op.axis, *op.reduce_axis]:
            names.set(axis, self.axis_name(op, axis))
        printer = Printer(names)
        results = ", ".join(printer.name(tensor) for tensor in op.outputs)
        axes = ", ".join(printer.axis(axis) for axis in op.axis)
        head, body = printer.element(op.body[0])
        line = f"  compute {results}[{axes}] = {head}{body}"
        if len(line) <= _WIDTH:
            return [line]
        return [f"  compute {results}[{axes}] = {head}".rstrip(), f"    {body}"]

    def _combiner(self, combiner, types, applied, name):
        left, right, identity, result = applied
        names = Names()
        shown = [f"{names.give(var, var.name)}: {dtypes.text(var.ty)}" for var in [*left, *right]]
        printer = Printer(names)
        start = ", ".join(printer.text(value) for value in identity)
        values = ", ".join(printer.text(value) for value in result)
        lines = [f"te.combiner @{name}({', '.join(shown)}) {{", "  identity {", f"    yield {start}", "  }"]
        return "\n".join([*lines, f"  yield {values}", "}", ""])
