//! Do copies write different elements of a tensor, in all iterations and of all threads?
//!
//! Copies that one thread begins are not ordered with each other: two that write one element would leave either value.

use crate::analysis::launch::loop_var;
use rustc_hash::FxHashSet;
use tc_arith::{Expr, Var};
use tc_dialects::algebra::{Algebra, const_extent};
use tc_dialects::{tir, tma};
use tc_ir::effects::root_buffer;
use tc_ir::walk::ancestors;
use tc_ir::{Func, Op};

/// At most so many boxes are told apart.
const MAX_BOXES: i64 = 1 << 17;

/// Are all boxes that `stores`, which stand in one region, write to a tensor different ones, and none in part? With `once`
/// those of one iteration and thread are meant. What is not known is not.
pub(super) fn are_disjoint(func: &Func, stores: &[Op], once: bool) -> bool {
    let Some(&first) = stores.first() else { return true };
    let loops: Vec<Op> = ancestors(func, first).filter(|&op| func.opcode(op) == tir::FOR).collect();
    let mut algebra = Algebra::of_func(func);
    let mut boxes: Vec<(tc_ir::Value, Vec<i64>, Vec<Expr>)> = Vec::new();
    for &store in stores {
        let [_, boxed] = tma::sides(func, store);
        let Some(map) = tma::map_of(func, boxed) else { return false };
        let (Some(sides), Some(steps)) = (tma::box_extents(func, map), tma::box_steps(func, map)) else { return false };
        let Some(region) = func.def_op(boxed).filter(|&op| func.opcode(op) == tir::REGION) else { return false };
        let starts: Vec<Expr> = func.operands(region)[1..].iter().map(|&start| algebra.expr(func, start)).collect();
        if starts.len() != sides.len() || steps.iter().any(|&step| step != 1) {
            return false;
        }
        boxes.push((root_buffer(func, boxed), sides, starts));
    }
    let mut vars: Vec<Var> = boxes.iter().flat_map(|(_, _, starts)| starts).fold(Vec::new(), |mut vars, &start| {
        vars.extend(algebra.analyzer.pool.vars(start));
        vars
    });
    vars.sort_unstable();
    vars.dedup();
    // Loops that no start depends on write the same boxes again.
    let mut points: Vec<(Var, i64)> = Vec::new();
    for &op in &loops {
        let (var, extent) = (Algebra::var(loop_var(func, op)), const_extent(func, op));
        let from_zero = func.const_int(func.operand(op, 0)) == Some(0);
        match extent.filter(|_| from_zero) {
            Some(1) => {}
            _ if once => {}
            Some(extent) => points.push((var, extent)),
            None => return false,
        }
    }
    let n_points = points.iter().try_fold(1i64, |n, &(_, extent)| n.checked_mul(extent));
    let Some(n_points) = n_points.filter(|&n| n.saturating_mul(boxes.len() as i64) <= MAX_BOXES) else { return false };
    // One point stands for all where one iteration is meant: what it is made of is the same for all boxes.
    let is_known = |var: &Var| {
        once || points.iter().any(|(known, _)| known == var) || {
            let single = |&op: &Op| Algebra::var(loop_var(func, op)) == *var;
            loops.iter().find(|op| single(op)).and_then(|&op| const_extent(func, op)) == Some(1)
        }
    };
    if !vars.iter().all(is_known) {
        return false;
    }
    if once {
        return are_apart(&mut algebra, &boxes);
    }
    let mut seen: FxHashSet<(tc_ir::Value, Vec<i64>)> = FxHashSet::default();
    let mut extents_of: Vec<(tc_ir::Value, &Vec<i64>)> = Vec::new();
    for (tensor, sides, starts) in &boxes {
        // Boxes of one size that start at multiples of it overlap only where they are the same.
        if extents_of.iter().any(|(known, other)| known == tensor && *other != sides) {
            return false;
        }
        extents_of.push((*tensor, sides));
        let mut evaluation = algebra.analyzer.pool.evaluation(starts);
        for point in 0..n_points {
            let value_of = |var: Var| {
                let mut rest = point;
                for &(known, extent) in &points {
                    if known == var {
                        return rest % extent;
                    }
                    rest /= extent;
                }
                0
            };
            let starts: Option<Vec<i64>> = evaluation.at(value_of).collect();
            let Some(starts) = starts.filter(|starts| starts.iter().zip(sides).all(|(start, side)| start % side == 0))
            else {
                return false;
            };
            if !seen.insert((*tensor, starts)) {
                return false;
            }
        }
    }
    true
}

/// Of any two boxes of one tensor, is one side of one another's whole beyond that of the other, whatever the variables are?
fn are_apart(algebra: &mut Algebra, boxes: &[(tc_ir::Value, Vec<i64>, Vec<Expr>)]) -> bool {
    for (nth, (tensor, sides, starts)) in boxes.iter().enumerate() {
        for (other, other_sides, other_starts) in &boxes[..nth] {
            let apart = tensor != other
                || starts.iter().zip(other_starts).zip(sides.iter().zip(other_sides)).any(
                    |((&start, &other), (&side, &other_side))| {
                        let distance = algebra.analyzer.pool.sub(start, other);
                        let distance = algebra.analyzer.simplify(distance);
                        let distance = algebra.analyzer.pool.as_const(distance);
                        distance.is_some_and(|distance| distance >= other_side || -distance >= side)
                    },
                );
            if !apart {
                return false;
            }
        }
    }
    true
}
