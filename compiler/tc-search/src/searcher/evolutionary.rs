//! Evolution: children of the best points, by a change of one value or by crossing two.

use super::{Chosen, Searcher};
use crate::known::Known;
use crate::random::Random;

/// Points that are parents.
const PARENTS: usize = 16;
/// Trials before the first children.
const FIRST: usize = 12;
/// Children of a batch are tried so often for each that is wanted; what is missing then is drawn.
const TRIES: usize = 64;

/// Children of the best points (Whitley, "A genetic algorithm tutorial", 1994; the mutation of one decision is that of
/// MetaSchedule, Shao et al. 2022).
pub struct Evolutionary(Random);

impl Evolutionary {
    /// Draws by `seed`.
    pub fn new(seed: u64) -> Evolutionary {
        Evolutionary(Random::stream(seed, 2))
    }

    /// A parent: the better of two that are drawn.
    fn parent(&mut self, ranked: &[(usize, f64)]) -> usize {
        let n = ranked.len().min(PARENTS);
        ranked[self.0.below(n).min(self.0.below(n))].0
    }

    fn child(&mut self, known: &Known<'_>, ranked: &[(usize, f64)]) -> Option<usize> {
        let pool = known.pool();
        let mut values = pool.point(self.parent(ranked)).to_vec();
        if self.0.below(3) == 0 {
            let other = pool.point(self.parent(ranked));
            for (value, other) in values.iter_mut().zip(other) {
                if self.0.below(2) == 0 {
                    *value = *other;
                }
            }
        }
        // Two changes now and then, for what a condition ties together.
        for _ in 0..1 + usize::from(self.0.below(3) == 0) {
            let knob = self.0.below(values.len());
            let choices = &pool.knobs()[knob].values;
            values[knob] = choices[self.0.below(choices.len())];
        }
        pool.find(&values)
    }
}

impl Searcher for Evolutionary {
    fn propose(&mut self, known: &Known<'_>, n: usize) -> Vec<usize> {
        let mut chosen = Chosen::new(known, n);
        let ranked = known.ranked();
        if known.results().len() < FIRST || ranked.is_empty() || known.pool().knobs().is_empty() {
            return chosen.fill_first(&mut self.0);
        }
        for _ in 0..n * TRIES {
            if let Some(child) = self.child(known, &ranked) {
                chosen.take(child);
            }
            if chosen.is_full() {
                break;
            }
        }
        chosen.fill(&mut self.0)
    }
}
