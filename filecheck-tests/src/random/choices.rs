//! Where a generator's choices come from: a seed, or the bytes of a fuzzer.

/// A source of choices. One that runs dry chooses the last for ever, and what it draws has to end.
pub trait Choices {
    /// A number below `n`; 0 where `n` is 0.
    fn below(&mut self, n: usize) -> usize;
}

impl dyn Choices + '_ {
    /// True in so many of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of `from`, which is not empty.
    pub fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    /// A number from `low` to `high`, both of which it may be.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below(usize::try_from(high - low + 1).unwrap_or(0)) as i64
    }
}

/// Choices from bytes, one for each.
pub struct Bytes<'b>(pub std::slice::Iter<'b, u8>);

impl Choices for Bytes<'_> {
    fn below(&mut self, n: usize) -> usize {
        self.0.next().map_or(n.saturating_sub(1), |&byte| usize::from(byte) % n.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dry;

    impl Choices for Dry {
        fn below(&mut self, n: usize) -> usize {
            n.saturating_sub(1)
        }
    }

    #[test]
    fn a_dry_source_says_no_and_takes_the_last() {
        let dry: &mut dyn Choices = &mut Dry;
        assert!(!dry.chance(99) && dry.chance(100));
        assert_eq!(dry.pick(&[7, 8]), 8);
        assert_eq!(dry.between(-3, 5), 5);
    }
}
