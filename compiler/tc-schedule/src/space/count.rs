//! How many points there are, the n-th of them, and some at random.
//!
//! From some parameter on, what the others are often decides nothing any more: no condition is left, and no choices
//! depend on one another. That part of a space is a product, which is multiplied and not walked.

use super::{SEARCH, Space};
use crate::choices::Choices;
use crate::params::Point;
use crate::walk::{Reached, Walk};
use rustc_hash::FxHashSet;
use tc_support::Diagnostic;

/// Steps that counting may take before points are drawn without knowing how many there are.
const SAMPLE: u64 = 1 << 21;
/// Points that are drawn in vain for each one that is wanted.
const TRIES: u64 = 4096;

/// How many points there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// So many.
    Exactly(u128),
    /// More than could be counted: so many at least.
    AtLeast(u128),
}

impl Count {
    /// The number.
    pub fn number(self) -> u128 {
        match self {
            Count::Exactly(n) | Count::AtLeast(n) => n,
        }
    }
}

impl std::fmt::Display for Count {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Count::Exactly(n) => write!(f, "{n}"),
            Count::AtLeast(n) => write!(f, "at least {n}"),
        }
    }
}

/// The points of a space, in order. What cannot be evaluated ends the iteration with a diagnostic.
pub struct Points<'s> {
    walk: Option<Walk<'s>>,
    is_cut: bool,
}

impl Points<'_> {
    /// Did the iteration end because the steps were used up that it may take?
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }
}

impl Iterator for Points<'_> {
    type Item = Result<Point, Diagnostic>;

    fn next(&mut self) -> Option<Result<Point, Diagnostic>> {
        let walk = self.walk.as_mut()?;
        match walk.step() {
            Ok(Reached::Point) => Some(Ok(Point { values: walk.values.clone() })),
            Ok(end) => {
                self.is_cut = end == Reached::Limit;
                self.walk = None;
                None
            }
            Err(why) => {
                self.walk = None;
                Some(Err(why))
            }
        }
    }
}

impl Space<'_> {
    /// The points in order. Finding them takes so many steps at the most: one is a value that is tried.
    pub fn points(&self, steps: u64) -> Points<'_> {
        Points { walk: Some(self.walk(self.domain.params.list.len(), steps)), is_cut: false }
    }

    /// The choices of the parameters that are free once the first ones have the values of `walk`.
    fn rest(&self, walk: &mut Walk<'_>) -> Result<Vec<Choices>, Diagnostic> {
        let mut rest = Vec::new();
        for _ in self.domain.params.free..self.domain.params.list.len() {
            let choices = walk.choices()?;
            let any = choices.get(0);
            rest.push(choices);
            let Some(any) = any else { break };
            walk.values.push(any);
        }
        walk.values.truncate(self.domain.params.free);
        Ok(rest)
    }

    /// How many points there are; counting ends after so many steps.
    pub fn count(&self, steps: u64) -> Result<Count, Diagnostic> {
        let mut walk = self.walk(self.domain.params.free, steps);
        let mut count = 0u128;
        loop {
            match walk.step()? {
                Reached::Point => count = count.saturating_add(product(&self.rest(&mut walk)?)),
                Reached::End => return Ok(Count::Exactly(count)),
                Reached::Limit => return Ok(Count::AtLeast(count)),
            }
        }
    }

    /// Point `n` in order; `None` where there are not so many.
    pub fn nth(&self, n: u128) -> Result<Option<Point>, Diagnostic> {
        Ok(self.pick(&[n])?.pop())
    }

    /// The points with these numbers, which ascend.
    fn pick(&self, numbers: &[u128]) -> Result<Vec<Point>, Diagnostic> {
        let mut walk = self.walk(self.domain.params.free, SEARCH);
        let (mut picked, mut start, mut wanted) = (Vec::new(), 0u128, numbers.iter().copied().peekable());
        while wanted.peek().is_some() {
            match walk.step()? {
                Reached::Point => {}
                Reached::End => break,
                Reached::Limit => {
                    let text = format!("{SEARCH} steps do not reach the point");
                    return Err(self.domain.params.wrong("parameter-space", text));
                }
            }
            let rest = self.rest(&mut walk)?;
            let n = product(&rest);
            while let Some(number) = wanted.next_if(|&number| number < start.saturating_add(n)) {
                let mut values = walk.values.clone();
                let mut below = number - start;
                for choices in rest.iter().rev() {
                    let n = u128::from(choices.len());
                    values.extend(choices.get((below % n) as u64));
                    below /= n;
                }
                values[self.domain.params.free..].reverse();
                picked.push(Point { values });
            }
            start = start.saturating_add(n);
        }
        Ok(picked)
    }

    /// `n` different points that `seed` chooses, or all where there are no more; in order where they can be counted.
    ///
    /// Where they can, all are equally likely. In a space too large to be counted a value of each parameter is drawn: of its
    /// choices the first from a random one on that no condition excludes. Where too few points are found so, the first
    /// ones are added; there may then be fewer than `n`.
    pub fn sample(&self, n: usize, seed: u64) -> Result<Vec<Point>, Diagnostic> {
        let mut random = SplitMix(seed);
        match self.count(SAMPLE)? {
            Count::Exactly(all) => {
                // Floyd's algorithm (Bentley, Floyd 1987): each set of n is equally likely.
                let (mut chosen, wanted) = (FxHashSet::default(), (n as u128).min(all));
                for at in all - wanted..all {
                    let number = random.below_wide(at + 1);
                    if !chosen.insert(number) {
                        chosen.insert(at);
                    }
                }
                let mut numbers: Vec<u128> = chosen.into_iter().collect();
                numbers.sort_unstable();
                self.pick(&numbers)
            }
            Count::AtLeast(_) => self.draw(n, &mut random),
        }
    }

    fn draw(&self, n: usize, random: &mut SplitMix) -> Result<Vec<Point>, Diagnostic> {
        let (mut seen, mut points) = (FxHashSet::default(), Vec::new());
        let mut walk = self.walk(self.domain.params.list.len(), u64::MAX);
        if !walk.may_start()? {
            return Ok(points);
        }
        let tries = TRIES.saturating_mul(n as u64).min(SEARCH);
        while points.len() < n && walk.work < tries {
            walk.values.clear();
            let mut good = true;
            while good && walk.values.len() < self.domain.params.list.len() {
                good = walk.choose(&mut |n| random.below(n))?;
            }
            if good && seen.insert(walk.values.clone()) {
                points.push(Point { values: walk.values.clone() });
            }
        }
        for point in self.points(SAMPLE) {
            if points.len() == n {
                break;
            }
            let point = point?;
            if seen.insert(point.values.clone()) {
                points.push(point);
            }
        }
        Ok(points)
    }
}

fn product(rest: &[Choices]) -> u128 {
    rest.iter().fold(1u128, |product, choices| product.saturating_mul(choices.len().into()))
}

/// A generator of random numbers: SplitMix64 (Steele, Lea, Flood 2014).
pub(super) struct SplitMix(pub(super) u64);

impl SplitMix {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, which is at least 1.
    fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    fn below_wide(&mut self, n: u128) -> u128 {
        match u64::try_from(n) {
            Ok(n) => self.below(n).into(),
            Err(_) => ((u128::from(self.next()) << 64) | u128::from(self.next())) % n,
        }
    }
}
