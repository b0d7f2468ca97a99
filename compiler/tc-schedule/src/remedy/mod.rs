//! Ways out of a schedule that is refused, each of them tried.
//!
//! Where a directive is refused, changes are proposed: another axis, another place, leaving it out. Each is made to a
//! copy, and told only if that lowers. What others of the findings say does not count; a change may not add to them.

mod candidates;

use crate::apply::{apply_changed, before};
use crate::check::Extent;
use crate::graph::{Attach, AxisId, Graph, Kind, StageId};
use crate::operator::Operator;
use crate::params::Point;
use crate::scope::Scope;
use tc_ir::{Func, Module, Op, Value};
use tc_support::{Diagnostic, Diagnostics, Location};

/// How many changes are tried for one schedule.
const MAX_TRIES: usize = 48;
/// Of how many findings ways out are looked for.
const MAX_FINDINGS: usize = 8;
/// How many that pass are told of one finding.
const MAX_TOLD: usize = 3;
/// Of schedules and operators with more values nothing is tried.
const MAX_VALUES: usize = 4096;

/// A change to a schedule.
#[derive(Clone, Debug)]
pub(crate) struct Patch {
    /// The op that it is about.
    pub(crate) at: Op,
    pub(crate) change: Change,
}

/// What is changed.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// The directive is not there.
    LeaveOut,
    /// Its operands stand for others.
    Operands(Vec<(Value, crate::directive::Item)>),
    /// Its results do.
    Results(Vec<crate::directive::Item>),
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

/// What a directive does to the graph.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// `compute_at`
    Attach(StageId, AxisId),
    /// `compute_root`
    Root(StageId),
    /// `bind`
    Kind(AxisId, Kind),
    /// `reorder` of all loops of a stage.
    Order(StageId, Vec<AxisId>),
    /// `set_scope`
    Scope(StageId, Scope),
}

impl Edit {
    pub(crate) fn apply(&self, graph: &mut Graph) {
        match self {
            Edit::Attach(stage, axis) => graph[*stage].attach = Attach::At(*axis),
            Edit::Root(stage) => graph[*stage].attach = Attach::Root,
            Edit::Kind(axis, kind) => graph[*axis].kind = *kind,
            Edit::Order(stage, order) => graph[*stage].leaves.clone_from(order),
            Edit::Scope(stage, scope) => graph[*stage].scope = Some(*scope),
        }
    }
}

/// A change, and how it is told.
struct Candidate {
    patch: Patch,
    text: String,
}

/// A schedule that is refused.
pub(crate) struct Remedy<'a> {
    pub(crate) operator: &'a Operator<'a>,
    pub(crate) sched: &'a Func,
    pub(crate) module: Option<&'a Module>,
    pub(crate) point: &'a Point,
}

impl Remedy<'_> {
    /// The findings, each with helps that were tried.
    pub(crate) fn apply(&self, mut found: Diagnostics) -> Diagnostics {
        if self.sched.n_value_ids().max(self.operator.te.n_value_ids()) > MAX_VALUES {
            return found;
        }
        let ops: Vec<Op> = tc_ir::walk::all_ops(self.sched).collect();
        let at = |location: &Location| {
            let here = ops.iter().copied().filter(|&op| self.sched.op_location(op) == *location);
            let of_schedule = |op: &Op| *location != Location::None && self.sched.n_results(*op) <= 4;
            here.filter(of_schedule).collect::<Vec<Op>>()
        };
        let places: Vec<Vec<Op>> = found
            .iter()
            .take(MAX_FINDINGS)
            .map(|one| {
                let mut places = at(&one.location);
                places.extend(one.labels.iter().flat_map(|label| at(&label.location)));
                places
            })
            .collect();
        let watched: Vec<Op> = places.iter().flatten().copied().collect();
        if watched.is_empty() {
            return found;
        }
        let states = before(self.operator, self.sched, self.point, &watched);
        let last = apply_last(self.operator, self.sched, self.point);
        let all: Vec<(&'static str, Location)> = found.iter().map(|one| (one.code, one.location.clone())).collect();
        let mut tries = MAX_TRIES;
        for (nth, one) in found.iter_mut().take(MAX_FINDINGS).enumerate().filter(|(_, one)| one.is_error()) {
            let candidates = self.candidates(one, &places[nth], &states, last.as_ref());
            let mut passed: Vec<String> = Vec::new();
            for candidate in &candidates {
                if tries == 0 || passed.len() == MAX_TOLD {
                    break;
                }
                tries -= 1;
                if self.passes(&candidate.patch, &all, nth) && !passed.contains(&candidate.text) {
                    passed.push(candidate.text.clone());
                }
            }
            tell(one, !candidates.is_empty(), &passed);
        }
        found
    }

    /// Does the schedule lower with the change, but for what else was found?
    fn passes(&self, patch: &Patch, all: &[(&'static str, Location)], nth: usize) -> bool {
        let lowered = apply_changed(self.operator, self.sched, self.point, patch).and_then(|applied| {
            crate::program(self.operator, Some(self.sched), self.module, applied.graph, Extent::Whole)
        });
        match lowered {
            Ok(_) => true,
            Err(left) => left.iter().filter(|one| one.is_error()).all(|one| {
                let is_it =
                    |(code, location): &(&'static str, Location)| *code == one.code && *location == one.location;
                all.iter().position(is_it).is_some_and(|at| at != nth)
            }),
        }
    }
}

/// The graph with every directive applied that can be.
fn apply_last(operator: &Operator<'_>, sched: &Func, point: &Point) -> Option<Graph> {
    crate::apply::apply_at(operator, sched, point, None).ok().map(|applied| applied.graph)
}

/// Codes whose help says what there is, or what kind of thing is missing; it becomes a note. That of the others proposes
/// a change, and gives way to what was tried.
const FACTS: [&str; 11] = [
    "not-computed",
    "axes-of-two-stages",
    "attach-cycle",
    "attach-no-consumer",
    "vectorized-reduction",
    "not-a-dimension",
    "no-reader",
    "cache-late",
    "stages-loop",
    "stages-output",
    "size-open",
];

fn tell(one: &mut Diagnostic, tried: bool, passed: &[String]) {
    if !tried {
        return;
    }
    let old = one.help.take();
    if FACTS.contains(&one.code) {
        one.notes.extend(old);
    }
    one.help = match passed {
        [] => None,
        [only] => Some(only.clone()),
        [first, rest @ ..] => Some(format!("{first}; or {}", rest.join(", or "))),
    };
}
