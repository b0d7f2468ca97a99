//! A bound on what a pass may do to a function, in steps: an op put somewhere, operands set.
//!
//! A pass that goes on for ever makes ops or sets operands for ever. Counting these ends it after the same work on every
//! machine, and before memory is full.

use super::Func;

/// What unwinds when the steps of a function are used up; whoever set the limit catches it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StepsUsedUp;

impl Func {
    /// Lets the function be changed by so many steps more; `None` lifts the limit. The step after the last one unwinds with
    /// [`StepsUsedUp`], without a panic's message, and leaves the function half changed.
    pub fn limit_steps(&mut self, steps: Option<u64>) {
        self.steps_left = steps.unwrap_or(u64::MAX);
    }

    #[inline]
    pub(crate) fn step(&mut self) {
        match self.steps_left.checked_sub(1) {
            Some(left) => self.steps_left = left,
            None => std::panic::resume_unwind(Box::new(StepsUsedUp)),
        }
    }
}
