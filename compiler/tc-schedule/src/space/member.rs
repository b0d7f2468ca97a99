//! Is a schedule one of a space's points?
//!
//! Each point is applied and compared with the schedule, structure with structure: names of stages and axes do not
//! count, nor does the order of directives that do not depend on one another.

use super::same::{Spoken, same, spoken};
use super::{SEARCH, Space, Subject};
use crate::params::Point;
use tc_ir::print::{PrintOptions, print_func};
use tc_ir::{Func, Loc, Op};
use tc_support::{Diagnostics, Location};

/// Whether a schedule is a point of a space.
#[derive(Clone, Debug)]
pub enum Member {
    /// This point gives the same.
    Is(Point),
    /// None does.
    Not {
        /// The point that has most of its directives, and where it differs; nothing where no point can be applied.
        nearest: Option<(Point, Differs)>,
        /// How many points were compared.
        compared: u64,
        /// Were these all?
        all: bool,
    },
}

/// The first directives that only one of two schedules has. Where both are there, one stands for the other.
#[derive(Clone, Debug)]
pub struct Differs {
    /// Of the schedule that was asked about.
    pub here: Option<Directive>,
    /// Of the space.
    pub there: Option<Directive>,
}

/// A directive that was applied.
#[derive(Clone, PartialEq, Debug)]
pub struct Directive {
    /// Its name, `split`.
    pub name: String,
    /// With the numbers that it was given: `split(Conv.i, factor = 32)`.
    pub text: String,
    /// Where it stands.
    pub location: Location,
    /// The same, in the function of its schedule.
    pub loc: Loc,
    /// The op.
    pub op: Op,
}

impl Space<'_> {
    /// Is the schedule of `concrete`, at its first point, a point of this space? At most `limit` points are compared.
    pub fn member(&self, concrete: &Space<'_>, limit: u64) -> Result<Member, Diagnostics> {
        if let (Subject::Program(..), Subject::Program(..)) = (&self.subject, &concrete.subject) {
            return self.member_of_programs(concrete, limit);
        }
        let here = concrete.apply(&concrete.first()?)?;
        let said = spoken(concrete.schedule(), &here);
        let mut nearest: Option<(usize, Point, Differs)> = None;
        let mut points = self.points(SEARCH.saturating_add(limit));
        let mut compared = 0;
        for point in points.by_ref().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            let point = point?;
            compared += 1;
            // What a point's own directives refuse is no schedule to be compared with.
            let Ok(there) = self.apply(&point) else { continue };
            let other = spoken(self.schedule(), &there);
            if same(&here.graph, &there.graph)
                && unmatched(&said, &other, true).is_empty()
                && unmatched(&other, &said, true).is_empty()
            {
                return Ok(Member::Is(point));
            }
            let missing = unmatched(&said, &other, false);
            let n_common = said.len() - missing.len();
            if nearest.as_ref().is_none_or(|(most, _, _)| n_common > *most) {
                let extra = unmatched(&other, &said, false);
                let directive = |list: &[usize], of: &[Spoken]| list.first().map(|&nth| of[nth].directive.clone());
                let differs = Differs { here: directive(&missing, &said), there: directive(&extra, &other) };
                nearest = Some((n_common, point, differs));
            }
        }
        let all = points.next().is_none() && !points.is_cut();
        Ok(Member::Not { nearest: nearest.map(|(_, point, differs)| (point, differs)), compared, all })
    }

    /// The same of schedules of a program: they are alike where they make the same text.
    fn member_of_programs(&self, concrete: &Space<'_>, limit: u64) -> Result<Member, Diagnostics> {
        let text = |func: &Func| {
            let options = PrintOptions { locations: false, ..PrintOptions::default() };
            print_func(func, &options)
        };
        let here = text(&concrete.lower(&concrete.first()?, None)?);
        let mut points = self.points(SEARCH.saturating_add(limit));
        let mut compared = 0;
        for point in points.by_ref().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            let point = point?;
            compared += 1;
            if self.lower(&point, None).is_ok_and(|there| text(&there) == here) {
                return Ok(Member::Is(point));
            }
        }
        Ok(Member::Not { nearest: None, compared, all: points.next().is_none() && !points.is_cut() })
    }
}

/// The directives of `of` that have none like them in `others`; with `kept`, of those that the graph does not show
/// alone.
fn unmatched(of: &[Spoken], others: &[Spoken], kept: bool) -> Vec<usize> {
    let mut free: Vec<bool> = vec![true; others.len()];
    let mut missing = Vec::new();
    for (nth, spoken) in of.iter().enumerate() {
        if kept && spoken.shown {
            continue;
        }
        let like = (0..others.len()).find(|&other| free[other] && others[other].key == spoken.key);
        match like {
            Some(like) => free[like] = false,
            None => missing.push(nth),
        }
    }
    missing
}
