//! Takes out statements that change nothing.
//!
//! # Input form
//!
//! Any program.
//!
//! # Output form
//!
//! As it came, without: loops and conditionals whose bodies do nothing; loops that run never; stores of an element to
//! itself; stores to a buffer that the function made and nothing reads, with the buffer.
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
//! 1. Find stores to buffers without readers, and stores of what was just read from the same place.
//! 2. Take them out, then all that nothing needs any more; repeat until nothing changes.
//!
//! # Limits
//!
//! A store that a later one overwrites is kept.
//!
//! # References
//!
//! TVM 0.16, `src/tir/transforms/remove_no_op.cc`, without its optional data-flow analysis.

use crate::analysis::dead::erase_dead;
use crate::analysis::structure::collapse_loop;
use tc_dialects::tir;
use tc_ir::rewrite::rewrite_ops;
use tc_ir::uses::Uses;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter, effects};
use tc_pass::{FuncPass, PassCx, PassInfo, PassKind};

tc_pass::options! {
    /// `remove-no-op` has no options.
    pub struct Options {}
}

/// The row.
pub const INFO: PassInfo = PassInfo {
    name: "remove-no-op",
    source: include_str!("remove_no_op.rs"),
    anchor: "tir.func",
    options: Options::INFO,
    requires: &[],
    establishes: &[],
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
    all_ops(func)
        .filter(|&op| func.opcode(op) == tir::STORE && (stores_itself(func, op) || is_never_read(func, &uses, op)))
        .collect()
}

/// `A[i] = A[i]`, with nothing that writes between the read and the write.
fn stores_itself(func: &Func, store: Op) -> bool {
    let operands = func.operands(store);
    let (&value, place) = operands.split_last().expect("the row has a value");
    let Some(load) = func.def_op(value).filter(|&op| func.opcode(op) == tir::LOAD) else { return false };
    if func.operands(load) != place || func.region_of(load) != func.region_of(store) {
        return false;
    }
    let mut between = std::iter::successors(func.next_op(load), |&op| func.next_op(op)).take_while(|&op| op != store);
    between.all(|op| effects::summary(func, op).only_reads())
}

/// Is the stored-to buffer made here, and used by nothing but stores to it?
fn is_never_read(func: &Func, uses: &Uses, store: Op) -> bool {
    let buffer = func.operand(store, 0);
    let made_here = func.def_op(buffer).is_some_and(|op| func.opcode(op) == tir::ALLOC);
    made_here && uses.of_value(buffer).iter().all(|user| func.opcode(user.op) == tir::STORE && user.idx == 0)
}
