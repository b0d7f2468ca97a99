//! What MLIR's types stand for, read from how MLIR prints them.

use crate::read;
use melior::ir::Type;
use tc_ir::{Elem, Scalar};

/// A type of MLIR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Known {
    /// A number or a vector.
    Scalar(Scalar),
    /// A buffer.
    Buffer(BufferType),
    /// Another.
    Other,
}

/// A memref.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct BufferType {
    /// Its elements.
    pub(crate) elem: Scalar,
    /// Its extents; `None` where they are open.
    pub(crate) shape: Vec<Option<i64>>,
    /// Where it lies.
    pub(crate) scope: &'static str,
    /// A layout other than row after row.
    pub(crate) has_layout: bool,
}

/// What `ty` stands for. Integers have no sign of their own there, and count as signed.
pub(crate) fn known(ty: Type<'_>) -> Known {
    parse(&ty.to_string())
}

/// The same of a type's text.
fn parse(text: &str) -> Known {
    if let Some(scalar) = scalar(text) {
        return Known::Scalar(scalar);
    }
    match inside(text, "memref").and_then(buffer) {
        Some(buffer) => Known::Buffer(buffer),
        None => Known::Other,
    }
}

fn inside<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.strip_prefix(name)?.strip_prefix('<')?.strip_suffix('>')
}

/// The type of a number as MLIR calls it: `f32`.
pub(crate) fn elem(text: &str) -> Option<Elem> {
    read::elems(text).next()
}

fn scalar(text: &str) -> Option<Scalar> {
    if let Some(elem) = elem(text) {
        return Some(Scalar::of(elem));
    }
    let (lanes, number) = inside(text, "vector")?.split_once('x')?;
    let lanes: u16 = lanes.parse().ok()?;
    (1..=Scalar::MAX_LANES).contains(&lanes).then_some(Scalar { elem: elem(number)?, lanes })
}

/// What stands in `memref<…>`.
fn buffer(text: &str) -> Option<BufferType> {
    let (shape, rest) = text.split_once(", ").unwrap_or((text, ""));
    let mut shape_and_elem = shape;
    let mut extents = Vec::new();
    while let Some((extent, rest)) = shape_and_elem.split_once('x') {
        match extent {
            "?" => extents.push(None),
            number => match number.parse::<i64>() {
                Ok(extent) => extents.push(Some(extent)),
                // `vector<…` has an `x` too.
                Err(_) => break,
            },
        }
        shape_and_elem = rest;
    }
    let elem = scalar(shape_and_elem)?;
    // A layout stands before the space, and either may be missing.
    let (layout, space) = match rest.rsplit_once(", ") {
        Some((layout, space)) if !space.contains(']') || space.starts_with('#') => (layout, space),
        _ if rest.starts_with("strided") || rest.starts_with("affine_map") => (rest, ""),
        _ => ("", rest),
    };
    let scope = scope(space.split(" : ").next().unwrap_or(space))?;
    Some(BufferType { elem, shape: extents, scope, has_layout: !layout.is_empty() })
}

/// Where a buffer in the memory space `space` lies: numbers are those of NVVM.
fn scope(space: &str) -> Option<&'static str> {
    Some(match space {
        "" | "0" | "1" | "#gpu.address_space<global>" => "global",
        "3" | "#gpu.address_space<workgroup>" => "shared",
        "5" | "#gpu.address_space<private>" => "local",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_mlir_prints_them() {
        assert_eq!(parse("f32"), Known::Scalar(Scalar::of(Elem::F32)));
        assert_eq!(parse("i1"), Known::Scalar(Scalar::of(Elem::Bool)));
        assert_eq!(parse("index"), Known::Scalar(Scalar::of(Elem::Index)));
        assert_eq!(parse("vector<4xf16>"), Known::Scalar(Scalar { elem: Elem::F16, lanes: 4 }));
        for text in ["vector<2x2xf32>", "i7", "!llvm.ptr", "memref<4xi7>", "memref<4xf32, 9>", "vector<[4]xf32>"] {
            assert_eq!(parse(text), Known::Other, "{text}");
        }
        let read = |text: &str| match parse(text) {
            Known::Buffer(BufferType { elem, shape, scope, has_layout }) => {
                format!("{elem} {shape:?} {scope} {has_layout}")
            }
            other => format!("{other:?}"),
        };
        assert_eq!(read("memref<64x?xf32>"), "f32 [Some(64), None] global false");
        assert_eq!(read("memref<f32>"), "f32 [] global false");
        assert_eq!(read("memref<4xvector<4xf32>, #gpu.address_space<workgroup>>"), "f32x4 [Some(4)] shared false");
        assert_eq!(read("memref<8xi8, 5 : i32>"), "i8 [Some(8)] local false");
        assert_eq!(read("memref<8x8xf32, strided<[16, 1]>>"), "f32 [Some(8), Some(8)] global true");
        assert_eq!(read("memref<8x8xf32, strided<[16, 1], offset: 3>, 3>"), "f32 [Some(8), Some(8)] shared true");
    }
}
