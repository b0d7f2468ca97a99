//! Points that cannot be: refused by the rules of schedules, or beyond what a target has. All is told from bounds,
//! before there is a program.

use super::{Space, Subject};
use crate::bounds::OverLimit;
use crate::params::Point;
use indexmap::IndexMap;
use tc_dialects::algebra::{const_extent, is_launch};
use tc_dialects::scope::Scope;
use tc_dialects::tir::{self, Coordinate, LoopKind};
use tc_ir::walk::{all_ops, ancestors, ops_under};
use tc_ir::{Func, Op, Value, keys};
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
            let program = self.lower(point, None).map_err(Reject::Refused)?;
            return match limits_of_program(&program, target) {
                over if over.is_empty() => Ok(()),
                over => Err(Reject::OverLimit(over)),
            };
        }
        let bounds = self.bounds(point).map_err(Reject::Refused)?;
        match bounds.limits(target) {
            over if over.is_empty() => Ok(()),
            over => Err(Reject::OverLimit(over)),
        }
    }
}

/// The limits of `target` that a program breaks, as far as its launch loops and buffers tell.
fn limits_of_program(func: &Func, target: &Target) -> Vec<OverLimit> {
    let mut over = Vec::new();
    let mut check = |what: &'static str, needed: i64, limit: u64| {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        if needed > limit {
            over.push(OverLimit { what, needed, limit });
        }
    };
    let is_outermost = |&op: &Op| is_launch(func, op) && !ancestors(func, op).any(|outer| is_launch(func, outer));
    for root in all_ops(func).filter(is_outermost).collect::<Vec<_>>() {
        let inner: Vec<Op> = func.op_regions(root).iter().flat_map(|&region| ops_under(func, region)).collect();
        let extent = |of: Coordinate| {
            let loops = std::iter::once(&root).chain(&inner).copied().filter(|&op| func.opcode(op) == tir::FOR);
            let bound = loops.filter(|&op| tir::loop_kind(func, op) == Some(LoopKind::Launch(of)));
            bound.filter_map(|op| const_extent(func, op)).max()
        };
        let threads = Coordinate::ALL.into_iter().filter(|of| of.is_thread()).filter_map(extent);
        check("threads", threads.fold(1, i64::saturating_mul), target.max_threads_per_block);
        let shared = inner.iter().filter(|&&op| func.opcode(op) == tir::ALLOC).filter_map(|&op| func.result(op));
        let shared = shared.filter(|&buffer| Scope::of(func, buffer).is_some_and(Scope::is_shared));
        let bytes =
            shared.map(|buffer| tir::view_bytes(func, buffer).unwrap_or(0).saturating_mul(n_versions(func, buffer)));
        // Buffers whose lives do not overlap share memory: only one that is too large alone is certain to be.
        check("shared", bytes.max().unwrap_or(0), target.max_shared_per_block);
        for of in Coordinate::ALL {
            let (what, limits) = if of.is_thread() { ("block", target.max_block) } else { ("grid", target.max_grid) };
            check(what, extent(of).unwrap_or(1), limits[of.dim()]);
        }
    }
    over
}

/// For how many iterations at once a buffer is kept.
fn n_versions(func: &Func, buffer: Value) -> i64 {
    func.def_op(buffer).and_then(|alloc| func.int_of(alloc, keys::STAGES)).unwrap_or(1).max(1)
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
