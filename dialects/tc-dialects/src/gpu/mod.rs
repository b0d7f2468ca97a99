//! What a group of threads does together.

use tc_ir::opdef::Effect;

tc_ir::dialect! {
    /// The rows of `gpu`.
    dialect "gpu" = 5;

    /// Waits until all threads of the block are here; what they wrote to memory of the scope is then seen by all.
    Barrier BARRIER "barrier" (scope: word)
    { effect: Effect { synchronises: true, convergent: true, ..Effect::PINNED }, verify: Some(verify_barrier) }
}

fn verify_barrier(func: &tc_ir::Func, op: tc_ir::Op, found: &mut tc_support::Diagnostics) {
    let scope = func.word_of(op, tc_ir::keys::SCOPE).unwrap_or("");
    if !matches!(scope, "shared" | "global" | "warp") {
        let text = format!("there is no barrier over `{scope}`; there are shared, global, warp");
        found.push(tc_support::Diagnostic::error("scope", func.op_location(op), text));
    }
}
