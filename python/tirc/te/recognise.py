"""Which intrinsic of the library computes what a te intrinsic does.

Recognised are loads, stores, and products with their first step, of `wmma`:

- a copy of a tile that `tvm_load_matrix_sync` makes, into `wmma.matrix_a` or `wmma.matrix_b`;
- a copy of a tile that `tvm_store_matrix_sync` makes, from `wmma.accumulator`;
- a sum of products, `update` by `tvm_mma_sync`, `init` by `tvm_fill_fragment` with 0.
"""

from .errors import TeUnsupported, TeValueError
from .expr import Binary, Cast, Const, Load, convert
from .intrin import Handle, is_offset_of
from .reduce import Reduce

_HELP = "docs/te-python.md lists what is recognised; others are written in text: `te.intrin`, docs/intrinsics.md"

# Of each type of factors: what the library calls it, the types of sums, and the shapes (m, n, k).
_SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
_FACTORS = {
    "float16": ("f16", {"float32": "f32", "float16": "f16"}, _SHAPES),
    "bfloat16": ("bf16", {"float32": "f32"}, _SHAPES),
    "int8": ("i8", {"int32": "i32"}, _SHAPES),
    "uint8": ("u8", {"int32": "i32"}, _SHAPES),
    "float32": ("tf32", {"float32": "f32"}, ((16, 16, 8),)),
}
_LAYOUTS = {"row_major": "", "col_major": "_col"}


def recognise(op, ins, outs, steps):
    """The name of the library's intrinsic."""
    calls = [call.name for step in steps for call in step or ()]
    if len(steps) == 1 and calls == ["tir.tvm_load_matrix_sync"]:
        return _load(op, ins[0], outs[0], steps[0][0])
    if len(steps) == 1 and calls == ["tir.tvm_store_matrix_sync"]:
        return _store(op, ins[0], outs[0], steps[0][0])
    if len(steps) == 3 and calls == ["tir.tvm_mma_sync", "tir.tvm_fill_fragment", "tir.tvm_mma_sync"]:
        return _product(op, ins, outs, steps)
    shown = ", ".join(f"`{name.removeprefix('tir.')}`" for name in calls) or "nothing"
    raise TeUnsupported(f"an intrinsic that writes {shown} is none that tc recognises", _HELP)


def _wrong(text):
    return TeValueError(f"the intrinsic does not do what it computes: {text}", _HELP)


def _copied(op):
    """Refuses what is no copy of a tile."""
    body = op.body[0]
    straight = isinstance(body, Load) and len(op.axis) == 2
    if not straight or any(a is not b for a, b in zip(body.indices, op.axis)):
        raise _wrong("a load or a store computes `C[i, j] = A[i, j]`")


def _numbers(values):
    values = [convert(value) for value in values]
    if not all(isinstance(value, Const) for value in values):
        raise TeUnsupported("the shape of a tile is no number", _HELP)
    return tuple(int(value) for value in values)


def _layout(word):
    if word not in _LAYOUTS:
        raise TeValueError(f"there is no layout `{word}`", "it is row_major or col_major")
    return _LAYOUTS[word]


def _shape(ty, mnk):
    """What the library calls the type of a factor and a shape."""
    if ty not in _FACTORS or mnk not in _FACTORS[ty][2]:
        shapes = "; ".join(
            f"{one}: {', '.join('x'.join(map(str, s)) for s in rest[2])}" for one, rest in _FACTORS.items()
        )
        raise TeUnsupported(f"`wmma` has no tiles of {'x'.join(map(str, mnk))} of `{ty}`", f"there are {shapes}")
    return _FACTORS[ty][0], "x".join(map(str, mnk))


def _memory(pointer, buffer, stride):
    """Does the call name the rows of the buffer?"""
    if not isinstance(pointer, Handle) or pointer.buffer is not buffer or pointer.kind != "pointer":
        raise _wrong("the memory of the tile is `access_ptr` of its buffer")
    row = buffer.strides[0] if buffer.strides else buffer.shape[-1]
    stride, row = convert(stride), convert(row)
    same = stride is row or (isinstance(stride, Const) and isinstance(row, Const) and stride.value == row.value)
    if not same:
        raise _wrong("its rows lie as far apart as the strides of the buffer say")


def _tile(fragment, index, buffer):
    if not isinstance(fragment, Handle) or fragment.buffer is not buffer or fragment.kind != "data":
        raise _wrong("a fragment is `data` of its buffer")
    if not is_offset_of(index, buffer):
        raise _wrong("the number of a fragment is `elem_offset` divided by its elements")


def _extents(buffer, wanted):
    if _numbers(buffer.shape) != wanted:
        raise _wrong(f"the tile `{buffer.name}` is {wanted[0]} x {wanted[1]}")


def _load(op, source, tile, call):
    _copied(op)
    fragment, m, n, k, index, pointer, stride, layout = _args(call, 8)
    sides = {"wmma.matrix_a": "a", "wmma.matrix_b": "b"}
    if tile.scope not in sides:
        raise TeUnsupported(f"a load of a tile into `{tile.scope}`", "factors lie in wmma.matrix_a and wmma.matrix_b")
    side, mnk = sides[tile.scope], _numbers((m, n, k))
    ty, shape = _shape(tile.ty, mnk)
    suffix = _layout(layout)
    extents = (mnk[0], mnk[2]) if side == "a" else (mnk[2], mnk[1])
    _extents(tile, extents[::-1] if suffix else extents)
    _tile(fragment, index, tile)
    _memory(pointer, source, stride)
    return f"wmma_load_{side}_{shape}_{ty}{suffix}"


def _store(op, tile, target, call):
    _copied(op)
    fragment, m, n, k, index, pointer, stride, layout = _args(call, 8)
    if tile.scope != "wmma.accumulator":
        raise TeUnsupported(f"a store of a tile from `{tile.scope}`", "sums lie in wmma.accumulator")
    if _layout(layout):
        raise TeUnsupported("a store of columns of a tile that is not transposed", "store it row_major")
    mnk = _numbers((m, n, k))
    sums = [sums[tile.ty] for _, sums, shapes in _FACTORS.values() if tile.ty in sums and mnk in shapes]
    if not sums:
        raise TeUnsupported(f"`wmma` has no sums of {'x'.join(map(str, mnk))} of `{tile.dtype}`", _HELP)
    _extents(tile, mnk[:2])
    _tile(fragment, index, tile)
    _memory(pointer, target, stride)
    return f"wmma_store_{'x'.join(map(str, mnk))}_{sums[0]}"


def _args(call, count):
    if len(call.args) != count:
        raise TeValueError(f"`{call.name}` takes {count} arguments, not {len(call.args)}", _HELP)
    return call.args


def _product(op, ins, outs, steps):
    (body,), (init,), (update,) = steps
    (sums,) = outs
    layouts, factors, mnk = _factors(op)
    names = [tensor.op.name for tensor in op.input_tensors]
    if len(ins) != 2:
        raise _wrong(f"a product has two factors, not {', '.join(names)}")
    if [one.scope for one in ins] != ["wmma.matrix_a", "wmma.matrix_b"] or sums.scope != "wmma.accumulator":
        raise TeUnsupported("a product of tiles elsewhere than in `wmma` fragments", _HELP)
    if ins[0].ty != ins[1].ty or sums.ty not in _FACTORS.get(ins[0].ty, (None, {}, ()))[1]:
        raise TeUnsupported(f"`wmma` has no products of `{ins[0].dtype}` and `{ins[1].dtype}` to `{sums.dtype}`", _HELP)
    ty, shape = _shape(ins[0].ty, mnk)
    for call in (body, update):
        out, out_at, a, a_at, b, b_at, old, old_at = _args(call, 8)
        for fragment, index, buffer in ((out, out_at, sums), (old, old_at, sums), (a, a_at, ins[0]), (b, b_at, ins[1])):
            _tile(fragment, index, buffer)
    fragment, *given, index, value = _args(init, 6)
    _tile(fragment, index, sums)
    if _numbers(given) != mnk or convert(value).__class__ is not Const or convert(value).value != 0:
        raise _wrong("the first step sets the sums to 0")
    suffix = "" if layouts == ("row", "row") else f"_{layouts[0]}_{layouts[1]}"
    return f"wmma_{shape}_{ty}_{_FACTORS[ins[0].ty][1][sums.ty]}{suffix}"


def _factors(op):
    """The layouts of both factors, the factors, and the shape (m, n, k) of a sum of products."""
    body = op.body[0]
    reduction = isinstance(body, Reduce) and body.group.combiner.name == "sum" and body.group.combiner.is_builtin
    plain = reduction and len(body.axis) == 1 and body.group.where is None and body.group.init is None
    product = body.group.sources[0] if plain and len(op.axis) == 2 else None
    if not isinstance(product, Binary) or product.op != "*":
        raise _wrong("a product computes `C[i, j] = sum(A[i, k] * B[k, j])`")
    loads = [_uncast(side, body.ty) for side in (product.a, product.b)]
    (i, j), (k,) = op.axis, body.axis
    layouts = (_order(loads[0], i, k), _order(loads[1], k, j))
    if None in layouts:
        raise _wrong(
            "a product computes `C[i, j] = sum(A[i, k] * B[k, j])`, with `A[k, i]` or `B[j, k]` where columns lie"
        )
    mnk = _numbers([axis.dom.extent for axis in (i, j, k)])
    return layouts, loads, mnk


def _uncast(value, ty):
    inner = value.a if isinstance(value, Cast) else value
    if not isinstance(inner, Load) or value.ty != ty:
        raise _wrong("the factors are elements, cast to the type of the sum")
    return inner


def _order(load, first, second):
    indices = load.indices
    if len(indices) == 2 and indices[0] is first and indices[1] is second:
        return "row"
    return "col" if len(indices) == 2 and indices[0] is second and indices[1] is first else None
