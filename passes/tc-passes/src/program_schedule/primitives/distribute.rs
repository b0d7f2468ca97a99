//! Gives the first statement of a loop a loop of its own, before the one with the rest (loop distribution, fission).
//!
//! `first, rest = distribute(LOOP)`. So an initialisation leaves the nest of a reduction:
//!
//! # Legality
//!
//! - The loop is plain and has two statements or more.
//! - No access of the rest conflicts with one of the first statement in a later iteration.
//! - Both use no buffer and no value that is read in the loop; arithmetic that both use is computed twice. Conditions around all
//!   statements are around both loops.
//!
//! # Rewrite
//!
//! ```tir
//! for i in 0..4 { C[i] = 0.0  for k in 0..8 { C[i] = C[i] + A[i, k] } }
//! -> distribute(C.i)
//! for i in 0..4 { C[i] = 0.0 }
//! for i in 0..4 { for k in 0..8 { C[i] = C[i] + A[i, k] } }
//! ```

use super::super::Item;
use super::super::cx::{Cx, Done};
use super::super::dependences::Serial;
use super::super::nest::{Between, body, guard, only_effect, substitute, var};
use super::Primitive;
use super::split::{build_loop, open_if};
use rustc_hash::FxHashSet;
use tc_dialects::{sched, tir};
use tc_ir::clone::{ValueMap, clone_op};
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Func, Op, Region, Rewriter, Value, effects};

/// A loop, and its statements.
pub(super) struct Groups {
    op: Op,
    /// What stands around the statements in the loop, from the outside in.
    around: Vec<Between>,
    /// What goes into the second loop.
    later: Vec<Op>,
    /// What computes values that both use.
    both: Vec<Op>,
}

impl Primitive for sched::Distribute {
    type Legal = Groups;

    fn legality(cx: &Cx<'_>) -> Done<Groups> {
        let op = cx.plain_loop(cx.operand(0))?;
        let func = cx.func();
        let (region, around) = statements(func, op);
        let ops: Vec<Op> = func.ops(region).collect();
        let is_statement = |&op: &Op| !effects::summary(func, op).is_pure() && !only_makes(func, op);
        let cut = ops.iter().position(is_statement).map_or(ops.len(), |at| at + 1);
        let (earlier, later) = divided(func, &ops, cut);
        let (earlier, later) = (&earlier[..], &later[..]);
        if !later.iter().any(is_statement) {
            let text = format!("the loop `{}` has one statement", cx.loop_name(op));
            return Err(cx.error("not-nested", text).label(cx.place(op), "this loop").into());
        }
        let both = needed(func, earlier, later);
        if let Some(&shared) = both.iter().find(|&&op| !effects::summary(func, op).is_pure()) {
            let name = func.result(shared).map_or(String::new(), |value| cx.show(value));
            let text = format!("`{name}` is made in the loop `{}`, and both parts use it", cx.loop_name(op));
            let error = cx.error("dependence", text).label(cx.place(shared), "it is made here");
            return Err(error.help("make a buffer for it outside of the loop").into());
        }
        if let Some(obstacle) = Serial::around(func, op).distribution(op, earlier, later) {
            let text =
                format!("the first statement of `{}` cannot run for all iterations before the rest", cx.loop_name(op));
            return Err(cx.forbidden("dependence", text, &obstacle).into());
        }
        Ok(Groups { op, around, later: later.to_vec(), both })
    }

    fn edit(cx: &mut Cx<'_>, Groups { op, around, later, both }: Groups) -> Vec<Item> {
        let name = cx.result_name(1).unwrap_or_else(|| cx.loop_name(op));
        let first_name = cx.result_name(0);
        let locs = cx.locs_like(op);
        let func = &mut cx.program.func;
        let (lo, hi, old) = (func.operand(op, 0), func.operand(op, 1), var(func, op));
        let ty = func.value_type(old);
        let mut b = Builder::after(func, op);
        b.locs = locs;
        let (second, own) = build_loop(&mut b, (lo, hi), ty, &name);
        let mut region = body(b.func, second);
        let mut map = ValueMap::default();
        map.insert(old, own);
        // The conditions around the statements hold in both loops.
        for item in around {
            let mut b = Builder::at_end(func, region);
            match item {
                Between::Value(op) => {
                    clone_op(&mut b, op, &mut map);
                }
                Between::Guard(op) => {
                    let condition = b.func.operand(op, 0);
                    let condition = *map.get(&condition).unwrap_or(&condition);
                    region = open_if(&mut b, condition);
                }
            }
        }
        let mut b = Builder::at_end(func, region);
        for &op in &both {
            clone_op(&mut b, op, &mut map);
        }
        let mut rw = Rewriter::new(func);
        later.iter().for_each(|&op| rw.move_to_end(op, region));
        substitute(&mut rw, &later, &map);
        drop(rw);
        if let Some(name) = first_name {
            let name = cx.program.func.name(&name);
            cx.program.func.set_value_name(old, Some(name));
        }
        vec![Item::Loop(op), Item::Loop(second)]
    }
}

/// The first statement with what it uses, and the rest with what it alone uses. A load stays before what it stands before.
fn divided(func: &Func, ops: &[Op], cut: usize) -> (Vec<Op>, Vec<Op>) {
    let (before, rest) = ops.split_at(cut);
    let Some((&statement, made)) = before.split_last() else { return (Vec::new(), rest.to_vec()) };
    let used = needed(func, made, &[statement]);
    let stays = |&op: &Op| used.contains(&op) || effects::summary(func, op).reads;
    let (mut earlier, mut later): (Vec<Op>, Vec<Op>) = made.iter().copied().partition(stays);
    earlier.push(statement);
    later.extend(rest);
    (earlier, later)
}

/// The region with the statements of the loop, through conditionals around all of them, and what stands around these.
fn statements(func: &Func, op: Op) -> (Region, Vec<Between>) {
    let (mut region, mut around) = (body(func, op), Vec::new());
    while let Ok(Some(only)) = only_effect(func, region)
        && let Some(inner) = guard(func, only)
    {
        around.extend(func.ops(region).filter(|&other| other != only).map(Between::Value));
        around.push(Between::Guard(only));
        region = inner;
    }
    (region, around)
}

/// Is `op` no statement, but what a statement uses: a buffer or a value that is read?
fn only_makes(func: &Func, op: Op) -> bool {
    func.opcode(op) == tir::ALLOC || effects::summary(func, op).only_reads() && func.op_regions(op).is_empty()
}

/// The ops of `earlier` whose results `later` uses, in order, with what those are computed from.
fn needed(func: &Func, earlier: &[Op], later: &[Op]) -> Vec<Op> {
    let mut wanted: FxHashSet<Value> = FxHashSet::default();
    for &op in later {
        wanted.extend(func.operands(op));
        wanted.extend(
            func.op_regions(op)
                .iter()
                .flat_map(|&region| ops_under(func, region))
                .flat_map(|op| func.operands(op).iter().copied()),
        );
    }
    let mut found = Vec::new();
    for &op in earlier.iter().rev() {
        if func.results(op).any(|value| wanted.contains(&value)) {
            wanted.extend(func.operands(op));
            found.push(op);
        }
    }
    found.reverse();
    found
}
