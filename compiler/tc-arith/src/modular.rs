//! Modular sets: the integers that leave one remainder by one modulus.

use std::fmt;
use std::ops::{Add, Mul};

use crate::expr::floor_mod;
use tc_support::gcd;

/// The integers `coeff * k + base`. A zero `coeff` means the one integer `base`; otherwise `0 <= base < coeff`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModularSet {
    coeff: i64,
    base: i64,
}

impl Default for ModularSet {
    fn default() -> Self {
        ModularSet::ALL
    }
}

impl ModularSet {
    /// Every integer.
    pub const ALL: ModularSet = ModularSet { coeff: 1, base: 0 };

    /// One integer.
    pub fn point(base: i64) -> ModularSet {
        ModularSet { coeff: 0, base }
    }

    /// The integers that are `base` modulo `coeff`; `coeff` is not negative, and zero for the one integer `base`.
    pub fn new(coeff: i64, base: i64) -> ModularSet {
        match coeff {
            0 => ModularSet::point(base),
            1.. => ModularSet { coeff, base: floor_mod(base, coeff) },
            _ => ModularSet::ALL,
        }
    }

    /// The modulus; 0 for a single integer.
    pub fn coeff(self) -> i64 {
        self.coeff
    }

    /// The remainder, or the single integer.
    pub fn base(self) -> i64 {
        self.base
    }

    /// Whether the value is in the set.
    pub fn contains(self, value: i64) -> bool {
        if self.coeff == 0 { value == self.base } else { floor_mod(value, self.coeff) == self.base }
    }

    /// The remainder that every value leaves by `modulus > 0`, if it is the same for all.
    pub fn residue(self, modulus: i64) -> Option<i64> {
        (modulus > 0 && self.coeff % modulus == 0).then(|| floor_mod(self.base, modulus))
    }

    /// From exact numbers; what does not fit is forgotten.
    fn from_wide(coeff: u128, base: i128) -> ModularSet {
        match i64::try_from(coeff) {
            Ok(0) => i64::try_from(base).map_or(ModularSet::ALL, ModularSet::point),
            Ok(c) => ModularSet { coeff: c, base: base.rem_euclid(i128::from(c)) as i64 },
            Err(_) => ModularSet::ALL,
        }
    }

    fn wide(self) -> (u128, i128) {
        (u128::from(self.coeff.unsigned_abs()), i128::from(self.base))
    }

    /// The values of `a * factor`.
    pub fn scale(self, factor: i64) -> ModularSet {
        self * ModularSet::point(factor)
    }

    /// The values of `a / divisor`, floored, for `divisor > 0`.
    pub fn floor_div(self, divisor: i64) -> ModularSet {
        if divisor <= 0 || self.coeff % divisor != 0 {
            return ModularSet::ALL;
        }
        ModularSet::new(self.coeff / divisor, self.base.div_euclid(divisor))
    }

    /// The values of `a % divisor`, floored, for `divisor > 0`.
    pub fn floor_mod(self, divisor: i64) -> ModularSet {
        if divisor <= 0 {
            return ModularSet::ALL;
        }
        if let Some(residue) = self.residue(divisor) {
            return ModularSet::point(residue);
        }
        ModularSet::new(gcd(self.coeff.unsigned_abs(), divisor.unsigned_abs()) as i64, self.base)
    }

    /// The least modular set that holds both.
    pub fn union(self, other: ModularSet) -> ModularSet {
        let ((c, x), (d, y)) = (self.wide(), other.wide());
        ModularSet::from_wide(gcd(gcd(c, d), x.abs_diff(y)), x)
    }

    /// What is known when both hold. Two moduli are joined by the Chinese remainder theorem while that is cheap;
    /// otherwise the larger modulus is kept. Sets without a common value give `self`.
    pub fn narrowed(self, other: ModularSet) -> ModularSet {
        if self.coeff == 0 || other.coeff == 0 {
            let (point, set) = if self.coeff == 0 { (self, other) } else { (other, self) };
            return if set.contains(point.base) { point } else { self };
        }
        let (large, small) = if self.coeff >= other.coeff { (self, other) } else { (other, self) };
        let common = gcd(large.coeff.unsigned_abs(), small.coeff.unsigned_abs()) as i64;
        let steps = small.coeff / common;
        let Some(joint) = large.coeff.checked_mul(steps).filter(|_| steps <= 1024) else { return large };
        for step in 0..steps {
            // The sum is below the joint modulus, which fits.
            let base = large.base + large.coeff * step;
            if small.contains(base) {
                return ModularSet { coeff: joint, base };
            }
        }
        self
    }
}

impl Add for ModularSet {
    type Output = ModularSet;

    /// The values of `a + b`.
    fn add(self, other: ModularSet) -> ModularSet {
        let ((c, x), (d, y)) = (self.wide(), other.wide());
        ModularSet::from_wide(gcd(c, d), x + y)
    }
}

impl Mul for ModularSet {
    type Output = ModularSet;

    /// The values of `a * b`.
    fn mul(self, other: ModularSet) -> ModularSet {
        let ((c, x), (d, y)) = (self.wide(), other.wide());
        let cross = gcd(c * y.unsigned_abs(), d * x.unsigned_abs());
        ModularSet::from_wide(gcd(c * d, cross), x * y)
    }
}

impl fmt::Display for ModularSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.coeff, self.base) {
            (0, base) => write!(f, "{base}"),
            (coeff, 0) => write!(f, "{coeff}*k"),
            (coeff, base) => write!(f, "{coeff}*k + {base}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small_sets() -> Vec<ModularSet> {
        let points = (-5..=5).map(ModularSet::point);
        points.chain((1..=6).flat_map(|c| (0..c).map(move |b| ModularSet::new(c, b)))).collect()
    }

    #[test]
    fn operations_hold_every_value_of_small_sets() {
        let sets = small_sets();
        for (a, b) in sets.iter().flat_map(|&a| sets.iter().map(move |&b| (a, b))) {
            let (sum, product, union, both) = (a + b, a * b, a.union(b), a.narrowed(b));
            for (x, y) in (-13..=13).flat_map(|x| (-13..=13).map(move |y| (x, y))) {
                if a.contains(x) && b.contains(y) {
                    assert!(sum.contains(x + y), "{x} + {y} outside {sum}");
                    assert!(product.contains(x * y), "{x} * {y} outside {product}");
                    assert!(union.contains(x) && union.contains(y));
                }
                assert!(!(a.contains(x) && b.contains(x)) || both.contains(x), "{x} in {a} and {b}, not in {both}");
            }
        }
    }

    #[test]
    fn division_by_constants_holds_every_value() {
        for set in small_sets() {
            for divisor in 1..=6 {
                for x in (-40..=40).filter(|&x| set.contains(x)) {
                    assert!(set.floor_div(divisor).contains(x.div_euclid(divisor)));
                    assert!(set.floor_mod(divisor).contains(x.rem_euclid(divisor)));
                    assert!(set.residue(divisor).is_none_or(|r| x.rem_euclid(divisor) == r));
                }
            }
        }
    }

    #[test]
    fn joins_two_moduli() {
        assert_eq!(ModularSet::new(4, 1).narrowed(ModularSet::new(6, 3)), ModularSet::new(12, 9));
        assert_eq!(ModularSet::new(i64::MAX, 5) * ModularSet::new(i64::MAX, 3), ModularSet::new(i64::MAX, 15));
    }
}
