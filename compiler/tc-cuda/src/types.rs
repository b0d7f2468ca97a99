//! Types as CUDA C++ writes them.
//!
//! Numbers have their built-in types; a truth value is a `bool`, which takes one byte. A vector is one of CUDA's own
//! (`float4`) where there is one, else a struct that the emitted text declares (`f16x8`).

use tc_ir::{Elem, Scalar};

/// How CUDA C++ writes an element type.
struct Row {
    elem: Elem,
    /// The type of one number.
    number: &'static str,
    /// The start of the names of CUDA's vectors of it, and the most lanes that such a one has. Those of four 64-bit lanes
    /// are not used: CUDA 13 renames them for their alignment.
    vectors: Option<(&'static str, u16)>,
    /// What declares the type and its functions, where that is a header.
    header: Option<&'static str>,
    /// What fragments of it are of, where that is not its own type.
    fragment: Option<&'static str>,
    half: Option<Half>,
}

/// What CUDA calls the functions of a float of 16 bits.
#[derive(Clone, Copy)]
pub(crate) struct Half {
    /// The type of two, and the function that makes it of its lanes.
    pair: [&'static str; 2],
    /// Two f32 to two halves: one instruction from sm_80 on.
    pub(crate) round_pair: &'static str,
    /// To the bits, as an `unsigned short`, and back.
    pub(crate) bits: [&'static str; 2],
    /// To an f32.
    widen: &'static str,
    /// From numbers of other types, rounded once.
    from: &'static [(Elem, &'static str)],
}

const fn row(elem: Elem, number: &'static str) -> Row {
    Row { elem, number, vectors: None, header: None, fragment: None, half: None }
}

const fn vectors(elem: Elem, number: &'static str, base: &'static str, most: u16) -> Row {
    Row { vectors: Some((base, most)), ..row(elem, number) }
}

const fn with_header(elem: Elem, number: &'static str, header: &'static str) -> Row {
    Row { header: Some(header), ..row(elem, number) }
}

/// The types that kernels hold.
const TYPES: &[Row] = &[
    row(Elem::Bool, "bool"),
    vectors(Elem::I8, "signed char", "char", 4),
    vectors(Elem::I16, "short", "short", 4),
    vectors(Elem::I32, "int", "int", 4),
    vectors(Elem::I64, "long long", "longlong", 2),
    vectors(Elem::U8, "unsigned char", "uchar", 4),
    vectors(Elem::U16, "unsigned short", "ushort", 4),
    vectors(Elem::U32, "unsigned int", "uint", 4),
    vectors(Elem::U64, "unsigned long long", "ulonglong", 2),
    Row {
        half: Some(Half {
            pair: ["__half2", "__halves2half2"],
            round_pair: "__floats2half2_rn",
            bits: ["__half_as_ushort", "__ushort_as_half"],
            widen: "__half2float",
            from: &[(Elem::F32, "__float2half_rn"), (Elem::F64, "__double2half")],
        }),
        ..with_header(Elem::F16, "__half", "cuda_fp16.h")
    },
    Row {
        half: Some(Half {
            pair: ["__nv_bfloat162", "__halves2bfloat162"],
            round_pair: "__floats2bfloat162_rn",
            bits: ["__bfloat16_as_ushort", "__ushort_as_bfloat16"],
            widen: "__bfloat162float",
            from: &[
                (Elem::F32, "__float2bfloat16_rn"),
                (Elem::F64, "__double2bfloat16"),
                (Elem::I32, "__int2bfloat16_rn"),
                (Elem::U32, "__uint2bfloat16_rn"),
                (Elem::I64, "__ll2bfloat16_rn"),
                (Elem::Index, "__ll2bfloat16_rn"),
                (Elem::U64, "__ull2bfloat16_rn"),
            ],
        }),
        ..with_header(Elem::BF16, "__nv_bfloat16", "cuda_bf16.h")
    },
    vectors(Elem::F32, "float", "float", 4),
    vectors(Elem::F64, "double", "double", 2),
    with_header(Elem::F8E4M3, "__nv_fp8_e4m3", "cuda_fp8.h"),
    with_header(Elem::F8E5M2, "__nv_fp8_e5m2", "cuda_fp8.h"),
    // A float of which 13 bits are 0.
    Row { fragment: Some("nvcuda::wmma::precision::tf32"), ..vectors(Elem::TF32, "float", "float", 4) },
];

fn row_of(elem: Elem) -> Option<&'static Row> {
    TYPES.iter().find(|row| row.elem == elem)
}

/// The type of one number; `None` for those that no kernel holds.
pub(crate) fn number(elem: Elem) -> Option<&'static str> {
    row_of(elem).map(|row| row.number)
}

/// What declares the type and its functions, where that is a header.
pub(crate) fn header(elem: Elem) -> Option<&'static str> {
    row_of(elem)?.header
}

/// The type that fragments have in place of the elements', if they do.
pub(crate) fn fragment(elem: Elem) -> Option<&'static str> {
    row_of(elem)?.fragment
}

/// The functions of `elem`, if it is a float of 16 bits.
pub(crate) fn half(elem: Elem) -> Option<Half> {
    row_of(elem)?.half
}

/// The function that makes a `to` of a `from`, where either is a float of 16 bits and one function does it.
pub(crate) fn half_conversion(from: Elem, to: Elem) -> Option<&'static str> {
    match (half(from), half(to)) {
        (Some(half), _) => (to == Elem::F32).then_some(half.widen),
        (None, half) => half?.from.iter().find(|(elem, _)| *elem == from).map(|&(_, function)| function),
    }
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

/// CUDA's own type for `scalar`, if it is a vector that has one.
pub(crate) fn built_in(scalar: Scalar) -> Option<BuiltIn> {
    let row = row_of(scalar.elem)?;
    if let Some(half) = row.half.filter(|_| scalar.lanes == 2) {
        let [name, make] = half.pair.map(String::from);
        return Some(BuiltIn { name, make });
    }
    let (base, most) = row.vectors?;
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
