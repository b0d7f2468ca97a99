//! `a && b` and `a || b` that compute both sides wherever both may be computed.
//!
//! One that a pass has made computes both; one that was read from text computes the right side only if need be where
//! that divides. Both print alike, and what one of them lets out of a loop the other has to let out too.

use crate::analysis::dead::erase_dead;
use crate::analysis::invariant::runs_anywhere;
use crate::analysis::overflow::Ranges;
use tc_dialects::{arith, tir};
use tc_ir::walk::all_ops;
use tc_ir::{AttrData, Func, Op, Opcode, Region, Rewriter, Value};

/// A conditional that may be an op on two truth values.
struct Both {
    opcode: Opcode,
    /// The arm that is computed, and the one that is a literal.
    arms: [Region; 2],
    value: Value,
}

/// Puts ops on two truth values in the place of conditionals whose arms may be computed anywhere; gives their number.
pub(super) fn compute_both(func: &mut Func) -> u64 {
    let conditionals: Vec<Op> = all_ops(func).filter(|&op| func.opcode(op) == tir::IF).collect();
    let mut rw = Rewriter::new(func);
    let mut n_replaced = 0;
    // Inner ones first: what is left of them is arithmetic.
    for op in conditionals.into_iter().rev() {
        let Some(Both { opcode, arms, value }) = both(rw.func(), op) else { continue };
        let condition = rw.func().operand(op, 0);
        for region in arms {
            if let Some(end) = rw.func().terminator(region) {
                rw.erase(end);
            }
            rw.splice_before(region, op);
        }
        let sides = [condition, value].map(|side| rw.current(side));
        let joined = rw.before(op).value(opcode, &sides, &[]);
        rw.replace_op(op, &[joined]);
        n_replaced += 1;
    }
    drop(rw);
    if n_replaced > 0 {
        erase_dead(func);
    }
    n_replaced
}

/// What the conditional `op` comes to where it hands on one truth value, a literal on one side.
fn both(func: &Func, op: Op) -> Option<Both> {
    let &[then, otherwise] = func.op_regions(op) else { return None };
    func.result(op).filter(|&result| func.value_type(result) == func.bool_ty())?;
    let (&[on_true], &[on_false]) = (func.yielded(then), func.yielded(otherwise)) else { return None };
    let (opcode, arms, value) = if truth(func, on_false) == Some(false) {
        (arith::AND, [then, otherwise], on_true)
    } else if truth(func, on_true) == Some(true) {
        (arith::OR, [otherwise, then], on_false)
    } else {
        return None;
    };
    let mut ranges = Ranges::default();
    let mut is_plain =
        |inner: Op| func.op_regions(inner).is_empty() && runs_anywhere(func, inner) && ranges.fits(func, inner, op);
    let all_plain = arms.iter().all(|&region| func.ops(region).all(&mut is_plain));
    all_plain.then_some(Both { opcode, arms, value })
}

fn truth(func: &Func, value: Value) -> Option<bool> {
    match func.attr_data(func.constant(value)?) {
        AttrData::Bool(value) => Some(*value),
        _ => None,
    }
}
