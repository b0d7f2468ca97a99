//! What ops do, told by their rows: through which operands they read and write, and whether they may be moved.

use crate::entity::{Op, Value};
use crate::func::{Def, Func};
use crate::opdef::{Access, OpDef, Param, ParamKind};
use crate::types::TypeData;
use crate::walk::{all_ops, ops_under};
use cranelift_entity::SecondaryMap;
use smallvec::SmallVec;

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
    /// Not known.
    pub unknown: bool,
    /// It, or an op in it, is convergent.
    pub convergent: bool,
    /// All of it may run where the program would not have run it.
    pub speculatable: bool,
}

impl Summary {
    /// What an op does that has no row.
    pub(crate) const UNKNOWN: Summary = Summary {
        reads: false,
        writes: false,
        allocates: false,
        synchronises: false,
        unknown: true,
        convergent: false,
        speculatable: false,
    };

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
    let mut sum = own(func, op);
    for &region in func.op_regions(op) {
        for inner in ops_under(func, region) {
            sum.join(own(func, inner));
        }
    }
    sum
}

/// Does `op`, all in its regions included, nothing beyond reading? Of an op that does, the first thing found is enough.
pub fn only_reads(func: &Func, op: Op) -> bool {
    own(func, op).only_reads()
        && func.op_regions(op).iter().all(|&region| ops_under(func, region).all(|inner| own(func, inner).only_reads()))
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
            let own = own(func, op);
            sums[op].join(own);
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

/// What `op` does apart from its regions.
#[inline]
pub fn own(func: &Func, op: Op) -> Summary {
    let facts = func.registry().facts(func.opcode(op));
    if facts.divides && func.operands(op).get(1).is_some_and(|&by| is_positive(func, by)) {
        return Summary { speculatable: true, ..facts.effects };
    }
    facts.effects
}

/// Is `value` a positive number, or a size whose range begins at one?
fn is_positive(func: &Func, value: Value) -> bool {
    if let Some(number) = func.const_int(value) {
        return number > 0;
    }
    let Def::Arg(region, idx) = func.def(value) else { return false };
    let symbol = func.header.symbols.get(idx).filter(|_| region == func.body());
    symbol.and_then(|symbol| func.as_int(symbol.range?.0)).is_some_and(|low| low > 0)
}

/// What an op of the row `row` does apart from its regions.
pub(crate) fn of_row(row: &OpDef) -> Summary {
    let places = || {
        row.params
            .iter()
            .filter_map(|param| if let ParamKind::Place(access) = param.kind { Some(access) } else { None })
    };
    Summary {
        reads: places().any(Access::reads),
        writes: places().any(Access::writes),
        allocates: row.effect.allocates,
        synchronises: row.effect.synchronises,
        unknown: row.effect.unknown,
        convergent: row.effect.convergent,
        // An op that only does what its regions do, or ends them, is as speculatable as they are.
        speculatable: row.effect.speculatable || row.effect.regions || row.terminator,
    }
}

/// May `op` be taken out when nothing uses its results?
pub fn is_removable(func: &Func, op: Op) -> bool {
    !func.row(op).terminator && only_reads(func, op)
}

/// The places that `op` itself reads or writes, with how; its regions are not looked at.
pub fn accesses(func: &Func, op: Op) -> SmallVec<[(Value, Access); 2]> {
    let facts = func.registry().facts(func.opcode(op));
    let mut list = SmallVec::new();
    if !facts.effects.reads && !facts.effects.writes {
        return list;
    }
    if let Some(access) = facts.first_place {
        list.extend(func.operands(op).first().map(|&place| (place, access)));
        return list;
    }
    let row = func.row(op);
    func.for_each_param(op, row, |idx, at, n| {
        if let Some(access) = accessed(&row.params[idx]) {
            list.extend(func.operands(op)[at..at + n].iter().map(|&place| (place, access)));
        }
    });
    list
}

/// How an op accesses the place at `param`, if it does.
fn accessed(param: &Param) -> Option<Access> {
    match param.kind {
        ParamKind::Place(access) if access != Access::None => Some(access),
        _ => None,
    }
}

/// How an op of the row `row` accesses the place that is its first operand, where it always has that and accesses no other.
pub(crate) fn of_first_place(row: &OpDef) -> Option<Access> {
    let mut operands = row.params.iter().filter(|param| param.kind.is_operand());
    let first = operands.next().filter(|first| !first.keyed && !first.optional)?;
    accessed(first).filter(|_| operands.all(|other| accessed(other).is_none()))
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
