//! Walks over the ops of a function, in the order of the text.

use crate::entity::{Op, Region};
use crate::func::Func;

/// The ops in `region` and in all regions below it, an op before those in its own regions.
pub fn ops_under(func: &Func, region: Region) -> impl Iterator<Item = Op> + '_ {
    let mut next = func.first_op(region);
    std::iter::from_fn(move || {
        let op = next?;
        next = after(func, op, region);
        Some(op)
    })
}

/// The op after `op` in the walk over all that stands in the region `root`.
fn after(func: &Func, op: Op, root: Region) -> Option<Op> {
    let first = |regions: &[Region]| regions.iter().find_map(|&region| func.first_op(region));
    if let Some(inner) = first(func.op_regions(op)) {
        return Some(inner);
    }
    let mut at = op;
    loop {
        if let Some(next) = func.next_op(at) {
            return Some(next);
        }
        let region = func.region_of(at).filter(|&region| region != root)?;
        at = func.region_parent(region)?;
        let regions = func.op_regions(at);
        let nth = regions.iter().position(|&other| other == region)?;
        if let Some(inner) = first(&regions[nth + 1..]) {
            return Some(inner);
        }
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
