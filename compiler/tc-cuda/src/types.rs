//! Types as CUDA C++ writes them.
//!
//! Numbers have their built-in types; a truth value is a `bool`, which takes one byte. A vector is one of CUDA's own
//! (`float4`) where there is one, else a struct that the emitted text declares (`f16x8`).

use tc_ir::{Elem, Scalar};

/// The type of one number; `None` for those that no kernel holds.
pub(crate) fn number(elem: Elem) -> Option<&'static str> {
    Some(match elem {
        Elem::Bool => "bool",
        Elem::I8 => "signed char",
        Elem::I16 => "short",
        Elem::I32 => "int",
        Elem::I64 => "long long",
        Elem::U8 => "unsigned char",
        Elem::U16 => "unsigned short",
        Elem::U32 => "unsigned int",
        Elem::U64 => "unsigned long long",
        Elem::F16 => "__half",
        Elem::BF16 => "__nv_bfloat16",
        // Of which 13 bits are 0.
        Elem::F32 | Elem::TF32 => "float",
        Elem::F64 => "double",
        Elem::F8E4M3 => "__nv_fp8_e4m3",
        Elem::F8E5M2 => "__nv_fp8_e5m2",
        Elem::Index => return None,
    })
}

/// What declares the type and its functions, where that is a header.
pub(crate) fn header(elem: Elem) -> Option<&'static str> {
    Some(match elem {
        Elem::F16 => "cuda_fp16.h",
        Elem::BF16 => "cuda_bf16.h",
        _ if elem.is_float8() => "cuda_fp8.h",
        _ => return None,
    })
}

/// What CUDA's conversions to a float of 8 bits call it.
pub(crate) fn float8_kind(elem: Elem) -> &'static str {
    match elem {
        Elem::F8E4M3 => "__NV_E4M3",
        _ => "__NV_E5M2",
    }
}

/// One of CUDA's vector types: its name, and the function that makes one of its lanes.
pub(crate) struct BuiltIn {
    /// The type.
    pub(crate) name: String,
    /// The function.
    pub(crate) make: String,
}

/// CUDA's own type for `scalar`, if it is a vector that has one. Those of four 64-bit lanes are not used: CUDA 13
/// renames them for their alignment.
pub(crate) fn built_in(scalar: Scalar) -> Option<BuiltIn> {
    let (base, most) = match scalar.elem {
        Elem::I8 => ("char", 4),
        Elem::U8 => ("uchar", 4),
        Elem::I16 => ("short", 4),
        Elem::U16 => ("ushort", 4),
        Elem::I32 => ("int", 4),
        Elem::U32 => ("uint", 4),
        Elem::F32 | Elem::TF32 => ("float", 4),
        Elem::I64 => ("longlong", 2),
        Elem::U64 => ("ulonglong", 2),
        Elem::F64 => ("double", 2),
        Elem::F16 if scalar.lanes == 2 => {
            return Some(BuiltIn { name: "__half2".into(), make: "__halves2half2".into() });
        }
        Elem::BF16 if scalar.lanes == 2 => {
            return Some(BuiltIn { name: "__nv_bfloat162".into(), make: "__halves2bfloat162".into() });
        }
        _ => return None,
    };
    let name = format!("{base}{}", scalar.lanes);
    (2..=most).contains(&scalar.lanes).then(|| BuiltIn { make: format!("make_{name}"), name })
}

/// The member that holds lane number `lane` of a value of type `scalar`.
pub(crate) fn member(scalar: Scalar, lane: usize) -> String {
    match built_in(scalar) {
        Some(_) => [".x", ".y", ".z", ".w"][lane % 4].to_string(),
        None => format!(".lane[{lane}]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tc_kernel::access::alignment;

    #[test]
    fn vectors_have_cudas_types_where_there_are_some() {
        let show = |text: &str| {
            let scalar = Scalar::parse(text).expect("a type");
            let name = built_in(scalar).map_or(text.to_string(), |built_in| built_in.name);
            format!("{name}{} {}", member(scalar, 1), alignment(scalar))
        };
        assert_eq!(show("f32x4"), "float4.y 16");
        assert_eq!(show("f32x3"), "float3.y 4");
        assert_eq!(show("f32x8"), "f32x8.lane[1] 16");
        assert_eq!(show("f16x2"), "__half2.y 4");
        assert_eq!(show("f16x8"), "f16x8.lane[1] 16");
        assert_eq!(show("i8x3"), "char3.y 1");
        assert_eq!(show("f64x4"), "f64x4.lane[1] 16");
        assert_eq!(show("boolx4"), "boolx4.lane[1] 4");
    }
}
