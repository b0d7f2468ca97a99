//! The order of ops that text implies.
//!
//! An op that prints inside its user has its place in the text there, and reading the text puts it right before the
//! statement, operands from left to right. A pass that builds such ops in another order leaves a program that is equal in
//! text but not in the order of ops, and a pass that takes the first of equal ops would then tell the two apart.

use rustc_hash::FxHashMap;
use tc_ir::effects::Summaries;
use tc_ir::opdef::Role;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Region, Rewriter, Value};

/// Brings ops that print inside their users into the order of the text.
pub(crate) fn settle(func: &mut Func) {
    let regions: Vec<Region> = std::iter::once(func.body())
        .chain(all_ops(func).flat_map(|op| func.op_regions(op).to_vec()).collect::<Vec<_>>())
        .collect();
    let users = only_users(func);
    let effects = Summaries::of(func);
    let orders: Vec<(Region, Vec<Op>)> = regions
        .into_iter()
        .filter_map(|region| {
            let now: Vec<Op> = func.ops(region).collect();
            let wanted = text_order(func, &now, &users, &effects);
            (now != wanted).then_some((region, wanted))
        })
        .collect();
    let mut rw = Rewriter::new(func);
    for (region, order) in orders {
        for op in order {
            rw.move_to_end(op, region);
        }
    }
}

/// The user of each value that is used just once.
fn only_users(func: &Func) -> FxHashMap<Value, Op> {
    let mut users = FxHashMap::default();
    for op in all_ops(func) {
        for &operand in func.operands(op) {
            if func.n_uses(operand) == 1 {
                users.insert(operand, op);
            }
        }
    }
    users
}

fn text_order(func: &Func, ops: &[Op], users: &FxHashMap<Value, Op>, effects: &Summaries) -> Vec<Op> {
    let positions: FxHashMap<Op, usize> = ops.iter().enumerate().map(|(nth, &op)| (op, nth)).collect();
    let writes: Vec<bool> = ops.iter().map(|&op| !effects[op].only_reads()).collect();
    // From the end, so that the statement a user lands in is known before what it uses.
    let mut lands: Vec<usize> = (0..ops.len()).collect();
    for nth in (0..ops.len()).rev() {
        let Some(user) = inlined_into(func, ops[nth], users, effects).and_then(|user| positions.get(&user)) else {
            continue;
        };
        let statement = lands[*user];
        let is_read = !effects[ops[nth]].is_pure();
        if !is_read || !writes[nth..statement].iter().any(|&writes| writes) {
            lands[nth] = statement;
        }
    }
    let mut order = Vec::with_capacity(ops.len());
    for (nth, &op) in ops.iter().enumerate() {
        if lands[nth] == nth {
            emit(func, op, &positions, &lands, &mut order);
        }
    }
    order
}

/// Adds what prints inside `root`, operands from left to right, and `root`.
fn emit(func: &Func, root: Op, positions: &FxHashMap<Op, usize>, lands: &[usize], order: &mut Vec<Op>) {
    let mut pending = vec![(root, false)];
    while let Some((op, done)) = pending.pop() {
        if done {
            order.push(op);
            continue;
        }
        pending.push((op, true));
        let inside = func
            .operands(op)
            .iter()
            .filter_map(|&operand| func.def_op(operand))
            .filter(|def| positions.get(def).is_some_and(|&nth| lands[nth] != nth));
        let inside: Vec<Op> = inside.collect();
        pending.extend(inside.into_iter().rev().map(|def| (def, false)));
    }
}

/// The op that `op` prints inside, as far as that does not depend on what stands between.
fn inlined_into(func: &Func, op: Op, users: &FxHashMap<Value, Op>, effects: &Summaries) -> Option<Op> {
    let result = func.result(op)?;
    let is_expression = effects[op].only_reads() && !func.row(op).terminator;
    let named = func.value_name(result).is_some();
    let conditional = func.role(op) == Role::If;
    if !is_expression || named || (!func.op_regions(op).is_empty() && !conditional) {
        return None;
    }
    users.get(&result).copied()
}
