//! Types of numbers: in C, in Rust, to the driver, to DLPack. All follows from what a type is, and no type is named here.

use tc_support::DType;
use tc_support::elem::ElemKind;

/// What a type is: a truth value, an integer with its sign, or a float with the bits of its exponent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Bool,
    Int { is_signed: bool },
    Float { exponent: u32 },
}

fn kind(dtype: DType) -> Kind {
    match (dtype.elem().kind(), dtype.elem().format()) {
        (ElemKind::Bool, _) => Kind::Bool,
        (_, Some(format)) => Kind::Float { exponent: format.exponent_bits },
        (of, None) => Kind::Int { is_signed: of == ElemKind::Signed },
    }
}

/// How C passes a value. It has no floats of 8 and 16 bits: their bits travel as integers.
pub(crate) fn c_value(dtype: DType) -> String {
    match (kind(dtype), dtype.bytes()) {
        (Kind::Bool, _) => "bool".to_string(),
        (Kind::Float { .. }, 8) => "double".to_string(),
        (Kind::Float { .. }, 4) => "float".to_string(),
        (Kind::Int { is_signed: true }, bytes) => format!("int{}_t", 8 * bytes),
        (_, bytes) => format!("uint{}_t", 8 * bytes),
    }
}

/// What a pointer of C to elements points to. Where programs have several types for the same numbers, as `__half` and
/// `uint16_t`, or `long` and `long long`, it is `void`, which any pointer becomes.
pub(crate) fn c_pointee(dtype: DType) -> String {
    match (kind(dtype), dtype.bytes()) {
        (Kind::Float { .. }, 4 | 8) | (Kind::Int { .. }, 1..=4) => c_value(dtype),
        _ => "void".to_string(),
    }
}

/// How Rust passes a value.
pub(crate) fn rust_value(dtype: DType) -> String {
    let bits = 8 * dtype.bytes();
    match kind(dtype) {
        Kind::Bool => "bool".to_string(),
        Kind::Float { .. } if bits >= 32 => format!("f{bits}"),
        Kind::Int { is_signed: true } => format!("i{bits}"),
        _ => format!("u{bits}"),
    }
}

/// The type of an element in Rust: not every byte on the device is a `bool`.
pub(crate) fn rust_element(dtype: DType) -> String {
    if kind(dtype) == Kind::Bool { "u8".to_string() } else { rust_value(dtype) }
}

/// Is a value of this type passed as a float by those who have no type for it?
pub(crate) fn is_wide_float(dtype: DType) -> bool {
    matches!(kind(dtype), Kind::Float { .. }) && dtype.bytes() >= 4
}

/// The least and the greatest integer that stands for a value, in C. What is above the greatest of 63 bits comes as a
/// negative number of the same bits.
pub(crate) fn c_range(dtype: DType) -> (String, String) {
    match (kind(dtype), 8 * dtype.bytes()) {
        (Kind::Bool, _) => ("0".into(), "1".into()),
        (_, 64) => ("INT64_MIN".into(), "INT64_MAX".into()),
        (Kind::Int { is_signed: true }, bits) => (format!("INT{bits}_MIN"), format!("INT{bits}_MAX")),
        (_, bits) => ("0".into(), format!("UINT{bits}_MAX")),
    }
}

/// `DLDataTypeCode` of DLPack 1.
pub(crate) fn dlpack_code(dtype: DType) -> u32 {
    match (kind(dtype), dtype.bytes()) {
        (Kind::Int { is_signed: true }, _) => 0,
        (Kind::Int { is_signed: false }, _) => 1,
        (Kind::Bool, _) => 6,
        (Kind::Float { exponent: 4 }, 1) => 10,
        (Kind::Float { .. }, 1) => 12,
        (Kind::Float { exponent: 8 }, 2) => 4,
        (Kind::Float { .. }, _) => 2,
    }
}

/// `CUtensorMapDataType` of the driver. Copies move numbers as they are; where they update, they compute in this type.
pub(crate) fn tensor_map_type(dtype: DType) -> u32 {
    match (kind(dtype), dtype.bytes()) {
        (_, 1) => 0,
        (Kind::Float { exponent: 5 }, 2) => 6,
        (Kind::Float { .. }, 2) => 9,
        (_, 2) => 1,
        (Kind::Float { .. }, 4) => 7,
        (Kind::Int { is_signed: true }, 4) => 3,
        (_, 4) => 2,
        (Kind::Int { is_signed: true }, _) => 5,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_spelling_everywhere() {
        let row = |dtype| {
            let (low, high) = c_range(dtype);
            let texts = [c_value(dtype), c_pointee(dtype), rust_value(dtype), rust_element(dtype), low, high];
            format!("{} {} {}", texts.join(" "), dlpack_code(dtype), tensor_map_type(dtype))
        };
        let rows = [
            (DType::Bool, "bool void bool u8 0 1 6 0"),
            (DType::I8, "int8_t int8_t i8 i8 INT8_MIN INT8_MAX 0 0"),
            (DType::I16, "int16_t int16_t i16 i16 INT16_MIN INT16_MAX 0 1"),
            (DType::I32, "int32_t int32_t i32 i32 INT32_MIN INT32_MAX 0 3"),
            (DType::I64, "int64_t void i64 i64 INT64_MIN INT64_MAX 0 5"),
            (DType::U8, "uint8_t uint8_t u8 u8 0 UINT8_MAX 1 0"),
            (DType::U16, "uint16_t uint16_t u16 u16 0 UINT16_MAX 1 1"),
            (DType::U32, "uint32_t uint32_t u32 u32 0 UINT32_MAX 1 2"),
            (DType::U64, "uint64_t void u64 u64 INT64_MIN INT64_MAX 1 4"),
            (DType::F16, "uint16_t void u16 u16 0 UINT16_MAX 2 6"),
            (DType::BF16, "uint16_t void u16 u16 0 UINT16_MAX 4 9"),
            (DType::F32, "float float f32 f32 0 UINT32_MAX 2 7"),
            (DType::F64, "double double f64 f64 INT64_MIN INT64_MAX 2 4"),
            (DType::F8E4M3, "uint8_t void u8 u8 0 UINT8_MAX 10 0"),
            (DType::F8E5M2, "uint8_t void u8 u8 0 UINT8_MAX 12 0"),
            (DType::TF32, "float float f32 f32 0 UINT32_MAX 2 7"),
        ];
        assert_eq!(rows.len(), DType::ALL.len());
        for (dtype, want) in rows {
            assert_eq!(row(dtype), want, "{}", dtype.name());
        }
    }
}
