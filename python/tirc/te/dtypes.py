"""Element types: TVM's names, the text's names, and which type two operands have in common.

Axes and sizes have the type `index` here. TVM calls it `int32`, and so does every `dtype` that a caller sees.
"""

from .errors import TeUnsupported, TeValueError

INDEX = "index"

# What each type is called in the text, how it counts, and how many bits it has.
_TYPES = {
    "index": ("index", "int", 32),
    "bool": ("bool", "bool", 1),
    "int8": ("i8", "int", 8),
    "int16": ("i16", "int", 16),
    "int32": ("i32", "int", 32),
    "int64": ("i64", "int", 64),
    "uint8": ("u8", "uint", 8),
    "uint16": ("u16", "uint", 16),
    "uint32": ("u32", "uint", 32),
    "uint64": ("u64", "uint", 64),
    "float8_e4m3": ("f8e4m3", "float", 8),
    "float8_e5m2": ("f8e5m2", "float", 8),
    "float16": ("f16", "float", 16),
    "bfloat16": ("bf16", "float", 16),
    "float32": ("f32", "float", 32),
    "float64": ("f64", "float", 64),
}

_ALIASES = {
    "float": "float32",
    "int": "int32",
    "uint": "uint32",
    "uint1": "bool",
    "e4m3_float8": "float8_e4m3",
    "e5m2_float8": "float8_e5m2",
    "float8_e4m3fn": "float8_e4m3",
}

_GREATEST = {
    "float8_e4m3": 448.0,
    "float8_e5m2": 57344.0,
    "float16": 65504.0,
    "bfloat16": 3.3895313892515355e38,
    "float32": 3.4028234663852886e38,
    "float64": 1.7976931348623157e308,
}


def parse(dtype):
    """The type that a caller's `dtype` names."""
    name = _ALIASES.get(str(dtype), str(dtype))
    if name not in _TYPES or name == INDEX:
        known = ", ".join(sorted(_TYPES.keys() - {INDEX}))
        raise TeUnsupported(f"there is no element type `{dtype}`", f"types are {known}; vectors come by `vectorize`")
    return name


def text(ty):
    """What the text calls a type."""
    return _TYPES[ty][0]


def is_float(ty):
    return _TYPES[ty][1] == "float"


def is_integer(ty):
    """Is it a signed or unsigned integer, or an index?"""
    return _TYPES[ty][1] in ("int", "uint")


def is_unsigned(ty):
    return _TYPES[ty][1] == "uint"


def common(a, b):
    """The type to which both operands of an operator are cast, by TVM's rules."""
    if a == b:
        return a
    (_, kind_a, bits_a), (_, kind_b, bits_b) = _TYPES[a], _TYPES[b]
    if "bool" in (kind_a, kind_b):
        other = b if kind_a == "bool" else a
        return "int32" if other == INDEX else other
    if kind_a == kind_b == "float" and bits_a == bits_b:
        raise TeValueError(f"`{a}` and `{b}` have no type in common", 'cast one of them: `.astype("float32")`')
    if kind_a == "float" and kind_b == "float":
        return a if bits_a > bits_b else b
    if "float" in (kind_a, kind_b):
        return a if kind_a == "float" else b
    if kind_a == kind_b:
        wide = a if bits_a >= bits_b else b
        # `index` and `int32` are one type to TVM; a value is `int32`.
        return "int32" if bits_a == bits_b or wide == INDEX else wide
    signed, unsigned = (a, b) if kind_a == "int" else (b, a)
    if _TYPES[signed][2] > _TYPES[unsigned][2]:
        return "int32" if signed == INDEX else signed
    raise TeValueError(
        f"`{shown(a)}` and `{shown(b)}` have no type in common that holds both", "cast one of them with `.astype(…)`"
    )


def shown(ty):
    """What TVM calls a type."""
    return "int32" if ty == INDEX else ty


def greatest(ty):
    if is_float(ty):
        return _GREATEST[ty]
    _, kind, bits = _TYPES[ty]
    return (1 << (bits - (kind == "int"))) - 1


def least(ty):
    if is_float(ty):
        return -_GREATEST[ty]
    return -(1 << (_TYPES[ty][2] - 1)) if _TYPES[ty][1] == "int" else 0
