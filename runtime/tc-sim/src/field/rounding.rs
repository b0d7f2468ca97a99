//! Conversions to narrower types, and arithmetic in them.
//!
//! What a type holds is converted to it and back unchanged. Anything else is opaque: it becomes some number that the type
//! holds, the same for the same element. So a rounding that is left out, or comes at another place, shows.
//!
//! An op in a type of 16 bits or less gives what the same op in a wider type gives, rounded; compilers write the one for
//! the other. Only sums are not rounded but where another op takes them up, or no order of a sum would be as good as
//! another. What comes of such arithmetic is marked: where an operator computes in a narrow type, the order in which it
//! rounds is not part of what it says, and a difference is not decided.

use super::element::Element;
use super::range::Range;
use super::residue::{self, P};
use rustc_hash::FxHashSet;
use std::sync::OnceLock;
use tc_ir::Elem;

/// What a type of at most 16 bits holds.
struct Held {
    /// The residues, by rising first one.
    pairs: Vec<(u32, u32)>,
    /// The first residues.
    first: FxHashSet<u32>,
}

fn held(elem: Elem) -> Held {
    let bytes = elem.bytes() as usize;
    let cells = (0..1u32 << (8 * bytes)).map(|raw| crate::cell::decode(elem, &raw.to_le_bytes()[..bytes]));
    let values = cells.map(|cell| crate::cell::float_of(elem, cell)).filter(|value| value.is_finite());
    let mut pairs: Vec<(u32, u32)> = values.map(Element::exact).map(|of| (of.p, of.q.unwrap_or(0))).collect();
    pairs.sort_unstable();
    pairs.dedup_by_key(|pair| pair.0);
    let first = pairs.iter().map(|pair| pair.0).collect();
    Held { pairs, first }
}

fn held_by(elem: Elem) -> Option<&'static Held> {
    static HELD: [OnceLock<Held>; Elem::ALL.len()] = [const { OnceLock::new() }; Elem::ALL.len()];
    is_narrow(elem).then(|| HELD[elem as usize].get_or_init(|| held(elem)))
}

/// `value`, rounded to `elem`.
pub(crate) fn round(elem: Elem, value: Element, range: Range) -> (Element, Range) {
    let value = Element { was_f32: false, ..value };
    if value.is_special() || !rounds(elem) || is_held(elem, value) {
        return (value, range);
    }
    let rounded = range.exactly(|end| elem.round(end));
    // Of a number and its negative one is rounded, so that the other's rounding is the negative of its.
    let negated = value.neg();
    if negated.p < value.p {
        return (round_half(elem, negated).neg(), rounded);
    }
    (round_half(elem, value), rounded)
}

fn round_half(elem: Elem, value: Element) -> Element {
    let Some(held) = held_by(elem) else { return Element::opaque(salt(elem), &[value]) };
    // Integers are rounded as they are, since conversions of integers are.
    let known = Element { q: None, ..value }.small_integer().map(|value| elem.round(value as f64));
    let exact = match known.filter(|known| known.is_finite()) {
        Some(known) => Element::exact(known),
        None => {
            let nth = residue::scramble(u64::from(value.p), salt(elem)) % held.pairs.len() as u64;
            let (p, q) = held.pairs[nth as usize];
            Element { p, q: Some(q), ..Element::ZERO }
        }
    };
    Element { tainted: value.tainted, narrow: value.narrow, ..exact }
}

/// What an op that is no sum takes: a sum in a narrow type is rounded to it at last.
pub(crate) fn settle(elem: Elem, value: Element, range: Range) -> (Element, Range) {
    if is_narrow(elem) { round(elem, value, range) } else { (value, range) }
}

/// A conversion between types of floats.
pub(crate) fn convert(from: Elem, to: Elem, value: Element, range: Range) -> (Element, Range) {
    // What tf32 rounds is rounded by design.
    let [from, to] = [from, to].map(Elem::in_memory);
    if from == to {
        return (value, range);
    }
    let (value, range) = settle(from, value, range);
    match (from, to) {
        (Elem::F32, Elem::F64) => (Element { was_f32: true, ..value }, range),
        (Elem::F64, Elem::F32) if value.was_f32 => (Element { was_f32: false, ..value }, range),
        _ if holds(to, from) => (value, range),
        _ => round(to, value, range),
    }
}

/// Is `value` surely a number that the type holds?
pub(super) fn is_held(elem: Elem, value: Element) -> bool {
    if let Some(held) = held_by(elem) {
        return held.first.contains(&value.p);
    }
    // An f32 of few bits.
    let scaled = residue::mul::<P>(value.p, residue::of_int::<P>(1 << 24));
    let is_short = residue::centred::<P>(scaled).abs() <= 1 << 24 || value.small_integer().is_some();
    is_short || Elem::ALL.iter().any(|&half| half.is_half() && is_held(half, value))
}

/// Is it a type of 16 bits or less?
pub(super) fn is_narrow(elem: Elem) -> bool {
    elem.is_float() && elem.bits() <= 16
}

/// Is a conversion to this type a rounding?
fn rounds(elem: Elem) -> bool {
    elem == Elem::F32 || is_narrow(elem)
}

/// Does `wide` hold all that `narrow` does?
fn holds(wide: Elem, narrow: Elem) -> bool {
    wide.format().zip(narrow.format()).is_some_and(|(wide, narrow)| wide.holds(narrow))
}

fn salt(elem: Elem) -> u64 {
    (3 << 32) + elem as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn third() -> Element {
        Element::ONE.div(Element::integer(3))
    }

    #[test]
    fn what_a_type_holds_is_not_rounded() {
        for value in [0.0, 1.0, -0.5, 65504.0, 2f64.powi(-24), 1.0 + 2f64.powi(-10)] {
            let exact = Element::exact(value);
            assert_eq!(round(Elem::F16, exact, Range::point(value)), (exact, Range::point(value)), "{value}");
        }
        assert_eq!(round(Elem::F16, Element::integer(2049), Range::ALL).0, Element::integer(2048));
    }

    #[test]
    fn rounding_is_opaque_and_happens_once() {
        for elem in [Elem::F16, Elem::BF16, Elem::F8E4M3, Elem::F8E5M2, Elem::F32] {
            let once = convert(Elem::F64, elem, third(), Range::ALL).0;
            assert_ne!(once.p, third().p, "{}", elem.name());
            if elem != Elem::F32 {
                assert_eq!(convert(Elem::F64, elem, once, Range::ALL).0.p, once.p, "{}", elem.name());
            }
        }
    }

    #[test]
    fn there_and_back_is_the_identity_for_what_a_type_holds() {
        let half = Element::exact(0.5);
        for (narrow, wide) in [(Elem::F16, Elem::F32), (Elem::F8E4M3, Elem::F16), (Elem::F32, Elem::F64)] {
            let there = convert(narrow, wide, half, Range::ALL).0;
            assert_eq!(convert(wide, narrow, there, Range::ALL).0, half);
        }
        let there = convert(Elem::F32, Elem::F64, third(), Range::ALL).0;
        assert_eq!(convert(Elem::F64, Elem::F32, there, Range::ALL).0, third());
    }

    #[test]
    fn rounding_is_odd() {
        let of = |value: Element| round(Elem::BF16, value, Range::ALL).0;
        assert_eq!(of(third().neg()), of(third()).neg());
    }

    #[test]
    fn tf32_rounds_by_design() {
        assert_eq!(convert(Elem::F32, Elem::TF32, third(), Range::ALL).0, third());
    }
}
