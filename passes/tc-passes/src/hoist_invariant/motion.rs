//! Ops that move out of loops.

use super::levels::{Levels, is_run, may_move};
use super::sums::indices;
use crate::analysis::overflow::{Ranges, runs_with};
use tc_dialects::arith;
use tc_ir::uses::Uses;
use tc_ir::walk::{all_ops, ancestors, is_inside};
use tc_ir::{Def, Func, Op, Region, Rewriter, Value};

/// Moves what loops do not change before them; gives the number of ops moved.
pub(super) fn hoist(func: &mut Func, ranges: &mut Ranges) -> u64 {
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
        let loops = loops_within(func, op, levels.home(func, result));
        let mut is_safe = |place: Op| runs_with(func, op, place) || ranges.fits(func, op, place);
        let Some(place) = loops.into_iter().rev().find(|&place| is_known(func, op, place) && is_safe(place)) else {
            continue;
        };
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

/// The loops that are run around `op` and inside of the region `home`, from the inside out.
fn loops_within(func: &Func, op: Op, home: Region) -> Vec<Op> {
    let mut found = Vec::new();
    let mut at = op;
    for outer in ancestors(func, op) {
        if func.region_of(at) == Some(home) {
            break;
        }
        found.extend(is_run(func, outer).then_some(outer));
        at = outer;
    }
    found
}

/// Are the operands of `op` known before the loop `place`, or literals? Not if what computes one had to stay.
fn is_known(func: &Func, op: Op, place: Op) -> bool {
    func.operands(op).iter().all(|&operand| {
        let is_outside = match func.def(operand) {
            Def::Arg(region, _) => {
                func.region_parent(region).is_none_or(|owner| owner != place && !is_inside(func, owner, place))
            }
            Def::Result(def, _) => !is_inside(func, def, place),
        };
        is_outside || func.constant(operand).is_some()
    })
}
