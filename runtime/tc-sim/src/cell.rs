//! Numbers as the simulator holds them: one `u64` a lane, whatever the element type.
//!
//! Integers are sign- or zero-extended to 64 bits, truth values are 0 or 1. An `f64` is its bits; every narrower
//! float is the bits of the `f32` that equals it, so that rounding is the only thing that tells them apart.

use tc_ir::Elem;
use tc_ir::types::ElemKind;
use tc_support::float_format::FloatFormat;

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
    match elem.kind() {
        ElemKind::Bool => u64::from(raw != 0),
        ElemKind::Float => match encoded(elem) {
            Some(format) => u64::from((format.decode(raw) as f32).to_bits()),
            None => raw,
        },
        ElemKind::Signed | ElemKind::Unsigned => of_int(elem.wrap(i128::from(raw))),
    }
}

/// Appends the little-endian bytes of an element.
pub(crate) fn encode(elem: Elem, cell: Cell, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(&bits_of(elem, cell).to_le_bytes()[..elem.bytes() as usize]);
}

/// The bits of an element as memory holds them; those past its width say nothing.
pub(crate) fn bits_of(elem: Elem, cell: Cell) -> u64 {
    encoded(elem).map_or(cell, |format| format.encode(f64::from(f32::from_bits(cell as u32))))
}

/// The format of a float that memory does not hold as its cell does.
#[inline]
fn encoded(elem: Elem) -> Option<&'static FloatFormat> {
    elem.format().filter(|format| format.bits() < 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_small_float_survives_the_way_through_its_cell() {
        for &elem in Elem::ALL.iter().filter(|&&elem| encoded(elem).is_some()) {
            for raw in 0..1u32 << elem.bits() {
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
