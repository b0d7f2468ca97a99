//! Conversions to narrower types.
//!
//! What a type holds is converted to it and back unchanged. Anything else is opaque: it becomes some number that the type
//! holds, the same for the same element. So a rounding that is left out, or comes at another place, shows.
//!
//! Arithmetic in a narrow type is not rounded after each op, since then no order of a sum would be as good as another:
//! it is exact, and rounded where a wider type takes it up. A sum in a narrow type and one in a wider type that is rounded
//! in the end are different all the same, since the first is not rounded. Between the conversion to the wider type and the first op
//! there the rounding is *pending*: converted back, the element is what it was.

use super::element::Element;
use super::range::Range;
use super::residue::{self, P};
use std::sync::LazyLock;
use tc_ir::Elem;

/// What a type of at most 16 bits holds, as residues, by rising first residue.
type Held = Vec<(u32, u32)>;

static F16: LazyLock<Held> = LazyLock::new(|| held(Elem::F16));
static BF16: LazyLock<Held> = LazyLock::new(|| held(Elem::BF16));
static F8E4M3: LazyLock<Held> = LazyLock::new(|| held(Elem::F8E4M3));
static F8E5M2: LazyLock<Held> = LazyLock::new(|| held(Elem::F8E5M2));

fn held(elem: Elem) -> Held {
    let bytes = elem.bytes() as usize;
    let cells = (0..1u32 << (8 * bytes)).map(|raw| crate::cell::decode(elem, &raw.to_le_bytes()[..bytes]));
    let values = cells.map(|cell| crate::cell::float_of(elem, cell)).filter(|value| value.is_finite());
    let mut held: Held = values.map(Element::exact).map(|of| (of.p, of.q.unwrap_or(0))).collect();
    held.sort_unstable();
    held.dedup_by_key(|pair| pair.0);
    held
}

fn held_by(elem: Elem) -> Option<&'static Held> {
    match elem {
        Elem::F16 => Some(&F16),
        Elem::BF16 => Some(&BF16),
        Elem::F8E4M3 => Some(&F8E4M3),
        Elem::F8E5M2 => Some(&F8E5M2),
        _ => None,
    }
}

/// `value`, rounded to `elem`.
pub(crate) fn round(elem: Elem, value: Element, range: Range) -> (Element, Range) {
    if value.is_special() || !rounds(elem) {
        return (value, range);
    }
    let (value, range) = settle(value, range);
    let rounded = range.exactly(|end| elem.round(end));
    let Some(held) = held_by(elem) else {
        // An f32 of few bits.
        let scaled = residue::mul::<P>(value.p, residue::of_int::<P>(1 << 24));
        let is_short = residue::centred::<P>(scaled).abs() <= 1 << 24 || value.small_integer().is_some();
        let is_short = is_short || is_held(Elem::F16, value) || is_held(Elem::BF16, value);
        return (if is_short { value } else { Element::opaque(salt(elem), &[value]) }, rounded);
    };
    if is_held(elem, value) {
        return (value, range);
    }
    // Integers are rounded as they are, since conversions of integers are.
    let known = Element { q: None, ..value }.small_integer().map(|value| elem.round(value as f64));
    if let Some(known) = known.filter(|known| known.is_finite()) {
        return (Element::exact(known).taint(value.tainted), rounded);
    }
    let place = residue::scramble(u64::from(value.p), salt(elem)) % held.len() as u64;
    let (p, q) = held[place as usize];
    (Element { p, q: Some(q), pending: None, tainted: value.tainted }, rounded)
}

/// Rounds what was converted from a narrow type and has not been rounded to it.
pub(crate) fn settle(value: Element, range: Range) -> (Element, Range) {
    match value.pending {
        // Nothing rounds to f32: what it holds of a type of 64 bits is taken for what it was.
        Some(elem) if elem != Elem::F32 => round(elem, Element { pending: None, ..value }, range),
        _ => (Element { pending: None, ..value }, range),
    }
}

/// A conversion between types of floats.
pub(crate) fn convert(from: Elem, to: Elem, value: Element, range: Range) -> (Element, Range) {
    // What tf32 rounds is rounded by design.
    let [from, to] = [from, to].map(|elem| if elem == Elem::TF32 { Elem::F32 } else { elem });
    let pending = value.pending.unwrap_or(from);
    match (from, to) {
        _ if value.is_special() || from == to => (value, range),
        _ if pending == to => (Element { pending: None, ..value }, range),
        _ if holds(to, pending) => {
            let pending = Some(pending).filter(|&elem| !is_held(elem, value));
            (Element { pending, ..value }, range)
        }
        _ => {
            let (value, range) = settle(Element { pending: Some(pending), ..value }, range);
            round(to, value, range)
        }
    }
}

/// Is `value` surely a number that the type holds?
fn is_held(elem: Elem, value: Element) -> bool {
    held_by(elem).is_some_and(|held| held.binary_search_by_key(&value.p, |pair| pair.0).is_ok())
}

/// Is a conversion to this type a rounding?
fn rounds(elem: Elem) -> bool {
    elem == Elem::F32 || held_by(elem).is_some()
}

/// Does `wide` hold all that `narrow` does?
fn holds(wide: Elem, narrow: Elem) -> bool {
    match wide {
        Elem::F64 => true,
        Elem::F32 => narrow != Elem::F64,
        Elem::F16 | Elem::BF16 => matches!(narrow, Elem::F8E4M3 | Elem::F8E5M2),
        _ => false,
    }
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
    fn there_and_back_is_the_identity_and_a_sum_between_is_rounded() {
        let wide = convert(Elem::F16, Elem::F32, third(), Range::ALL).0;
        assert_eq!(convert(Elem::F32, Elem::F16, wide, Range::ALL).0, third());
        let settled = settle(wide, Range::ALL).0;
        assert_eq!(settled, round(Elem::F16, third(), Range::ALL).0);
        assert_ne!(settled.p, third().p);
    }

    #[test]
    fn tf32_rounds_by_design() {
        assert_eq!(convert(Elem::F32, Elem::TF32, third(), Range::ALL).0, third());
    }
}
