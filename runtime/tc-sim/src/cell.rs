//! Numbers as the simulator holds them: one `u64` a lane, whatever the element type.
//!
//! Integers are sign- or zero-extended to 64 bits, truth values are 0 or 1. An `f64` is its bits; every narrower
//! float is the bits of the `f32` that equals it, so that rounding is the only thing that tells them apart.

use half::{bf16, f16};
use tc_ir::Elem;
use tc_ir::types::ElemKind;

/// One lane of a register, or one element of a buffer.
pub(crate) type Cell = u64;

/// The float that `cell` holds.
#[inline(always)]
pub(crate) fn float_of(elem: Elem, cell: Cell) -> f64 {
    if elem == Elem::F64 { f64::from_bits(cell) } else { f64::from(f32::from_bits(cell as u32)) }
}

/// `value`, rounded to `elem`.
#[inline(always)]
pub(crate) fn of_float(elem: Elem, value: f64) -> Cell {
    match elem {
        Elem::F64 => value.to_bits(),
        Elem::F32 => u64::from((value as f32).to_bits()),
        _ => u64::from((elem.round(value) as f32).to_bits()),
    }
}

/// The integer that `cell` holds.
#[inline(always)]
pub(crate) fn int_of(elem: Elem, cell: Cell) -> i128 {
    if elem == Elem::U64 { i128::from(cell) } else { i128::from(cell as i64) }
}

/// `value`, which fits `elem`.
#[inline(always)]
pub(crate) fn of_int(value: i128) -> Cell {
    value as u64
}

/// The number that `cell` holds, for messages and error measures.
pub(crate) fn number_of(elem: Elem, cell: Cell) -> f64 {
    if elem.is_float() { float_of(elem, cell) } else { int_of(elem, cell) as f64 }
}

/// `value` as text that reads like a literal.
pub(crate) fn show(elem: Elem, cell: Cell) -> String {
    match elem.kind() {
        ElemKind::Bool => (cell != 0).to_string(),
        ElemKind::Float => {
            if elem == Elem::F64 {
                format!("{:?}", f64::from_bits(cell))
            } else {
                format!("{:?}", f32::from_bits(cell as u32))
            }
        }
        ElemKind::Signed | ElemKind::Unsigned => int_of(elem, cell).to_string(),
    }
}

/// Reads an element from its little-endian bytes.
pub(crate) fn decode(elem: Elem, bytes: &[u8]) -> Cell {
    let mut wide = [0u8; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let raw = u64::from_le_bytes(wide);
    match elem {
        Elem::Bool => u64::from(raw != 0),
        Elem::I8 => i64::from(raw as u8 as i8) as u64,
        Elem::I16 => i64::from(raw as u16 as i16) as u64,
        Elem::I32 => i64::from(raw as u32 as i32) as u64,
        Elem::F16 => u64::from(f16::from_bits(raw as u16).to_f32().to_bits()),
        Elem::BF16 => u64::from(bf16::from_bits(raw as u16).to_f32().to_bits()),
        Elem::F8E5M2 => u64::from(f16::from_bits((raw as u16) << 8).to_f32().to_bits()),
        Elem::F8E4M3 => u64::from(decode_e4m3(raw as u8).to_bits()),
        _ => raw,
    }
}

/// Appends the little-endian bytes of an element.
pub(crate) fn encode(elem: Elem, cell: Cell, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&bits_of(elem, cell).to_le_bytes()[..elem.bytes() as usize]);
}

/// The bits of an element as memory holds them; those past its width say nothing.
pub(crate) fn bits_of(elem: Elem, cell: Cell) -> u64 {
    let float = || f32::from_bits(cell as u32);
    match elem {
        Elem::F16 => u64::from(f16::from_f32(float()).to_bits()),
        Elem::BF16 => u64::from(bf16::from_f32(float()).to_bits()),
        // An E5M2 is the upper half of a binary16, which holds each of its values.
        Elem::F8E5M2 => u64::from(f16::from_f32(float()).to_bits() >> 8),
        Elem::F8E4M3 => u64::from(encode_e4m3(float())),
        _ => cell,
    }
}

/// Sign, 4 exponent bits with bias 7, 3 fraction bits; all ones are NaN.
fn decode_e4m3(byte: u8) -> f32 {
    let (exp, fraction) = (i32::from(byte >> 3 & 15), f32::from(byte & 7));
    let magnitude = match (exp, byte & 7) {
        (15, 7) => f32::NAN,
        (0, _) => fraction * 2f32.powi(-9),
        _ => (8.0 + fraction) * 2f32.powi(exp - 10),
    };
    if byte & 0x80 != 0 { -magnitude } else { magnitude }
}

fn encode_e4m3(value: f32) -> u8 {
    let sign = if value.is_sign_negative() { 0x80 } else { 0 };
    let rounded = Elem::F8E4M3.round(f64::from(value)).abs() as f32;
    if rounded.is_nan() {
        return sign | 0x7f;
    }
    if rounded < 2f32.powi(-6) {
        return sign | (rounded * 512.0) as u8;
    }
    let exp = (rounded.to_bits() >> 23) as i32 - 127;
    let fraction = (rounded * 2f32.powi(3 - exp)) as u8 - 8;
    sign | ((exp + 7) as u8) << 3 | fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_small_float_survives_the_way_through_its_cell() {
        for elem in [Elem::F8E4M3, Elem::F8E5M2, Elem::F16, Elem::BF16] {
            let n = if elem.bytes() == 1 { 256u32 } else { 65536 };
            for raw in 0..n {
                let bytes = &raw.to_le_bytes()[..elem.bytes() as usize];
                let cell = decode(elem, bytes);
                if float_of(elem, cell).is_nan() {
                    continue;
                }
                assert_eq!(of_float(elem, float_of(elem, cell)), cell, "{} {raw:#x}", elem.name());
                let mut back = Vec::new();
                encode(elem, cell, &mut back);
                assert_eq!(back, bytes, "{} {raw:#x}", elem.name());
            }
        }
    }

    #[test]
    fn narrow_integers_keep_their_sign() {
        assert_eq!(int_of(Elem::I8, decode(Elem::I8, &[0xff])), -1);
        assert_eq!(int_of(Elem::U8, decode(Elem::U8, &[0xff])), 255);
        assert_eq!(int_of(Elem::U64, decode(Elem::U64, &[0xff; 8])), i128::from(u64::MAX));
        let mut bytes = Vec::new();
        encode(Elem::I16, of_int(-2), &mut bytes);
        assert_eq!(bytes, [0xfe, 0xff]);
    }
}
