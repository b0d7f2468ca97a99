//! Walks over the ops of a function, in the order of the text.

use crate::entity::{Op, Region};
use crate::func::Func;

/// The ops in `region` and in all regions below it, an op before those in its own regions.
pub fn ops_under(func: &Func, region: Region) -> impl Iterator<Item = Op> + '_ {
    Walk { func, next: func.first_op(region), root: region }
}

/// A walk in the order of the text. Passes begin many, most of them short: nothing is kept but where the walk is.
struct Walk<'f> {
    func: &'f Func,
    next: Option<Op>,
    root: Region,
}

impl Iterator for Walk<'_> {
    type Item = Op;

    #[inline]
    fn next(&mut self) -> Option<Op> {
        let op = self.next?;
        // Most ops have no regions, and are not the last of theirs.
        let next = if self.func.op_regions(op).is_empty() { self.func.next_op(op) } else { None };
        self.next = next.or_else(|| self.turn(op));
        Some(op)
    }
}

impl Walk<'_> {
    /// The op after `op` where that stands in another region, or `op` has regions.
    fn turn(&self, op: Op) -> Option<Op> {
        let func = self.func;
        let into = |regions: &[Region]| regions.iter().find_map(|&region| func.first_op(region));
        let mut next = into(func.op_regions(op)).or_else(|| func.next_op(op));
        let mut at = op;
        while next.is_none() {
            let region = func.region_of(at).filter(|&region| region != self.root)?;
            at = func.region_parent(region)?;
            let regions = func.op_regions(at);
            let nth = regions.iter().position(|&other| other == region)?;
            next = into(&regions[nth + 1..]).or_else(|| func.next_op(at));
        }
        next
    }
}

/// The ops of a region between two that stay where they are, with all below them: the place of an op that may be replaced.
#[derive(Clone, Copy)]
pub struct OpRange {
    region: Region,
    before: Option<Op>,
    after: Option<Op>,
}

impl OpRange {
    /// All of the function.
    pub fn whole(func: &Func) -> OpRange {
        OpRange { region: func.body(), before: None, after: None }
    }

    /// The place of `op`, which stands in a region.
    pub fn at(func: &Func, op: Op) -> OpRange {
        let region = func.region_of(op).expect("an op that was taken out has no place");
        OpRange { region, before: func.prev_op(op), after: func.next_op(op) }
    }

    /// The first op of it.
    pub fn first(self, func: &Func) -> Option<Op> {
        let first = match self.before {
            Some(before) => func.next_op(before),
            None => func.first_op(self.region),
        };
        first.filter(|&op| Some(op) != self.after)
    }

    /// The op behind `op` in its region, as far as that is part of it.
    pub fn next(self, func: &Func, op: Op) -> Option<Op> {
        func.next_op(op).filter(|&next| Some(next) != self.after)
    }

    /// The ops of it and in all regions below, an op before those in its own regions.
    pub fn ops(self, func: &Func) -> impl Iterator<Item = Op> + '_ {
        let tops = std::iter::successors(self.first(func), move |&op| self.next(func, op));
        tops.flat_map(move |op| {
            let inner = func.op_regions(op).iter().flat_map(move |&region| ops_under(func, region));
            std::iter::once(op).chain(inner)
        })
    }
}

/// All ops of `func`, an op before those in its regions.
pub fn all_ops(func: &Func) -> impl Iterator<Item = Op> + '_ {
    ops_under(func, func.body())
}

/// The number of ops in `func`.
pub fn n_ops(func: &Func) -> usize {
    all_ops(func).count()
}

/// The ops around `op`, innermost first.
pub fn ancestors(func: &Func, op: Op) -> impl Iterator<Item = Op> + '_ {
    std::iter::successors(func.parent_op(op), |&op| func.parent_op(op))
}

/// Is `op` inside one of the regions of `outer`, however deep?
pub fn is_inside(func: &Func, op: Op, outer: Op) -> bool {
    ancestors(func, op).any(|ancestor| ancestor == outer)
}
