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
//! What an asynchronous copy writes may not be touched by others from where it is begun on, so its write conflicts with
//! accesses before it there. For those that follow it counts as done by the wait that covers it: a barrier helps after
//! that alone. Which copies a wait is for is told by [`Flights`]; of which iteration they are is not, so they are taken to
//! be of any.

use super::access::{Access, NestFacts};
use super::conflict::{Relation, may_conflict};
use super::flight::Flights;
use super::launch::coordinate;
use super::uniform::{Uniform, parting};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use tc_arith::Var;
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::tir::{self, Coordinate};
use tc_dialects::{gpu, mma, wmma};
use tc_ir::effects::{accesses, summary};
use tc_ir::{Def, Func, Op, Region, Value, keys};

const THREADS: [Coordinate; 3] = [Coordinate::ThreadX, Coordinate::ThreadY, Coordinate::ThreadZ];

/// Of one buffer, this many different accesses are told apart; more are taken as an access of all of it.
const MAX_ACCESSES: usize = 128;

/// Of the barriers of one loop body, no more than these are tried to be done without.
const MAX_TRIED: usize = 8;

/// Two accesses that only a barrier can keep apart.
#[derive(Clone, Debug)]
pub(crate) struct Conflict {
    pub(crate) first: Access,
    pub(crate) second: Access,
    /// The loop whose next iteration holds the second access.
    pub(crate) carried: Option<Op>,
    /// The buffers whose accesses the barrier has to keep apart: it does not move before a read of one.
    roots: Vec<Value>,
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
    /// Barriers, reductions and shuffles that not all threads of a block may reach, and ops that a warp does together
    /// and not all its threads reach.
    pub(crate) divergent: Vec<Divergent>,
}

/// An op that only some threads reach of those that it needs.
pub(crate) struct Divergent {
    pub(crate) op: Op,
    /// The conditional or loop in which threads part.
    pub(crate) parting: Option<Op>,
    /// It needs those of a warp, not those of the block.
    pub(crate) by_warp: bool,
}

/// Which threads come together to a place.
#[derive(Clone, Copy)]
struct Open {
    /// All of the block: a barrier may stand there.
    block: bool,
    /// All of a warp.
    warp: bool,
}

#[derive(Clone, Default)]
struct Summary {
    head: Vec<Access>,
    tail: Vec<Access>,
    synced: Synced,
}

/// Which memory every way through has a barrier for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Synced {
    shared: bool,
    global: bool,
}

impl Synced {
    const ALL: Synced = Synced { shared: true, global: true };

    /// What a barrier over global, or else over shared memory orders.
    fn by(global: bool) -> Synced {
        Synced { shared: true, global }
    }

    fn covers(self, access: &Access) -> bool {
        if access.global { self.global } else { self.shared }
    }

    fn or(self, other: Synced) -> Synced {
        Synced { shared: self.shared || other.shared, global: self.global || other.global }
    }

    fn and(self, other: Synced) -> Synced {
        Synced { shared: self.shared && other.shared, global: self.global && other.global }
    }
}

impl Conflict {
    /// What the barrier that it asks for orders.
    fn barrier(&self) -> Synced {
        Synced::by(self.first.global)
    }
}

/// Plans the barriers of the nest whose outermost launch loop is `nest`. Those that are there count.
pub(crate) fn plan(func: &Func, nest: Op) -> Plan {
    let facts = NestFacts::new(func, nest);
    let by_warp = tc_ir::walk::ops_under(func, func.op_regions(nest)[0]).any(|op| is_by_warp(func, op));
    let mut planner = Planner {
        func,
        warps: by_warp.then(|| Uniform::of_warp(func, &facts.nest)),
        facts,
        flights: Flights::of(func, nest),
        plan: Plan::default(),
        same: FxHashMap::default(),
    };
    planner.statement(nest, Open { block: true, warp: true });
    planner.plan
}

/// Is `op` one that the threads of a warp do together, on tiles?
fn is_by_warp(func: &Func, op: Op) -> bool {
    matches!(func.opcode(op), wmma::FILL | wmma::LOAD | wmma::STORE | wmma::MMA | mma::LDMATRIX | mma::SYNC)
}

struct Planner<'f> {
    func: &'f Func,
    facts: NestFacts<'f>,
    /// What is the same for all threads of a warp, where the nest has ops for warps.
    warps: Option<Uniform>,
    flights: Flights,
    plan: Plan,
    /// The regions around each region, itself included.
    same: FxHashMap<Region, Vec<Region>>,
}

impl Planner<'_> {
    /// Summarises `op`. `open` says that a barrier may stand beside it.
    fn statement(&mut self, op: Op, open: Open) -> Summary {
        let func = self.func;
        let opcode = func.opcode(op);
        if opcode == gpu::BARRIER {
            self.need(op, open.block, false);
            let synced = match func.word_of(op, keys::SCOPE) {
                Some("global") => Synced::by(true),
                Some("shared") => Synced::by(false),
                _ => Synced::default(),
            };
            return Summary { synced, ..Summary::default() };
        }
        if matches!(opcode, gpu::ALL_REDUCE | gpu::SHUFFLE) {
            self.need(op, open.block, false);
            // Threads that hand one another values by a reduction wait for one another; those of a shuffle do not.
            let synced = if opcode == gpu::ALL_REDUCE { Synced::ALL } else { Synced::default() };
            return Summary { synced, ..Summary::default() };
        }
        if func.row(op).effect.unknown {
            self.plan.unknown.push(op);
            return Summary::default();
        }
        if opcode == tir::FOR {
            return self.for_loop(op, open);
        }
        if opcode == gpu::WAIT_GROUP {
            return Summary { tail: self.copied_at(op), ..Summary::default() };
        }
        if is_by_warp(func, op) {
            self.need(op, open.warp, true);
        }
        let own = self.facts.accesses(op);
        // What a copy writes is there at the wait.
        let stays = |access: &&Access| opcode != gpu::COPY_ASYNC || !access.writes;
        let tail = own.iter().filter(stays).cloned().collect();
        let mut sum = Summary { head: own, tail, synced: Synced::default() };
        let regions = func.op_regions(op).to_vec();
        if regions.is_empty() {
            return sum;
        }
        let inner_open = if opcode == tir::IF { self.under(open, &[func.operand(op, 0)]) } else { open };
        let mut all_synced = if opcode != tir::IF || regions.len() == 2 { Synced::ALL } else { Synced::default() };
        for region in regions {
            let inner = self.region(region, inner_open, None);
            self.merge(&mut sum.head, inner.head);
            self.merge(&mut sum.tail, inner.tail);
            all_synced = all_synced.and(inner.synced);
        }
        sum.synced = all_synced;
        sum
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
        let parting = parting(self.func, uniform, self.facts.nest.op, op);
        self.plan.divergent.push(Divergent { op, parting, by_warp });
    }

    /// What is there once `wait` is over, as far as it was begun before.
    fn copied_at(&mut self, wait: Op) -> Vec<Access> {
        let copies = self.flights.at(wait).to_vec();
        let accesses = copies.into_iter().flat_map(|copy| self.facts.accesses(copy));
        accesses.map(|access| Access { begun_before: true, ..access }).collect()
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
        let Some(looped) = carried else { return sum };
        // Each round plans or widens one barrier, which shortens the head; so there are at most twice as many as items.
        for _ in 0..2 * items.len() {
            let Some((nth, conflict)) = self.carried_conflict(looped, &items, &sum) else { break };
            if self.add(&items, nth, open, conflict).is_none() {
                return sum;
            }
            sum = self.pass(region, &items, open);
        }
        self.drop_needless(region, &items, looped).unwrap_or(sum)
    }

    /// Takes out barriers of the body of `looped` that those planned later made needless: what they keep apart within an
    /// iteration, another one keeps apart as well. Gives what the region then comes to, if one was taken out.
    fn drop_needless(&mut self, region: Region, items: &[(Op, Summary)], looped: Op) -> Option<Summary> {
        let planned: Vec<Op> =
            items.iter().map(|(op, _)| *op).filter(|op| self.plan.barriers.contains_key(op)).collect();
        let mut sum = None;
        if planned.len() < 2 || planned.len() > MAX_TRIED {
            return sum;
        }
        for op in planned.into_iter().rev() {
            let Some(at) = self.plan.barriers.get_index_of(&op) else { continue };
            let Some((_, conflict)) = self.plan.barriers.shift_remove_index(at) else { continue };
            match self.without_conflict(region, items, looped) {
                Some(settled) => sum = Some(settled),
                None => drop(self.plan.barriers.shift_insert(at, op, conflict)),
            }
        }
        sum
    }

    /// What the body of `looped` comes to with the barriers that are planned, if these are enough.
    fn without_conflict(&mut self, region: Region, items: &[(Op, Summary)], looped: Op) -> Option<Summary> {
        let mut sum = Summary::default();
        for (op, item) in items {
            if let Some(planned) = self.plan.barriers.get(op) {
                pass_barrier(&mut sum, planned.barrier());
            }
            if self.conflict(&sum.tail, &item.head, region, None).is_some() {
                return None;
            }
            self.follow(&mut sum, item);
        }
        self.carried_conflict(looped, items, &sum).is_none().then_some(sum)
    }

    /// Adds `item` behind `sum`, with which it has no conflict.
    fn follow(&mut self, sum: &mut Summary, item: &Summary) {
        let head = item.head.iter().filter(|access| !sum.synced.covers(access)).cloned().collect();
        self.merge(&mut sum.head, head);
        pass_barrier(sum, item.synced);
        self.merge(&mut sum.tail, item.tail.clone());
    }

    /// Goes through the items in order, planning what conflicts within one run of the region.
    fn pass(&mut self, region: Region, items: &[(Op, Summary)], open: Open) -> Summary {
        let mut sum = Summary::default();
        for (nth, (op, item)) in items.iter().enumerate() {
            if let Some(planned) = self.plan.barriers.get(op) {
                pass_barrier(&mut sum, planned.barrier());
            }
            if let Some(conflict) = self.conflict(&sum.tail, &item.head, region, None) {
                let conflict = self.widen(conflict, &items[nth + 1..], &sum.tail, region, None);
                let barrier = conflict.barrier();
                if let Some(at) = self.add(items, nth, open, conflict) {
                    pass_barrier(&mut sum, barrier);
                    // The barrier may stand before reads that belong to the same statement.
                    for (_, read) in &items[at..nth] {
                        self.merge(&mut sum.tail, read.tail.clone());
                    }
                }
            }
            self.follow(&mut sum, item);
        }
        sum
    }

    /// The first item of the body that conflicts with what the iteration before left pending.
    fn carried_conflict(&mut self, looped: Op, items: &[(Op, Summary)], sum: &Summary) -> Option<(usize, Conflict)> {
        let region = self.func.region_of(looped)?;
        let mut before = Summary { tail: sum.tail.clone(), ..Summary::default() };
        for (nth, (op, item)) in items.iter().enumerate() {
            if let Some(planned) = self.plan.barriers.get(op) {
                pass_barrier(&mut before, planned.barrier());
            }
            if let Some(conflict) = self.conflict(&before.tail, &item.head, region, Some(looped)) {
                return Some((nth, self.widen(conflict, &items[nth + 1..], &before.tail, region, Some(looped))));
            }
            pass_barrier(&mut before, item.synced);
        }
        None
    }

    /// The conflict in global memory that `rest` will have with what is pending, if `conflict` is in shared memory: one
    /// barrier then does for both.
    fn widen(
        &mut self,
        conflict: Conflict,
        rest: &[(Op, Summary)],
        pending: &[Access],
        region: Region,
        carried: Option<Op>,
    ) -> Conflict {
        let global: Vec<Access> = pending.iter().filter(|access| access.global).cloned().collect();
        if conflict.barrier().global || global.is_empty() {
            return conflict;
        }
        for (op, item) in rest {
            if self.plan.barriers.get(op).is_some_and(|planned| planned.barrier().global) {
                break;
            }
            if let Some(mut wider) = self.conflict(&global, &item.head, region, carried) {
                wider.roots.extend(conflict.roots);
                return wider;
            }
            if item.synced.global {
                break;
            }
        }
        conflict
    }

    /// Plans a barrier before item `nth`; gives the item it stands before, or `None` if none may stand there.
    fn add(&mut self, items: &[(Op, Summary)], nth: usize, open: Open, conflict: Conflict) -> Option<usize> {
        if !open.block {
            self.plan.stuck.push(conflict);
            return None;
        }
        let op = statement_start(self.func, items[nth].0, &conflict);
        match self.plan.barriers.get_mut(&op) {
            // One barrier does for both; it keeps the wider reason.
            Some(planned) if planned.barrier().global => {}
            Some(planned) => *planned = conflict,
            None => drop(self.plan.barriers.insert(op, conflict)),
        }
        items[..=nth].iter().rposition(|(other, _)| *other == op).or(Some(nth))
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
        let is_same = |facts: &NestFacts<'_>, var: Var, around: &[Region]| {
            let value = Algebra::value(var);
            facts.uniform.is(value) && around.contains(&region_of_value(func, value))
        };
        let same = |facts: &NestFacts<'_>, var: Var| is_same(facts, var, &around);
        // A copy that was begun before may be of another iteration of all loops around.
        let outermost = &around[around.iter().rposition(|&region| repeats(func, region)).map_or(0, |nth| nth + 1)..];
        let always_same = |facts: &NestFacts<'_>, var: Var| is_same(facts, var, outermost);
        let carried_var = carried.map(|op| Algebra::var(super::launch::loop_var(func, op)));
        let relation = Relation { same: &same, carried: carried_var, between: &THREADS };
        let of_copies = Relation { same: &always_same, ..relation };
        // A conflict in global memory asks for more, so it is looked for first.
        let pairs = [true, false].into_iter().flat_map(|global| {
            let of_kind = move |access: &&Access| access.global == global;
            next.iter()
                .filter(of_kind)
                .flat_map(move |second| pending.iter().filter(of_kind).map(move |first| (first, second)))
        });
        for (first, second) in pairs {
            let relation = if first.begun_before { &of_copies } else { &relation };
            if may_conflict(&mut self.facts, first, second, relation) {
                let roots = vec![first.root, second.root];
                return Some(Conflict { first: first.clone(), second: second.clone(), carried, roots });
            }
        }
        None
    }

    /// Adds what is not there yet. An access that equals another but for its op conflicts with the same ones.
    fn merge(&mut self, into: &mut Vec<Access>, more: Vec<Access>) {
        for access in more {
            let alike = |old: &Access| {
                old.buffer == access.buffer
                    && old.window == access.window
                    && (old.writes, old.by_warp, old.begun_before)
                        == (access.writes, access.by_warp, access.begun_before)
            };
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

/// What is pending is ordered by the barrier, as far as it reaches.
fn pass_barrier(sum: &mut Summary, barrier: Synced) {
    sum.tail.retain(|access| !barrier.covers(access));
    sum.synced = sum.synced.or(barrier);
}

fn regions_around(func: &Func, region: Region) -> Vec<Region> {
    let parents = |region: &Region| func.region_parent(*region).and_then(|op| func.region_of(op));
    std::iter::successors(Some(region), parents).collect()
}

/// Is `region` the body of a loop, which may run again and again?
fn repeats(func: &Func, region: Region) -> bool {
    func.region_parent(region).is_some_and(|op| func.opcode(op) == tir::FOR && coordinate(func, op).is_none())
}

fn region_of_value(func: &Func, value: Value) -> Region {
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
        let reads_it = accesses(func, prev)
            .iter()
            .any(|&(place, _)| conflict.roots.contains(&tc_ir::effects::root_buffer(func, place)));
        let named = func.results(prev).any(|value| func.value_name(value).is_some());
        if !sum.only_reads() || named || reads_it || !func.op_regions(prev).is_empty() {
            break;
        }
        start = prev;
    }
    start
}
