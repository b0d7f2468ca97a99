//! Simulated annealing over boosted trees, as AutoTVM searches (Chen et al., "Learning to optimize tensor programs", 2018).

use super::{Chosen, Searcher};
use crate::known::Known;
use crate::model::{Boosted, BoostedOptions, Table};
use crate::random::Random;

/// Trials before the first model.
const FIRST: usize = 16;
/// Chains that walk side by side.
const CHAINS: usize = 128;
/// Steps of each chain at most.
const STEPS: usize = 500;
/// Steps without a better point after which the chains stop.
const PATIENCE: usize = 50;
/// One point of so many is drawn.
const DRAWN: usize = 20;

/// Points that simulated annealing finds best by a model of boosted trees.
pub struct Annealing {
    random: Random,
    /// Where the chains stand.
    chains: Vec<usize>,
}

impl Annealing {
    /// Draws by `seed`.
    pub fn new(seed: u64) -> Annealing {
        Annealing { random: Random::stream(seed, 4), chains: Vec::new() }
    }

    /// A model of the speed of points; what has no time is as slow as can be.
    fn fit(known: &Known<'_>) -> Boosted {
        let features = known.pool().features();
        let mut rows = Table::new(features.n_columns());
        let best = known.best().map_or(1.0, |(_, time)| time);
        let (mut targets, mut start) = (Vec::new(), Vec::new());
        for &(point, outcome) in known.results() {
            rows.push(features.row(point));
            targets.push(outcome.map_or(0.0, |time| best / time));
            start.push(known.pool().expected(point));
        }
        Boosted::correct(&rows, &targets, &start, BoostedOptions::default())
    }

    /// A point that differs from `point` in one value.
    fn step(&mut self, known: &Known<'_>, point: usize) -> usize {
        let knobs = known.pool().knobs();
        // Conditions cut many steps off: a few are tried.
        for _ in 0..8 {
            let knob = self.random.below(knobs.len());
            let values = &knobs[knob].values;
            let next = known.pool().changed(point, knob, values[self.random.below(values.len())]);
            if let Some(next) = next.filter(|&next| next != point) {
                return next;
            }
        }
        point
    }

    /// The open points that the chains came by, the best first.
    fn anneal(&mut self, known: &Known<'_>, scores: &[f64], n: usize) -> Vec<usize> {
        let size = known.pool().len();
        while self.chains.len() < CHAINS.min(size) {
            self.chains.push(self.random.below(size));
        }
        let mut seen: Vec<bool> = vec![false; size];
        let mut last_change = 0;
        let mut threshold = f64::NEG_INFINITY;
        let mut heap: Vec<(f64, usize)> = Vec::new();
        for step in 0..STEPS {
            let temperature = 1.0 - step as f64 / STEPS as f64;
            for chain in 0..self.chains.len() {
                let here = self.chains[chain];
                let next = self.step(known, here);
                let gain = scores[next] - scores[here];
                if gain >= 0.0 || self.random.unit() < libm::exp(gain / (temperature + 1e-5)) {
                    self.chains[chain] = next;
                }
                if !std::mem::replace(&mut seen[next], true) && !known.is_proposed(next) && scores[next] > threshold {
                    heap.push((scores[next], next));
                    heap.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
                    heap.truncate(n);
                    threshold = if heap.len() == n { heap[n - 1].0 } else { threshold };
                    last_change = step;
                }
            }
            if step >= last_change + PATIENCE {
                break;
            }
        }
        heap.into_iter().map(|(_, point)| point).collect()
    }
}

impl Searcher for Annealing {
    fn propose(&mut self, known: &Known<'_>, n: usize) -> Vec<usize> {
        let mut chosen = Chosen::new(known, n);
        if known.results().len() < FIRST || known.best().is_none() || known.pool().knobs().is_empty() {
            return chosen.fill_first(&mut self.random);
        }
        let model = Annealing::fit(known);
        let features = known.pool().features();
        let score = |row| known.pool().expected(row) + model.predict(features.row(row));
        let scores: Vec<f64> = (0..features.n_rows()).map(score).collect();
        for point in self.anneal(known, &scores, n) {
            if self.random.below(DRAWN) == 0 {
                chosen.take_random(&mut self.random);
            }
            chosen.take(point);
        }
        chosen.fill(&mut self.random)
    }
}
