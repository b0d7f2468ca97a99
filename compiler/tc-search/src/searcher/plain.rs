//! The searchers that learn nothing.

use super::{Chosen, Searcher};
use crate::known::Known;
use crate::random::Random;

/// All points in their order.
pub struct Exhaustive;

impl Searcher for Exhaustive {
    fn propose(&mut self, known: &Known<'_>, n: usize) -> Vec<usize> {
        known.open().take(n).collect()
    }

    fn descends(&self) -> bool {
        false
    }
}

/// Points that somebody else chose, in their order.
pub struct Listed(pub Vec<usize>);

impl Searcher for Listed {
    fn propose(&mut self, known: &Known<'_>, n: usize) -> Vec<usize> {
        let mut chosen = Chosen::new(known, n);
        for &point in &self.0 {
            chosen.take(point);
        }
        chosen.points
    }

    fn descends(&self) -> bool {
        false
    }
}

/// Points without replacement, in an order that the seed draws.
pub struct RandomOrder(Random);

impl RandomOrder {
    /// Draws by `seed`.
    pub fn new(seed: u64) -> RandomOrder {
        RandomOrder(Random::stream(seed, 1))
    }
}

impl Searcher for RandomOrder {
    fn propose(&mut self, known: &Known<'_>, n: usize) -> Vec<usize> {
        Chosen::new(known, n).fill(&mut self.0)
    }

    fn descends(&self) -> bool {
        false
    }
}
