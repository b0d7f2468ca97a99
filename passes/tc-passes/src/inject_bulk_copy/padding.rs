//! Zeros that a program writes where a tensor has no elements, as the copy engine does.

use crate::analysis::copied::Source;
use tc_arith::Expr;
use tc_dialects::algebra::Algebra;
use tc_dialects::arith;
use tc_ir::{Func, Value};

/// Does the condition of `source` hold wherever what is loaded lies inside the tensor? Then all zeros are outside of it.
pub(super) fn is_outside(func: &Func, algebra: &mut Algebra, source: &Source) -> bool {
    let Some((condition, holds)) = source.when else { return true };
    let tensor = func.operand(source.load, 0);
    let Some((_, shape, _)) = func.as_shaped(func.value_type(tensor)) else { return false };
    let shape = shape.to_vec();
    let zero = algebra.analyzer.pool.int(0);
    let mut inside = Vec::new();
    for (&at, &extent) in func.operands(source.load)[1..].iter().zip(&shape) {
        let at = algebra.expr(func, at);
        let Some(extent) = algebra.attr(func, extent) else { return false };
        inside.push(algebra.analyzer.pool.le(zero, at));
        inside.push(algebra.analyzer.pool.lt(at, extent));
    }
    let wanted: Vec<Expr> = match holds {
        true => conjuncts(func, condition).into_iter().map(|part| algebra.expr(func, part)).collect(),
        false => {
            let condition = algebra.expr(func, condition);
            vec![algebra.analyzer.pool.not(condition)]
        }
    };
    algebra.analyzer.scope(|analyzer| {
        inside.into_iter().for_each(|fact| analyzer.constrain(fact));
        wanted.into_iter().all(|part| analyzer.can_prove(part))
    })
}

/// What has to hold for `condition` to hold.
fn conjuncts(func: &Func, condition: Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut worklist = vec![condition];
    while let Some(value) = worklist.pop() {
        match func.def_op(value).filter(|&op| matches!(func.opcode(op), arith::AND | arith::LIKELY)) {
            Some(op) => worklist.extend_from_slice(func.operands(op)),
            None => found.push(value),
        }
    }
    found
}
