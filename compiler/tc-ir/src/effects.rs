//! What ops do, told by their rows: through which operands they read and write, and whether they may be moved.

use crate::entity::{Op, Value};
use crate::func::Func;
use crate::opdef::{Access, ParamKind};
use crate::types::TypeData;
use crate::walk::{all_ops, ops_under};
use cranelift_entity::SecondaryMap;

/// What an op does, its regions included.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Summary {
    /// It reads memory.
    pub reads: bool,
    /// It writes memory.
    pub writes: bool,
    /// It makes a buffer.
    pub allocates: bool,
    /// It orders threads.
    pub synchronises: bool,
    /// Nobody knows.
    pub unknown: bool,
    /// It, or an op in it, is convergent.
    pub convergent: bool,
    /// All of it may run where the program would not have run it.
    pub speculatable: bool,
}

impl Summary {
    /// No effect at all?
    pub fn is_pure(self) -> bool {
        !self.reads && self.only_reads()
    }

    fn join(&mut self, other: Summary) {
        self.reads |= other.reads;
        self.writes |= other.writes;
        self.allocates |= other.allocates;
        self.synchronises |= other.synchronises;
        self.unknown |= other.unknown;
        self.convergent |= other.convergent;
        self.speculatable &= other.speculatable;
    }

    /// Nothing beyond reading?
    pub fn only_reads(self) -> bool {
        !(self.writes || self.allocates || self.synchronises || self.unknown || self.convergent)
    }
}

/// What `op` does, all in its regions included.
pub fn summary(func: &Func, op: Op) -> Summary {
    let mut sum = Summary { speculatable: true, ..Summary::default() };
    add(func, op, &mut sum);
    for &region in func.op_regions(op) {
        for inner in ops_under(func, region) {
            add(func, inner, &mut sum);
        }
    }
    sum
}

/// What each op of a function does, all in its regions included; made in one walk over all of them.
pub struct Summaries(SecondaryMap<Op, Summary>);

impl Summaries {
    /// The summaries of all ops of `func`.
    pub fn of(func: &Func) -> Summaries {
        let start = Summary { speculatable: true, ..Summary::default() };
        let mut sums = SecondaryMap::with_default(start);
        let ops: Vec<Op> = all_ops(func).collect();
        // What stands in an op comes after it.
        for &op in ops.iter().rev() {
            add(func, op, &mut sums[op]);
            if let Some(outer) = func.parent_op(op) {
                let inner = sums[op];
                sums[outer].join(inner);
            }
        }
        Summaries(sums)
    }
}

impl std::ops::Index<Op> for Summaries {
    type Output = Summary;

    fn index(&self, op: Op) -> &Summary {
        &self.0[op]
    }
}

fn add(func: &Func, op: Op, sum: &mut Summary) {
    let row = func.row(op);
    for param in row.params {
        if let ParamKind::Place(access) = param.kind {
            sum.reads |= access.reads();
            sum.writes |= access.writes();
        }
    }
    sum.allocates |= row.effect.allocates;
    sum.synchronises |= row.effect.synchronises;
    sum.unknown |= row.effect.unknown;
    sum.convergent |= row.effect.convergent;
    // An op that only does what its regions do, or ends them, is as speculatable as they are.
    sum.speculatable &= row.effect.speculatable || row.effect.regions || row.terminator;
}

/// May `op` be taken out when nothing uses its results?
pub fn is_removable(func: &Func, op: Op) -> bool {
    !func.row(op).terminator && summary(func, op).only_reads()
}

/// The places that `op` itself reads or writes, with how; its regions are not looked at.
pub fn accesses(func: &Func, op: Op) -> Vec<(Value, Access)> {
    let row = func.row(op);
    let mut list = Vec::new();
    func.for_each_param(op, row, |idx, at, n| {
        if let ParamKind::Place(access) = row.params[idx].kind
            && access != Access::None
        {
            list.extend(func.operands(op)[at..at + n].iter().map(|&place| (place, access)));
        }
    });
    list
}

/// The buffer behind a place: through references and views down to the alloc or the parameter.
pub fn root_buffer(func: &Func, mut place: Value) -> Value {
    // References never pass through region arguments or results, so the chain ends at a definition.
    while let Some(op) = func.def_op(place) {
        let is_step =
            matches!(func.row(op).params.first().map(|param| param.kind), Some(ParamKind::Place(Access::None)))
                && matches!(func.type_data(func.value_type(place)), TypeData::Ref { .. } | TypeData::Shaped { .. });
        if !is_step {
            break;
        }
        place = func.operand(op, 0);
    }
    place
}
