//! Names of element types: TVM's follow from what a type is.

use tc_ir::types::ElemKind;
use tc_ir::{Elem, Scalar};

/// TVM's name of `elem`; none for `index`, whose width the function decides, and for what TVM lacks.
fn elem_name(elem: Elem) -> Option<String> {
    let bits = elem.bits();
    // `index`, and what is another type in memory.
    if elem.dtype().elem() != elem || elem.in_memory() != elem {
        return None;
    }
    Some(match (elem.kind(), elem.format().map(|format| format.exponent_bits)) {
        (ElemKind::Bool, _) => "bool".to_string(),
        (ElemKind::Signed, _) => format!("int{bits}"),
        (ElemKind::Unsigned, _) => format!("uint{bits}"),
        (ElemKind::Float, Some(8)) if bits == 16 => "bfloat16".to_string(),
        (ElemKind::Float, Some(4)) => format!("float{bits}_e4m3fn"),
        (ElemKind::Float, Some(5)) if bits == 8 => format!("float{bits}_e5m2"),
        (ElemKind::Float, _) => format!("float{bits}"),
    })
}

/// TVM's name of `scalar`: `float16x4`.
pub(crate) fn scalar_name(scalar: Scalar) -> Option<String> {
    let name = elem_name(scalar.elem)?;
    Some(if scalar.lanes == 1 { name } else { format!("{name}x{}", scalar.lanes) })
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
    let is_called =
        |elem: &&Elem| elem_name(**elem).is_some_and(|known| known == name || short_name(**elem) == Some(name));
    Elem::ALL.iter().find(is_called).copied()
}

/// Another name that TVMScript has for `elem`: for most it is ours.
fn short_name(elem: Elem) -> Option<&'static str> {
    match elem.kind() {
        ElemKind::Bool => Some("boolean"),
        _ => (!elem.is_float8()).then(|| elem.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        let names: Vec<(Elem, String)> = Elem::ALL.iter().filter_map(|&elem| Some((elem, elem_name(elem)?))).collect();
        for (elem, name) in &names {
            assert_eq!(parse(name), Some(Scalar::of(*elem)));
            assert_eq!(parse(&format!("{name}x4")), Some(Scalar { elem: *elem, lanes: 4 }));
        }
        let all: Vec<&str> = names.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(
            all.join(" "),
            "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 float8_e4m3fn \
             float8_e5m2"
        );
        let half = Elem::ALL.iter().copied().find(|elem| elem.bits() == 16 && elem.is_float()).expect("there is one");
        assert_eq!(parse("f16x8"), Some(Scalar { elem: half, lanes: 8 }));
        for name in ["float31", "float32x1", "float32x", "handle", "index", "tf32", "f8e4m3", ""] {
            assert_eq!(parse(name), None, "{name}");
        }
    }
}
