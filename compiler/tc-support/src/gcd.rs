//! The greatest common divisor.

use std::ops::Rem;

/// The greatest common divisor of two numbers that are not negative; 0 only for two zeros.
#[inline]
pub fn gcd<T: Copy + Default + PartialEq + Rem<Output = T>>(a: T, b: T) -> T {
    let (mut a, mut b) = (a, b);
    while b != T::default() {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_divides_both_and_is_the_greatest_that_does() {
        for a in 0..60u64 {
            for b in 0..60 {
                let greatest = (1..=60).rev().find(|n| a % n == 0 && b % n == 0).unwrap_or(0);
                assert_eq!(gcd(a, b), if (a, b) == (0, 0) { 0 } else { greatest }, "{a} {b}");
            }
        }
        assert_eq!((gcd(1u128 << 100, 1 << 70), gcd(u64::MAX, 0)), (1 << 70, u64::MAX));
    }
}
