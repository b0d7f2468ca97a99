//! A walk over the points that conditions admit.
//!
//! Points are tried in the order of the text, the last parameter running fastest; nothing is listed that is not asked for.
//! A choice is left out together with all points that it begins where a condition is known to fail for them, by the ranges
//! of the parameters that have no value yet.

use crate::choices::{Choices, Divisors};
use crate::params::Params;
use tc_support::Diagnostic;

/// How many choices of a parameter are tried for a point that is drawn.
const CHOSEN: usize = 64;

/// Why points were not admitted.
#[derive(Clone, Default, Debug)]
pub(crate) struct Rejected {
    /// How often each condition failed.
    pub(crate) facts: Vec<u64>,
    /// By parameter: was there ever a choice?
    pub(crate) opened: Vec<bool>,
    /// The last time that a parameter had no choice, or not the fixed value: the values before it, and its choices.
    pub(crate) closed: Option<(Vec<i64>, Choices)>,
}

/// What a step of a walk came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reached {
    /// A point; its values are those of the walk.
    Point,
    /// There are no more.
    End,
    /// The work that was allowed is done.
    Limit,
}

/// A walk over the points, or over the values of the first few parameters.
#[derive(Clone, Debug)]
pub(crate) struct Walk<'p> {
    params: &'p Params<'p>,
    /// The values that the caller has fixed, by parameter.
    fixed: &'p [Option<i64>],
    /// How many parameters get a value.
    depth: usize,
    stack: Vec<(Choices, u64)>,
    pub(crate) values: Vec<i64>,
    started: bool,
    /// Steps done, and how many may be.
    pub(crate) work: u64,
    pub(crate) limit: u64,
    divisors: Divisors,
    pub(crate) rejected: Rejected,
    /// Are choices left out that a condition is known to exclude?
    prunes: bool,
}

impl<'p> Walk<'p> {
    pub(crate) fn new(params: &'p Params<'p>, fixed: &'p [Option<i64>], depth: usize, limit: u64) -> Walk<'p> {
        let rejected =
            Rejected { facts: vec![0; params.n_facts()], opened: vec![false; params.list.len()], closed: None };
        Walk {
            params,
            fixed,
            depth,
            stack: Vec::new(),
            values: Vec::new(),
            started: false,
            work: 0,
            limit,
            divisors: Divisors::default(),
            rejected,
            prunes: true,
        }
    }

    /// The same walk, in which every condition is looked at in its turn: what it finds broken is the first one that is.
    pub(crate) fn without_pruning(self) -> Walk<'p> {
        Walk { prunes: false, ..self }
    }

    /// Goes to the next point.
    pub(crate) fn step(&mut self) -> Result<Reached, Diagnostic> {
        let mut go_back = std::mem::replace(&mut self.started, true);
        loop {
            if go_back && !self.advance() {
                return Ok(Reached::End);
            }
            self.work += 1;
            if self.work > self.limit {
                return Ok(Reached::Limit);
            }
            if let Some(nth) = self.params.broken(&self.values)? {
                self.rejected.facts[nth] += 1;
                go_back = true;
                continue;
            }
            if self.values.len() == self.depth {
                return Ok(Reached::Point);
            }
            go_back = !self.open()?;
        }
    }

    /// Takes the next choice of the last parameter that has one.
    fn advance(&mut self) -> bool {
        while let Some((choices, at)) = self.stack.pop() {
            self.values.pop();
            if let Some((at, value)) = self.next_choice(&choices, at + 1) {
                self.values.push(value);
                self.stack.push((choices, at));
                return true;
            }
        }
        false
    }

    /// Opens the next parameter: finds its choices and takes the first. `false` if there is none.
    fn open(&mut self) -> Result<bool, Diagnostic> {
        let choices = self.choices()?;
        match self.next_choice(&choices, 0) {
            Some((at, first)) => {
                self.rejected.opened[self.values.len()] = true;
                self.values.push(first);
                self.stack.push((choices, at));
                Ok(true)
            }
            None => Ok(false),
        }
    }

    /// The first choice from `from` on that no condition is known to exclude whatever comes after it, and its number.
    /// Blocks of choices that one does exclude are skipped; they double while they can be.
    fn next_choice(&mut self, choices: &Choices, from: u64) -> Option<(u64, i64)> {
        if !self.prunes || self.params.n_conditioned() <= self.values.len() {
            return Some((from, choices.get(from)?));
        }
        let (mut at, mut width) = (from, 1);
        // Where the work is done the choice is taken unseen, and the step ends.
        while self.work <= self.limit {
            let (range, steps) = choices.range(at, width)?;
            self.work += steps;
            match self.params.failing(&self.values, range) {
                None if width == 1 => break,
                None => width /= 2,
                Some(nth) => {
                    self.rejected.facts[nth] += 1;
                    // There are choices of the parameters that the condition is about: it excludes them.
                    self.rejected.opened[self.values.len()..self.params.fact_level(nth)].fill(true);
                    at += width.min(choices.len() - at);
                    width = width.saturating_mul(2);
                }
            }
        }
        Some((at, choices.get(at)?))
    }

    /// What the last parameter that has a value may be.
    pub(crate) fn choices_of_last(&self) -> Option<&Choices> {
        self.stack.last().map(|(choices, _)| choices)
    }

    /// What the next parameter may be: its choices, or of these the one that is fixed.
    pub(crate) fn choices(&mut self) -> Result<Choices, Diagnostic> {
        let nth = self.values.len();
        let param = &self.params.list[nth];
        let found = self.params.choices(&self.values, &mut self.divisors)?;
        let all = match (found, self.fixed[nth]) {
            (Some((choices, steps)), _) => {
                self.work = self.work.saturating_add(steps);
                choices
            }
            (None, Some(value)) if param.fits(value) => Choices::only(value),
            (None, Some(value)) => {
                let text = format!("`{}` is a `{}`, which cannot be {value}", param.name, param.elem.name());
                return Err(self.params.wrong("parameter-value", text));
            }
            (None, None) => {
                let text = format!("`{}` has no choices, and is given no value", param.name);
                let help = format!(
                    "list them, `{0}: {1} in [8, 16]`, or define it, `-D {0}=8`",
                    param.name,
                    param.elem.name()
                );
                return Err(self.params.wrong("parameter-choices", text).help(help));
            }
        };
        match self.fixed[nth] {
            Some(value) if all.contains(value) => Ok(Choices::only(value)),
            None if all.len() > 0 => Ok(all),
            _ => {
                self.rejected.closed = Some((self.values.clone(), all));
                Ok(Choices::List([].into()))
            }
        }
    }

    /// Takes a value of the next parameter: of its choices the first from a random one on, chosen by `pick`, which is given
    /// how many there are, that no condition excludes. `false` where the few that are tried are excluded.
    pub(crate) fn choose(&mut self, pick: &mut dyn FnMut(u64) -> u64) -> Result<bool, Diagnostic> {
        self.work += 1;
        let choices = self.choices()?;
        if choices.len() == 0 {
            return Ok(false);
        }
        let mut from = pick(choices.len());
        for _ in 0..CHOSEN {
            // Behind the last choice comes the first.
            let next = match self.next_choice(&choices, from) {
                Some(next) => Some(next),
                None => self.next_choice(&choices, 0),
            };
            let Some((at, value)) = next else { return Ok(false) };
            self.work += 1;
            self.values.push(value);
            if self.params.broken(&self.values)?.is_none() {
                return Ok(true);
            }
            self.values.pop();
            from = at + 1;
        }
        Ok(false)
    }

    /// Do the conditions over sizes alone hold?
    pub(crate) fn may_start(&self) -> Result<bool, Diagnostic> {
        Ok(self.params.broken(&[])?.is_none())
    }
}
