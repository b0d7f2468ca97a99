//! Constants: each once, at the head of its kernel, under a name that tells its value where that is short.
//!
//! A float is written with the shortest digits that tell it from its neighbours; where MLIR, which reads them as f64
//! first, would round twice, and wrongly, by its bits.

use crate::types;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tc_ir::Elem;

/// The constants of one kernel.
#[derive(Default)]
pub(crate) struct Constants {
    names: FxHashMap<String, Rc<str>>,
    lines: Vec<String>,
    n_floats: usize,
}

impl Constants {
    /// The name of the integer `value` of the type `ty`: `%c5_i32`.
    pub(crate) fn int(&mut self, value: i128, ty: &str) -> Rc<str> {
        let suffix = if ty == "index" { String::new() } else { format!("_{ty}") };
        self.named(format!("{value} : {ty}"), |_| format!("%c{value}{suffix}"))
    }

    /// The name of a truth value.
    pub(crate) fn truth(&mut self, value: bool) -> Rc<str> {
        self.named(value.to_string(), |_| format!("%{value}"))
    }

    /// The name of a constant with such a text, its type included: `%cst`.
    pub(crate) fn other(&mut self, text: String) -> Rc<str> {
        self.named(text, |constants| {
            constants.n_floats += 1;
            match constants.n_floats {
                1 => "%cst".to_string(),
                nth => format!("%cst_{}", nth - 1),
            }
        })
    }

    fn named(&mut self, text: String, name: impl FnOnce(&mut Constants) -> String) -> Rc<str> {
        if let Some(known) = self.names.get(&text) {
            return known.clone();
        }
        let name: Rc<str> = name(self).into();
        self.lines.push(format!("{name} = arith.constant {text}"));
        self.names.insert(text, name.clone());
        name
    }

    /// A line for each, in the order in which they were asked for.
    pub(crate) fn lines(&self) -> &[String] {
        &self.lines
    }
}

/// The integer `value` as a signless type writes it: as if it were signed.
pub(crate) fn signless(value: i128, elem: Elem) -> i128 {
    let bits = elem.bits().clamp(1, 64);
    let cut = value & ((1i128 << bits) - 1);
    if cut >> (bits - 1) & 1 == 1 { cut - (1i128 << bits) } else { cut }
}

/// The float `value`, rounded to `elem`, with its type.
pub(crate) fn float(value: f64, elem: Elem) -> String {
    let value = elem.round(value);
    let ty = types::number(elem);
    if let Some(format) = elem.format().filter(|_| !value.is_finite()) {
        let bits = match value.is_nan() {
            // The NaN that conversions to halves give.
            true if elem.is_half() => 0x7fff,
            true => format.encode(f64::NAN),
            false => format.encode(value),
        };
        return format!("0x{bits:0digits$X} : {ty}", digits = elem.bytes() as usize * 2);
    }
    if elem.in_memory() == Elem::F32 {
        let narrow = value as f32;
        let digits = format!("{narrow:?}");
        let read = digits.parse::<f64>().map(|wide| (wide as f32).to_bits());
        if read != Ok(narrow.to_bits()) {
            return format!("0x{:08X} : {ty}", narrow.to_bits());
        }
        return format!("{} : {ty}", with_point(&digits));
    }
    format!("{} : {ty}", with_point(&format!("{value:?}")))
}

/// MLIR's floats have a point: `1e-5` is `1.0e-5`.
fn with_point(digits: &str) -> String {
    match digits.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => digits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_written_once_and_read_back_as_they_are() {
        let mut constants = Constants::default();
        assert_eq!(&*constants.int(5, "i32"), "%c5_i32");
        assert_eq!(&*constants.int(5, "i32"), "%c5_i32");
        assert_eq!(&*constants.int(-1, "index"), "%c-1");
        assert_eq!(&*constants.other(float(0.5, Elem::F32)), "%cst");
        assert_eq!(&*constants.other(float(0.25, Elem::F32)), "%cst_1");
        assert_eq!(constants.lines().len(), 4);
        assert_eq!(signless(255, Elem::U8), -1);
        assert_eq!(signless(i128::from(u64::MAX), Elem::U64), -1);
        assert_eq!(signless(-7, Elem::I64), -7);
    }

    #[test]
    fn floats_have_a_point_and_all_their_bits() {
        assert_eq!(float(1e-5, Elem::F32), "1.0e-5 : f32");
        assert_eq!(float(0.1, Elem::F64), "0.1 : f64");
        assert_eq!(float(-0.0, Elem::F32), "-0.0 : f32");
        assert_eq!(float(f64::NEG_INFINITY, Elem::F16), "0xFC00 : f16");
        assert_eq!(float(f64::INFINITY, Elem::TF32), "0x7F800000 : f32");
        assert_eq!(float(-f64::NAN, Elem::F64), "0x7FF8000000000000 : f64");
        assert_eq!([Elem::BF16, Elem::F32].map(|elem| float(f64::NAN, elem)), ["0x7FFF : bf16", "0x7FC00000 : f32"]);
        assert_eq!(float(65504.0, Elem::F16), "65504.0 : f16");
        assert_eq!(float(0.1, Elem::BF16), "0.10009765625 : bf16");
    }
}
