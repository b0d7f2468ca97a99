//! Element types as memory holds them.

use std::fmt;

/// The type of one element in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DType {
    /// A truth value in one byte, 0 or 1.
    Bool,
    /// A signed integer of 8 bits.
    I8,
    /// A signed integer of 16 bits.
    I16,
    /// A signed integer of 32 bits.
    I32,
    /// A signed integer of 64 bits.
    I64,
    /// An unsigned integer of 8 bits.
    U8,
    /// An unsigned integer of 16 bits.
    U16,
    /// An unsigned integer of 32 bits.
    U32,
    /// An unsigned integer of 64 bits.
    U64,
    /// IEEE binary16.
    F16,
    /// The upper half of an IEEE binary32.
    BF16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64.
    F64,
    /// OCP 8-bit float with 4 exponent and 3 fraction bits; it has no infinity.
    F8E4M3,
    /// OCP 8-bit float with 5 exponent and 2 fraction bits.
    F8E5M2,
    /// A binary32 of which tensor cores read 10 fraction bits; it occupies four bytes.
    TF32,
}

impl DType {
    /// All element types.
    pub const ALL: [DType; 16] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::F8E4M3,
        DType::F8E5M2,
        DType::TF32,
    ];

    /// The name in the language.
    pub fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "i8",
            DType::I16 => "i16",
            DType::I32 => "i32",
            DType::I64 => "i64",
            DType::U8 => "u8",
            DType::U16 => "u16",
            DType::U32 => "u32",
            DType::U64 => "u64",
            DType::F16 => "f16",
            DType::BF16 => "bf16",
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F8E4M3 => "f8e4m3",
            DType::F8E5M2 => "f8e5m2",
            DType::TF32 => "tf32",
        }
    }

    /// The type with this name.
    pub fn parse(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The bytes that one element occupies.
    pub fn bytes(self) -> u64 {
        match self {
            DType::Bool | DType::I8 | DType::U8 | DType::F8E4M3 | DType::F8E5M2 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 | DType::TF32 => 4,
            DType::I64 | DType::U64 | DType::F64 => 8,
        }
    }

    /// Is it one of the floating-point types?
    pub fn is_float(self) -> bool {
        matches!(self, DType::F16 | DType::BF16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 | DType::TF32)
    }

    /// Is it one of the signed integer types?
    pub fn is_signed(self) -> bool {
        matches!(self, DType::I8 | DType::I16 | DType::I32 | DType::I64)
    }

    /// The bytes of an array of `shape`, or `None` if they do not fit 63 bits.
    pub fn bytes_of(self, shape: &[u64]) -> Option<u64> {
        let n_elements = shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent))?;
        n_elements.checked_mul(self.bytes()).filter(|&bytes| i64::try_from(bytes).is_ok())
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_is_found_by_its_name() {
        for dtype in DType::ALL {
            assert_eq!(DType::parse(dtype.name()), Some(dtype));
        }
        assert_eq!(DType::parse("f31"), None);
    }

    #[test]
    fn the_size_of_an_array_is_checked() {
        assert_eq!(DType::BF16.bytes_of(&[3, 5]), Some(30));
        assert_eq!(DType::F64.bytes_of(&[]), Some(8));
        assert_eq!(DType::F32.bytes_of(&[0, 7]), Some(0));
        assert_eq!(DType::F32.bytes_of(&[1 << 32, 1 << 32]), None);
        assert_eq!(DType::F64.bytes_of(&[1 << 60]), None);
    }
}
