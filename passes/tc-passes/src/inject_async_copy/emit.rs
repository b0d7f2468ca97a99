//! Puts copies in the place of stores.

use super::find::Copy;
use crate::analysis::region::build_region;
use tc_dialects::{arith, gpu};
use tc_ir::builder::OperandSegment;
use tc_ir::walk::ops_under;
use tc_ir::{Builder, Func, Op, Rewriter, Value, effects};

/// Makes the copy; gives the op.
pub(super) fn emit(func: &mut Func, copy: &Copy) -> Op {
    let Copy { store, .. } = *copy;
    for &op in &copy.moved {
        Rewriter::new(func).move_before(op, store);
    }
    let inputs = func.operands(store)[1..].to_vec();
    let mut b = Builder::before(func, store);
    let (to, from) = (stretch(&mut b, copy.to, copy.n), stretch(&mut b, copy.from, copy.n));
    let when: Vec<Value> = copy
        .when
        .map(|(condition, holds)| if holds { condition } else { b.value(arith::NOT, &[condition], &[]) })
        .into_iter()
        .collect();
    let parts = [OperandSegment::One(to), OperandSegment::One(from), OperandSegment::Many(&when)];
    let made = b.build_segments(gpu::COPY_ASYNC, &parts, &[], &[]);
    Rewriter::new(func).erase(store);
    erase_unused(func, inputs);
    made
}

/// The reference to `n` elements from the given one on.
fn stretch(b: &mut Builder<'_>, (buffer, start): (Value, Value), n: i64) -> Value {
    build_region(b, buffer, &[start], &[n])
}

/// Takes out what computes the values `pending`, as far as nothing else uses it.
fn erase_unused(func: &mut Func, mut pending: Vec<Value>) {
    while let Some(value) = pending.pop() {
        let Some(op) = func.def_op(value).filter(|&op| func.region_of(op).is_some()) else { continue };
        let used = func.results(op).any(|result| func.n_uses(result) > 0);
        if used || !effects::only_reads(func, op) {
            continue;
        }
        let inner = func.op_regions(op).iter().flat_map(|&region| ops_under(func, region));
        pending.extend(std::iter::once(op).chain(inner).flat_map(|op| func.operands(op).to_vec()));
        Rewriter::new(func).erase(op);
    }
}
