//! Names of element types: ours beside TVM's.

use tc_ir::{Elem, Scalar};

/// Each element type that TVM has, with TVM's name for it.
const ELEMS: &[(Elem, &str)] = &[
    (Elem::Bool, "bool"),
    (Elem::I8, "int8"),
    (Elem::I16, "int16"),
    (Elem::I32, "int32"),
    (Elem::I64, "int64"),
    (Elem::U8, "uint8"),
    (Elem::U16, "uint16"),
    (Elem::U32, "uint32"),
    (Elem::U64, "uint64"),
    (Elem::F16, "float16"),
    (Elem::BF16, "bfloat16"),
    (Elem::F32, "float32"),
    (Elem::F64, "float64"),
    (Elem::F8E4M3, "float8_e4m3fn"),
    (Elem::F8E5M2, "float8_e5m2"),
];

/// Other names that TVMScript has for them.
const SHORT: &[(&str, Elem)] = &[
    ("boolean", Elem::Bool),
    ("f16", Elem::F16),
    ("bf16", Elem::BF16),
    ("f32", Elem::F32),
    ("f64", Elem::F64),
    ("i8", Elem::I8),
    ("i16", Elem::I16),
    ("i32", Elem::I32),
    ("i64", Elem::I64),
    ("u8", Elem::U8),
    ("u16", Elem::U16),
    ("u32", Elem::U32),
    ("u64", Elem::U64),
];

/// TVM's name of `elem`; none for `index`, whose width the function decides, and for what TVM lacks.
pub(crate) fn elem_name(elem: Elem) -> Option<&'static str> {
    ELEMS.iter().find(|(known, _)| *known == elem).map(|&(_, name)| name)
}

/// TVM's name of `scalar`: `float16x4`.
pub(crate) fn scalar_name(scalar: Scalar) -> Option<String> {
    let name = elem_name(scalar.elem)?;
    Some(if scalar.lanes == 1 { name.to_string() } else { format!("{name}x{}", scalar.lanes) })
}

/// The type that TVM calls `name`: `float32`, `float16x4`, `f32`.
pub(crate) fn parse(name: &str) -> Option<Scalar> {
    if let Some(elem) = parse_elem(name) {
        return Some(Scalar::of(elem));
    }
    let (elem, lanes) = name.rsplit_once('x')?;
    let lanes: u16 = lanes.parse().ok()?;
    (2..=Scalar::MAX_LANES).contains(&lanes).then_some(Scalar { elem: parse_elem(elem)?, lanes })
}

fn parse_elem(name: &str) -> Option<Elem> {
    let full = ELEMS.iter().find(|(_, known)| *known == name).map(|&(elem, _)| elem);
    full.or_else(|| SHORT.iter().find(|(known, _)| *known == name).map(|&(_, elem)| elem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for &(elem, name) in ELEMS {
            assert_eq!(parse(name), Some(Scalar::of(elem)));
            assert_eq!(parse(&format!("{name}x4")), Some(Scalar { elem, lanes: 4 }));
        }
        assert_eq!(parse("f16x8"), Some(Scalar { elem: Elem::F16, lanes: 8 }));
        for name in ["float31", "float32x1", "float32x", "handle", ""] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
