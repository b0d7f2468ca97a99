//! Where groups of copies end, and are waited for.
//!
//! Statements that make copies and do nothing else are producers. Neighbouring ones make one group, which is waited for
//! at once; whoever lets copies run ahead moves the wait. Two copies outstanding at once must not touch one cell, in
//! whichever threads and iterations: what is not proved to keep apart is waited for in between.

use crate::analysis::access::{Access, NestFacts};
use crate::analysis::launch::nest_of;
use crate::analysis::loop_carried::{NestByNest, depend, overlap};
use indexmap::IndexSet;
use rustc_hash::FxHashSet;
use tc_dialects::algebra::{const_extent, is_launch};
use tc_dialects::{gpu, tir};
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Func, Op, Region, Value, effects, keys};

/// One group holds at most this many different copies: each is held against all others.
const MAX_COPIES: usize = 64;

/// Lets a group end, and waits for it, after the last of neighbouring producers; gives the number of groups. `copies`
/// were made by this pass.
pub(super) fn close(func: &mut Func, copies: &IndexSet<Op>) -> u64 {
    let mut grouping = Grouping { func, copies, nests: NestByNest::new(func), ends: Vec::new() };
    grouping.region(func.body());
    let ends = grouping.ends;
    for &op in &ends {
        let none = func.int_attr(0);
        let mut b = Builder::after(func, op);
        gpu::CommitGroup::build(&mut b, &[], &[]);
        gpu::WaitGroup::build(&mut b, &[(keys::PENDING, none)], &[]);
    }
    ends.len() as u64
}

struct Grouping<'f> {
    func: &'f Func,
    copies: &'f IndexSet<Op>,
    nests: NestByNest<'f>,
    /// The statements after which a group ends.
    ends: Vec<Op>,
}

/// A group that is open.
struct Open {
    last: Op,
    /// The stages of the buffers that are filled: those of one number run ahead together.
    stages: Option<i64>,
    writes: Vec<Access>,
    /// The values that are made in the statements.
    inside: FxHashSet<Value>,
}

impl Grouping<'_> {
    fn region(&mut self, region: Region) {
        // Statements nest as deep as the text does.
        let mut open: Option<Open> = None;
        for op in self.func.ops(region).collect::<Vec<_>>() {
            if !self.makes_copies(op) {
                let is_apart = open.as_ref().is_some_and(|open| !self.passes(op, open));
                if is_apart && let Some(open) = open.take() {
                    self.ends.push(open.last);
                }
                continue;
            }
            match self.producer(op) {
                Some(new) => open = Some(self.joined(open, new)),
                None => {
                    self.ends.extend(open.take().map(|open| open.last));
                    for &inner in self.func.op_regions(op) {
                        self.region(inner);
                    }
                }
            }
        }
        self.ends.extend(open.map(|open| open.last));
    }

    fn makes_copies(&self, op: Op) -> bool {
        self.under(op).any(|inner| self.copies.contains(&inner))
    }

    fn under(&self, op: Op) -> impl Iterator<Item = Op> + '_ {
        let inner = self.func.op_regions(op).iter().flat_map(|&region| ops_under(self.func, region));
        std::iter::once(op).chain(inner)
    }

    /// May the group stay open past `op`, which makes no copies?
    fn passes(&self, op: Op, open: &Open) -> bool {
        let func = self.func;
        let touches = |inner: Op| {
            let places = effects::accesses(func, inner).into_iter().map(|(place, _)| effects::root_buffer(func, place));
            places.into_iter().any(|root| open.writes.iter().any(|write| write.root == root))
        };
        let is_quiet = effects::only_reads(func, op) && !func.row(op).terminator;
        (is_quiet && !self.under(op).any(touches)) || func.opcode(op) == tir::ALLOC
    }

    /// The statement `op` as a group of its own, if it does nothing but make copies that keep apart.
    fn producer(&mut self, op: Op) -> Option<Open> {
        let func = self.func;
        // Groups are of threads, which there are inside a launch.
        let has_launch = is_launch(func, op) || self.under(op).any(|inner| is_launch(func, inner));
        if has_launch && nest_of(func, op).is_none() {
            return None;
        }
        let (mut inside, mut loops) = (FxHashSet::default(), Vec::new());
        let mut copies = Vec::new();
        for inner in self.under(op) {
            inside.extend(func.results(inner));
            inside.extend(func.op_regions(inner).iter().flat_map(|&region| func.region_args(region)));
            if self.copies.contains(&inner) {
                copies.push(inner);
            } else if func.opcode(inner) == tir::FOR && func.n_results(inner) == 0 {
                let is_many = !is_launch(func, inner) && const_extent(func, inner).is_none_or(|extent| extent > 1);
                loops.extend(is_many.then_some(inner));
            } else if !is_quiet(func, inner) {
                return None;
            }
        }
        if copies.len() > MAX_COPIES {
            return None;
        }
        let facts = self.nests.facts(op);
        let mut writes: Vec<Access> = Vec::new();
        for &copy in &copies {
            for access in facts.accesses(copy) {
                if access.writes {
                    writes.push(access);
                }
            }
        }
        let reads_what_is_written =
            copies.iter().flat_map(|&copy| effects::accesses(func, copy)).any(|(place, access)| {
                access.reads() && writes.iter().any(|write| write.root == effects::root_buffer(func, place))
            });
        let stages = writes.first().and_then(|write| stages(func, write.root));
        let one_kind = writes.iter().all(|write| self::stages(func, write.root) == stages);
        let apart = one_kind && !reads_what_is_written && keep_apart(facts, &writes, &loops, &inside);
        let reads = |root: Value| {
            self.under(op).filter(|inner| !self.copies.contains(inner)).any(|inner| {
                let places = effects::accesses(func, inner).into_iter();
                places.map(|(place, _)| effects::root_buffer(func, place)).any(|read| read == root)
            })
        };
        (apart && !writes.iter().any(|write| reads(write.root))).then_some(Open { last: op, stages, writes, inside })
    }

    /// The two as one group, or the first one ended.
    fn joined(&mut self, open: Option<Open>, mut new: Open) -> Open {
        let Some(open) = open else { return new };
        new.inside.extend(open.inside);
        let facts = self.nests.facts(new.last);
        let fits = open.stages == new.stages && open.writes.len() + new.writes.len() <= MAX_COPIES;
        if !fits || open.writes.iter().any(|a| new.writes.iter().any(|b| overlap(facts, a, b, &new.inside))) {
            self.ends.push(open.last);
            return new;
        }
        new.writes.splice(0..0, open.writes);
        new
    }
}

/// Does `op` nothing beyond reading, but for what stands in it?
fn is_quiet(func: &Func, op: Op) -> bool {
    let is_guard = func.opcode(op) == tir::IF && func.n_results(op) == 0;
    is_guard || func.row(op).terminator || effects::only_reads(func, op)
}

/// Do no two copies, and no two iterations of the loops around them, write one cell?
fn keep_apart(facts: &mut NestFacts<'_>, writes: &[Access], loops: &[Op], inside: &FxHashSet<Value>) -> bool {
    let func = facts.func;
    writes.iter().enumerate().all(|(nth, a)| {
        let around = loops.iter().filter(|&&loop_op| tc_ir::walk::is_inside(func, a.op, loop_op));
        let vars: Vec<Value> = around.map(|&loop_op| crate::analysis::launch::loop_var(func, loop_op)).collect();
        let mut others = writes[..nth].iter();
        (vars.is_empty() || !depend(facts, a, a, &vars, inside)) && !others.any(|b| overlap(facts, a, b, inside))
    })
}

fn stages(func: &Func, buffer: Value) -> Option<i64> {
    func.def_op(buffer).and_then(|op| func.int_of(op, keys::STAGES)).filter(|&n| n > 1)
}
