//! Ops on their way out of loops.

use super::levels::{Levels, is_run, may_move};
use super::sums::indices;
use tc_dialects::arith;
use tc_ir::uses::Uses;
use tc_ir::walk::{all_ops, ancestors};
use tc_ir::{Func, Op, Region, Rewriter, Value};

/// Moves what loops do not change before them; gives the number of ops moved.
pub(super) fn hoist(func: &mut Func) -> u64 {
    let levels = Levels::of(func);
    let uses = Uses::of(func);
    // A literal goes where what it is for goes.
    let ops: Vec<Op> = all_ops(func).filter(|&op| may_move(func, op) && !func.operands(op).is_empty()).collect();
    let mut rw = Rewriter::new(func);
    let mut n_moved = 0;
    // In the order of the text, so that what an op is computed from has been moved before.
    for op in ops {
        let func = rw.func();
        let Some(result) = func.result(op).filter(|&result| !is_displacement(func, &uses, op, result)) else {
            continue;
        };
        let Some(place) = outermost_loop(func, op, levels.home(func, result)) else { continue };
        for nth in 0..func.operands(op).len() {
            let operand = rw.func().operand(op, nth);
            if let Some(literal) = rw.func().constant(operand) {
                let ty = rw.func().value_type(operand);
                let copy = rw.before(place).constant(literal, ty);
                rw.set_operand(op, nth, copy);
                if let Some(old) = rw.func().def_op(operand).filter(|_| rw.func().n_uses(operand) == 0) {
                    rw.erase(old);
                }
            }
        }
        rw.move_before(op, place);
        n_moved += 1;
    }
    n_moved
}

/// Is `op` the literal at the end of positions, and nothing else? An access has room for that, and a register that held
/// the sum would be one for each copy of an unrolled body.
fn is_displacement(func: &Func, uses: &Uses, op: Op, result: Value) -> bool {
    matches!(func.opcode(op), arith::ADD | arith::SUB)
        && func.const_int(func.operand(op, 1)).is_some()
        && uses.of_value(result).iter().all(|user| indices(func, user.op).contains(&user.idx))
}

/// The outermost loop that is run around `op` and inside of the region `home`.
fn outermost_loop(func: &Func, op: Op, home: Region) -> Option<Op> {
    let mut found = None;
    let mut at = op;
    for outer in ancestors(func, op) {
        if func.region_of(at) == Some(home) {
            break;
        }
        if is_run(func, outer) {
            found = Some(outer);
        }
        at = outer;
    }
    found
}
