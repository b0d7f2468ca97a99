//! What ends a run from outside: a number of steps, and a request to cancel.
//!
//! A step is an edit of a function. Each function of a pass may use what is left when the pass begins, and what all of them
//! used is taken off afterwards, so that where a run ends does not depend on the number of threads. A request to cancel is
//! looked at between passes, between functions, every few hundred edits and in the long analyses: how far the run came does
//! depend on when it was made.

use tc_support::{Cancel, Diagnostic, Diagnostics, Location};

/// The code of the error of a run that used up its steps.
pub const STEP_LIMIT: &str = "step-limit";
/// The code of the error of a run that was cancelled.
pub const CANCELLED: &str = "cancelled";

/// What ends a run from outside; without anything, nothing does.
#[derive(Clone, Default, Debug)]
pub struct Limits {
    /// The most edits that the passes of a run may make, all together. [`Report::steps`](crate::Report::steps) says how
    /// many a run made.
    pub steps: Option<u64>,
    /// A request that another thread may make.
    pub cancel: Option<Cancel>,
}

impl Limits {
    /// Can anything end a run?
    pub fn is_any(&self) -> bool {
        self.steps.is_some() || self.cancel.is_some()
    }

    /// Was the request made?
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// The error where the steps are used up.
    pub(crate) fn used_up(&self, place: impl Into<Location>) -> Diagnostic {
        let message = format!("the run was ended: its passes made more than {} edits", self.steps.unwrap_or(u64::MAX));
        Diagnostic::assumption(STEP_LIMIT, place, message).help("allow more steps, or make the program smaller")
    }
}

/// The error of a run that was cancelled.
pub(crate) fn cancelled(place: impl Into<Location>) -> Diagnostic {
    Diagnostic::assumption(CANCELLED, place, "the run was cancelled")
}

/// Was the run that found this ended from outside?
pub fn is_ended(found: &Diagnostics) -> bool {
    found.iter().any(|one| one.is_error() && [STEP_LIMIT, CANCELLED].contains(&one.code))
}
