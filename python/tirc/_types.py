"""What libraries of arrays call tc's element types. NumPy has no bf16 and no 8-bit floats; `ml_dtypes` has them."""

#: By tc's name, the one that NumPy with `ml_dtypes`, PyTorch and JAX have in common.
COMMON = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
}

#: Those that NumPy lacks: the integers that have as many bits.
BITS = {"bf16": "uint16", "f8e4m3": "uint8", "f8e5m2": "uint8"}
