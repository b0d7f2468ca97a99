//! Arithmetic modulo two primes, the second of which divides the first less one.
//!
//! `2^16` has the order [`Q`] modulo [`P`]: `x -> BASE^x` is a homomorphism from the sums modulo `Q` to the products
//! modulo `P`, which is what an exponential function has to be.

use std::cell::Cell;

/// The modulus of values.
pub(super) const P: u32 = 2_147_477_873;
/// The modulus of exponents: `P = 16 * Q + 1`.
pub(super) const Q: u32 = 134_217_367;
/// An element of order [`Q`] modulo [`P`].
const BASE: u32 = 65_536;

#[inline(always)]
pub(super) fn add<const M: u32>(a: u32, b: u32) -> u32 {
    let sum = u64::from(a) + u64::from(b);
    (if sum >= u64::from(M) { sum - u64::from(M) } else { sum }) as u32
}

#[inline(always)]
pub(super) fn neg<const M: u32>(a: u32) -> u32 {
    if a == 0 { 0 } else { M - a }
}

#[inline(always)]
pub(super) fn mul<const M: u32>(a: u32, b: u32) -> u32 {
    (u64::from(a) * u64::from(b) % u64::from(M)) as u32
}

pub(super) fn pow<const M: u32>(base: u32, mut exponent: u32) -> u32 {
    let (mut result, mut square) = (1, base);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = mul::<M>(result, square);
        }
        square = mul::<M>(square, square);
        exponent >>= 1;
    }
    result
}

/// The inverse of `a`, which is not 0 (Fermat). A program divides many numbers by a few, which are remembered.
pub(super) fn inverse<const M: u32>(a: u32) -> u32 {
    const N_KNOWN: usize = 256;
    thread_local! {
        /// Numbers with their inverses, each at the place that its last digits say; for each modulus.
        static KNOWN: [[Cell<(u32, u32)>; N_KNOWN]; 2] = const { [const { [const { Cell::new((0, 0)) }; N_KNOWN] }; 2] };
    }
    KNOWN.with(|known| {
        let place = &known[usize::from(M == P)][a as usize % N_KNOWN];
        let (of, inverse) = place.get();
        if of == a {
            return inverse;
        }
        let inverse = pow::<M>(a, M - 2);
        place.set((a, inverse));
        inverse
    })
}

/// The exponential of a residue modulo [`Q`], modulo [`P`].
pub(super) fn exp(exponent: u32) -> u32 {
    pow::<P>(BASE, exponent)
}

/// An integer.
pub(super) fn of_int<const M: u32>(value: i128) -> u32 {
    value.rem_euclid(i128::from(M)) as u32
}

/// The integer next to 0 that `a` stands for.
pub(super) fn centred<const M: u32>(a: u32) -> i64 {
    if a > M / 2 { i64::from(a) - i64::from(M) } else { i64::from(a) }
}

/// The exponents of the powers of two of an f64 with an integer mantissa.
const EXPONENTS: std::ops::Range<i32> = -1074..972;

/// A table for each modulus: inputs are millions of numbers.
struct Powers<const M: u32>;

impl<const M: u32> Powers<M> {
    /// `2^exponent` for each of [`EXPONENTS`].
    const OF_TWO: &'static [u32] = &{
        let mut powers = [1u32; (EXPONENTS.end - EXPONENTS.start) as usize];
        let zero = -EXPONENTS.start as usize;
        let mut at = zero;
        while at > 0 {
            // The half of an odd number is that of its sum with the modulus, which is odd.
            let odd = powers[at] % 2 == 1;
            powers[at - 1] = ((powers[at] as u64 + if odd { M as u64 } else { 0 }) / 2) as u32;
            at -= 1;
        }
        at = zero + 1;
        while at < powers.len() {
            powers[at] = (powers[at - 1] as u64 * 2 % M as u64) as u32;
            at += 1;
        }
        powers
    };
}

/// `mantissa * 2^exponent`; the exponent is one of an f64.
pub(super) fn scaled<const M: u32>(mantissa: i64, exponent: i32) -> u32 {
    let power = Powers::<M>::OF_TWO[(exponent - EXPONENTS.start) as usize];
    mul::<M>(mantissa.rem_euclid(i64::from(M)) as u32, power)
}

/// A residue modulo [`P`] that says nothing of `key` and `salt`, but is the same for the same two (the finaliser of
/// SplitMix64).
pub(super) fn scramble(key: u64, salt: u64) -> u64 {
    let mut z = key.wrapping_add(salt.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_add(0x632b_e59b_d9b4_e019);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_prime(n: u32) -> bool {
        n > 1 && (2..).take_while(|d| u64::from(*d) * u64::from(*d) <= u64::from(n)).all(|d: u32| !n.is_multiple_of(d))
    }

    #[test]
    fn the_moduli_are_primes_and_the_base_has_the_order_of_the_exponents() {
        assert!(is_prime(P) && is_prime(Q));
        assert_eq!(P - 1, 16 * Q);
        // The order divides Q, a prime, and is not 1.
        assert_eq!(exp(Q), 1);
        assert_ne!(exp(1), 1);
    }

    #[test]
    fn inverses_and_powers_of_two_are_what_they_say() {
        for a in [1, 2, 3, 65_537, P - 1] {
            assert_eq!(mul::<P>(a, inverse::<P>(a)), 1);
        }
        assert_eq!(mul::<Q>(scaled::<Q>(3, -7), 128), 3);
        for exponent in EXPONENTS {
            let power = pow::<P>(2, exponent.unsigned_abs());
            assert_eq!(scaled::<P>(1, exponent), if exponent < 0 { inverse::<P>(power) } else { power }, "{exponent}");
        }
        assert_eq!(centred::<P>(of_int::<P>(-5)), -5);
    }
}
