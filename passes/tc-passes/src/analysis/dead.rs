//! Ops that nothing needs: without effect beyond reading, and with results that nothing uses.

use tc_ir::rewrite::Rewriter;
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op, effects};

/// Takes out every op that nothing needs, allocs without uses included; gives their number.
pub(crate) fn erase_dead(func: &mut Func) -> u64 {
    let ops: Vec<Op> = all_ops(func).collect();
    let mut rw = Rewriter::new(func);
    let mut n_erased = 0;
    // Users stand after what they use, and an op after those in its regions here, so one round is enough.
    for op in ops.into_iter().rev() {
        if is_dead(rw.func(), op) {
            rw.erase(op);
            n_erased += 1;
        }
    }
    n_erased
}

fn is_dead(func: &Func, op: Op) -> bool {
    let row = func.row(op);
    // An op that left with the one around it has no region any more.
    if func.region_of(op).is_none() || row.terminator || func.results(op).any(|value| func.n_uses(value) > 0) {
        return false;
    }
    if row.effect.allocates {
        return true;
    }
    // What hands nothing on is there for its effect, if only for the place of its regions.
    let computes = func.n_results(op) > 0 || row.effect.regions;
    computes && effects::only_reads(func, op)
}
