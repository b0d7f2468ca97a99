//! A whole search space at once: how many of its points a target allows, why it does not allow the others, and points
//! to try.
//!
//! Points are judged in parallel and told in order, so that the answer is the same on any number of cores. Nothing is
//! lowered: bounds say enough.

use crate::guard::{STACK, THREAD, begin_thread};
use rayon::prelude::*;
use std::ops::ControlFlow;
use tc_ir::{Func, Module};
use tc_schedule::space::{Count, Reject, Rejections};
use tc_schedule::{Point, Space};
use tc_support::Diagnostic;
use tc_support::workers::workers;
use tc_target::Target;

/// How many points are judged at a time.
const CHUNK: usize = 4096;
/// How many are judged at first.
const FIRST_CHUNK: usize = 64;
/// How many points are judged, from the first on, where too few of those that were drawn are valid.
const FIRST_POINTS: u64 = 1 << 12;
/// Steps that counting a space, or finding points of it, may take: one is a value that is tried.
const COUNTING: u64 = 1 << 24;
/// How many points are drawn, at most, in the search for valid ones.
const DRAWN: usize = 1 << 16;

/// What is known of a space.
#[derive(Clone, Debug)]
pub struct Survey {
    /// How many points there are.
    pub count: Count,
    /// How many of them were judged, from the first on.
    pub judged: u64,
    /// How many of these the target allows.
    pub valid: u64,
    /// Why it does not allow the others.
    pub rejections: Rejections,
}

impl Survey {
    /// Was every point judged?
    pub fn is_complete(&self) -> bool {
        self.count == Count::Exactly(self.judged.into())
    }
}

/// Judges points on several cores.
pub struct Judge<'s> {
    space: &'s Space<'s>,
    target: Target,
    pool: Option<rayon::ThreadPool>,
}

impl<'s> Judge<'s> {
    /// For `target`, on so many threads, or a few a core where more are asked for; 0 stands for as many as there are cores.
    pub fn new(space: &'s Space<'s>, target: Target, threads: usize) -> Judge<'s> {
        let builder = rayon::ThreadPoolBuilder::new().num_threads(workers(threads, CHUNK)).stack_size(STACK);
        let pool = builder.thread_name(|_| THREAD.to_string()).start_handler(|_| begin_thread()).build().ok();
        Judge { space, target, pool }
    }

    /// What is wrong with each of `points`, if anything.
    fn judge(&self, points: &[Point]) -> Vec<Option<Reject>> {
        let one = |point: &Point| self.space.judge(point, &self.target).err();
        match &self.pool {
            Some(pool) => pool.install(|| points.par_iter().map(one).collect()),
            None => points.iter().map(one).collect(),
        }
    }

    /// Counts the points, and judges them from the first on, at most `limit`.
    pub fn survey(&self, limit: u64) -> Result<Survey, Diagnostic> {
        let count = self.space.count(COUNTING)?;
        let (mut judged, mut valid, mut rejections) = (0, 0, Rejections::default());
        self.each(limit, |point, why| {
            judged += 1;
            match why {
                None => valid += 1,
                Some(why) => rejections.add(point, &why),
            }
            ControlFlow::Continue(())
        })?;
        Ok(Survey { count, judged, valid, rejections })
    }

    /// Judges the points from the first on, at most `limit`, and hands those that are valid to `valid`, until that has
    /// enough of them. Tells whether there may be more points than were judged, because finding them takes too long.
    pub fn valid(&self, limit: u64, mut valid: impl FnMut(&Point) -> ControlFlow<()>) -> Result<bool, Diagnostic> {
        self.each(limit, |point, why| if why.is_none() { valid(point) } else { ControlFlow::Continue(()) })
    }

    fn each(
        &self,
        limit: u64,
        mut done: impl FnMut(&Point, Option<Reject>) -> ControlFlow<()>,
    ) -> Result<bool, Diagnostic> {
        let mut points = self.space.points(COUNTING.saturating_add(limit));
        let mut left = usize::try_from(limit).unwrap_or(usize::MAX);
        // The first points are told soon.
        let mut at_a_time = FIRST_CHUNK;
        while left > 0 {
            let chunk: Result<Vec<Point>, Diagnostic> = points.by_ref().take(at_a_time.min(left)).collect();
            let chunk = chunk?;
            if chunk.is_empty() {
                break;
            }
            left -= chunk.len();
            at_a_time = (at_a_time * 2).min(CHUNK);
            for (point, rejected) in chunk.iter().zip(self.judge(&chunk)) {
                if done(point, rejected).is_break() {
                    return Ok(false);
                }
            }
        }
        Ok(points.is_cut())
    }

    /// `n` different valid points that `seed` chooses, and of the first points some where too few of the many that were
    /// drawn are valid; fewer where there are fewer.
    pub fn sample(&self, n: usize, seed: u64) -> Result<Vec<Point>, Diagnostic> {
        let mut drawn = n;
        loop {
            let points = self.space.sample(drawn, seed)?;
            let rejected = self.judge(&points);
            let is_all = points.len() < drawn || drawn >= DRAWN;
            let mut valid: Vec<Point> =
                points.into_iter().zip(rejected).filter(|(_, why)| why.is_none()).map(|(point, _)| point).collect();
            if valid.len() < n && is_all {
                self.valid(FIRST_POINTS, |point| {
                    if !valid.contains(point) {
                        valid.push(point.clone());
                    }
                    if valid.len() < n { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
                })?;
            }
            if valid.len() >= n || is_all {
                // Evenly over what was drawn, which is in the order of the space.
                let step = |at: usize| at * valid.len() / n;
                if valid.len() > n {
                    valid = (0..n).map(|at| valid[step(at)].clone()).collect();
                }
                return Ok(valid);
            }
            drawn = (drawn * 4).min(DRAWN);
        }
    }
}

/// The schedules of `module` that have parameters, with their operators: numbers of items.
pub fn spaces(module: &Module) -> Vec<(usize, usize)> {
    let is_space = |item: &Func| !item.params().is_empty();
    let mut found = Vec::new();
    for (func, item) in module.items.iter().enumerate() {
        if super::run::cases::is_operator(item) {
            let schedules = module.schedules_for(item.symbol());
            found.extend(schedules.filter(|&at| is_space(&module.items[at])).map(|at| (func, at)));
        }
    }
    found
}
