//! The end of a search: the neighbours of the best point, until none of them is better.

use super::Chosen;
use crate::known::Known;

/// The part of a budget that may go into the descent: one trial of so many.
const SHARE: usize = 6;

/// Proposes the points that differ from the best in one value, once the end of the budget is near.
pub struct Descent {
    from_trial: usize,
}

impl Descent {
    /// For a search of so many trials.
    pub fn new(trials: usize) -> Descent {
        Descent { from_trial: trials - trials / SHARE }
    }

    /// At most `n` points to try from trial `trial` on; none before the end is near, and none where all are tried.
    pub fn propose(&self, known: &Known<'_>, (trial, n): (usize, usize)) -> Vec<usize> {
        if trial < self.from_trial {
            return Vec::new();
        }
        let mut chosen = Chosen::new(known, n);
        // The neighbours of the second best come after all those of the best.
        for (point, _) in known.ranked().into_iter().take(2) {
            let mut near = known.pool().neighbours(point).0;
            near.sort_by_key(|&other| (steps(known, point, other), other));
            near.into_iter().for_each(|other| {
                chosen.take(other);
            });
        }
        chosen.points
    }
}

/// How many steps of ranks two points are apart.
fn steps(known: &Known<'_>, a: usize, b: usize) -> u64 {
    let features = known.pool().features();
    let n_knobs = known.pool().knobs().len();
    (0..n_knobs).map(|knob| (features.at(a, knob) - features.at(b, knob)).abs() as u64).sum()
}
