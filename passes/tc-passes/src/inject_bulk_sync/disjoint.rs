//! Do copies write different elements of a tensor?
//!
//! Copies that one thread begins are not ordered with each other: two that write one element would leave either value.

use crate::analysis::launch::loop_var;
use rustc_hash::FxHashSet;
use tc_arith::{Expr, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::{tir, tma};
use tc_ir::effects::root_buffer;
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op, Value};

/// At most so many boxes are told apart.
const MAX_BOXES: i64 = 1 << 17;

/// The box of a tensor that a copy writes.
struct Written {
    tensor: Value,
    sides: Vec<i64>,
    starts: Vec<Expr>,
}

/// What `stores` write; `None` where it is no dense box at indices.
fn written(func: &Func, algebra: &mut Algebra, stores: &[Op]) -> Option<Vec<Written>> {
    let of_store = |&store: &Op| {
        let [_, boxed] = tma::sides(func, store);
        let map = tma::map_of(func, boxed)?;
        let (sides, steps) = (tma::box_extents(func, map)?, tma::box_steps(func, map)?);
        let region = func.def_op(boxed).filter(|&op| func.opcode(op) == tir::REGION)?;
        let starts: Vec<Expr> = func.operands(region)[1..].iter().map(|&start| algebra.expr(func, start)).collect();
        let is_dense = starts.len() == sides.len() && steps.iter().all(|&step| step == 1);
        is_dense.then(|| Written { tensor: root_buffer(func, boxed), sides, starts })
    };
    stores.iter().map(of_store).collect()
}

/// Are the boxes that `stores`, which stand in one region, write all different ones, of all iterations and threads? They are
/// tried one by one, and what cannot be tried is not known.
pub(super) fn are_always(func: &Func, stores: &[Op]) -> bool {
    let Some(&first) = stores.first() else { return true };
    let mut algebra = Algebra::of_func(func);
    let Some(boxes) = written(func, &mut algebra, stores) else { return false };
    let mut loops: Vec<(Var, i64)> = Vec::new();
    for op in ancestors(func, first).filter(|&op| func.opcode(op) == tir::FOR) {
        let from_zero = func.const_int(func.operand(op, 0)) == Some(0);
        let Some(extent) = const_extent(func, op).filter(|_| from_zero) else { return false };
        loops.push((Algebra::var(loop_var(func, op)), extent));
    }
    let n_points = loops.iter().try_fold(1i64, |n, &(_, extent)| n.checked_mul(extent));
    let Some(n_points) = n_points.filter(|&n| n.saturating_mul(boxes.len() as i64) <= MAX_BOXES) else { return false };
    let pool = &algebra.analyzer.pool;
    let is_known = |var: Var| loops.iter().any(|&(known, _)| known == var);
    // Boxes of one size that start at multiples of it overlap only where they are the same.
    let alike = |one: &Written| boxes.iter().all(|other| other.tensor != one.tensor || other.sides == one.sides);
    let starts = || boxes.iter().flat_map(|one| &one.starts);
    if !boxes.iter().all(alike) || !starts().all(|&start| pool.vars(start).into_iter().all(is_known)) {
        return false;
    }
    let mut seen: FxHashSet<(Value, Vec<i64>)> = FxHashSet::default();
    boxes.iter().all(|one| {
        let mut evaluation = pool.evaluation(&one.starts);
        (0..n_points).all(|point| {
            let value_of = |var: Var| {
                let mut rest = point;
                for &(known, extent) in &loops {
                    if known == var {
                        return rest % extent;
                    }
                    rest /= extent;
                }
                0
            };
            let starts: Option<Vec<i64>> = evaluation.at(value_of).collect();
            starts.is_some_and(|starts| {
                starts.iter().zip(&one.sides).all(|(start, side)| start % side == 0)
                    && seen.insert((one.tensor, starts))
            })
        })
    })
}

/// The same of one iteration and thread: any two boxes of a tensor are apart along a side, wherever they start.
pub(super) fn are_at_once(func: &Func, stores: &[Op]) -> bool {
    let mut algebra = Algebra::of_func(func);
    let Some(boxes) = written(func, &mut algebra, stores) else { return false };
    let analyzer = &mut algebra.analyzer;
    let mut are_apart = |one: &Written, other: &Written| {
        (0..one.sides.len().min(other.sides.len())).any(|dim| {
            let distance = analyzer.pool.sub(one.starts[dim], other.starts[dim]);
            let distance = analyzer.simplify(distance);
            let distance = analyzer.pool.as_const(distance);
            distance.is_some_and(|distance| distance >= other.sides[dim] || -distance >= one.sides[dim])
        })
    };
    let mut pairs = boxes.iter().enumerate().flat_map(|(nth, one)| boxes[..nth].iter().map(move |other| (one, other)));
    pairs.all(|(one, other)| one.tensor != other.tensor || are_apart(one, other))
}
