//! Single elements: from bytes to numbers and back, rounding as the hardware does.

use tc_support::DType;
use tc_support::elem::ElemKind;
use tc_support::rounding::int_to_odd;

/// The value of one element.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Element {
    /// An integer, or a truth value as 0 or 1.
    Int(i128),
    /// A float.
    Float(f64),
}

impl Element {
    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        match self {
            Element::Int(value) => value as f64,
            Element::Float(value) => value,
        }
    }
}

/// The value in `bytes`, which are just those of one element, little-endian.
pub(crate) fn decode(dtype: DType, bytes: &[u8]) -> Element {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(wide);
    let elem = dtype.elem();
    match (elem.format(), elem.kind()) {
        (Some(format), _) => Element::Float(format.decode(bits)),
        (None, ElemKind::Bool) => Element::Int(i128::from(bits != 0)),
        (None, _) => Element::Int(elem.wrap(i128::from(bits))),
    }
}

/// The bits of `value` in `dtype`; the low [`DType::bytes`] bytes count.
///
/// A float is rounded as a GPU's conversion does it (PTX ISA 8.8, section 9.7.9.21): tf32 takes ties away from zero, and
/// 8-bit floats saturate. A float given to an integer type is truncated and saturates; an integer out of range wraps.
pub(crate) fn encode(dtype: DType, value: Element) -> u64 {
    let Some(format) = dtype.elem().format() else {
        let int = match value {
            Element::Int(int) => int,
            Element::Float(float) => float as i128,
        };
        return if dtype == DType::Bool { u64::from(int != 0) } else { int as u64 };
    };
    // A float of 64 bits is the way to the others; what is rounded to odd on the way is rounded once.
    let float = match value {
        Element::Int(int) if dtype != DType::F64 => int_to_odd(int),
        _ => value.to_f64(),
    };
    format.convert(float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_next_to_a_tie_is_rounded_once() {
        let round = |dtype: DType, value: Element| decode(dtype, &encode(dtype, value).to_le_bytes()[..2]).to_f64();
        // Half way between two f16s, and just beyond it on either side; f32 does not tell these three apart.
        let tie = 2.5 + 1.0 / 1024.0;
        assert_eq!(round(DType::F16, Element::Float(tie)), 2.5);
        assert_eq!(round(DType::F16, Element::Float(tie + 1e-12)), 2.501953125);
        assert_eq!(round(DType::F16, Element::Float(-tie - 1e-12)), -2.501953125);
        assert_eq!(round(DType::F16, Element::Float(tie - 1e-12)), 2.5);
        let tie = 1.0 + 1.0 / 256.0;
        assert_eq!(round(DType::BF16, Element::Float(tie)), 1.0);
        assert_eq!(round(DType::BF16, Element::Float(tie + 1e-12)), 1.0078125);
        assert_eq!(round(DType::BF16, Element::Float(1e300)), f64::INFINITY);
        assert_eq!(round(DType::F16, Element::Float(f64::NEG_INFINITY)), f64::NEG_INFINITY);
        // An integer that f64 does not hold, next to a tie of bf16.
        let tie = (1i128 << 62) + (1i128 << 54);
        assert_eq!(round(DType::BF16, Element::Int(tie)), f64::powi(2.0, 62));
        assert_eq!(round(DType::BF16, Element::Int(tie + 1)), f64::powi(2.0, 62) + f64::powi(2.0, 55));
    }

    #[test]
    fn conversions_are_the_hardwares() {
        let float = |dtype: DType, value: f64| {
            decode(dtype, &encode(dtype, Element::Float(value)).to_le_bytes()[..dtype.bytes() as usize])
        };
        assert_eq!(float(DType::F8E4M3, 1e9), Element::Float(448.0));
        assert_eq!(float(DType::TF32, 1.0 + f64::powi(2.0, -11)), Element::Float(1.0 + f64::powi(2.0, -10)));
        assert_eq!(encode(DType::F16, Element::Float(1.0 + f64::powi(2.0, -11))), 0x3c00);
        assert_eq!(encode(DType::I8, Element::Int(-1)) as u8, 0xff);
        assert_eq!(decode(DType::I16, &[0xfe, 0xff]), Element::Int(-2));
        assert_eq!(decode(DType::U64, &[0xff; 8]), Element::Int(u64::MAX.into()));
    }
}
