//! Intervals that hold the real number which an element stands for, both ends of them an `f32`.
//!
//! They decide what residues cannot: which of two numbers is greater, what the integer part of one is, whether a factor
//! is negative. Ends are rounded outwards, so an interval is never too narrow; an end at infinity is one of which nothing
//! is known.

use crate::cell::Cell;

/// An interval with its ends.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Range {
    pub(crate) lo: f64,
    pub(crate) hi: f64,
}

/// How far the functions of the host's mathematical library may be off, relative to their result.
const SLACK: f64 = 1e-13;

impl Range {
    /// Any number.
    pub(crate) const ALL: Range = Range { lo: f64::NEG_INFINITY, hi: f64::INFINITY };

    pub(crate) fn point(value: f64) -> Range {
        Range { lo: value, hi: value }
    }

    fn of(lo: f64, hi: f64) -> Range {
        let lo = if lo.is_nan() { f64::NEG_INFINITY } else { lo };
        let hi = if hi.is_nan() { f64::INFINITY } else { hi };
        Range { lo, hi }
    }

    pub(crate) fn decode(cell: Cell) -> Range {
        Range { lo: f64::from(f32::from_bits((cell >> 32) as u32)), hi: f64::from(f32::from_bits(cell as u32)) }
    }

    /// Rounds both ends outwards.
    pub(crate) fn encode(self) -> Cell {
        let (mut lo, mut hi) = (self.lo as f32, self.hi as f32);
        if f64::from(lo) > self.lo {
            lo = lo.next_down();
        }
        if f64::from(hi) < self.hi {
            hi = hi.next_up();
        }
        u64::from(lo.to_bits()) << 32 | u64::from(hi.to_bits())
    }

    pub(crate) fn contains(self, value: f64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// 1 or -1 if all numbers are above or below 0, else 0.
    pub(crate) fn sign(self) -> f64 {
        match self {
            Range { lo, .. } if lo > 0.0 => 1.0,
            Range { hi, .. } if hi < 0.0 => -1.0,
            _ => 0.0,
        }
    }

    pub(crate) fn neg(self) -> Range {
        Range { lo: -self.hi, hi: -self.lo }
    }

    pub(crate) fn add(self, other: Range) -> Range {
        Range::of(sum_down(self.lo, other.lo), -sum_down(-self.hi, -other.hi))
    }

    pub(crate) fn mul(self, other: Range) -> Range {
        // An end at infinity is unknown, not infinite: times 0 it is 0. Products of two f32 are exact in f64, unless they
        // are too small for it.
        let product = |a: f64, b: f64| if a == 0.0 || b == 0.0 { 0.0 } else { a * b };
        if self.lo == self.hi && other.lo == other.hi {
            let end = product(self.lo, other.lo);
            return if end.is_nan() { Range::ALL } else { Range::point(end) };
        }
        let ends = [
            product(self.lo, other.lo),
            product(self.lo, other.hi),
            product(self.hi, other.lo),
            product(self.hi, other.hi),
        ];
        Range::hull(&ends)
    }

    pub(crate) fn inverse(self) -> Range {
        if self.lo > 0.0 || self.hi < 0.0 { Range::of(1.0 / self.hi, 1.0 / self.lo).slackened() } else { Range::ALL }
    }

    pub(crate) fn hull(ends: &[f64]) -> Range {
        let lo = ends.iter().copied().fold(f64::INFINITY, f64::min);
        let hi = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if ends.iter().any(|end| end.is_nan()) { Range::ALL } else { Range { lo, hi } }
    }

    /// Through a function that never falls, as good as the host's library has it.
    pub(crate) fn rising(self, f: impl Fn(f64) -> f64) -> Range {
        Range::of(f(self.lo), f(self.hi)).slackened()
    }

    /// Through a function that never falls, and is exact.
    pub(crate) fn exactly(self, f: impl Fn(f64) -> f64) -> Range {
        Range::of(f(self.lo), f(self.hi))
    }

    /// Through a function that changes by no more than its argument does, and stays between -1 and 1.
    pub(crate) fn smooth(self, f: impl Fn(f64) -> f64) -> Range {
        let radius = (self.hi - self.lo) / 2.0;
        if !(radius < 1.0 && self.lo.abs() < 1e9) {
            return Range { lo: -1.0, hi: 1.0 };
        }
        let middle = f(self.lo + radius);
        let radius = radius * (1.0 + SLACK) + 1e-12;
        Range { lo: (middle - radius).max(-1.0), hi: (middle + radius).min(1.0) }
    }

    /// A little wider.
    pub(crate) fn slackened(self) -> Range {
        let tiny = f64::from(f32::from_bits(1));
        Range { lo: self.lo - self.lo.abs() * SLACK - tiny, hi: self.hi + self.hi.abs() * SLACK + tiny }
    }

    pub(crate) fn max(self, other: Range) -> Range {
        Range { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }
}

/// `a + b`, or a number just below it.
fn sum_down(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum.is_nan() {
        return f64::NEG_INFINITY;
    }
    // What was rounded away (Knuth's TwoSum).
    let b_seen = sum - a;
    let error = (a - (sum - b_seen)) + (b - b_seen);
    if error < 0.0 { sum.next_down() } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_rounded_outwards_and_small_integers_stay_points() {
        let third = Range::point(3.0).inverse();
        let read = Range::decode(third.encode());
        assert!(read.lo < 1.0 / 3.0 && read.hi > 1.0 / 3.0 && read.hi - read.lo < 1e-6, "{read:?}");
        let five = Range::point(2.0).add(Range::point(3.0));
        assert_eq!(Range::decode(five.encode()), Range::point(5.0));
        assert_eq!(Range::point(0.0).encode(), 0);
    }

    #[test]
    fn what_is_unknown_stays_unknown() {
        assert_eq!(Range::ALL.add(Range::point(1.0)), Range::ALL);
        assert_eq!(Range { lo: -1.0, hi: 1.0 }.inverse(), Range::ALL);
        assert_eq!(Range::ALL.mul(Range::point(0.0)), Range::point(0.0));
        assert_eq!(Range { lo: 0.0, hi: f64::INFINITY }.mul(Range::point(-2.0)).hi, 0.0);
    }
}
