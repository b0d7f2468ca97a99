//! Inlining in the operator itself: what an element-wise stage computes goes to where it is read.

use tc_dialects::te;
use tc_ir::clone::{ValueMap, clone_body};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, Rewriter, Value};

/// How many ops an operator may grow to.
const MAX_OPS: usize = 1 << 20;

/// Replaces each read of the tensor that `compute` gives by what it computes, and takes the stage out. It must have one
/// result, reduce nothing, and start its axes at 0; a tensor that the operator returns stays as well. Gives the number of reads
/// replaced, or `None` if the stage cannot be inlined.
pub fn inline_into_consumers(func: &mut Func, compute: Op) -> Option<usize> {
    let view = te::Compute::of(func, compute)?;
    let tensor = func.result(compute)?;
    if te::top_reduce(func, view).is_some() || !starts_at_zero(func, view) {
        return None;
    }
    let region = *func.op_regions(compute).first()?;
    let reads: Vec<Op> =
        all_ops(func).filter(|&op| func.opcode(op) == te::READ && func.operands(op).first() == Some(&tensor)).collect();
    let size = tc_ir::walk::ops_under(func, region).count();
    if func.n_op_ids().saturating_add(size.saturating_mul(reads.len())) > MAX_OPS {
        return None;
    }
    let axes = func.region_args(region).to_vec();
    let mut rewriter = Rewriter::new(func);
    for &read in &reads {
        // An index that was a read of the same tensor has been replaced by now.
        rewriter.refresh(read);
        let indices: Vec<Value> = rewriter.func().operands(read)[1..].to_vec();
        let mut map: ValueMap = axes.iter().copied().zip(indices).collect();
        let values = clone_body(&mut rewriter.before(read), region, &mut map);
        rewriter.replace_op(read, &values[..1]);
    }
    drop(rewriter);
    if func.n_uses(tensor) == 0 {
        Rewriter::new(func).erase(compute);
    }
    Some(reads.len())
}

fn starts_at_zero(func: &Func, compute: te::Compute) -> bool {
    func.operands(compute.0).chunks(2).all(|bounds| func.const_int(bounds[0]) == Some(0))
}
