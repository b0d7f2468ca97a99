//! Where the threads of a block must wait for one another.
//!
//! A region is summarised by the accesses that may come before its first barrier (`head`), those that may come after
//! its last one (`tail`), and whether every way through it passes a barrier. Going through the ops of a region in
//! order, a barrier is planned before the first op whose head conflicts with what is pending; after the body of a loop
//! its tail is held against the head of the next iteration, and what conflicts there gets a barrier inside the body.
//! Statements are summarised from the inside out, so a barrier stands in the outermost place where it suffices.
//!
//! A barrier may stand only where all threads of the block come: under conditions and loop bounds that are uniform.

use super::access::{Access, NestFacts};
use super::conflict::{Relation, may_conflict};
use super::launch::coordinate;
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use tc_arith::Var;
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::gpu;
use tc_dialects::tir::{self, Coordinate};
use tc_ir::effects::{accesses, summary};
use tc_ir::{Def, Func, Op, Region};

const THREADS: [Coordinate; 3] = [Coordinate::ThreadX, Coordinate::ThreadY, Coordinate::ThreadZ];

/// Of one buffer, this many different accesses are told apart; more are taken as an access of all of it.
const MAX_ACCESSES: usize = 128;

/// Two accesses that only a barrier can keep apart.
#[derive(Clone, Debug)]
pub(crate) struct Conflict {
    pub(crate) first: Access,
    pub(crate) second: Access,
    /// The loop whose next iteration holds the second access.
    pub(crate) carried: Option<Op>,
}

/// What a launch nest needs.
#[derive(Default)]
pub(crate) struct Plan {
    /// The ops before which a barrier has to stand, and why.
    pub(crate) barriers: IndexMap<Op, Conflict>,
    /// Conflicts where no barrier can stand.
    pub(crate) stuck: Vec<Conflict>,
    /// Ops whose effect nobody knows.
    pub(crate) unknown: Vec<Op>,
    /// Barriers that not all threads of a block may reach.
    pub(crate) divergent: Vec<Op>,
}

#[derive(Clone, Default)]
struct Summary {
    head: Vec<Access>,
    tail: Vec<Access>,
    synced: bool,
}

/// Plans the barriers of the nest whose outermost launch loop is `nest`. Those that are there count.
pub(crate) fn plan(func: &Func, nest: Op) -> Plan {
    let facts = NestFacts::new(func, nest);
    let mut planner = Planner { func, facts, plan: Plan::default(), same: FxHashMap::default() };
    planner.statement(nest, true);
    planner.plan
}

struct Planner<'f> {
    func: &'f Func,
    facts: NestFacts<'f>,
    plan: Plan,
    /// The regions around each region, itself included.
    same: FxHashMap<Region, Vec<Region>>,
}

impl Planner<'_> {
    /// Summarises `op`. `open` says that a barrier may stand beside it.
    fn statement(&mut self, op: Op, open: bool) -> Summary {
        let func = self.func;
        let opcode = func.opcode(op);
        if opcode == gpu::BARRIER {
            if !open {
                self.plan.divergent.push(op);
            }
            return Summary { synced: true, ..Summary::default() };
        }
        if func.row(op).effect.unknown {
            self.plan.unknown.push(op);
            return Summary::default();
        }
        if opcode == tir::FOR {
            return self.for_loop(op, open);
        }
        let own = self.facts.accesses(op);
        let mut sum = Summary { head: own.clone(), tail: own, synced: false };
        let regions = func.op_regions(op).to_vec();
        if regions.is_empty() {
            return sum;
        }
        let inner_open = open && (opcode != tir::IF || self.facts.uniform.is(func.operand(op, 0)));
        let mut all_synced = opcode != tir::IF || regions.len() == 2;
        for region in regions {
            let inner = self.region(region, inner_open, None);
            self.merge(&mut sum.head, inner.head);
            self.merge(&mut sum.tail, inner.tail);
            all_synced &= inner.synced;
        }
        sum.synced = all_synced;
        sum
    }

    fn for_loop(&mut self, op: Op, open: bool) -> Summary {
        let func = self.func;
        let body = func.op_regions(op)[0];
        if coordinate(func, op).is_some() {
            return self.region(body, open, None);
        }
        let uniform = func.operands(op)[..2].iter().all(|&bound| self.facts.uniform.is(bound));
        let extent = const_extent(func, op);
        let carried = (extent.is_none_or(|extent| extent > 1)).then_some(op);
        let mut sum = self.region(body, open && uniform, carried);
        sum.synced &= extent.is_some_and(|extent| extent > 0);
        sum
    }

    /// Plans within `region`; with `carried`, it is the body of that loop, which runs again and again.
    fn region(&mut self, region: Region, open: bool, carried: Option<Op>) -> Summary {
        let ops: Vec<Op> = self.func.ops(region).collect();
        let items: Vec<(Op, Summary)> = ops.into_iter().map(|op| (op, self.statement(op, open))).collect();
        let mut sum = self.pass(region, &items, open);
        let Some(looped) = carried else { return sum };
        // Each round plans one barrier, which shortens the head; so there are at most as many rounds as items.
        for _ in 0..items.len() {
            let Some((nth, conflict)) = self.carried_conflict(looped, &items, &sum) else { break };
            if !self.add(&items, nth, open, conflict) {
                break;
            }
            sum = self.pass(region, &items, open);
        }
        sum
    }

    /// Goes through the items in order, planning what conflicts within one run of the region.
    fn pass(&mut self, region: Region, items: &[(Op, Summary)], open: bool) -> Summary {
        let mut sum = Summary::default();
        let mut nth = 0;
        while nth < items.len() {
            let (op, item) = &items[nth];
            if self.plan.barriers.contains_key(op) {
                sum.tail.clear();
                sum.synced = true;
            } else if let Some(conflict) = self.conflict(&sum.tail, &item.head, region, None)
                && self.add(items, nth, open, conflict)
            {
                // The barrier may stand before reads that belong to the same statement: go on from there.
                let at = (0..=nth).rev().find(|&at| self.plan.barriers.contains_key(&items[at].0)).unwrap_or(nth);
                sum.tail.clear();
                sum.synced = true;
                for (_, read) in &items[at..nth] {
                    self.merge(&mut sum.tail, read.tail.clone());
                }
            }
            if !sum.synced {
                self.merge(&mut sum.head, item.head.clone());
            }
            if item.synced {
                sum.tail = item.tail.clone();
                sum.synced = true;
            } else {
                self.merge(&mut sum.tail, item.tail.clone());
            }
            nth += 1;
        }
        sum
    }

    /// The first item of the body that conflicts with what the iteration before left pending.
    fn carried_conflict(&mut self, looped: Op, items: &[(Op, Summary)], sum: &Summary) -> Option<(usize, Conflict)> {
        let region = self.func.region_of(looped)?;
        for (nth, (op, item)) in items.iter().enumerate() {
            if self.plan.barriers.contains_key(op) {
                return None;
            }
            if let Some(conflict) = self.conflict(&sum.tail, &item.head, region, Some(looped)) {
                return Some((nth, conflict));
            }
            if item.synced {
                return None;
            }
        }
        None
    }

    /// Plans a barrier before item `nth`; `false` if none may stand there.
    fn add(&mut self, items: &[(Op, Summary)], nth: usize, open: bool, conflict: Conflict) -> bool {
        if !open {
            self.plan.stuck.push(conflict);
            return false;
        }
        let at = statement_start(self.func, items[nth].0, &conflict);
        self.plan.barriers.insert(at, conflict);
        true
    }

    /// The first pair of `pending` and `next` that conflicts.
    fn conflict(
        &mut self,
        pending: &[Access],
        next: &[Access],
        region: Region,
        carried: Option<Op>,
    ) -> Option<Conflict> {
        if pending.is_empty() || next.is_empty() {
            return None;
        }
        let func = self.func;
        let around = self.same.entry(region).or_insert_with(|| regions_around(func, region)).clone();
        let same = |facts: &NestFacts<'_>, var: Var| {
            let value = Algebra::value(var);
            facts.uniform.is(value) && around.contains(&region_of_value(func, value))
        };
        let carried_var = carried.map(|op| Algebra::var(super::launch::loop_var(func, op)));
        let relation = Relation { same: &same, carried: carried_var, between: &THREADS };
        for second in next {
            for first in pending {
                if may_conflict(&mut self.facts, first, second, &relation) {
                    return Some(Conflict { first: first.clone(), second: second.clone(), carried });
                }
            }
        }
        None
    }

    /// Adds what is not there yet. An access that equals another but for its op conflicts with the same ones.
    fn merge(&mut self, into: &mut Vec<Access>, more: Vec<Access>) {
        for access in more {
            let alike = |old: &Access| old.buffer == access.buffer && old.writes == access.writes;
            if into.iter().any(|old| alike(old) && (old.index.is_none() || old.index == access.index)) {
                continue;
            }
            if into.iter().filter(|old| alike(old)).count() >= MAX_ACCESSES {
                into.retain(|old| !alike(old));
                into.push(Access { index: None, ..access });
                continue;
            }
            into.push(access);
        }
    }
}

fn regions_around(func: &Func, region: Region) -> Vec<Region> {
    let parents = |region: &Region| func.region_parent(*region).and_then(|op| func.region_of(op));
    std::iter::successors(Some(region), parents).collect()
}

fn region_of_value(func: &Func, value: tc_ir::Value) -> Region {
    match func.def(value) {
        Def::Arg(region, _) => region,
        // The results of an op that was taken out are nobody's operands.
        Def::Result(op, _) => func.region_of(op).unwrap_or(func.body()),
    }
}

/// Where the statement that `op` belongs to begins: before the arithmetic and the reads that feed it, as far as these
/// are not what it conflicts with.
fn statement_start(func: &Func, op: Op, conflict: &Conflict) -> Op {
    let mut start = op;
    while let Some(prev) = func.prev_op(start) {
        let sum = summary(func, prev);
        let reads_it = accesses(func, prev).iter().any(|&(place, _)| {
            let root = tc_ir::effects::root_buffer(func, place);
            root == conflict.first.root || root == conflict.second.root
        });
        let named = func.results(prev).any(|value| func.value_name(value).is_some());
        if !sum.only_reads() || named || reads_it || !func.op_regions(prev).is_empty() {
            break;
        }
        start = prev;
    }
    start
}
