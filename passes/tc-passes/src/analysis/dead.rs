//! Ops that nothing needs: without effect beyond reading, and with results that nothing uses.

use tc_ir::rewrite::Rewriter;
use tc_ir::walk::all_ops;
use tc_ir::{EntitySet, Func, Op, effects};

/// Takes out every op that nothing needs, allocs without uses included; gives their number.
pub(crate) fn erase_dead(func: &mut Func) -> u64 {
    let ops: Vec<Op> = all_ops(func).collect();
    let mut rw = Rewriter::new(func);
    let mut n_erased = 0;
    // The ops with one inside that does more than read.
    let mut acting = EntitySet::new();
    // Users come after what they use, and an op after those in its regions here, so one round is enough.
    for op in ops.into_iter().rev() {
        let func = rw.func();
        let only_reads = !acting.contains(op) && effects::own(func, op).only_reads();
        if is_dead(func, op, only_reads) {
            rw.erase(op);
            n_erased += 1;
        } else if !only_reads {
            acting.extend(func.parent_op(op));
        }
    }
    n_erased
}

/// Does nothing need `op`? Whether it, with all in its regions, only reads is known.
fn is_dead(func: &Func, op: Op, only_reads: bool) -> bool {
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
    computes && only_reads
}
