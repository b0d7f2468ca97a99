//! The default: points that a random forest takes for some of the best.
//!
//! The forest tells the best part of what was measured from the rest, which is a search by likelihood-free inference
//! (Song et al., "A general recipe for likelihood-free Bayesian optimization", 2022). The pool is finite, so that all of
//! it is asked, and no chain of local steps is needed.

use super::{Chosen, Searcher};
use crate::known::Known;
use crate::model::{Forest, ForestOptions, Table};
use crate::random::Random;

/// Trials before the first forest.
const FIRST: usize = 8;
/// The part of the results that counts as best.
const BEST: f64 = 0.2;
/// One point of so many is drawn.
const DRAWN: usize = 12;

/// Points that a random forest takes for some of the best.
pub struct ForestGuided(Random);

impl ForestGuided {
    /// Draws by `seed`.
    pub fn new(seed: u64) -> ForestGuided {
        ForestGuided(Random::stream(seed, 3))
    }

    /// A forest that tells the best results from the others.
    fn fit(&mut self, known: &Known<'_>) -> Forest {
        let features = known.pool().features();
        let ranked = known.ranked();
        let n_best = ((ranked.len() as f64 * BEST).ceil() as usize).clamp(1, ranked.len());
        let threshold = ranked[n_best - 1].1;
        let mut rows = Table::new(features.n_columns());
        let (mut labels, mut weights) = (Vec::new(), Vec::new());
        for &(point, outcome) in known.results() {
            rows.push(features.row(point));
            let is_best = outcome.is_some_and(|time| time <= threshold);
            labels.push(is_best);
            // A point that is far better than the threshold says more.
            weights.push(outcome.filter(|_| is_best).map_or(1.0, |time| (threshold / time).min(4.0)));
        }
        Forest::fit(&rows, &labels, &weights, ForestOptions::default(), &mut self.0)
    }
}

impl Searcher for ForestGuided {
    fn propose(&mut self, known: &Known<'_>, n: usize) -> Vec<usize> {
        let mut chosen = Chosen::new(known, n);
        if known.results().len() < FIRST || known.best().is_none() {
            return chosen.fill_first(&mut self.0);
        }
        let forest = self.fit(known);
        let features = known.pool().features();
        let mut scored: Vec<(f64, u64, usize)> =
            known.open().map(|point| (forest.probability(features.row(point)), self.0.next_u64(), point)).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        for (_, _, point) in scored {
            if self.0.below(DRAWN) == 0 {
                chosen.take_random(&mut self.0);
            }
            chosen.take(point);
            if chosen.is_full() {
                break;
            }
        }
        chosen.fill(&mut self.0)
    }
}
