"""Kernels as operators of PyTorch: for `torch.compile`, CUDA graphs and autograd.

    import tirc, tirc.torch
    scale = tirc.torch.register("mine::scale", kernel)
    B = scale(A)                     # or torch.ops.mine.scale(A)

The gradient is the kernel of an operator that the author gives. It takes, by name, what it needs: arguments and results of
the kernel under their names, and gradients of results under the name of the result after `d_`. Its results are called after
the arguments whose gradients they are: `d_A`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ._native import Kernel
from .errors import ArgumentError
from .frameworks import torch_type
from .shapes import Param, output_shapes, signature

#: Libraries stay as long as the process runs: what they define goes with them.
_LIBRARIES: dict[str, torch.library.Library] = {}


def register(name: str, kernel: Kernel, *, backward: Kernel | None = None) -> Callable[..., Any]:
    """Registers `kernel` as the operator `name`, such as `mine::scale`, and returns it.

    The operator takes what the kernel reads and returns what it writes. Arrays that do not lie dense are copied.
    """
    namespace, short = _names(name)
    params = signature(kernel)
    inputs, outputs = _params(params)
    library = _LIBRARIES.setdefault(namespace, torch.library.Library(namespace, "FRAGMENT"))
    returned = ["Tensor"] * len(outputs)
    result = returned[0] if len(returned) == 1 else f"({', '.join(returned)})"
    library.define(f"{short}({', '.join(_declared(param) for param in inputs)}) -> {result}")

    def run(*args: Any) -> Any:
        return kernel(*[_dense(arg) for arg in args])

    def fake(*args: Any) -> Any:
        made = output_shapes(params, [list(arg.shape) if isinstance(arg, torch.Tensor) else None for arg in args])
        like = next(arg for arg in args if isinstance(arg, torch.Tensor))
        empty = [like.new_empty(shape, dtype=torch_type(param.dtype)) for shape, param in zip(made, outputs)]
        return empty[0] if len(empty) == 1 else tuple(empty)

    library.impl(short, run, "CUDA")
    torch.library.register_fake(name, fake, lib=library)
    if backward is not None:
        _differentiate(name, library, (inputs, outputs), backward)
    operator: Callable[..., Any] = getattr(getattr(torch.ops, namespace), short)
    return operator


def _differentiate(name: str, library: Any, params: tuple[Sequence[Param], Sequence[Param]], backward: Kernel) -> None:
    inputs, outputs = ([param.name for param in some] for some in params)
    needs, gives = ([param.name for param in some] for some in _params(signature(backward)))
    known = {*inputs, *outputs, *(f"d_{out}" for out in outputs)}
    for need in needs:
        if need not in known:
            _refuse(f"the gradient of `{name}` takes `{need}`, and there are {_list(sorted(known))}")
    for give in gives:
        if not give.startswith("d_") or give[2:] not in inputs:
            _refuse(f"the gradient of `{name}` gives `{give}`, and there are {_list(f'd_{one}' for one in inputs)}")
    saved = [need for need in needs if need in inputs or need in outputs]

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        results = output if isinstance(output, tuple) else (output,)
        values = dict(zip([*names_in, *names_out], [*inputs, *results]))
        ctx.save_for_backward(*[values[need] for need in saved])
        ctx.shapes = [(out.shape, out.dtype, out.device) for out in results]

    names_in, names_out = inputs, outputs

    def run(ctx: Any, *grads: Any) -> Any:
        values = dict(zip(saved, ctx.saved_tensors))
        for out, grad, (shape, dtype, device) in zip(names_out, grads, ctx.shapes):
            # A result that nothing depends on has no gradient.
            values[f"d_{out}"] = torch.zeros(shape, dtype=dtype, device=device) if grad is None else grad
        made = gradient(*[values[need] for need in needs])
        by_name = dict(zip(gives, made if isinstance(made, (tuple, list)) else (made,)))
        found = tuple(by_name.get(f"d_{one}") for one in names_in)
        return found if len(found) > 1 else found[0]

    gradient = register(f"{name}_backward", backward)
    torch.library.register_autograd(name, run, setup_context=setup_context, lib=library)


def _names(name: str) -> tuple[str, str]:
    parts = name.split("::")
    if len(parts) != 2 or not all(part.isidentifier() for part in parts):
        _refuse(f"an operator of PyTorch is called `library::name`, not `{name}`")
    return parts[0], parts[1]


def _params(params: Sequence[Param]) -> tuple[list[Param], list[Param]]:
    """What a kernel reads, and what it only writes."""
    return [one for one in params if one.access != "write"], [one for one in params if one.access == "write"]


def _declared(param: Param) -> str:
    if param.shape is not None:
        return f"Tensor{'(a!)' if param.access == 'read-write' else ''} {param.name}"
    kind = "bool" if param.dtype == "bool" else "float" if "f" in param.dtype else "int"
    return f"{kind} {param.name}"


def _dense(arg: Any) -> Any:
    return arg.contiguous() if isinstance(arg, torch.Tensor) else arg


def _list(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _refuse(text: str) -> None:
    raise ArgumentError(f"error[bad-argument]: {text}", [])
