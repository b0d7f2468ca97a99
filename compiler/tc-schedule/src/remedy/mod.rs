//! Fix-its for a schedule that is refused, each of them tried.
//!
//! A diagnostic says who proposes changes: another axis, another place, leaving it out. What only one primitive proposes stands
//! in its folder. Each change is made to a copy, and told only if that lowers. What others of the diagnostics say does not count; a change may not add to them.

mod fix_its;
mod proposals;

pub(crate) use fix_its::*;
pub(crate) use proposals::{MAX_AXES, Proposals, loops_of_readers};

use crate::apply::{apply_at, apply_changed, before};
use crate::check::Extent;
use crate::diagnostic::{ScheduleDiagnostic, ScheduleDiagnostics};
use crate::directive::Item;
use crate::graph::Graph;
use crate::operator::Operator;
use crate::params::Point;
use proposals::About;
use tc_dialects::scope::Scope;
use tc_dialects::wgmma;
use tc_ir::{Func, Module, Op, Value};
use tc_support::{Diagnostics, Fix, Location};

/// How many changes are tried for one schedule.
const MAX_TRIES: usize = 48;
/// For how many diagnostics fix-its are looked for.
const MAX_DIAGNOSTICS: usize = 8;
/// How many that pass are reported of one diagnostic.
const MAX_TOLD: usize = 3;
/// Of schedules and operators with more values nothing is tried.
const MAX_VALUES: usize = 4096;

/// A change to a schedule.
pub(crate) struct Patch {
    /// The op that it is about.
    pub(crate) at: Op,
    pub(crate) change: Change,
}

/// What a directive does to the graph.
pub(crate) type Edit = Box<dyn Fn(&mut Graph)>;

/// What is changed.
pub(crate) enum Change {
    /// The directive is not there.
    LeaveOut,
    /// Its operands stand for others.
    Operands(Vec<(Value, Item)>),
    /// Its results do.
    Results(Vec<Item>),
    /// Another directive stands there.
    Instead(Edit),
    /// Another one stands before it.
    Before(Edit),
    /// It stands before another one.
    Hoist {
        /// That one.
        before: Op,
    },
    /// Another one stands at the end.
    AtEnd(Edit),
}

/// A change, and how it is reported: in words, and as an edit of the text.
struct Candidate {
    patch: Patch,
    fix: Fix,
}

/// A schedule that is refused.
pub(crate) struct Refused<'a> {
    pub(crate) operator: &'a Operator<'a>,
    pub(crate) sched: &'a Func,
    pub(crate) module: Option<&'a Module>,
    pub(crate) point: &'a Point,
}

impl Refused<'_> {
    /// The diagnostics, each with helps that were tried.
    pub(crate) fn with_ways_out(&self, mut found: ScheduleDiagnostics) -> Diagnostics {
        if self.sched.n_value_ids().max(self.operator.te.n_value_ids()) > MAX_VALUES {
            return found.into();
        }
        let ops: Vec<Op> = tc_ir::walk::all_ops(self.sched).collect();
        let at = |location: &Location| {
            let here = ops.iter().copied().filter(|&op| self.sched.op_location(op) == *location);
            let of_schedule = |op: &Op| *location != Location::None && self.sched.n_results(*op) <= 4;
            here.filter(of_schedule).collect::<Vec<Op>>()
        };
        let places: Vec<Vec<Op>> = found
            .iter()
            .take(MAX_DIAGNOSTICS)
            .map(|one| {
                let mut places = at(&one.diagnostic.location);
                places.extend(one.diagnostic.labels.iter().flat_map(|label| at(&label.location)));
                places
            })
            .collect();
        let watched: Vec<Op> = places.iter().flatten().copied().collect();
        if watched.is_empty() {
            return found.into();
        }
        let states = before(self.operator, self.sched, self.point, &watched);
        let applied = apply_at(self.operator, self.sched, self.point, None);
        let last = applied.ok().map(|applied| applied.graph);
        let all: Vec<(&'static str, Location)> = found.iter().map(identity).collect();
        let mut tries = MAX_TRIES;
        let errors = found.iter_mut().take(MAX_DIAGNOSTICS).enumerate().filter(|(_, one)| one.diagnostic.is_error());
        for (nth, one) in errors {
            let mut candidates = Vec::new();
            for &op in &places[nth] {
                let Some((_, graph, env)) = states.iter().find(|(at, _, _)| *at == op) else { continue };
                let about = About { places: &places[nth], location: &one.diagnostic.location, last: last.as_ref() };
                let mut proposals = Proposals::new(self.sched, op, (graph, env), about);
                one.fix_its.iter().for_each(|fix_it| fix_it(&mut proposals));
                candidates.append(&mut proposals.list);
            }
            let any = !candidates.is_empty();
            let mut passed: Vec<(Fix, bool)> = Vec::new();
            for candidate in candidates {
                if tries == 0 || passed.len() == MAX_TOLD {
                    break;
                }
                tries -= 1;
                let is_told = passed.iter().any(|(fix, _)| fix.title == candidate.fix.title);
                if self.passes(&candidate.patch, &all, nth) && !is_told {
                    let is_own = self.is_own(&candidate.patch);
                    passed.push((candidate.fix, is_own));
                }
            }
            if any {
                tell(one, passed);
            }
        }
        found.into()
    }

    /// Does the change stand where the schedule does? In a function that it calls the names are others, and the change would
    /// be one for all callers: it is told in words only.
    fn is_own(&self, patch: &Patch) -> bool {
        let is_brought = |op: Op| !self.sched.op_locs(op).directive.is_none();
        let before = match patch.change {
            Change::Hoist { before } => Some(before),
            _ => None,
        };
        !is_brought(patch.at) && !before.is_some_and(is_brought)
    }

    /// Does the schedule lower with the change, but for what else was found?
    fn passes(&self, patch: &Patch, all: &[(&'static str, Location)], nth: usize) -> bool {
        let lowered = apply_changed(self.operator, self.sched, self.point, patch).and_then(|applied| {
            crate::program(self.operator, Some(self.sched), self.module, applied.graph, Extent::Whole)
        });
        match lowered {
            Ok(program) => holds_whole_tiles(&program),
            Err(left) => left.iter().filter(|one| one.diagnostic.is_error()).all(|one| {
                let one = identity(one);
                all.iter().position(|other| *other == one).is_some_and(|at| at != nth)
            }),
        }
    }
}

/// Are the sums of warpgroups in `program` tiles that products make? Loops over elements lower with any, and no intrinsic stands
/// for those.
fn holds_whole_tiles(program: &Func) -> bool {
    tc_ir::walk::all_ops(program).filter_map(|op| program.result(op)).all(|value| {
        let Some((_, shape, scope)) = program.as_shaped(program.value_type(value)) else { return true };
        if Scope::of_name(program, scope) != Some(Scope::WgmmaAccumulator) {
            return true;
        }
        let extents: Vec<Option<i64>> = shape.iter().map(|&extent| program.as_int(extent)).collect();
        let fits = |extent: Option<i64>, step: i64| extent.is_none_or(|extent| extent % step == 0);
        matches!(extents[..], [.., rows, columns] if fits(rows, wgmma::TILE_ROWS) && fits(columns, wgmma::TILE_COLUMNS))
    })
}

/// What two runs that find the same call alike.
fn identity(one: &ScheduleDiagnostic) -> (&'static str, Location) {
    (one.diagnostic.code, one.diagnostic.location.clone())
}

/// Tells what passed, and gives those as data that can be edits. A help that proposes a change gives way, since that was tried; one that states a fact becomes a note.
fn tell(one: &mut ScheduleDiagnostic, passed: Vec<(Fix, bool)>) {
    let old = one.diagnostic.help.take();
    if one.states_a_fact {
        one.diagnostic.notes.extend(old);
    }
    let titles: Vec<&str> = passed.iter().map(|(fix, _)| fix.title.as_str()).collect();
    one.diagnostic.help = match titles[..] {
        [] => None,
        [only] => Some(only.to_string()),
        [first, ref rest @ ..] => Some(format!("{first}; or {}", rest.join(", or "))),
    };
    one.diagnostic.fixes = passed.into_iter().filter(|(_, is_own)| *is_own).map(|(fix, _)| fix).collect();
}
