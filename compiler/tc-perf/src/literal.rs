//! Which positions are literals once loops are unrolled: the compiler of CUDA keeps an array of a thread in registers if
//! all its positions are.

use crate::repeat::factor;
use crate::unroll::Unrolled;
use std::collections::BTreeSet;
use tc_dialects::arith;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::opdef::Role;
use tc_ir::walk::ancestors;
use tc_ir::{Def, Func, Op, Value};

/// Is the position `index` of an array of a thread, accessed by `op`, a literal once loops are unrolled?
///
/// It is if it follows from literals and from what loops count that are unrolled wholly. What differs by thread or block is
/// none, nor is what a caller or data gives; what a position takes of a variable may cancel out.
pub(crate) fn is_literal(func: &Func, op: Op, index: Value, unrolled: &Unrolled) -> bool {
    let is_left = |around: Op| func.opcode(around) == tir::FOR && !is_whole(func, around, unrolled);
    let moves = |around: Op| {
        let var = func.region_args(func.op_regions(around)[0]).first();
        var.is_some_and(|&var| factor(func, index, var) != Some(0))
    };
    !ancestors(func, op).filter(|&around| is_left(around)).any(moves) && has_no_other_source(func, index, unrolled)
}

/// Are all iterations of the loop `op` one after another in the code?
fn is_whole(func: &Func, op: Op, unrolled: &Unrolled) -> bool {
    !matches!(tir::loop_kind(func, op), Some(LoopKind::Launch(_))) && unrolled.is_whole(func, op)
}

/// Does `index` follow from literals and variables of loops alone?
fn has_no_other_source(func: &Func, index: Value, unrolled: &Unrolled) -> bool {
    let mut seen = BTreeSet::from([index]);
    let mut worklist = vec![index];
    while let Some(value) = worklist.pop() {
        let Some(behind) = sources(func, value, unrolled) else { return false };
        worklist.extend(behind.into_iter().filter(|&source| seen.insert(source)));
    }
    true
}

/// The values that `value` follows from; `None` where something else gives it.
fn sources(func: &Func, value: Value, unrolled: &Unrolled) -> Option<Vec<Value>> {
    match func.def(value) {
        Def::Arg(region, nth) => {
            let around = func.region_parent(region).filter(|&around| func.opcode(around) == tir::FOR)?;
            if nth == 0 { Some(Vec::new()) } else { carried(func, around, nth - 1, unrolled) }
        }
        Def::Result(op, nth) => match func.opcode(op) {
            tir::FOR => carried(func, op, nth, unrolled),
            tir::IF => {
                let handed = |&region| func.yielded(region).get(nth).copied();
                let mut all: Vec<Value> = func.op_regions(op).iter().filter_map(handed).collect();
                all.push(func.operand(op, 0));
                Some(all)
            }
            _ if func.role(op) == Role::Constant => Some(Vec::new()),
            opcode if opcode.dialect() == arith::ADD.dialect() => Some(func.operands(op).to_vec()),
            _ => None,
        },
    }
}

/// What the `nth` value follows from that the loop `op` carries from one iteration to the next.
fn carried(func: &Func, op: Op, nth: usize, unrolled: &Unrolled) -> Option<Vec<Value>> {
    let next = func.yielded(func.op_regions(op)[0]).get(nth);
    let both = [func.operands(op).get(2 + nth), next];
    is_whole(func, op, unrolled).then(|| both.into_iter().flatten().copied().collect())
}
