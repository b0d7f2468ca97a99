//! The copies.

use super::decide::{VirtualThreadLoop, remark};
use crate::analysis::launch::{MANY_VIRTUAL_THREADS, loop_var};
use crate::analysis::privatize::{Place, candidates, privatize};
use crate::analysis::remake::as_loop;
use crate::analysis::structure::run_once;
use crate::analysis::variance::Variance;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use tc_dialects::algebra::const_extent;
use tc_dialects::tir;
use tc_ir::clone::{ValueMap, clone_op};
use tc_ir::effects::summary;
use tc_ir::walk::{is_inside, ops_under};
use tc_ir::{Builder, Elem, Func, Op, Rewriter, Value, keys};
use tc_support::{Diagnostic, counted};

/// The first loop of the worklist that must be carried out before `step`: it lies in a statement that is copied.
pub(super) fn inner_first(
    func: &Func,
    step: &VirtualThreadLoop,
    worklist: &VecDeque<VirtualThreadLoop>,
) -> Option<usize> {
    if step.kept.is_some() {
        return None;
    }
    let inner = worklist.iter().position(|other| is_inside(func, other.op, step.op))?;
    let variance = Variance::by(func, step.op);
    (inner..worklist.len()).find(|&nth| variance.op(worklist[nth].op))
}

/// Gives each iteration of the loop `op` its part of the buffers that are made inside; or says why the loop stays one.
pub(super) fn share_out(func: &mut Func, op: Op) -> Result<(), Diagnostic> {
    let n = const_extent(func, op).unwrap_or(0);
    if n <= 1 {
        return Ok(());
    }
    let variance = Variance::by(func, op);
    match allocs(func, op, &variance, n) {
        Ok(allocs) => {
            allocs.into_iter().for_each(|alloc| privatize(func, op, alloc, Place::Outermost));
            Ok(())
        }
        Err((at, reason)) => Err(remark(func, op, &reason).label(func.op_location(at), "here")),
    }
}

/// Lets the iterations of the loop `op` run in step.
pub(super) fn in_step(func: &mut Func, op: Op) {
    let (lo, n) = (func.const_int(func.operand(op, 0)).unwrap_or(0), const_extent(func, op).unwrap_or(0));
    if n == 0 {
        return Rewriter::new(func).erase(op);
    }
    if n == 1 {
        let lo = func.operand(op, 0);
        return run_once(&mut Rewriter::new(func), op, lo);
    }
    let body = func.op_regions(op)[0];
    let variance = Variance::by(func, op);
    let groups = variance.groups(func, body);
    let tied = variance.tied(func, &groups);
    let mut maps = start(func, op, lo, n);
    for (group, tied) in groups.iter().zip(tied) {
        if n >= MANY_VIRTUAL_THREADS && group.iter().all(|&op| summary(func, op).is_pure()) && !tied {
            // Computed where it is used.
            continue;
        }
        if !tied && (n >= MANY_VIRTUAL_THREADS || holds_loop(func, group)) {
            as_loop(func, op, group, &variance, &[]);
            // What others use of it can be computed apart.
            let apart: Vec<Op> = group
                .iter()
                .copied()
                .filter(|&op| n < MANY_VIRTUAL_THREADS && variance.computed_again(func, op))
                .collect();
            maps.iter_mut().for_each(|map| copy(func, &apart, map));
        } else {
            maps.iter_mut().for_each(|map| copy(func, group, map));
        }
    }
    let members: FxHashSet<Op> = groups.into_iter().flatten().collect();
    let originals: Vec<Op> = ops_under(func, body).filter(|op| members.contains(op)).collect();
    let mut rw = Rewriter::new(func);
    for original in originals.into_iter().rev() {
        rw.erase(original);
    }
    let lo = rw.func().operand(op, 0);
    run_once(&mut rw, op, lo);
}

/// The allocs to be privatized, or what keeps the loop a loop.
fn allocs(func: &Func, op: Op, variance: &Variance, n: i64) -> Result<Vec<Op>, (Op, String)> {
    let allocs = candidates(func, op, variance, Place::Outermost)?;
    let views = ops_under(func, func.op_regions(op)[0]).filter(|&inner| func.opcode(inner) == tir::VIEW);
    for view in views.filter(|&view| func.def_op(func.operand(view, 0)).is_some_and(|def| allocs.contains(&def))) {
        if let Some(reason) = keeps_view(func, op, view, n) {
            return Err((view, reason.to_string()));
        }
    }
    if n >= MANY_VIRTUAL_THREADS {
        let groups = variance.groups(func, func.op_regions(op)[0]);
        let tied = variance.tied(func, &groups);
        if let Some(at) = groups.iter().zip(tied).find_map(|(group, tied)| group.last().filter(|_| tied)) {
            return Err((*at, format!("statements hand values on, and there are {}", counted(n, "thread"))));
        }
    }
    Ok(allocs)
}

/// Why the buffer that `view` is of cannot be privatized for the `n` iterations of the loop `op`, if it cannot.
fn keeps_view(func: &Func, op: Op, view: Op, n: i64) -> Option<&'static str> {
    let body = func.op_regions(op)[0];
    if n >= MANY_VIRTUAL_THREADS || ops_under(func, body).any(|inner| func.opcode(inner) == tir::FOR) {
        // Of one in a loop over the iterations the part is no fixed place.
        return Some("a view begins at a fixed place of its buffer, and each needs a part");
    }
    let bytes = |value: Value| {
        let (elem, shape, _) = func.as_shaped(func.value_type(value))?;
        let bytes = i64::from(func.as_scalar(elem)?.bytes());
        shape.iter().try_fold(bytes, |bytes, &extent| bytes.checked_mul(func.as_int(extent)?))
    };
    let elem = func.result(view).and_then(|value| func.as_shaped(func.value_type(value))).map(|(elem, ..)| elem);
    let aligned = elem.and_then(|elem| func.as_scalar(elem)).map_or(1, |scalar| i64::from(scalar.bytes()));
    let fits = bytes(func.operand(view, 0)).is_some_and(|bytes| bytes % aligned == 0);
    (!fits).then_some("the part of each would begin where no element of a view may")
}

/// What the variable stands for in each copy.
fn start(func: &mut Func, op: Op, lo: i64, n: i64) -> Vec<ValueMap> {
    let var = loop_var(func, op);
    let elem = func.value_scalar(var).map_or(Elem::Index, |scalar| scalar.elem);
    let values = lo..lo.saturating_add(n.min(MANY_VIRTUAL_THREADS));
    let mut b = Builder::before(func, op);
    values
        .map(|value| {
            let mut map = ValueMap::default();
            map.insert(var, b.int(value, elem));
            map
        })
        .collect()
}

fn copy(func: &mut Func, group: &[Op], map: &mut ValueMap) {
    let Some(&anchor) = group.last() else { return };
    let mut b = Builder::before(func, anchor);
    for &op in group {
        clone_op(&mut b, op, map);
    }
}

fn holds_loop(func: &Func, group: &[Op]) -> bool {
    group.iter().any(|&op| {
        let mut under = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
        func.opcode(op) == tir::FOR || under.any(|inner| func.opcode(inner) == tir::FOR)
    })
}

/// Takes the binding off the loop `op`.
pub(super) fn make_serial(func: &mut Func, op: Op) {
    let attrs = func.op_attrs(op);
    let attrs = func.without_entry(attrs, keys::KIND);
    let attrs = func.without_entry(attrs, keys::AXIS);
    Rewriter::new(func).set_attrs(op, attrs);
}
