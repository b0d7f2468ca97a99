//! Where the threads of a block must wait for one another.
//!
//! A region is summarised by the accesses that may come before its first barrier (`head`), those that may come after
//! its last one (`tail`), and whether every way through it passes a barrier. Going through the ops of a region in
//! order, a barrier is planned before the first op whose head conflicts with what is pending; after the body of a loop
//! its tail is held against the head of the next iteration, and what conflicts there gets a barrier inside the body.
//! Statements are summarised from the inside out, so a barrier stands in the outermost place where it suffices.
//!
//! A barrier may stand only where all threads of the block come: under conditions and loop bounds that are uniform. One
//! over shared memory orders nothing else, one over global memory orders all; so the two kinds of memory are followed
//! apart.
//!
//! The arms of a conditional that threads take differently run at the same time, and no barrier can keep them apart.
//!
//! What an asynchronous copy writes may not be touched by others from where it is begun on, so its write conflicts with
//! accesses before it there. For those that follow it counts as done by the wait that covers it: a barrier helps after
//! that alone. Which copies a wait is for is told by [`OutstandingCopies`]; of which iteration they are is not, so they are taken to
//! be of any.

mod ahead;
mod pairs;
mod pending;
mod place;
mod summary;
mod walk;

use super::access::{Access, NestFacts};
use super::launch::Nest;
use super::outstanding::OutstandingCopies;
use super::uniform::Uniform;
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use summary::Synced;
use tc_ir::{Func, Op, Value};
use walk::{Open, Planner, is_by_warp};

/// Two accesses that only a barrier can keep apart.
#[derive(Clone, Debug)]
pub(crate) struct Conflict {
    pub(crate) first: Access,
    pub(crate) second: Access,
    /// The loop whose next iteration holds the second access.
    pub(crate) carried: Option<Op>,
    /// The two stand in the arms of one conditional, which some threads take and others do not.
    pub(crate) at_once: bool,
    /// The buffers whose accesses the barrier has to keep apart: it does not move before a read of one.
    roots: Vec<Value>,
}

/// What a launch nest needs.
#[derive(Default)]
pub(crate) struct BarrierPlacement {
    /// The ops before which a barrier has to stand, and why.
    pub(crate) barriers: IndexMap<Op, Conflict>,
    /// Conflicts where no barrier can stand.
    pub(crate) stuck: Vec<Conflict>,
    /// Ops whose effect is not known.
    pub(crate) unknown: Vec<Op>,
    /// Barriers and reductions that not all threads of a block may reach, and shuffles and ops that a warp does together
    /// and not all its threads reach.
    pub(crate) divergent: Vec<Divergent>,
}

/// An op that only some threads reach of those that it needs.
pub(crate) struct Divergent {
    pub(crate) op: Op,
    /// The conditional or loop in which threads part.
    pub(crate) branch: Option<Op>,
    /// It needs those of a warp, not those of the block.
    pub(crate) by_warp: bool,
}

impl Conflict {
    /// What the barrier that it asks for orders.
    fn barrier(&self) -> Synced {
        Synced::by(self.first.global)
    }
}

/// Plans the barriers of `nest`. Those that are there count.
pub(crate) fn plan(func: &Func, nest: &Nest) -> BarrierPlacement {
    plan_within(func, nest, nest.op)
}

/// Plans the barriers inside of `op`, an op of `nest`: what stands before it and behind it asks for none in there.
pub(crate) fn plan_within(func: &Func, nest: &Nest, op: Op) -> BarrierPlacement {
    let facts = NestFacts::new(func, nest);
    let by_warp = nest.ops(func).any(|op| is_by_warp(func, op));
    let mut planner = Planner {
        func,
        warps: by_warp.then(|| Uniform::of_warp(func, nest)),
        facts,
        outstanding: OutstandingCopies::of(func, nest.op),
        plan: BarrierPlacement::default(),
        same: FxHashMap::default(),
    };
    planner.statement(op, Open { block: true, warp: true });
    planner.plan
}
