//! Removes statements without effect.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! The same program without loops and conditionals whose bodies have no effect, loops without iterations, stores of an
//! element to itself, and stores to a buffer that the function allocates and never reads, with the buffer. Ops that
//! fill, load or copy a tile, or add a product to it, count as stores.
//!
//! # Example
//!
//! ```tir
//! alloc T: f32[8] in local
//! for i in 0..8 {
//!   T[i] = A[i]
//!   A[i] = A[i]
//! }
//! ->
//! ```
//!
//! # Algorithm
//!
//! 1. Find stores to buffers without readers, and stores of a value that was just loaded from the same element.
//! 2. Remove them, then dead ops; repeat until nothing changes.
//!
//! # Limits
//!
//! A store that a later one overwrites stays.
//!
//! # Remarks
//!
//! `stored-where-read`: a store of a value that was loaded from the same element, which may have been written in
//! between.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/remove_no_op.cc`, without its optional data-flow analysis.

use crate::analysis::dead::erase_dead;
use crate::analysis::structure::collapse_loop;
use crate::analysis::words;
use rustc_hash::FxHashMap;
use tc_dialects::tir;
use tc_ir::rewrite::rewrite_ops;
use tc_ir::uses::Uses;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter, Value, effects};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};
use tc_support::Diagnostic;

tc_pass::options! {
    /// `remove-no-op` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "remove-no-op",
    page: tc_support::page!("remove_no_op.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
    preserves: &[],
    make: |raw| Options::read(raw).map(|_| PassKind::Func(tir::FUNC, Box::new(RemoveNoOp))),
};

/// The pass.
pub struct RemoveNoOp;

impl FuncPass for RemoveNoOp {
    fn run(&self, func: &mut Func, cx: &mut PassCx) -> bool {
        let mut changed = false;
        loop {
            let stores = useless_stores(func);
            cx.count("stores removed", stores.len() as u64);
            let mut rw = Rewriter::new(func);
            let mut round = !stores.is_empty();
            stores.into_iter().for_each(|store| rw.erase(store));
            drop(rw);
            round |= rewrite_ops(func, |rw, op| {
                if rw.func().opcode(op) == tir::FOR {
                    collapse_empty(rw, op);
                }
            });
            round |= erase_dead(func) > 0;
            changed |= round;
            if !round {
                if cx.wants_missed() {
                    all_ops(func).filter_map(|op| maybe_itself(func, op)).for_each(|found| cx.report(found));
                }
                return changed;
            }
        }
    }
}

fn collapse_empty(rw: &mut Rewriter<'_>, op: Op) {
    let func = rw.func();
    let bounds = (func.const_int(func.operand(op, 0)), func.const_int(func.operand(op, 1)));
    if let (Some(first), Some(end)) = bounds
        && first >= end
    {
        collapse_loop(rw, op);
    }
}

fn useless_stores(func: &Func) -> Vec<Op> {
    let uses = Uses::of(func);
    let mut unread = FxHashMap::default();
    all_ops(func)
        .filter(|&op| match func.opcode(op) {
            tir::STORE => stores_itself(func, op) || fills_unread(func, &uses, &mut unread, op),
            _ => only_writes(func, op) && fills_unread(func, &uses, &mut unread, op),
        })
        .collect()
}

/// What is reported of a store of what was read at the same place, between which and the read memory is written.
fn maybe_itself(func: &Func, store: Op) -> Option<Diagnostic> {
    let (&value, place) = func.operands(store).split_last().filter(|_| func.opcode(store) == tir::STORE)?;
    let load = func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD)?;
    let alike = is_same_place(func, func.operands(load), place) && func.region_of(load) == func.region_of(store);
    let mut between = std::iter::successors(func.next_op(load), |&op| func.next_op(op)).take_while(|&op| op != store);
    let writer = between.find(|&op| !effects::summary(func, op).only_reads()).filter(|_| alike)?;
    let text = format!(
        "`{}` is stored where it was read, which changes nothing unless memory is written in between",
        words::place(func, load)
    );
    let found = Diagnostic::remark("stored-where-read", func.op_location(store), text)
        .label(func.op_location(writer), "memory is written here");
    Some(found.help("store it before that, or not at all"))
}

/// The same buffer at the same indices; equal literals are the same.
fn is_same_place(func: &Func, a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| func.is_same_value(a, b))
}

/// `A[i] = A[i]`, with nothing that writes between the read and the write.
fn stores_itself(func: &Func, store: Op) -> bool {
    let operands = func.operands(store);
    let (&value, place) = operands.split_last().expect("the row has a value");
    let Some(load) = func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD) else { return false };
    if !is_same_place(func, func.operands(load), place) || func.region_of(load) != func.region_of(store) {
        return false;
    }
    let mut between = std::iter::successors(func.next_op(load), |&op| func.next_op(op)).take_while(|&op| op != store);
    between.all(|op| effects::only_reads(func, op))
}

/// Is all that `op` does to write one place, by what it reads from others or from there?
fn only_writes(func: &Func, op: Op) -> bool {
    let effect = func.row(op).effect;
    let known = !(effect.unknown || effect.synchronises || effect.allocates || func.row(op).terminator);
    known && func.n_results(op) == 0 && func.op_regions(op).is_empty() && written(func, op).is_some()
}

/// The one place that `op` writes.
fn written(func: &Func, op: Op) -> Option<Value> {
    let places = effects::accesses(func, op);
    let mut written = places.into_iter().filter(|(_, access)| access.writes()).map(|(place, _)| place);
    written.next().filter(|_| written.next().is_none())
}

/// Is the buffer that `op` writes made here, and used by nothing but what only writes it?
fn fills_unread(func: &Func, uses: &Uses, unread: &mut FxHashMap<Value, bool>, op: Op) -> bool {
    let Some(place) = written(func, op) else { return false };
    let buffer = effects::root_buffer(func, place);
    let is_alloc = func.def_op(buffer).is_some_and(|made| func.opcode(made) == tir::ALLOC);
    is_alloc && *unread.entry(buffer).or_insert_with(|| is_never_read(func, uses, buffer))
}

fn is_never_read(func: &Func, uses: &Uses, buffer: Value) -> bool {
    let mut worklist = vec![buffer];
    while let Some(place) = worklist.pop() {
        for user in uses.of_value(place) {
            match func.opcode(user.op) {
                tir::REF | tir::REGION if user.idx == 0 => worklist.extend(func.results(user.op)),
                tir::STORE if user.idx == 0 => {}
                _ if only_writes(func, user.op) && func.operand(user.op, user.idx) == place => {
                    // A product adds to what it reads, and reads no other place that is written.
                    let is_written = written(func, user.op) == Some(place);
                    let once = func.operands(user.op).iter().filter(|&&operand| operand == place).count() == 1;
                    if !is_written || !once {
                        return false;
                    }
                }
                _ => return false,
            }
        }
    }
    true
}
