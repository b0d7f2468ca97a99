//! Single elements: from bytes to numbers and back, rounding as the hardware does.

use half::{bf16, f16};
use tc_support::rounding::{int_to_odd, to_odd};
use tc_target::DType;

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
    match dtype {
        DType::Bool => Element::Int(i128::from(bits != 0)),
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => Element::Int(i128::from(bits)),
        DType::I8 => Element::Int(i128::from(bits as i8)),
        DType::I16 => Element::Int(i128::from(bits as i16)),
        DType::I32 => Element::Int(i128::from(bits as i32)),
        DType::I64 => Element::Int(i128::from(bits as i64)),
        DType::F16 => Element::Float(f16::from_bits(bits as u16).to_f64()),
        DType::BF16 => Element::Float(bf16::from_bits(bits as u16).to_f64()),
        DType::F32 | DType::TF32 => Element::Float(f64::from(f32::from_bits(bits as u32))),
        DType::F64 => Element::Float(f64::from_bits(bits)),
        DType::F8E4M3 => Element::Float(E4M3.decode(bits as u8)),
        DType::F8E5M2 => Element::Float(E5M2.decode(bits as u8)),
    }
}

/// The bits of `value` in `dtype`; the low [`DType::bytes`] bytes count.
///
/// Floats round to nearest, ties to even; tf32 rounds ties away from zero and 8-bit floats saturate, as
/// `cvt.rna.tf32.f32` and `cvt.rn.satfinite` do (PTX ISA 8.8, section 9.7.9.21). A float given to an integer type is
/// truncated and saturates; an integer out of range wraps.
pub(crate) fn encode(dtype: DType, value: Element) -> u64 {
    if !dtype.is_float() {
        let int = match value {
            Element::Int(int) => int,
            Element::Float(float) => float as i128,
        };
        return if dtype == DType::Bool { u64::from(int != 0) } else { int as u64 };
    }
    // `half` goes from f64 through a rounded f32; what is rounded to odd on the way is rounded once.
    let float = match value {
        Element::Int(int) if dtype != DType::F64 => int_to_odd(int),
        _ => value.to_f64(),
    };
    match dtype {
        DType::F16 => u64::from(f16::from_f32(to_odd(float)).to_bits()),
        DType::BF16 => u64::from(bf16::from_f32(to_odd(float)).to_bits()),
        DType::TF32 => u64::from(round_tf32(float as f32).to_bits()),
        DType::F64 => float.to_bits(),
        DType::F8E4M3 => u64::from(E4M3.encode(float)),
        DType::F8E5M2 => u64::from(E5M2.encode(float)),
        _ => u64::from((float as f32).to_bits()),
    }
}

fn round_tf32(value: f32) -> f32 {
    if value.is_finite() { f32::from_bits((value.to_bits() + 0x1000) & !0x1fff) } else { value }
}

/// An 8-bit float format of "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, section 5.
struct Small {
    fraction_bits: u32,
    bias: i32,
    /// The code of the greatest finite value.
    max_finite: u8,
    /// The code of infinity, where there is one.
    infinity: Option<u8>,
}

const E4M3: Small = Small { fraction_bits: 3, bias: 7, max_finite: 0x7e, infinity: None };
const E5M2: Small = Small { fraction_bits: 2, bias: 15, max_finite: 0x7b, infinity: Some(0x7c) };

impl Small {
    fn decode(&self, code: u8) -> f64 {
        let magnitude = code & 0x7f;
        let value = if magnitude <= self.max_finite {
            let fraction = f64::from(magnitude & ((1 << self.fraction_bits) - 1)) / f64::from(1 << self.fraction_bits);
            match i32::from(magnitude >> self.fraction_bits) {
                0 => fraction * f64::powi(2.0, 1 - self.bias),
                exponent => (1.0 + fraction) * f64::powi(2.0, exponent - self.bias),
            }
        } else if Some(magnitude) == self.infinity {
            f64::INFINITY
        } else {
            f64::NAN
        };
        if code & 0x80 != 0 { -value } else { value }
    }

    fn encode(&self, value: f64) -> u8 {
        if value.is_nan() {
            return 0x7f;
        }
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        let magnitude = value.abs();
        // Codes are ordered as their values are: find the last one that is not greater.
        let (mut low, mut high) = (0, self.max_finite);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if self.decode(middle) <= magnitude { low = middle } else { high = middle - 1 }
        }
        if low == self.max_finite {
            return sign | low;
        }
        let (below, above) = (magnitude - self.decode(low), self.decode(low + 1) - magnitude);
        let up = above < below || (above == below && low % 2 == 1);
        sign | (low + u8::from(up))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_8_bit_float_comes_back() {
        for format in [E4M3, E5M2] {
            for code in 0..=255u8 {
                let value = format.decode(code);
                if value.is_finite() {
                    assert_eq!(format.encode(value), code, "{value}");
                }
            }
        }
        assert_eq!((E4M3.decode(0x7e), E5M2.decode(0x7b)), (448.0, 57344.0));
        assert_eq!((E4M3.decode(0x01), E5M2.decode(0x01)), (f64::powi(2.0, -9), f64::powi(2.0, -16)));
        assert!(E4M3.decode(0x7f).is_nan() && E5M2.decode(0x7c).is_infinite());
    }

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
    fn rounding_is_the_hardwares() {
        // 17 lies between 16 and 18 in e4m3, 19 between 18 and 20: ties go to the even code.
        assert_eq!(E4M3.decode(E4M3.encode(17.0)), 16.0);
        assert_eq!(E4M3.decode(E4M3.encode(19.0)), 20.0);
        assert_eq!(E4M3.decode(E4M3.encode(1e9)), 448.0);
        assert_eq!(E5M2.decode(E5M2.encode(f64::NEG_INFINITY)), -57344.0);
        assert_eq!(E5M2.encode(f64::NAN), 0x7f);
        // 1 + 2^-11 is half way between two tf32: away from zero.
        assert_eq!(round_tf32(1.0 + f32::powi(2.0, -11)), 1.0 + f32::powi(2.0, -10));
        assert_eq!(round_tf32(-1.0 - f32::powi(2.0, -11)), -1.0 - f32::powi(2.0, -10));
        assert_eq!(encode(DType::F16, Element::Float(1.0 + f64::powi(2.0, -11))), 0x3c00);
        assert_eq!(encode(DType::I8, Element::Int(-1)) as u8, 0xff);
        assert_eq!(decode(DType::I16, &[0xfe, 0xff]), Element::Int(-2));
        assert_eq!(decode(DType::U64, &[0xff; 8]), Element::Int(u64::MAX.into()));
    }
}
