//! What differs between the iterations of a loop: the ops, values and buffers that depend on its variable.
//!
//! A pass that lets the iterations of a loop run in step, statement by statement, has to make these once for each
//! iteration, and all else once.

use rustc_hash::FxHashMap;
use tc_dialects::tir;
use tc_dialects::update::is_update;
use tc_ir::effects::{accesses, only_reads, root_buffer, summary};
use tc_ir::walk::ops_under;
use tc_ir::{EntitySet, Func, Op, Region, Value};

/// What depends on the variable of a loop.
#[derive(Default)]
pub(crate) struct Variance {
    values: EntitySet<Value>,
    buffers: EntitySet<Value>,
    ops: EntitySet<Op>,
    whole: EntitySet<Op>,
    /// What was added last may concern ops that were visited before.
    is_late: bool,
}

impl Variance {
    /// What depends on the variable of the loop `op`, through values, buffers and control flow.
    pub(crate) fn by(func: &Func, op: Op) -> Variance {
        let body = func.op_regions(op)[0];
        let mut variance = Variance::default();
        variance.add_values(func.region_args(body).iter().copied().take(1));
        // What is read late in one round of an inner loop may have been written early in the next.
        loop {
            variance.is_late = false;
            for inner in ops_under(func, body) {
                variance.visit(func, inner);
            }
            if !variance.is_late {
                return variance;
            }
        }
    }

    fn add_values(&mut self, values: impl Iterator<Item = Value>) {
        self.values.extend(values);
    }

    fn add_op(&mut self, op: Op, whole: bool) {
        self.ops.insert(op);
        if whole {
            self.whole.insert(op);
        }
    }

    /// Does `value` differ between iterations?
    pub(crate) fn value(&self, value: Value) -> bool {
        self.values.contains(value)
    }

    /// Does the content of the buffer differ between iterations?
    pub(crate) fn buffer(&self, root: Value) -> bool {
        self.buffers.contains(root)
    }

    /// Does what `op` does differ between iterations?
    pub(crate) fn op(&self, op: Op) -> bool {
        self.ops.contains(op)
    }

    fn visit(&mut self, func: &Func, op: Op) {
        let parent = func.parent_op(op);
        if func.row(op).terminator {
            return self.hand_on(func, op, parent);
        }
        let forced = parent.is_some_and(|parent| self.whole.contains(parent));
        let has_buffers = !self.buffers.is_empty();
        let reads = || {
            has_buffers && accesses(func, op).iter().any(|&(place, _)| self.buffers.contains(root_buffer(func, place)))
        };
        let refers = || {
            matches!(func.opcode(op), tir::REF | tir::REGION | tir::VIEW)
                && self.buffers.contains(root_buffer(func, func.operand(op, 0)))
        };
        let by_operand = func.operands(op).iter().any(|&operand| self.values.contains(operand));
        // Everything under an op that is made for each iteration is made with it. An update that is made once is not as good as
        // one for each, as a store of one value is.
        if !(forced || by_operand || is_update(func, op) || reads() || refers() || self.whole.contains(op)) {
            return;
        }
        self.add_op(op, !func.op_regions(op).is_empty());
        if func.opcode(op) == tir::FOR {
            self.add_values(func.region_args(func.op_regions(op)[0]).iter().copied());
        }
        // A buffer is no value of its own: its content is told apart from it.
        if func.opcode(op) != tir::ALLOC {
            self.add_values(func.results(op));
        }
        for (place, _) in accesses(func, op).into_iter().filter(|(_, access)| access.writes()) {
            self.is_late |= self.buffers.insert(root_buffer(func, place));
        }
    }

    /// What a region hands on becomes a result, and what a loop carries, an argument.
    fn hand_on(&mut self, func: &Func, end: Op, parent: Option<Op>) {
        let Some(parent) = parent else { return };
        if func.operands(end).iter().any(|&value| self.values.contains(value)) && func.n_results(parent) > 0 {
            // All that was visited in it is made with it.
            self.is_late |= !self.whole.contains(parent);
            self.add_op(parent, true);
            self.add_values(func.results(parent));
        }
    }

    /// The loop-variant ops under `region` in groups that are made together: a statement with what it is computed from. Those
    /// of outer regions come first; a value is made before its users. What lies under an op that is made as a whole is
    /// part of it.
    pub(crate) fn groups(&self, func: &Func, region: Region) -> Vec<Vec<Op>> {
        let mut groups = Vec::new();
        let mut regions = vec![region];
        let mut next = 0;
        while let Some(&region) = regions.get(next) {
            next += 1;
            let mut open: Vec<Op> = Vec::new();
            let mut reads = false;
            for op in func.ops(region).filter(|&op| !func.row(op).terminator) {
                if self.op(op) {
                    let summary = summary(func, op);
                    open.push(op);
                    reads |= summary.reads;
                    if !summary.only_reads() {
                        groups.push(std::mem::take(&mut open));
                        reads = false;
                    }
                    continue;
                }
                let inner: Vec<Region> =
                    func.op_regions(op).iter().copied().filter(|&inner| self.any_under(func, inner)).collect();
                // A read stays on its side of a write, and a value before the region that uses it.
                if !open.is_empty() && (!inner.is_empty() || (reads && !only_reads(func, op))) {
                    groups.push(std::mem::take(&mut open));
                    reads = false;
                }
                regions.extend(inner);
            }
            if !open.is_empty() {
                groups.push(open);
            }
        }
        groups
    }

    fn any_under(&self, func: &Func, region: Region) -> bool {
        ops_under(func, region).any(|op| self.op(op))
    }

    /// The groups of which no loop can be made: they hand values to others, or take some that cannot be computed again.
    pub(crate) fn tied(&self, func: &Func, groups: &[Vec<Op>]) -> Vec<bool> {
        let mut group_of: FxHashMap<Op, usize> = FxHashMap::default();
        for (nth, group) in groups.iter().enumerate() {
            for &op in group {
                group_of.insert(op, nth);
                for inner in func.op_regions(op).iter().flat_map(|&region| ops_under(func, region)) {
                    group_of.insert(inner, nth);
                }
            }
        }
        let mut tied = vec![false; groups.len()];
        let mut again: FxHashMap<Op, bool> = FxHashMap::default();
        let mut members: Vec<(Op, usize)> = group_of.iter().map(|(&op, &nth)| (op, nth)).collect();
        members.sort_unstable();
        for (op, nth) in members {
            for def in func.operands(op).iter().filter_map(|&operand| func.def_op(operand)) {
                let Some(&home) = group_of.get(&def) else { continue };
                if home != nth && !self.again(func, def, &mut again) {
                    (tied[home], tied[nth]) = (true, true);
                }
            }
        }
        tied
    }

    /// Can what `op` gives be computed at another place from the variable and what is loop-invariant?
    pub(crate) fn computed_again(&self, func: &Func, op: Op) -> bool {
        self.again(func, op, &mut FxHashMap::default())
    }

    fn again(&self, func: &Func, op: Op, known: &mut FxHashMap<Op, bool>) -> bool {
        let mut worklist = vec![op];
        while let Some(&at) = worklist.last() {
            if known.contains_key(&at) {
                worklist.pop();
                continue;
            }
            let pure = func.op_regions(at).is_empty() && summary(func, at).is_pure();
            let defs = func.operands(at).iter().filter_map(|&operand| func.def_op(operand));
            let inputs: Vec<Op> = defs.filter(|&def| self.op(def)).collect();
            let missing: Vec<Op> = inputs.iter().copied().filter(|input| !known.contains_key(input)).collect();
            if pure && !missing.is_empty() {
                worklist.extend(missing);
                continue;
            }
            known.insert(at, pure && inputs.iter().all(|input| known[input]));
            worklist.pop();
        }
        known[&op]
    }
}
