//! What is kept of ops, values and regions.

use crate::entity::{Attrs, Loc, Name, Op, Region, Type, Value};
use crate::opdef::Opcode;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityList, EntityRef};

/// Where an op comes from: the operator's text, and the schedule directive that put it there.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Locs {
    /// The operator's, or the program's own.
    pub source: Loc,
    /// The directive's.
    pub directive: Loc,
}

/// What an op is.
#[derive(Clone, Debug)]
pub(crate) struct OpData {
    pub(crate) opcode: Opcode,
    pub(crate) n_results: u16,
    /// Bit k is set if the k-th keyed operand parameter of the row is given.
    pub(crate) keyed: u16,
    /// How many operands there are; [`MANY`] where their number does not fit, and stands in front of them.
    pub(crate) n_operands: u16,
    /// Where in the function's list of operands they begin.
    pub(crate) operands: u32,
    pub(crate) regions: EntityList<Region>,
    /// Results have consecutive numbers.
    pub(crate) first_result: PackedOption<Value>,
    pub(crate) attrs: Attrs,
    pub(crate) locs: Locs,
}

/// The number of operands from which on it is written in front of them.
pub(super) const MANY: u16 = u16::MAX;

impl OpData {
    /// An op without operands, results, regions and attributes.
    pub(crate) fn new(opcode: Opcode, locs: Locs) -> OpData {
        OpData {
            opcode,
            n_results: 0,
            keyed: 0,
            n_operands: 0,
            operands: 0,
            regions: EntityList::new(),
            first_result: None.into(),
            attrs: Attrs::EMPTY,
            locs,
        }
    }

    /// The results.
    #[inline]
    pub(crate) fn results(&self) -> impl ExactSizeIterator<Item = Value> + DoubleEndedIterator + Clone + use<> {
        let first = self.first_result.expand().map_or(0, |value| value.index());
        (first..first + usize::from(self.n_results)).map(Value::new)
    }

    /// Where the operands stand in the list of all.
    pub(super) fn operand_range(&self, all: &[Value]) -> std::ops::Range<usize> {
        let start = self.operands as usize;
        match self.n_operands {
            MANY => start + 1..start + 1 + all[start].index(),
            n => start..start + usize::from(n),
        }
    }
}

/// Where an op stands.
#[derive(Clone, Default, Debug)]
pub(crate) struct Place {
    pub(crate) parent: PackedOption<Region>,
    pub(crate) prev: PackedOption<Op>,
    pub(crate) next: PackedOption<Op>,
}

#[derive(Clone, Debug)]
pub(crate) struct ValueData {
    pub(crate) ty: Type,
    pub(crate) name: PackedOption<Name>,
    pub(crate) n_uses: u32,
    /// The number of the defining op, or that of the region and [`ARG`].
    pub(super) def: u32,
}

/// Marks the region of an argument: there is no memory for so many ops that their numbers would reach it.
pub(super) const ARG: u32 = 1 << 31;

#[derive(Clone, Default, Debug)]
pub(crate) struct RegionData {
    pub(crate) parent: PackedOption<Op>,
    pub(crate) args: EntityList<Value>,
    pub(crate) first: PackedOption<Op>,
    pub(crate) last: PackedOption<Op>,
}

/// What defines a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Def {
    /// The n-th result of an op.
    Result(Op, usize),
    /// The n-th argument of a region.
    Arg(Region, usize),
}
