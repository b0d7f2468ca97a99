//! A search: batches of points out, results in, until the budget is spent.
//!
//! Batch `k` is proposed from the results of the batches up to `k - 2`, in the order of their points. So one batch is
//! measured while the next is proposed, and neither the number of workers nor the order in which they answer changes what
//! is proposed.

use crate::known::{Known, Outcome};
use crate::pool::Pool;
use crate::searcher::{Descent, Searcher};
use std::collections::VecDeque;

/// Batches that are outstanding at most.
const LAG: usize = 2;

/// How far a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Points that are tried at most.
    pub trials: usize,
    /// Points in a batch.
    pub batch: usize,
    /// The search ends where so many trials in a row bring no better point; without it, with its trials.
    pub patience: Option<usize>,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { trials: 100, batch: 4, patience: None }
    }
}

/// A batch of points to measure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// Its number, from 0.
    pub nth: usize,
    /// The number of its first trial, from 0.
    pub first_trial: usize,
    /// The points.
    pub points: Vec<usize>,
}

/// What comes next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// Measure these.
    Batch(Batch),
    /// Results are wanted before anything can be proposed.
    Wait,
    /// Nothing: the budget is spent, or the pool.
    Done,
}

/// A search over a pool.
pub struct Search<'p> {
    known: Known<'p>,
    searcher: Box<dyn Searcher>,
    descent: Option<Descent>,
    budget: Budget,
    /// The batches whose results are not all in, the oldest first.
    outstanding: VecDeque<(Batch, Vec<Option<Outcome>>)>,
    batches: usize,
    trials: usize,
    /// The trial that found the best point so far.
    best_trial: usize,
    best: Option<f64>,
}

impl<'p> Search<'p> {
    /// A search over `pool`.
    pub fn new(pool: &'p Pool, searcher: Box<dyn Searcher>, budget: Budget) -> Search<'p> {
        let budget = Budget { batch: budget.batch.max(1), ..budget };
        let descent = searcher.descends().then(|| Descent::new(budget.trials));
        Search {
            known: Known::new(pool),
            searcher,
            descent,
            budget,
            outstanding: VecDeque::new(),
            batches: 0,
            trials: 0,
            best_trial: 0,
            best: None,
        }
    }

    /// Results of earlier searches, from which this one starts; none of these points is tried again.
    pub fn warm_start(&mut self, results: impl IntoIterator<Item = (usize, Outcome)>) {
        for (point, outcome) in results {
            if !self.known.is_proposed(point) {
                self.known.add(point, outcome);
            }
        }
    }

    /// What is known.
    pub fn known(&self) -> &Known<'p> {
        &self.known
    }

    /// Points that were proposed so far.
    pub fn n_trials(&self) -> usize {
        self.trials
    }

    /// Ends the search: nothing more is proposed.
    pub fn stop(&mut self) {
        self.budget.trials = self.trials;
    }

    /// The next batch, if it can be proposed.
    pub fn ask(&mut self) -> Next {
        if self.outstanding.len() == LAG && !self.take_oldest() {
            return Next::Wait;
        }
        let left = self.budget.trials.saturating_sub(self.trials).min(self.budget.batch);
        let points = if left == 0 || self.is_patience_spent() { Vec::new() } else { self.propose(left) };
        if points.is_empty() {
            while self.take_oldest() {}
            return if self.outstanding.is_empty() { Next::Done } else { Next::Wait };
        }
        let batch = Batch { nth: self.batches, first_trial: self.trials, points };
        self.batches += 1;
        self.trials += batch.points.len();
        self.outstanding.push_back((batch.clone(), vec![None; batch.points.len()]));
        Next::Batch(batch)
    }

    /// Takes what came of a point of a batch that is outstanding; the first answer counts. Returns whether it was wanted.
    pub fn tell(&mut self, point: usize, outcome: Outcome) -> bool {
        let wanted = self.outstanding.iter_mut().find_map(|(batch, results)| {
            let at = batch.points.iter().position(|&other| other == point)?;
            results[at].is_none().then_some(&mut results[at])
        });
        wanted.is_some_and(|slot| {
            *slot = Some(outcome);
            true
        })
    }

    /// Have so many trials in a row brought no better point that the search ends?
    fn is_patience_spent(&self) -> bool {
        let seen = self.outstanding.front().map_or(self.trials, |(batch, _)| batch.first_trial);
        self.budget.patience.is_some_and(|patience| self.best.is_some() && seen >= self.best_trial + patience)
    }

    /// At most `n` points, which are marked as proposed.
    fn propose(&mut self, n: usize) -> Vec<usize> {
        let descent = self.descent.as_ref();
        let mut points = descent.map_or(Vec::new(), |descent| descent.propose(&self.known, (self.trials, n)));
        points.iter().for_each(|&point| self.known.propose(point));
        let missing = n - points.len();
        let more = if missing == 0 { Vec::new() } else { self.searcher.propose(&self.known, missing) };
        more.iter().for_each(|&point| self.known.propose(point));
        points.extend(more);
        points
    }

    /// Adds the results of the oldest batch to what is known, if they are all in.
    fn take_oldest(&mut self) -> bool {
        let is_complete = |(_, results): &(Batch, Vec<Option<Outcome>>)| results.iter().all(Option::is_some);
        if !self.outstanding.front().is_some_and(is_complete) {
            return false;
        }
        let Some((batch, results)) = self.outstanding.pop_front() else { return false };
        for (nth, (point, outcome)) in batch.points.into_iter().zip(results).enumerate() {
            let outcome = outcome.flatten();
            self.known.add(point, outcome);
            if let Some(time) = outcome
                && self.best.is_none_or(|best| time < best)
            {
                (self.best, self.best_trial) = (outcome, batch.first_trial + nth + 1);
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::tests::grid;
    use crate::searcher::Kind;

    /// The batches of a search in which each batch is answered in the order that `order` gives it.
    fn batches(kind: Kind, order: impl Fn(&mut Vec<usize>)) -> Vec<Batch> {
        let pool = grid(16, 16);
        let time = |point: usize| {
            let values = pool.point(point);
            (values[0] != 3).then(|| ((values[0] - 9).abs() * 3 + (values[1] - 4).abs() + 5) as f64)
        };
        let mut search = Search::new(&pool, kind.searcher(7), Budget { trials: 50, batch: 4, patience: None });
        let (mut all, mut waiting) = (Vec::new(), Vec::new());
        loop {
            match search.ask() {
                Next::Batch(batch) => {
                    waiting.extend(batch.points.clone());
                    all.push(batch);
                }
                Next::Wait => {
                    order(&mut waiting);
                    let point = waiting.pop().expect("something is outstanding");
                    assert!(search.tell(point, time(point)) && !search.tell(point, time(point)));
                }
                Next::Done => return all,
            }
        }
    }

    #[test]
    fn the_order_of_answers_changes_nothing() {
        for kind in Kind::ALL {
            let in_order = batches(kind, |waiting| waiting.sort_by_key(|&point| std::cmp::Reverse(point)));
            assert_eq!(in_order, batches(kind, |waiting| waiting.sort_unstable()), "{}", kind.name());
            assert_eq!(in_order, batches(kind, |_| {}), "{}", kind.name());
            let points: Vec<usize> = in_order.iter().flat_map(|batch| batch.points.clone()).collect();
            let mut distinct = points.clone();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!((points.len(), distinct.len()), (50, 50), "{}", kind.name());
        }
    }

    #[test]
    fn patience_ends_a_search_and_the_pool_does() {
        let pool = grid(5, 5);
        for (patience, trials) in [(None, 25), (Some(6), 10)] {
            let budget = Budget { trials: 100, batch: 2, patience };
            let mut search = Search::new(&pool, Kind::Exhaustive.searcher(0), budget);
            let mut n = 0;
            loop {
                match search.ask() {
                    Next::Batch(batch) => batch.points.iter().for_each(|&point| {
                        n += 1;
                        search.tell(point, Some(1.0 + point as f64));
                    }),
                    Next::Wait => unreachable!("all is answered at once"),
                    Next::Done => break,
                }
            }
            assert_eq!(n, trials);
        }
    }

    #[test]
    fn what_is_known_is_not_tried_again() {
        let pool = grid(2, 2);
        let mut search = Search::new(&pool, Kind::Random.searcher(0), Budget::default());
        search.warm_start([(0, Some(3.0)), (2, None), (0, Some(1.0))]);
        let Next::Batch(batch) = search.ask() else { panic!("two points are left") };
        let mut points = batch.points;
        points.sort_unstable();
        assert_eq!((points, search.known().best()), (vec![1, 3], Some((0, 3.0))));
        assert!(!search.tell(0, Some(1.0)), "it is not outstanding");
    }
}
