//! Constant bounds: intervals of integers whose ends may be open.
//!
//! Arithmetic is done in 128 bits and saturates to "no bound", so it is sound as long as the values themselves fit.

use std::fmt;
use std::ops::{Add, Neg};

use crate::expr::BinaryOp;

/// The integers from a least to a greatest one, either of which may be missing. Never empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// `i64::MIN` stands for "no least value", which is the same set.
    lo: i64,
    /// `i64::MAX` stands for "no greatest value".
    hi: i64,
}

/// An infinite end inside the arithmetic.
const INF: i128 = 1 << 100;

impl Default for Interval {
    fn default() -> Self {
        Interval::FULL
    }
}

impl Interval {
    /// Every integer.
    pub const FULL: Interval = Interval { lo: i64::MIN, hi: i64::MAX };
    /// The truth values.
    pub const BOOL: Interval = Interval { lo: 0, hi: 1 };

    /// From `lo` to `hi`, both included. Ends in the wrong order give [`Interval::FULL`]: nothing is known of what
    /// never happens.
    pub fn new(lo: i64, hi: i64) -> Interval {
        if lo <= hi { Interval { lo, hi } } else { Interval::FULL }
    }

    /// One integer.
    pub fn point(value: i64) -> Interval {
        Interval { lo: value, hi: value }
    }

    /// `lo` and everything above.
    pub fn at_least(lo: i64) -> Interval {
        Interval { lo, hi: i64::MAX }
    }

    /// `hi` and everything below.
    pub fn at_most(hi: i64) -> Interval {
        Interval { lo: i64::MIN, hi }
    }

    /// From optional ends.
    pub fn from_ends(min: Option<i64>, max: Option<i64>) -> Interval {
        Interval::new(min.unwrap_or(i64::MIN), max.unwrap_or(i64::MAX))
    }

    /// The least value, if there is one.
    pub fn min(self) -> Option<i64> {
        (self.lo != i64::MIN).then_some(self.lo)
    }

    /// The greatest value, if there is one.
    pub fn max(self) -> Option<i64> {
        (self.hi != i64::MAX).then_some(self.hi)
    }

    /// The only value, if there is just one.
    pub fn as_point(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// Whether both ends are known.
    pub fn is_finite(self) -> bool {
        self.min().is_some() && self.max().is_some()
    }

    /// How many integers there are, if both ends are known.
    pub fn count(self) -> Option<u64> {
        let width = i128::from(self.max()?) - i128::from(self.min()?) + 1;
        u64::try_from(width).ok()
    }

    /// Whether the value is in the interval.
    pub fn contains(self, value: i64) -> bool {
        self.lo <= value && value <= self.hi
    }

    /// Whether every value is at least `bound`.
    pub fn all_at_least(self, bound: i64) -> bool {
        self.lo >= bound
    }

    /// Whether every value is at most `bound`.
    pub fn all_at_most(self, bound: i64) -> bool {
        self.hi <= bound
    }

    /// The least interval that holds both.
    pub fn union(self, other: Interval) -> Interval {
        Interval { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// What is in both; `self` where that is nothing, for then the place is never reached.
    pub fn narrowed(self, other: Interval) -> Interval {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        if lo <= hi { Interval { lo, hi } } else { self }
    }

    /// The greatest magnitude of a value; `None` without both ends.
    pub(crate) fn magnitude(self) -> Option<u64> {
        Some(self.min()?.unsigned_abs().max(self.max()?.unsigned_abs()))
    }

    fn ends(self) -> (i128, i128) {
        let lo = if self.lo == i64::MIN { -INF } else { i128::from(self.lo) };
        let hi = if self.hi == i64::MAX { INF } else { i128::from(self.hi) };
        (lo, hi)
    }

    /// Are both ends so small that no sum or product of two such numbers leaves 64 bits? Most are, and are computed with
    /// the machine's numbers then.
    fn is_small(self) -> bool {
        const LIMIT: i64 = 1 << 31;
        self.lo > -LIMIT && self.hi < LIMIT
    }

    /// Ends that do not fit are open.
    fn from_wide(lo: i128, hi: i128) -> Interval {
        let narrow = |x: i128| x.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64;
        Interval::new(narrow(lo), narrow(hi))
    }

    /// The hull of a function that is monotone in each argument, from its values at the corners.
    fn corners(self, other: Interval, f: impl Fn(i128, i128) -> i128) -> Interval {
        let ((a, b), (c, d)) = (self.ends(), other.ends());
        let values = [f(a, c), f(a, d), f(b, c), f(b, d)];
        let lo = values.iter().copied().fold(INF, i128::min);
        let hi = values.iter().copied().fold(-INF, i128::max);
        Interval::from_wide(lo, hi)
    }

    /// The values of `a * factor`.
    pub fn scale(self, factor: i64) -> Interval {
        if self.is_small() && Interval::point(factor).is_small() {
            let (lo, hi) = (self.lo * factor, self.hi * factor);
            return Interval { lo: lo.min(hi), hi: lo.max(hi) };
        }
        self.corners(Interval::point(factor), mul_wide)
    }

    /// The values of an operator on values of two intervals, as far as they exist.
    pub fn apply(op: BinaryOp, a: Interval, b: Interval) -> Interval {
        use BinaryOp::*;
        match op {
            Add => a + b,
            Sub => a + -b,
            Mul => a.corners(b, mul_wide),
            Min => Interval { lo: a.lo.min(b.lo), hi: a.hi.min(b.hi) },
            Max => Interval { lo: a.lo.max(b.lo), hi: a.hi.max(b.hi) },
            FloorDiv if a.is_small() && b.lo == b.hi && b.lo > 0 => {
                Interval { lo: a.lo.div_euclid(b.lo), hi: a.hi.div_euclid(b.lo) }
            }
            FloorDiv => divide(a, b, floor_wide),
            TruncDiv => divide(a, b, trunc_wide),
            FloorMod => floor_mod(a, b),
            TruncMod => trunc_mod(a, b),
            Eq | Ne | Lt | Le => compare(op, a, b),
            And | Or => Interval::BOOL,
            Shl => shift(a, b, |a, amount| a.scale(1 << amount)),
            Shr => shift(a, b, |a, amount| divide(a, Interval::point(1 << amount), floor_wide)),
            BitAnd => bit_and(a, b),
            BitOr | BitXor => bit_or(a, b),
        }
    }
}

impl Add for Interval {
    type Output = Interval;

    /// The values of `a + b`.
    fn add(self, other: Interval) -> Interval {
        if self.is_small() && other.is_small() {
            return Interval { lo: self.lo + other.lo, hi: self.hi + other.hi };
        }
        let ((a, b), (c, d)) = (self.ends(), other.ends());
        Interval::from_wide(saturate(a + c), saturate(b + d))
    }
}

impl Neg for Interval {
    type Output = Interval;

    /// The values of `-a`.
    fn neg(self) -> Interval {
        if self.is_small() {
            return Interval { lo: -self.hi, hi: -self.lo };
        }
        let (lo, hi) = self.ends();
        Interval::from_wide(-hi, -lo)
    }
}

fn saturate(x: i128) -> i128 {
    x.clamp(-INF, INF)
}

fn is_infinite(x: i128) -> bool {
    x.abs() >= INF
}

fn mul_wide(a: i128, b: i128) -> i128 {
    if a == 0 || b == 0 {
        0
    } else if is_infinite(a) || is_infinite(b) {
        a.signum() * b.signum() * INF
    } else {
        saturate(a * b)
    }
}

/// Floored quotient with infinite ends as limits.
fn floor_wide(a: i128, b: i128) -> i128 {
    if is_infinite(a) {
        a.signum() * b.signum() * INF
    } else if is_infinite(b) {
        if a == 0 || (a < 0) == (b < 0) { 0 } else { -1 }
    } else {
        a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0)
    }
}

fn trunc_wide(a: i128, b: i128) -> i128 {
    if is_infinite(a) {
        a.signum() * b.signum() * INF
    } else if is_infinite(b) {
        0
    } else {
        a / b
    }
}

/// A division by the divisors of each sign; zero has no quotient.
fn divide(a: Interval, b: Interval, quotient: fn(i128, i128) -> i128) -> Interval {
    let positive = (b.hi >= 1).then(|| Interval { lo: b.lo.max(1), hi: b.hi });
    let negative = (b.lo <= -1).then(|| Interval { lo: b.lo, hi: b.hi.min(-1) });
    match (positive, negative) {
        (Some(p), Some(n)) => a.corners(p, quotient).union(a.corners(n, quotient)),
        (Some(part), None) | (None, Some(part)) => a.corners(part, quotient),
        (None, None) => Interval::FULL,
    }
}

fn floor_mod(a: Interval, b: Interval) -> Interval {
    if let Some(c) = b.as_point().filter(|&c| c > 0) {
        if a.is_small() {
            let first = a.lo.div_euclid(c);
            if first == a.hi.div_euclid(c) {
                return Interval { lo: a.lo - first * c, hi: a.hi - first * c };
            }
        }
        let (lo, hi) = a.ends();
        let (first, last) = (floor_wide(lo, i128::from(c)), floor_wide(hi, i128::from(c)));
        if first == last && !is_infinite(first) {
            let base = first * i128::from(c);
            return Interval::from_wide(lo - base, hi - base);
        }
    }
    let open_above = |x: i64| if x == i64::MAX { x } else { x - 1 };
    let open_below = |x: i64| if x == i64::MIN { x } else { x + 1 };
    let mut hi = if b.hi > 0 { open_above(b.hi) } else { 0 };
    let lo = if b.lo < 0 { open_below(b.lo) } else { 0 };
    if a.lo >= 0 && b.lo >= 0 {
        hi = hi.min(a.hi);
    }
    Interval::new(lo, hi)
}

fn trunc_mod(a: Interval, b: Interval) -> Interval {
    // The magnitude of the result is below the divisor's and not above the dividend's.
    let limit = b.magnitude().map_or(i64::MAX, |m| i64::try_from(m.saturating_sub(1)).unwrap_or(i64::MAX));
    let lo = if a.lo < 0 { a.lo.max(-limit) } else { 0 };
    let lo = if limit == i64::MAX { lo.min(a.lo.min(0)) } else { lo };
    let hi = if a.hi > 0 { a.hi.min(limit) } else { 0 };
    Interval::new(lo, hi)
}

fn compare(op: BinaryOp, a: Interval, b: Interval) -> Interval {
    let apart = a.hi < b.lo || b.hi < a.lo;
    let equal = a.as_point().is_some() && a.as_point() == b.as_point();
    let (yes, no) = match op {
        BinaryOp::Eq => (equal, apart),
        BinaryOp::Ne => (apart, equal),
        BinaryOp::Lt => (a.hi < b.lo, a.lo >= b.hi),
        _ => (a.hi <= b.lo, a.lo > b.hi),
    };
    match (yes, no) {
        (true, _) => Interval::point(1),
        (_, true) => Interval::point(0),
        _ => Interval::BOOL,
    }
}

/// A number that is shifted further goes one way only, so the least and the greatest count tell the ends.
fn shift(a: Interval, b: Interval, by: impl Fn(Interval, i64) -> Interval) -> Interval {
    if b.all_at_least(0) && b.all_at_most(62) { by(a, b.lo).union(by(a, b.hi)) } else { Interval::FULL }
}

fn bit_and(a: Interval, b: Interval) -> Interval {
    match (a.lo >= 0, b.lo >= 0) {
        (true, true) => Interval { lo: 0, hi: a.hi.min(b.hi) },
        (true, false) => Interval { lo: 0, hi: a.hi },
        (false, true) => Interval { lo: 0, hi: b.hi },
        (false, false) => Interval::FULL,
    }
}

/// Or, and exclusive or: no bit above the highest of either operand.
fn bit_or(a: Interval, b: Interval) -> Interval {
    if a.lo < 0 || b.lo < 0 {
        return Interval::FULL;
    }
    let highest = a.hi.max(b.hi);
    let all_ones = if highest == 0 { 0 } else { i64::MAX >> (highest.leading_zeros() - 1) };
    Interval { lo: 0, hi: all_ones }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.min() {
            Some(lo) => write!(f, "[{lo}, ")?,
            None => f.write_str("(-inf, ")?,
        }
        match self.max() {
            Some(hi) => write!(f, "{hi}]"),
            None => f.write_str("inf)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [BinaryOp; 18] = {
        use BinaryOp::*;
        [
            Add, Sub, Mul, FloorDiv, FloorMod, TruncDiv, TruncMod, Min, Max, Eq, Ne, Lt, Le, Shl, Shr, BitAnd, BitOr,
            BitXor,
        ]
    };

    #[test]
    fn every_operator_stays_within_its_interval_on_all_small_operands() {
        for op in ALL {
            for (a, b) in all_pairs(-7, 7) {
                for (c, d) in all_pairs(-4, 4) {
                    let hull = Interval::apply(op, Interval::new(a, b), Interval::new(c, d));
                    for (x, y) in (a..=b).flat_map(|x| (c..=d).map(move |y| (x, y))) {
                        if let Ok(value) = op.apply(x, y) {
                            assert!(hull.contains(value), "{op:?} of {x} and {y} is {value}, outside {hull}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn open_ends_hold_extreme_values() {
        let extremes = [i64::MIN, i64::MIN + 1, -3, -1, 0, 1, 2, 7, i64::MAX - 1, i64::MAX];
        let intervals = extremes.iter().flat_map(|&a| extremes.iter().map(move |&b| (a, b))).filter(|(a, b)| a <= b);
        let intervals: Vec<Interval> = intervals.map(|(a, b)| Interval::new(a, b)).collect();
        for op in ALL {
            for (a, b) in intervals.iter().flat_map(|&a| intervals.iter().map(move |&b| (a, b))) {
                let hull = Interval::apply(op, a, b);
                for (x, y) in extremes.iter().flat_map(|&x| extremes.iter().map(move |&y| (x, y))) {
                    if let (true, true, Ok(value)) = (a.contains(x), b.contains(y), op.apply(x, y)) {
                        assert!(hull.contains(value), "{op:?} of {x} in {a}, {y} in {b}: {value} outside {hull}");
                    }
                }
            }
        }
    }

    #[test]
    fn exact_where_it_can_be() {
        let apply = Interval::apply;
        assert_eq!(apply(BinaryOp::FloorMod, Interval::new(9, 11), Interval::point(4)), Interval::new(1, 3));
        assert_eq!(apply(BinaryOp::FloorMod, Interval::new(0, 2), Interval::at_least(1)), Interval::new(0, 2));
        assert_eq!(apply(BinaryOp::FloorDiv, Interval::at_least(5), Interval::point(2)), Interval::at_least(2));
        assert_eq!(apply(BinaryOp::Mul, Interval::at_least(1), Interval::at_most(-2)), Interval::at_most(-2));
        assert_eq!(Interval::new(0, 9).to_string(), "[0, 9]");
        assert_eq!(Interval::FULL.to_string(), "(-inf, inf)");
    }

    fn all_pairs(lo: i64, hi: i64) -> impl Iterator<Item = (i64, i64)> {
        (lo..=hi).flat_map(move |a| (a..=hi).map(move |b| (a, b)))
    }
}
