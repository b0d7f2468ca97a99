//! The values that an integer expression may have, so that nothing that is drawn is at fault.
//!
//! What may overflow where the language forbids it, divide by zero or shift too far has no interval, and is not drawn.
//! This is arithmetic of its own, on purpose: it decides nothing by the algebra that the programs are to test.

use tc::ir::Elem;

/// All integers from `low` to `high`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Interval {
    /// The least.
    pub low: i128,
    /// The greatest.
    pub high: i128,
}

impl Interval {
    /// One integer.
    pub fn of(value: i128) -> Interval {
        Interval { low: value, high: value }
    }

    /// From `low` to `high`.
    pub fn new(low: i128, high: i128) -> Interval {
        Interval { low, high }
    }

    /// All that `elem` holds; of `index` what counts and positions come to (docs/ir.md, Numbers).
    pub fn all(elem: Elem) -> Interval {
        if elem == Elem::Index {
            return Interval { low: -(1 << 40), high: 1 << 40 };
        }
        let (low, high) = elem.int_range().unwrap_or((0, 1));
        Interval { low, high }
    }

    /// Is all of it inside `other`?
    pub fn within(self, other: Interval) -> bool {
        other.low <= self.low && self.high <= other.high
    }

    /// The least interval that holds both.
    pub fn or(self, other: Interval) -> Interval {
        Interval { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn around(values: impl IntoIterator<Item = i128>) -> Option<Interval> {
        values.into_iter().map(Interval::of).reduce(Interval::or)
    }

    fn corners(self, other: Interval, of: impl Fn(i128, i128) -> Option<i128>) -> Option<Interval> {
        let ends = [self.low, self.high].into_iter().flat_map(|a| [(a, other.low), (a, other.high)]);
        Interval::around(ends.map(|(a, b)| of(a, b)).collect::<Option<Vec<i128>>>()?)
    }

    /// `self OP other` in `elem`; none where it may be at fault.
    pub fn binary(self, op: &str, other: Interval, elem: Elem) -> Option<Interval> {
        let exact = match op {
            "+" => Interval::new(self.low + other.low, self.high + other.high),
            "-" => Interval::new(self.low - other.high, self.high - other.low),
            "*" => match self.corners(other, i128::checked_mul) {
                Some(product) => product,
                None => return wraps(elem).then(|| Interval::all(elem)),
            },
            "min" => Interval::new(self.low.min(other.low), self.high.min(other.high)),
            "max" => Interval::new(self.low.max(other.low), self.high.max(other.high)),
            "/" | "tdiv" => {
                if other.low <= 0 && 0 <= other.high {
                    return None;
                }
                // A quotient is monotonous in each side while the divisor keeps its sign.
                self.corners(other, |a, b| {
                    let (quotient, rest) = (a / b, a % b);
                    Some(quotient - i128::from(op == "/" && rest != 0 && (a < 0) != (b < 0)))
                })?
            }
            "%" if other.low > 0 => match self.low >= 0 && self.high < other.low {
                true => self,
                false => Interval::new(0, other.high - 1),
            },
            "%" if other.high < 0 => Interval::new(other.low + 1, 0),
            "tmod" if other.low > 0 || other.high < 0 => {
                let most = other.low.abs().max(other.high.abs()) - 1;
                Interval::new(if self.low < 0 { -most } else { 0 }, if self.high > 0 { most } else { 0 })
            }
            "<<" | ">>" => {
                if other.low < 0 || other.high >= i128::from(elem.bits()) {
                    return None;
                }
                let shift = |a: i128, b: i128| if op == "<<" { a.checked_mul(1 << b) } else { Some(a >> b) };
                self.corners(other, shift)?
            }
            "&" if self.low >= 0 && other.low >= 0 => Interval::new(0, self.high.min(other.high)),
            "&" if other.low >= 0 => Interval::new(0, other.high),
            "&" if self.low >= 0 => Interval::new(0, self.high),
            "&" | "|" | "^" => self.or(other).box_of_bits(),
            _ => return None,
        };
        exact.fit(elem)
    }

    /// `-self` or `abs(self)` in `elem`; none where it may be at fault.
    pub fn unary(self, op: &str, elem: Elem) -> Option<Interval> {
        let exact = match op {
            "-" => Interval::new(-self.high, -self.low),
            "abs" if self.low >= 0 => self,
            "abs" if self.high <= 0 => Interval::new(-self.high, -self.low),
            "abs" => Interval::new(0, self.high.max(-self.low)),
            "popcount" => Interval::new(0, elem.bits().into()),
            _ => return None,
        };
        exact.fit(elem)
    }

    /// It, converted to `elem`, which wraps.
    pub fn cast(self, elem: Elem) -> Interval {
        if self.within(Interval::all(elem)) { self } else { Interval::all(elem) }
    }

    /// It in `elem`: all of that if it does not hold it and wraps, none if it does not wrap.
    fn fit(self, elem: Elem) -> Option<Interval> {
        let all = Interval::all(elem);
        if self.within(all) { Some(self) } else { wraps(elem).then_some(all) }
    }

    /// All numbers of as many bits as its numbers need.
    fn box_of_bits(self) -> Interval {
        let most = self.high.max(-1 - self.low).max(0);
        let bits = 128 - most.leading_zeros();
        let high = (1i128 << bits) - 1;
        Interval { low: if self.low < 0 { -high - 1 } else { 0 }, high }
    }
}

/// Is overflow of `elem` no fault?
pub fn wraps(elem: Elem) -> bool {
    elem.int_range().is_some_and(|(low, _)| low == 0) || (elem != Elem::Index && elem.bits() < 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the language says of two numbers.
    fn value(op: &str, a: i128, b: i128, elem: Elem) -> Option<i128> {
        use tc::ir::attrs::BinOp;
        let binary = |op| tc::dialects::arith::eval::int_binary(op, a, b, elem);
        match op {
            "+" => binary(BinOp::Add),
            "-" => binary(BinOp::Sub),
            "*" => binary(BinOp::Mul),
            "/" => binary(BinOp::Div),
            "%" => binary(BinOp::Mod),
            "<<" => binary(BinOp::Shl),
            ">>" => binary(BinOp::Shr),
            "&" => binary(BinOp::BitAnd),
            "|" => binary(BinOp::BitOr),
            "^" => binary(BinOp::BitXor),
            "min" => Some(a.min(b)),
            "max" => Some(a.max(b)),
            "tdiv" => tc::dialects::arith::eval::int_trunc(tc::dialects::arith::TDIV, a, b, elem),
            _ => tc::dialects::arith::eval::int_trunc(tc::dialects::arith::TMOD, a, b, elem),
        }
    }

    #[test]
    fn intervals_hold_all_values_and_what_has_one_is_never_at_fault() {
        let ops = ["+", "-", "*", "/", "%", "tdiv", "tmod", "<<", ">>", "&", "|", "^", "min", "max"];
        let edge = i128::from(i32::MAX);
        for elem in [Elem::I8, Elem::U8, Elem::I32] {
            let all = Interval::all(elem);
            let mut ends = vec![all.low, all.low + 1, -3, -1, 0, 1, 2, 7, all.high - 1, all.high, edge];
            ends.retain(|&end| Interval::of(end).within(all));
            let bounds = || ends.iter().flat_map(|&low| ends.iter().map(move |&high| (low, high)));
            let intervals: Vec<_> = bounds().filter(|(a, b)| a <= b && b - a < 16).collect();
            for (&(a, b), &(c, d)) in intervals.iter().flat_map(|x| intervals.iter().map(move |y| (x, y))) {
                for op in ops {
                    let Some(found) = Interval::new(a, b).binary(op, Interval::new(c, d), elem) else { continue };
                    for (x, y) in (a..=b).flat_map(|x| (c..=d).map(move |y| (x, y))) {
                        let value = value(op, x, y, elem).unwrap_or_else(|| panic!("{x} {op} {y} in {elem:?}"));
                        assert!(found.low <= value && value <= found.high, "{x} {op} {y} = {value}, not {found:?}");
                    }
                }
            }
        }
    }
}
