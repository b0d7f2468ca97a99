//! Pseudo-random numbers that are the same everywhere.

use super::choices::Choices;

/// A generator (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators").
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// The numbers of case `number` of `seed`; cases do not depend on each other.
    pub fn of_case(seed: u64, number: u64) -> Rng {
        let mut whole = Rng(seed);
        let mixed = whole.next() ^ number.wrapping_mul(0xD1B5_4A32_D192_ED03);
        Rng(Rng(mixed).next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `from`, which is not empty.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

impl Choices for Rng {
    fn below(&mut self, n: usize) -> usize {
        Rng::below(self, n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_the_same_in_every_run() {
        let draw = |seed, number| {
            let mut rng = Rng::of_case(seed, number);
            [rng.below(1000), rng.below(1000), rng.below(1000)]
        };
        assert_eq!(draw(1, 7), draw(1, 7));
        assert_ne!(draw(1, 7), draw(1, 8));
        assert_ne!(draw(1, 7), draw(2, 7));
    }
}
