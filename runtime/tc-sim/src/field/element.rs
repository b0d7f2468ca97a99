//! Elements of the field, as cells hold them.
//!
//! An element is a residue modulo `P`, the value, and one modulo `Q`, which an exponential takes. What an exponential
//! gives has no second residue. Beside the residues stand what is no number, the *taint* of what the domain does not
//! decide, and a mark of what comes of arithmetic in a narrow type (see [`rounding`](super::rounding)).

use super::residue::{self, P, Q};
use crate::cell::{Cell, float_of};
use std::f64::consts;
use tc_ir::Elem;

/// A value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Element {
    /// The residue modulo [`P`], or one of [`NEG_INF`], [`POS_INF`], [`NAN`].
    pub(super) p: u32,
    /// The residue modulo [`Q`]. Results of exponentials have none.
    pub(super) q: Option<u32>,
    /// The domain does not decide which element this should be.
    pub(crate) tainted: bool,
    /// It comes of arithmetic in a narrow type, whose roundings depend on the order of ops.
    pub(crate) narrow: bool,
    /// An f64 that was an f32.
    pub(super) was_f32: bool,
}

pub(super) const NEG_INF: u32 = P;
pub(super) const POS_INF: u32 = P + 1;
pub(super) const NAN: u32 = P + 2;

const Q_AT: u32 = 31;
const Q_END: u32 = 58;
const NARROW: u64 = 1 << 59;
const WAS_F32: u64 = 1 << 60;
const NO_Q: u64 = 1 << 61;
const TAINTED: u64 = 1 << 62;
/// Set in each cell of an element but 0, so that no integer of fewer bits looks like one.
const IS_ELEMENT: u64 = 1 << 63;

impl Element {
    pub(crate) const ZERO: Element = Element { p: 0, q: Some(0), tainted: false, narrow: false, was_f32: false };
    pub(crate) const ONE: Element = Element { p: 1, q: Some(1), ..Element::ZERO };

    pub(super) fn special(p: u32) -> Element {
        Element { p, ..Element::ZERO }
    }

    #[cfg(test)]
    pub(crate) fn integer(value: i64) -> Element {
        let value = i128::from(value);
        Element { p: residue::of_int::<P>(value), q: Some(residue::of_int::<Q>(value)), ..Element::ZERO }
    }

    /// The number `value`, exactly.
    pub(crate) fn exact(value: f64) -> Element {
        if value.is_nan() {
            return Element::special(NAN);
        }
        if value.is_infinite() {
            return Element::special(if value > 0.0 { POS_INF } else { NEG_INF });
        }
        let bits = value.to_bits();
        let (raw, fraction) = ((bits >> 52 & 0x7ff) as i32, (bits & ((1 << 52) - 1)) as i64);
        let (mantissa, exponent) = if raw == 0 { (fraction, -1074) } else { (fraction | 1 << 52, raw - 1075) };
        let mantissa = if value < 0.0 { -mantissa } else { mantissa };
        let q = residue::scaled::<Q>(mantissa, exponent);
        Element { p: residue::scaled::<P>(mantissa, exponent), q: Some(q), ..Element::ZERO }
    }

    /// The literal that `cell` is in the domain of numbers. The nearest numbers to `log2 e` and `ln 2` in a type of 32
    /// bits or more stand for what they are near to: exponentials to one base are written as those to the other by them.
    pub(super) fn literal(elem: Elem, cell: Cell) -> Element {
        let value = float_of(elem, cell);
        match Element::near(elem, value) {
            Some(consts::LOG2_E) => Element::log2_e().signed(value),
            Some(_) => Element::ln_2().signed(value),
            None => Element::exact(value),
        }
    }

    /// The irrational number whose nearest number in the type `value` is, up to the sign.
    pub(super) fn near(elem: Elem, value: f64) -> Option<f64> {
        let is_near = |near: &f64| matches!(elem, Elem::F32 | Elem::F64) && value.abs() == elem.round(*near);
        [consts::LOG2_E, consts::LN_2].into_iter().find(is_near)
    }

    fn signed(self, like: f64) -> Element {
        if like < 0.0 { self.neg() } else { self }
    }

    /// The binary logarithm of e. Any residues do, as long as all use the same.
    pub(super) fn log2_e() -> Element {
        Element::exact(f64::from(std::f32::consts::LOG2_E))
    }

    /// Its inverse.
    pub(super) fn ln_2() -> Element {
        Element::ONE.div(Element::log2_e())
    }

    pub(crate) fn is_special(self) -> bool {
        self.p >= P
    }

    /// Surely 0.
    pub(super) fn is_zero(self) -> bool {
        self.p == 0 && self.q == Some(0) && !self.tainted
    }

    /// What is no number as a float, and 0 for any number.
    pub(super) fn as_special(self) -> f64 {
        match self.p {
            NEG_INF => f64::NEG_INFINITY,
            POS_INF => f64::INFINITY,
            NAN => f64::NAN,
            _ => 0.0,
        }
    }

    pub(crate) fn taint(self, tainted: bool) -> Element {
        Element { tainted: self.tainted || tainted, ..self }
    }

    /// An element that nothing is known of but that it is the same for the same `keys`.
    pub(super) fn opaque(salt: u64, keys: &[Element]) -> Element {
        let key = keys.iter().fold(0, |key, of| residue::scramble(key, u64::from(of.p)));
        let hash = residue::scramble(key, salt);
        Element {
            p: (hash >> 32) as u32 % P,
            q: Some(hash as u32 % Q),
            tainted: keys.iter().any(|key| key.tainted),
            narrow: keys.iter().any(|key| key.narrow),
            was_f32: false,
        }
    }

    fn joined(self, other: Element, p: u32, q: Option<u32>) -> Element {
        let (tainted, narrow) = (self.tainted || other.tainted, self.narrow || other.narrow);
        Element { p, q, tainted, narrow, was_f32: false }
    }

    /// Of numbers only, as those that follow.
    pub(super) fn add(self, other: Element) -> Element {
        let q = self.q.zip(other.q).map(|(a, b)| residue::add::<Q>(a, b));
        self.joined(other, residue::add::<P>(self.p, other.p), q)
    }

    pub(super) fn mul(self, other: Element) -> Element {
        if self.is_zero() || other.is_zero() {
            return Element::ZERO;
        }
        let q = self.q.zip(other.q).map(|(a, b)| residue::mul::<Q>(a, b));
        self.joined(other, residue::mul::<P>(self.p, other.p), q)
    }

    pub(super) fn neg(self) -> Element {
        let p = match self.p {
            NEG_INF => POS_INF,
            POS_INF => NEG_INF,
            NAN => NAN,
            p => residue::neg::<P>(p),
        };
        Element { p, q: self.q.map(residue::neg::<Q>), ..self }
    }

    /// The quotient; tainted where the divisor's residue is 0.
    pub(super) fn div(self, other: Element) -> Element {
        if other.p == 0 {
            return Element::special(NAN).taint(true);
        }
        if self.is_zero() {
            return Element::ZERO;
        }
        let q = self.q.zip(other.q.filter(|&q| q != 0)).map(|(a, b)| residue::mul::<Q>(a, residue::inverse::<Q>(b)));
        self.joined(other, residue::mul::<P>(self.p, residue::inverse::<P>(other.p)), q)
    }

    /// The exponential. Where there is no residue to take it of, it is opaque, and what follows is not decided.
    pub(super) fn exp(self) -> Element {
        match self.q {
            _ if self.is_zero() => Element::ONE,
            Some(q) => Element { p: residue::exp(q), q: None, was_f32: false, ..self },
            None => Element { q: None, tainted: true, ..Element::opaque(EXP_OF_EXP, &[self]) },
        }
    }

    /// The small integer that this is the image of.
    pub(super) fn small_integer(self) -> Option<i64> {
        let value = residue::centred::<P>(self.p);
        let same = |q: u32| q == residue::of_int::<Q>(i128::from(value));
        (!self.is_special() && value.abs() <= 1 << 24 && self.q.is_none_or(same)).then_some(value)
    }

    pub(crate) fn encode(self) -> Cell {
        let flags = [(self.q.is_none(), NO_Q), (self.tainted, TAINTED), (self.narrow, NARROW), (self.was_f32, WAS_F32)];
        let flags = flags.into_iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, bit)| all | bit);
        let cell = u64::from(self.p) | u64::from(self.q.unwrap_or(0)) << Q_AT | flags;
        if cell == 0 { 0 } else { cell | IS_ELEMENT }
    }

    pub(crate) fn decode(cell: Cell) -> Element {
        if cell != 0 && cell & IS_ELEMENT == 0 {
            // Bits that were written as an integer.
            return Element::opaque(BITS, &[Element { p: (cell ^ cell >> 31) as u32 % P, ..Element::ZERO }])
                .taint(true);
        }
        let q = (cell >> Q_AT) as u32 & ((1 << (Q_END - Q_AT)) - 1);
        Element {
            p: cell as u32 & ((1 << Q_AT) - 1),
            q: (cell & NO_Q == 0).then_some(q),
            tainted: cell & TAINTED != 0,
            narrow: cell & NARROW != 0,
            was_f32: cell & WAS_F32 != 0,
        }
    }

    /// Are the two the same element? Where one has no residue modulo `Q` that of the other says nothing.
    pub(crate) fn same(self, other: Element) -> bool {
        self.p == other.p && self.q.zip(other.q).is_none_or(|(a, b)| a == b)
    }
}

/// A float in a buffer that shares memory with others, whose cells hold bits: its first cell holds the element, and
/// each of the others a mark that says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pieces(pub(crate) Cell);

impl Pieces {
    /// What cell number `nth` holds.
    pub(crate) fn cell(self, nth: usize) -> Cell {
        if nth == 0 || self.0 == 0 { self.0 } else { residue::scramble(self.0, nth as u64) | IS_ELEMENT }
    }

    /// The element that `cells` hold; a tainted one where they hold anything else.
    pub(crate) fn joined(cells: &[Cell]) -> Cell {
        let first = Pieces(cells.first().copied().unwrap_or(0));
        if cells.iter().enumerate().all(|(nth, &cell)| first.cell(nth) == cell) && (first.0 == 0 || is_element(first.0))
        {
            return first.0;
        }
        let bits = cells.iter().fold(0, |bits, &cell| residue::scramble(cell, bits));
        Element::decode(bits & !IS_ELEMENT | 1).encode()
    }
}

/// Does the cell hold an element, and not an integer's bits? That of 0 may be either.
pub(crate) fn is_element(cell: Cell) -> bool {
    cell & IS_ELEMENT != 0
}

/// Salts of opaque functions that are no op of the language.
const EXP_OF_EXP: u64 = 1 << 32;
const BITS: u64 = 2 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_survives_the_way_through_its_cell() {
        for p in [0, 1, P - 1, NEG_INF, NAN] {
            for q in [None, Some(0), Some(Q - 1)] {
                for (narrow, was_f32) in [(false, false), (true, false), (false, true)] {
                    for tainted in [false, true] {
                        let element = Element { p, q, tainted, narrow, was_f32 };
                        assert_eq!(Element::decode(element.encode()), element);
                    }
                }
            }
        }
        assert_eq!(Element::ZERO.encode(), 0);
    }

    #[test]
    fn literals_are_exact_rationals() {
        let tenth = Element::exact(0.1);
        let bits = 0.1f64.to_bits() & ((1 << 52) - 1) | 1 << 52;
        assert_eq!(tenth.mul(Element::exact(2f64.powi(56))), Element::integer(bits as i64));
        assert_eq!(Element::exact(-0.75).mul(Element::integer(4)), Element::integer(-3));
        assert_eq!(Element::exact(f64::NEG_INFINITY).p, NEG_INF);
    }

    #[test]
    fn an_integers_bits_read_as_a_float_are_tainted() {
        assert!(Element::decode(5).tainted);
        assert!(!Element::decode(0).tainted);
    }
}
