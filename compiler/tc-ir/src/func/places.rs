//! Places: which region an op stands in, what stands before and after it.

use super::Func;
use crate::entity::{Op, Region, Value};

impl Func {
    /// The region that `op` stands in; `None` if it was taken out.
    #[inline]
    pub fn region_of(&self, op: Op) -> Option<Region> {
        self.places[op].parent.expand()
    }

    /// The op whose region `op` stands in; `None` at the top of the body.
    #[inline]
    pub fn parent_op(&self, op: Op) -> Option<Op> {
        self.region_parent(self.region_of(op)?)
    }

    /// The op that `region` belongs to; `None` for the body.
    #[inline]
    pub fn region_parent(&self, region: Region) -> Option<Op> {
        self.regions[region].parent.expand()
    }

    /// The arguments of `region`.
    #[inline]
    pub fn region_args(&self, region: Region) -> &[Value] {
        self.regions[region].args.as_slice(&self.value_lists)
    }

    /// The first op of `region`.
    #[inline]
    pub fn first_op(&self, region: Region) -> Option<Op> {
        self.regions[region].first.expand()
    }

    /// The last op of `region`.
    #[inline]
    pub fn last_op(&self, region: Region) -> Option<Op> {
        self.regions[region].last.expand()
    }

    /// The op after `op` in its region.
    #[inline]
    pub fn next_op(&self, op: Op) -> Option<Op> {
        self.places[op].next.expand()
    }

    /// The op before `op` in its region.
    #[inline]
    pub fn prev_op(&self, op: Op) -> Option<Op> {
        self.places[op].prev.expand()
    }

    /// The ops of `region` in order.
    #[inline]
    pub fn ops(&self, region: Region) -> impl Iterator<Item = Op> + Clone + '_ {
        std::iter::successors(self.first_op(region), |&op| self.next_op(op))
    }

    /// The op that ends `region`, if one does.
    #[inline]
    pub fn terminator(&self, region: Region) -> Option<Op> {
        self.last_op(region).filter(|&op| self.row(op).terminator)
    }

    /// What the op that ends `region` hands on.
    #[inline]
    pub fn yielded(&self, region: Region) -> &[Value] {
        self.terminator(region).map_or(&[], |op| self.operands(op))
    }
}
