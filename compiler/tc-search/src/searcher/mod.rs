//! Searchers: which points to try next.

mod annealing;
mod descent;
mod evolutionary;
mod forest;
mod plain;

pub use annealing::Annealing;
pub use descent::Descent;
pub use evolutionary::Evolutionary;
pub use forest::ForestGuided;
pub use plain::{Exhaustive, Listed, RandomOrder};

use crate::known::Known;
use crate::random::Random;

/// Proposes points from what is known. The same seed and the same results give the same points.
pub trait Searcher {
    /// At most `n` different points that were not proposed yet; none only where there are none.
    fn propose(&mut self, known: &Known<'_>, n: usize) -> Vec<usize>;

    /// Is the end of its budget spent on the neighbours of the best point?
    fn descends(&self) -> bool {
        true
    }
}

/// The searchers that there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Kind {
    /// All points in their order.
    Exhaustive,
    /// Points without replacement.
    Random,
    /// Children of the best points.
    Evolutionary,
    /// Points that a random forest takes for some of the best.
    #[default]
    Forest,
    /// Simulated annealing over boosted trees.
    Annealing,
}

impl Kind {
    /// All.
    pub const ALL: [Kind; 5] = [Kind::Exhaustive, Kind::Random, Kind::Evolutionary, Kind::Forest, Kind::Annealing];

    /// The name in commands and records.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Exhaustive => "exhaustive",
            Kind::Random => "random",
            Kind::Evolutionary => "evolutionary",
            Kind::Forest => "forest",
            Kind::Annealing => "annealing",
        }
    }

    /// The searcher with this name.
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A searcher that takes its numbers from `seed`.
    pub fn searcher(self, seed: u64) -> Box<dyn Searcher> {
        match self {
            Kind::Exhaustive => Box::new(Exhaustive),
            Kind::Random => Box::new(RandomOrder::new(seed)),
            Kind::Evolutionary => Box::new(Evolutionary::new(seed)),
            Kind::Forest => Box::new(ForestGuided::new(seed)),
            Kind::Annealing => Box::new(Annealing::new(seed)),
        }
    }
}

/// A set of points that are chosen for one batch.
struct Chosen<'k, 'p> {
    known: &'k Known<'p>,
    points: Vec<usize>,
    n: usize,
}

impl<'k, 'p> Chosen<'k, 'p> {
    fn new(known: &'k Known<'p>, n: usize) -> Chosen<'k, 'p> {
        Chosen { known, points: Vec::new(), n }
    }

    fn is_full(&self) -> bool {
        self.points.len() >= self.n
    }

    fn is_open(&self, point: usize) -> bool {
        !self.known.is_proposed(point) && !self.points.contains(&point)
    }

    /// Takes a point, if there is room and it was not proposed before.
    fn take(&mut self, point: usize) -> bool {
        let takes = !self.is_full() && self.is_open(point);
        if takes {
            self.points.push(point);
        }
        takes
    }

    /// Takes one point that `random` draws of those that are open.
    fn take_random(&mut self, random: &mut Random) {
        let open: Vec<usize> = self.known.open().filter(|point| !self.points.contains(point)).collect();
        if !open.is_empty() {
            self.take(open[random.below(open.len())]);
        }
    }

    /// Fills up with first points: each the best of a few that are drawn, by what a rule makes of them. Where no time is estimated,
    /// the very first is what the author of the space names first.
    fn fill_first(mut self, random: &mut Random) -> Vec<usize> {
        if !self.known.pool().is_estimated() && !self.known.pool().is_empty() {
            self.take(0);
        }
        while !self.is_full() {
            let open: Vec<usize> = self.known.open().filter(|point| !self.points.contains(point)).collect();
            if open.is_empty() {
                break;
            }
            let drawn = (0..self.known.pool().contenders()).map(|_| open[random.below(open.len())]);
            let cost = |point: usize| self.known.pool().cost(point);
            let best = drawn.reduce(|a, b| if cost(b) < cost(a) { b } else { a });
            best.into_iter().for_each(|point| {
                self.points.push(point);
            });
        }
        self.points
    }

    /// Fills up with points that `random` draws.
    fn fill(mut self, random: &mut Random) -> Vec<usize> {
        let mut before = usize::MAX;
        while !self.is_full() && self.points.len() != before {
            before = self.points.len();
            self.take_random(random);
        }
        self.points
    }
}
