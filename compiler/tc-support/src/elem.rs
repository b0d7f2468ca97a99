//! Element types: a row for each, with all that others ask of it.
//!
//! To add one, write its row; then its spelling in each emitter's table of types.

use crate::float_format::{BFLOAT16, BINARY16, BINARY32, BINARY64, E4M3, E5M2, FloatFormat, TENSOR_FLOAT};
use std::fmt;

elems! {
    /// A truth value; in memory one byte, 0 or 1.
    Bool "bool" = integer(ElemKind::Bool, 8, numpy("|b1", "bool")),
    /// A number of elements; memory holds it as an `i64`.
    (Index "index" as I64 = integer(ElemKind::Signed, 64, numpy("<i8", "int64"))),
    /// A signed integer of 8 bits.
    I8 "i8" = integer(ElemKind::Signed, 8, numpy("|i1", "int8")),
    /// A signed integer of 16 bits.
    I16 "i16" = integer(ElemKind::Signed, 16, numpy("<i2", "int16")),
    /// A signed integer of 32 bits.
    I32 "i32" = integer(ElemKind::Signed, 32, numpy("<i4", "int32")),
    /// A signed integer of 64 bits.
    I64 "i64" = integer(ElemKind::Signed, 64, numpy("<i8", "int64")),
    /// An unsigned integer of 8 bits.
    U8 "u8" = integer(ElemKind::Unsigned, 8, numpy("|u1", "uint8")),
    /// An unsigned integer of 16 bits.
    U16 "u16" = integer(ElemKind::Unsigned, 16, numpy("<u2", "uint16")),
    /// An unsigned integer of 32 bits.
    U32 "u32" = integer(ElemKind::Unsigned, 32, numpy("<u4", "uint32")),
    /// An unsigned integer of 64 bits.
    U64 "u64" = integer(ElemKind::Unsigned, 64, numpy("<u8", "uint64")),
    /// IEEE binary16.
    F16 "f16" = float(BINARY16, numpy("<f2", "float16")).compared(),
    /// The upper half of an IEEE binary32.
    BF16 "bf16" = float(BFLOAT16, numpy("<u2", "uint16")),
    /// IEEE binary32.
    F32 "f32" = float(BINARY32, numpy("<f4", "float32")),
    /// IEEE binary64.
    F64 "f64" = float(BINARY64, numpy("<f8", "float64")),
    /// OCP 8-bit float with 4 exponent and 3 fraction bits; it has no infinity.
    F8E4M3 "f8e4m3" = float(E4M3, numpy("|u1", "uint8")).for_products(),
    /// OCP 8-bit float with 5 exponent and 2 fraction bits.
    F8E5M2 "f8e5m2" = float(E5M2, numpy("|u1", "uint8")).for_products(),
    /// A binary32 of which tensor cores read 10 fraction bits; it occupies four bytes.
    TF32 "tf32" = float(TENSOR_FLOAT, numpy("<f4", "float32")).for_products().read_from(Elem::F32),
}

/// What others ask of an element type.
#[derive(Clone, Copy, Debug)]
pub struct ElemRow {
    kind: ElemKind,
    bits: u32,
    format: Option<FloatFormat>,
    numpy: NumpyType,
    is_for_products: bool,
    is_compared: bool,
    in_memory: Option<Elem>,
}

/// The kinds of numbers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ElemKind {
    /// A truth value.
    Bool,
    /// A signed integer; `index`, 32 and 64 bits must not overflow, 8 and 16 wrap.
    Signed,
    /// An unsigned integer; wraps.
    Unsigned,
    /// An IEEE-like float.
    Float,
}

/// The type that NumPy's files give the elements. NumPy has no bf16 and no 8-bit floats: their bits travel as integers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NumpyType {
    /// As a file's header says it.
    pub code: &'static str,
    /// As people do.
    pub name: &'static str,
}

const fn numpy(code: &'static str, name: &'static str) -> NumpyType {
    NumpyType { code, name }
}

const fn integer(kind: ElemKind, bits: u32, numpy: NumpyType) -> ElemRow {
    ElemRow { kind, bits, format: None, numpy, is_for_products: false, is_compared: true, in_memory: None }
}

const fn float(format: FloatFormat, numpy: NumpyType) -> ElemRow {
    let (kind, bits, is_compared) = (ElemKind::Float, format.bits(), format.bits() > 16);
    ElemRow { kind, bits, format: Some(format), numpy, is_for_products: false, is_compared, in_memory: None }
}

impl ElemRow {
    const fn for_products(self) -> ElemRow {
        ElemRow { is_for_products: true, is_compared: false, ..self }
    }

    const fn compared(self) -> ElemRow {
        ElemRow { is_compared: true, ..self }
    }

    const fn read_from(self, memory: Elem) -> ElemRow {
        ElemRow { in_memory: Some(memory), ..self }
    }
}

/// Makes the enums [`Elem`] and [`DType`] of the rows; the row in parentheses is of a type that memory holds as another.
macro_rules! elems {
    (
        $(#[$first_doc:meta])* $first:ident $first_text:literal = $first_row:expr,
        $(#[$own_doc:meta])* ($own:ident $own_text:literal as $held:ident = $own_row:expr),
        $($(#[$doc:meta])* $variant:ident $text:literal = $row:expr),* $(,)?
    ) => {
        /// An element type: a number as it is stored.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Elem {
            $(#[$first_doc])* $first, $(#[$own_doc])* $own, $($(#[$doc])* $variant),*
        }

        /// The type of one element in memory.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum DType {
            $(#[$first_doc])* $first, $($(#[$doc])* $variant),*
        }

        const ROWS: &[ElemRow] = &[$first_row, $own_row, $($row),*];

        impl Elem {
            /// Every element type.
            pub const ALL: &'static [Elem] = &[Elem::$first, Elem::$own, $(Elem::$variant),*];

            /// The name in text.
            pub const fn name(self) -> &'static str {
                match self { Elem::$first => $first_text, Elem::$own => $own_text, $(Elem::$variant => $text),* }
            }

            /// The element type with this name.
            pub fn parse(text: &str) -> Option<Elem> {
                match text {
                    $first_text => Some(Elem::$first),
                    $own_text => Some(Elem::$own),
                    $($text => Some(Elem::$variant),)*
                    _ => None,
                }
            }

            /// The type that memory holds.
            pub const fn dtype(self) -> DType {
                match self {
                    Elem::$first => DType::$first,
                    Elem::$own => DType::$held,
                    $(Elem::$variant => DType::$variant),*
                }
            }
        }

        impl DType {
            /// All element types.
            pub const ALL: [DType; ROWS.len() - 1] = [DType::$first, $(DType::$variant),*];

            /// The type as the language has it.
            pub const fn elem(self) -> Elem {
                match self { DType::$first => Elem::$first, $(DType::$variant => Elem::$variant),* }
            }
        }
    };
}
use elems;

impl Elem {
    #[inline]
    const fn row(self) -> &'static ElemRow {
        &ROWS[self as usize]
    }

    /// What kind of number it is.
    #[inline]
    pub const fn kind(self) -> ElemKind {
        self.row().kind
    }

    /// The size in bits; `index` counts as 64, `bool` is stored in 8, `tf32` in 32.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.row().bits
    }

    /// The size in memory, in bytes.
    #[inline]
    pub const fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// How its bits hold a number, if it is a float.
    #[inline]
    pub const fn format(self) -> Option<&'static FloatFormat> {
        self.row().format.as_ref()
    }

    /// Is it a float?
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), ElemKind::Float)
    }

    /// Is it a float of 8 bits?
    #[inline]
    pub const fn is_float8(self) -> bool {
        self.is_float() && self.bits() == 8
    }

    /// Is it a float of 16 bits? Machines compute in these, two to a word of 32 bits.
    #[inline]
    pub const fn is_half(self) -> bool {
        self.is_float() && self.bits() == 16
    }

    /// Do machines compare its numbers as they are, and not as wider ones?
    #[inline]
    pub const fn is_compared(self) -> bool {
        self.row().is_compared
    }

    /// The type that memory holds such numbers as: its own, but for one that only registers of tensor cores hold.
    #[inline]
    pub const fn in_memory(self) -> Elem {
        match self.row().in_memory {
            Some(elem) => elem,
            None => self,
        }
    }

    /// Does memory hold such numbers?
    #[inline]
    pub const fn is_stored(self) -> bool {
        self.row().in_memory.is_none()
    }

    /// The type that tensor cores multiply such numbers as: its own, but for the one that memory holds for another.
    pub fn as_factor(self) -> Elem {
        Elem::ALL.iter().copied().find(|elem| elem.row().in_memory == Some(self)).unwrap_or(self)
    }

    /// Is it a float with the exponents of f32, and fewer bits of fraction?
    #[inline]
    pub const fn is_cut_f32(self) -> bool {
        match self.format() {
            Some(format) => format.exponent_bits == BINARY32.exponent_bits && self.is_small_float(),
            None => false,
        }
    }

    /// Is it a float of which f32 holds every number, and not f32 itself?
    #[inline]
    pub const fn is_small_float(self) -> bool {
        match self.format() {
            Some(format) => format.fraction_bits < 23,
            None => false,
        }
    }

    /// Is it a type that machines multiply in matrix products, and otherwise only move and convert?
    #[inline]
    pub const fn is_for_products(self) -> bool {
        self.row().is_for_products
    }

    /// Is it an integer (`index` included, `bool` not)?
    #[inline]
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), ElemKind::Signed | ElemKind::Unsigned)
    }

    /// The least and greatest value of an integer type.
    #[inline]
    pub const fn int_range(self) -> Option<(i128, i128)> {
        match self.kind() {
            ElemKind::Signed => Some((-(1i128 << (self.bits() - 1)), (1i128 << (self.bits() - 1)) - 1)),
            ElemKind::Unsigned => Some((0, (1i128 << self.bits()) - 1)),
            ElemKind::Bool | ElemKind::Float => None,
        }
    }

    /// `value` rounded to the nearest number of this float type, ties to even.
    #[inline]
    pub fn round(self, value: f64) -> f64 {
        match (self, self.format()) {
            (Elem::F32, _) => f64::from(value as f32),
            (Elem::F64, _) | (_, None) => value,
            (_, Some(format)) => format.round(value),
        }
    }

    /// `value` modulo 2^bits, in the range of this integer type.
    #[inline]
    pub fn wrap(self, value: i128) -> i128 {
        let bits = self.bits();
        let low = value & ((1i128 << bits) - 1);
        if self.kind() == ElemKind::Signed && low >> (bits - 1) & 1 == 1 { low - (1i128 << bits) } else { low }
    }

    /// `value` as this integer type holds it: unsigned and narrow integers wrap; `None` is an overflow, which is an
    /// error of the program.
    #[inline]
    pub fn fit(self, value: i128) -> Option<i128> {
        let (min, max) = self.int_range()?;
        if (min..=max).contains(&value) {
            return Some(value);
        }
        let wraps = self.kind() == ElemKind::Unsigned || self.bits() < 32;
        wraps.then(|| self.wrap(value))
    }
}

impl DType {
    /// The name in the language.
    pub const fn name(self) -> &'static str {
        self.elem().name()
    }

    /// The type with this name.
    pub fn parse(name: &str) -> Option<DType> {
        Elem::parse(name).map(Elem::dtype).filter(|dtype| dtype.name() == name)
    }

    /// The bytes that one element occupies.
    #[inline]
    pub const fn bytes(self) -> u64 {
        self.elem().bytes() as u64
    }

    /// How NumPy's files hold it.
    pub const fn numpy(self) -> NumpyType {
        self.elem().row().numpy
    }

    /// Is it one of the floating-point types?
    #[inline]
    pub const fn is_float(self) -> bool {
        self.elem().is_float()
    }

    /// Is it one of the signed integer types?
    pub const fn is_signed(self) -> bool {
        matches!(self.elem().kind(), ElemKind::Signed)
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
        for (nth, &elem) in Elem::ALL.iter().enumerate() {
            assert_eq!((Elem::parse(elem.name()), elem as usize), (Some(elem), nth));
        }
        for dtype in DType::ALL {
            assert_eq!(DType::parse(dtype.name()), Some(dtype));
        }
        assert_eq!((DType::parse("f31"), DType::parse("index"), Elem::Index.dtype()), (None, None, DType::I64));
    }

    #[test]
    fn the_size_of_an_array_is_checked() {
        assert_eq!(DType::BF16.bytes_of(&[3, 5]), Some(30));
        assert_eq!(DType::F64.bytes_of(&[]), Some(8));
        assert_eq!(DType::F32.bytes_of(&[0, 7]), Some(0));
        assert_eq!(DType::F32.bytes_of(&[1 << 32, 1 << 32]), None);
        assert_eq!(DType::F64.bytes_of(&[1 << 60]), None);
    }

    #[test]
    fn a_row_agrees_with_its_parts() {
        for &elem in Elem::ALL {
            let numpy = elem.row().numpy;
            assert_eq!(numpy.code[2..].parse(), Ok(elem.bytes()), "{}", elem.name());
            assert_eq!(elem.format().is_some(), elem.is_float(), "{}", elem.name());
        }
        let small: Vec<&str> = Elem::ALL.iter().filter(|elem| elem.is_small_float()).map(|elem| elem.name()).collect();
        assert_eq!(small, ["f16", "bf16", "f8e4m3", "f8e5m2", "tf32"]);
        let cut: Vec<&str> = Elem::ALL.iter().filter(|elem| elem.is_cut_f32()).map(|elem| elem.name()).collect();
        assert_eq!(cut, ["bf16", "tf32"]);
    }

    #[test]
    fn tensor_cores_read_what_memory_holds_as_another_type() {
        assert_eq!((Elem::TF32.in_memory(), Elem::F32.as_factor()), (Elem::F32, Elem::TF32));
        for elem in [Elem::F16, Elem::TF32, Elem::I8] {
            assert_eq!((elem.as_factor(), elem.is_stored()), (elem, elem != Elem::TF32));
        }
    }

    #[test]
    fn what_lies_next_to_a_tie_is_rounded_once() {
        // Halfway between two f16s, and just beyond it on either side; f32 does not tell these three apart.
        let tie = 2.5 + 1.0 / 1024.0;
        assert_eq!(Elem::F16.round(tie), 2.5);
        assert_eq!(Elem::F16.round(tie + 1e-12), 2.501953125);
        assert_eq!(Elem::F16.round(-tie - 1e-12), -2.501953125);
        assert_eq!(Elem::F16.round(tie - 1e-12), 2.5);
        let tie = 1.0 + 1.0 / 256.0;
        assert_eq!(Elem::BF16.round(tie), 1.0);
        assert_eq!(Elem::BF16.round(tie + 1e-12), 1.0078125);
        assert_eq!(Elem::BF16.round(1e300), f64::INFINITY);
        assert!(Elem::F16.round(-1e-300) == 0.0 && Elem::F16.round(-1e-300).is_sign_negative());
    }

    #[test]
    fn integers_wrap_where_they_may() {
        assert_eq!(Elem::I8.fit(128), Some(-128));
        assert_eq!(Elem::U32.fit(-1), Some(i128::from(u32::MAX)));
        assert_eq!(Elem::I32.fit(1 << 31), None);
    }
}
