//! Points that cannot be: refused by the rules of schedules, or beyond what a target has. All is told from bounds,
//! before there is a program.

use super::{Space, Subject};
use crate::bounds::OverLimit;
use crate::params::Point;
use indexmap::IndexMap;
use tc_support::{Diagnostic, Diagnostics};
use tc_target::Target;

/// Why a point cannot be.
#[derive(Clone, Debug)]
pub enum Reject {
    /// A directive is not legal there.
    Refused(Diagnostics),
    /// The program would need more than the target has.
    OverLimit(Vec<OverLimit>),
}

impl Reject {
    /// What kind of reason it is: `threads > 1024`, or the code of the first diagnostic.
    pub fn reason(&self) -> String {
        match self {
            Reject::Refused(found) => first(found).map_or("refused", |found| found.code).to_string(),
            Reject::OverLimit(over) => {
                over.first().map_or(String::new(), |over| format!("{} > {}", over.what, over.limit))
            }
        }
    }

    /// What is said of this point.
    pub fn message(&self) -> String {
        match self {
            Reject::Refused(found) => first(found).map_or(String::new(), |found| found.message.clone()),
            Reject::OverLimit(over) => over.iter().map(OverLimit::to_string).collect::<Vec<_>>().join(", "),
        }
    }
}

fn first(found: &Diagnostics) -> Option<&Diagnostic> {
    found.iter().find(|found| found.is_error())
}

impl Space<'_> {
    /// Why `point` cannot be on `target`, if that is known before there is a program. Of a schedule of a program it is known
    /// whether its directives are legal.
    pub fn judge(&self, point: &Point, target: &Target) -> Result<(), Reject> {
        if let Subject::Program(..) = self.subject {
            return self.lower(point, None).map(drop).map_err(Reject::Refused);
        }
        let bounds = self.bounds(point).map_err(Reject::Refused)?;
        match bounds.limits(target) {
            over if over.is_empty() => Ok(()),
            over => Err(Reject::OverLimit(over)),
        }
    }
}

/// A histogram of why points cannot be, in the order in which reasons came up.
#[derive(Clone, Default, Debug)]
pub struct Rejections {
    reasons: IndexMap<String, Reason>,
}

/// A bar of the histogram.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reason {
    /// How many points.
    pub count: u64,
    /// The first of them.
    pub example: Point,
    /// What is said of it.
    pub message: String,
}

impl Rejections {
    /// Adds a point.
    pub fn add(&mut self, point: &Point, why: &Reject) {
        let new = || Reason { count: 0, example: point.clone(), message: why.message() };
        self.reasons.entry(why.reason()).or_insert_with(new).count += 1;
    }

    /// The reasons.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Reason)> {
        self.reasons.iter().map(|(name, reason)| (name.as_str(), reason))
    }

    /// How many points there are in all.
    pub fn total(&self) -> u64 {
        self.reasons.values().map(|reason| reason.count).sum()
    }
}
