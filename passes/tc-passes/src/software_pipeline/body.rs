//! The statements of a loop body: what each does to memory, and what the values that it takes are computed from.

use super::phases::Stays;
use crate::analysis::access::Access;
use crate::analysis::loop_carried::{self, NestByNest};
use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};
use tc_dialects::{forms, tir};
use tc_ir::verify::has_flag;
use tc_ir::walk::{is_inside, ops_under};
use tc_ir::{Def, Func, Op, Region, Value, effects, keys};

/// What a statement does to memory, all in its regions included.
#[derive(Default)]
pub(super) struct Touches {
    /// The buffers read, each with an op that does.
    pub(super) reads: Vec<(Value, Op)>,
    pub(super) writes: Vec<(Value, Op)>,
}

impl Touches {
    fn of(func: &Func, statement: Op) -> Touches {
        let mut touches = Touches::default();
        for op in under(func, statement) {
            for (place, access) in effects::accesses(func, op) {
                let root = effects::root_buffer(func, place);
                if access.reads() && touches.reads.iter().all(|&(seen, _)| seen != root) {
                    touches.reads.push((root, op));
                }
                if access.writes() && touches.writes.iter().all(|&(seen, _)| seen != root) {
                    touches.writes.push((root, op));
                }
            }
        }
        touches
    }

    /// The buffers read or written.
    pub(super) fn buffers(&self) -> impl Iterator<Item = Value> + '_ {
        self.reads.iter().chain(&self.writes).map(|&(buffer, _)| buffer)
    }
}

/// Statements, with the ops of the same body that compute the values they take.
#[derive(Default)]
pub(super) struct Slice {
    pub(super) ops: FxHashSet<Op>,
    /// Who takes a value that the loop carries, and that value.
    pub(super) carried: Vec<(Op, Value)>,
    /// Who takes a value of an op that does more than read, and that op.
    pub(super) computed: Vec<(Op, Op)>,
}

/// A loop on its way to being divided.
pub(super) struct Body<'f> {
    pub(super) func: &'f Func,
    pub(super) loop_op: Op,
    pub(super) region: Region,
    /// The statements of the body, and the values between them.
    pub(super) ops: Vec<Op>,
    /// The buffers that get versions.
    pub(super) staged: Vec<Value>,
    touches: FxHashMap<Op, Touches>,
}

impl<'f> Body<'f> {
    pub(super) fn new(func: &'f Func, loop_op: Op, ops: Vec<Op>, staged: Vec<Value>) -> Body<'f> {
        let touches = ops.iter().map(|&op| (op, Touches::of(func, op))).collect();
        Body { func, loop_op, region: func.op_regions(loop_op)[0], ops, staged, touches }
    }

    /// What the statement `op` of the body does.
    pub(super) fn touches(&self, op: Op) -> &Touches {
        &self.touches[&op]
    }

    /// Is the buffer made in the body of the loop?
    pub(super) fn is_inner(&self, buffer: Value) -> bool {
        self.func
            .def_op(buffer)
            .is_some_and(|def| self.func.opcode(def) == tir::ALLOC && is_inside(self.func, def, self.loop_op))
    }

    /// Is the buffer made in the body of the loop, and one for all iterations once the allocs stand before it?
    pub(super) fn is_shared_by_iterations(&self, buffer: Value) -> bool {
        !self.staged.contains(&buffer) && self.is_inner(buffer)
    }

    /// The statements that write a staged buffer, and those that fill a buffer of the body on the way to one; without
    /// those that stay where they are, and what is on the way to these alone.
    pub(super) fn writers(&self, stays: &Stays) -> IndexSet<Op> {
        let mut wanted: FxHashSet<Value> = self.staged.iter().copied().collect();
        let mut writers: FxHashSet<Op> = FxHashSet::default();
        let candidates: Vec<Op> = self.ops.iter().copied().filter(|op| !stays.contains_key(op)).collect();
        loop {
            let before = writers.len();
            for &op in &candidates {
                if self.touches(op).writes.iter().any(|(buffer, _)| wanted.contains(buffer)) && writers.insert(op) {
                    let reads = self.slice([op]).ops.into_iter().flat_map(|op| &self.touches(op).reads);
                    wanted.extend(reads.map(|&(buffer, _)| buffer).filter(|&buffer| self.is_inner(buffer)));
                }
            }
            if writers.len() == before {
                break;
            }
        }
        self.ops.iter().copied().filter(|op| writers.contains(op)).collect()
    }

    /// The statements `roots`, and what computes the values they take in the same body, as far as that only reads.
    pub(super) fn slice(&self, roots: impl IntoIterator<Item = Op>) -> Slice {
        let func = self.func;
        let mut slice = Slice { ops: roots.into_iter().collect(), ..Slice::default() };
        let mut worklist: Vec<Op> = self.ops.iter().copied().filter(|op| slice.ops.contains(op)).collect();
        let mut told: FxHashSet<Value> = FxHashSet::default();
        while let Some(op) = worklist.pop() {
            for user in under(func, op) {
                for &value in func.operands(user) {
                    match func.def(value) {
                        Def::Arg(region, idx) if region == self.region && idx > 0 && told.insert(value) => {
                            slice.carried.push((user, value));
                        }
                        Def::Result(def, _)
                            if func.region_of(def) == Some(self.region)
                                && func.opcode(def) != tir::ALLOC
                                && !slice.ops.contains(&def) =>
                        {
                            if effects::only_reads(func, def) {
                                slice.ops.insert(def);
                                worklist.push(def);
                            } else if told.insert(value) {
                                slice.computed.push((user, def));
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
        slice
    }

    /// The ops of `ahead` that hand values to the other statements as well.
    pub(super) fn used_by_the_rest(&self, ahead: impl Fn(Op) -> bool) -> FxHashSet<Op> {
        let func = self.func;
        let mut used = FxHashSet::default();
        let rest = self.ops.iter().copied().filter(|&op| !ahead(op));
        let mut worklist: Vec<Op> = rest.chain(func.terminator(self.region)).collect();
        while let Some(op) = worklist.pop() {
            let operands = under(func, op).flat_map(|user| func.operands(user));
            let defs = operands.filter_map(|&value| func.def_op(value));
            let defs = defs.filter(|&def| func.region_of(def) == Some(self.region) && ahead(def));
            worklist.extend(defs.filter(|&def| used.insert(def)));
        }
        used
    }

    /// Where one of `others`, or the end of the body, uses a result of the statement `op`.
    pub(super) fn user_of_results(&self, op: Op, others: impl Fn(Op) -> bool) -> Option<Op> {
        let func = self.func;
        let results: Vec<Value> = func.results(op).collect();
        let uses = |user: &Op| func.operands(*user).iter().any(|value| results.contains(value));
        let rest = self.ops.iter().copied().filter(|&other| other != op && others(other));
        rest.chain(func.terminator(self.region)).find_map(|other| under(func, other).find(|user| uses(user)))
    }

    /// May the statements `first` and `second` write one element of `buffer` in one iteration?
    pub(super) fn both_write(&self, first: Op, second: Op, buffer: Value) -> bool {
        let func = self.func;
        let mut nests = NestByNest::new(func);
        let facts = nests.facts(self.loop_op);
        let mut inside: FxHashSet<Value> = FxHashSet::default();
        let mut writes: [Vec<Access>; 2] = Default::default();
        for (statement, writes) in [first, second].into_iter().zip(&mut writes) {
            for op in under(func, statement) {
                inside.extend(func.results(op));
                inside.extend(func.op_regions(op).iter().flat_map(|&region| func.region_args(region)));
                writes
                    .extend(facts.all_accesses(op).into_iter().filter(|access| access.writes && access.root == buffer));
            }
        }
        let [first, second] = &writes;
        first.iter().any(|one| second.iter().any(|other| loop_carried::overlap(facts, one, other, &inside)))
    }

    /// The buffers that get versions, for a message.
    pub(super) fn names(&self) -> String {
        let names: Vec<String> =
            self.staged.iter().map(|&buffer| format!("`{}`", self.func.value_text(buffer))).collect();
        names.join(", ")
    }

    /// May the two be one buffer?
    pub(super) fn may_be(&self, a: Value, b: Value) -> bool {
        let func = self.func;
        let unsure = |value: Value| func.def_op(value).is_none() && forms::is_global(func, value);
        a == b || (unsure(a) && unsure(b) && !has_flag(func, func.header.attrs, keys::NOALIAS))
    }
}

/// `op`, and what stands in it.
pub(super) fn under(func: &Func, op: Op) -> impl Iterator<Item = Op> + '_ {
    std::iter::once(op).chain(func.op_regions(op).iter().flat_map(|&region| ops_under(func, region)))
}
