//! Walks over the ops of a function, in the order of the text.

use crate::entity::{Op, Region};
use crate::func::Func;
use smallvec::SmallVec;

/// The ops in `region` and in all regions below it, an op before those in its own regions.
pub fn ops_under(func: &Func, region: Region) -> impl Iterator<Item = Op> + '_ {
    Walk { func, next: func.first_op(region), around: SmallVec::new() }
}

/// A walk in the order of the text. Passes walk whole functions over and over, and most ops have no regions: where to go
/// on after a region is kept, so that it need not be looked for.
struct Walk<'f> {
    func: &'f Func,
    next: Option<Op>,
    /// The ops around, outermost first, each with those of its regions that are still to come.
    around: SmallVec<[(Op, &'f [Region]); 8]>,
}

impl Iterator for Walk<'_> {
    type Item = Op;

    #[inline]
    fn next(&mut self) -> Option<Op> {
        let op = self.next?;
        let regions = self.func.op_regions(op);
        self.next = if regions.is_empty() { self.func.next_op(op) } else { self.enter(op, regions) };
        if self.next.is_none() {
            self.next = self.leave();
        }
        Some(op)
    }
}

impl<'f> Walk<'f> {
    /// The first op in `regions` of `op`; where they are empty, the one after `op`.
    fn enter(&mut self, op: Op, regions: &'f [Region]) -> Option<Op> {
        for (nth, &region) in regions.iter().enumerate() {
            if let Some(first) = self.func.first_op(region) {
                self.around.push((op, &regions[nth + 1..]));
                return Some(first);
            }
        }
        self.func.next_op(op)
    }

    /// The op after the region that ends here.
    fn leave(&mut self) -> Option<Op> {
        while let Some((op, regions)) = self.around.pop() {
            let next = self.enter(op, regions);
            if next.is_some() {
                return next;
            }
        }
        None
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
