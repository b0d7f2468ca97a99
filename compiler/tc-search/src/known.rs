//! What a search knows when it proposes.

use crate::pool::Pool;

/// What came of a point: its time in microseconds, or nothing where there is none to be had.
pub type Outcome = Option<f64>;

/// The pool, and what was measured of it so far.
#[derive(Clone, Debug)]
pub struct Known<'p> {
    pool: &'p Pool,
    results: Vec<(usize, Outcome)>,
    proposed: Vec<bool>,
}

impl<'p> Known<'p> {
    pub(crate) fn new(pool: &'p Pool) -> Known<'p> {
        Known { pool, results: Vec::new(), proposed: vec![false; pool.len()] }
    }

    pub(crate) fn propose(&mut self, point: usize) {
        self.proposed[point] = true;
    }

    pub(crate) fn add(&mut self, point: usize, outcome: Outcome) {
        self.proposed[point] = true;
        self.results.push((point, outcome.filter(|time| time.is_finite())));
    }

    /// The points that are chosen from.
    pub fn pool(&self) -> &'p Pool {
        self.pool
    }

    /// What was measured, in the order in which it was proposed.
    pub fn results(&self) -> &[(usize, Outcome)] {
        &self.results
    }

    /// Is the point measured, or on its way to be?
    pub fn is_proposed(&self, point: usize) -> bool {
        self.proposed[point]
    }

    /// The points that were not proposed yet, in order.
    pub fn open(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.pool.len()).filter(|&point| !self.proposed[point])
    }

    /// The points with a time, the fastest first.
    pub fn ranked(&self) -> Vec<(usize, f64)> {
        let mut ranked: Vec<(usize, f64)> =
            self.results.iter().filter_map(|&(point, outcome)| Some((point, outcome?))).collect();
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        ranked
    }

    /// The fastest point and its time.
    pub fn best(&self) -> Option<(usize, f64)> {
        self.ranked().first().copied()
    }
}
