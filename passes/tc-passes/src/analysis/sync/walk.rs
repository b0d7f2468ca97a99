//! Statements, from the inside out.

use super::super::access::{Access, NestFacts};
use super::super::launch::coordinate;
use super::super::outstanding::OutstandingCopies;
use super::super::uniform::{Uniform, divergent_branch};
use super::pending::Accesses;
use super::summary::{Summary, Synced};
use super::{BarrierPlacement, Conflict, Divergent};
use rustc_hash::FxHashMap;
use std::rc::Rc;
use tc_dialects::algebra::const_extent;
use tc_dialects::scope::Scope;
use tc_dialects::threads::{self, CopyStep, Meeting};
use tc_dialects::tir;
use tc_ir::{Func, Op, Region, Value};

/// Which threads come together to a place.
#[derive(Clone, Copy)]
pub(super) struct Open {
    /// All of the block: a barrier may stand there.
    pub(super) block: bool,
    /// All of a warp.
    pub(super) warp: bool,
}

/// Is `op` one at which the threads of a warp meet: a shuffle, or work on tiles?
pub(super) fn is_by_warp(func: &Func, op: Op) -> bool {
    matches!(threads::meeting(func, op), Some(Meeting::Tiles(_) | Meeting::Exchange))
}

pub(super) struct Planner<'f> {
    pub(super) func: &'f Func,
    pub(super) facts: NestFacts<'f>,
    /// What is the same for all threads of a warp, where the nest has ops for warps.
    pub(super) warps: Option<Uniform>,
    pub(super) outstanding: OutstandingCopies,
    pub(super) plan: BarrierPlacement,
    /// The regions around each region, itself included.
    pub(super) same: FxHashMap<Region, Rc<[Region]>>,
}

impl Planner<'_> {
    /// Summarises `op`. `open` says that a barrier may stand beside it.
    pub(super) fn statement(&mut self, op: Op, open: Open) -> Summary {
        let func = self.func;
        let opcode = func.opcode(op);
        let meeting = threads::meeting(func, op);
        let synced = match meeting {
            Some(Meeting::Barrier(Some(scope @ (Scope::Global | Scope::Shared)))) => {
                Some(Synced::by(scope == Scope::Global))
            }
            Some(Meeting::Barrier(_)) => Some(Synced::default()),
            Some(Meeting::Reduction) => Some(Synced::ALL),
            Some(Meeting::Exchange | Meeting::Tiles(_)) | None => None,
        };
        if let Some(synced) = synced {
            self.need(op, open.block, false);
            return Summary { synced, ..Summary::default() };
        }
        if meeting == Some(Meeting::Exchange) {
            // Threads that hand one another values by a reduction wait for one another; those of a shuffle do not.
            self.need(op, open.warp, true);
            return Summary::default();
        }
        if func.row(op).effect.unknown {
            self.plan.unknown.push(op);
            return Summary::default();
        }
        if opcode == tir::FOR {
            return self.for_loop(op, open);
        }
        if matches!(threads::copy_step(func, op), Some(CopyStep::Wait { .. })) {
            return Summary { tail: self.copied_at(op), ..Summary::default() };
        }
        if matches!(meeting, Some(Meeting::Tiles(_))) {
            self.need(op, open.warp, true);
        }
        let own: Vec<Rc<Access>> = self.facts.accesses(op).into_iter().map(Rc::new).collect();
        // What a copy writes is there at the wait.
        let begins_copy = threads::begins_copy(func, op);
        let stays = |access: &&Rc<Access>| !begins_copy || !access.writes;
        let mut sum = Summary::default();
        sum.head.merge(&own);
        sum.tail.merge(own.iter().filter(stays));
        let regions = func.op_regions(op).to_vec();
        if regions.is_empty() {
            return sum;
        }
        let inner_open = if opcode == tir::IF { self.under(open, &[func.operand(op, 0)]) } else { open };
        let mut all_synced = if opcode != tir::IF || regions.len() == 2 { Synced::ALL } else { Synced::default() };
        let arms: Vec<Summary> = regions.iter().map(|&region| self.region(region, inner_open, None)).collect();
        if let [then, otherwise] = &arms[..]
            && !self.facts.uniform.is(func.operand(op, 0))
        {
            self.divergent_arms(op, then, otherwise);
        }
        for inner in &arms {
            sum.head.merge(inner.head.iter());
            sum.tail.merge(inner.tail.iter());
            all_synced = all_synced.and(inner.synced);
        }
        sum.synced = all_synced;
        sum
    }

    /// The arms of a conditional that threads take differently run at the same time: no barrier can stand between them.
    fn divergent_arms(&mut self, op: Op, then: &Summary, otherwise: &Summary) {
        let Some(region) = self.func.region_of(op) else { return };
        let whole = |arm: &Summary| {
            let mut all = arm.head.clone();
            all.merge(arm.tail.iter());
            all
        };
        let conflict = self.conflict(&whole(then), &whole(otherwise), region, None);
        self.plan.stuck.extend(conflict.map(|conflict| Conflict { at_once: true, ..conflict }));
    }

    /// Who comes together under conditions and bounds, where `open` come to the op that has them.
    fn under(&self, open: Open, values: &[Value]) -> Open {
        let all = |uniform: &Uniform| values.iter().all(|&value| uniform.is(value));
        Open { block: open.block && all(&self.facts.uniform), warp: open.warp && self.warps.as_ref().is_none_or(all) }
    }

    /// Notes that `op` needs threads that do not all come, unless they do.
    fn need(&mut self, op: Op, all_come: bool, by_warp: bool) {
        if all_come {
            return;
        }
        let uniform = self.warps.as_ref().filter(|_| by_warp).unwrap_or(&self.facts.uniform);
        let branch = divergent_branch(self.func, uniform, self.facts.nest.op, op);
        self.plan.divergent.push(Divergent { op, branch, by_warp });
    }

    /// What is there once `wait` is over, as far as it was begun before.
    fn copied_at(&mut self, wait: Op) -> Accesses {
        let copies = self.outstanding.at(wait).to_vec();
        let mut copied = Accesses::default();
        for copy in copies {
            let accesses = self.facts.accesses(copy).into_iter();
            accesses.for_each(|access| copied.merge([&Rc::new(Access { begun_before: true, ..access })]));
        }
        copied
    }

    fn for_loop(&mut self, op: Op, open: Open) -> Summary {
        let func = self.func;
        let body = func.op_regions(op)[0];
        if coordinate(func, op).is_some() {
            return self.region(body, open, None);
        }
        let inner_open = self.under(open, &func.operands(op)[..2]);
        let extent = const_extent(func, op);
        let carried = (extent.is_none_or(|extent| extent > 1)).then_some(op);
        let mut sum = self.region(body, inner_open, carried);
        if extent.is_none_or(|extent| extent <= 0) {
            sum.synced = Synced::default();
        }
        sum
    }

    /// Plans within `region`; with `carried`, it is the body of that loop, which runs again and again.
    fn region(&mut self, region: Region, open: Open, carried: Option<Op>) -> Summary {
        let ops: Vec<Op> = self.func.ops(region).collect();
        let items: Vec<(Op, Summary)> = ops.into_iter().map(|op| (op, self.statement(op, open))).collect();
        let mut sum = self.pass(region, &items, open);
        let Some(loop_op) = carried else { return sum };
        // Each round plans or widens one barrier, which shortens the head; so there are at most twice as many as items.
        for _ in 0..2 * items.len() {
            let Some((nth, conflict)) = self.carried_conflict(loop_op, &items, &sum) else { break };
            if self.add(&items, nth, open, conflict).is_none() {
                return sum;
            }
            sum = self.pass(region, &items, open);
        }
        self.drop_needless(region, &items, loop_op).unwrap_or(sum)
    }
}
