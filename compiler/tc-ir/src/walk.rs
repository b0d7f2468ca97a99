//! Walks over the ops of a function, in the order of the text.

use crate::entity::{Op, Region};
use crate::func::Func;

/// The ops in `region` and in all regions below it, an op before those in its own regions.
pub fn ops_under(func: &Func, region: Region) -> impl Iterator<Item = Op> + '_ {
    let mut pending: Vec<Op> = func.first_op(region).into_iter().collect();
    std::iter::from_fn(move || {
        let op = pending.pop()?;
        pending.extend(func.next_op(op));
        pending.extend(func.op_regions(op).iter().rev().filter_map(|&region| func.first_op(region)));
        Some(op)
    })
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
