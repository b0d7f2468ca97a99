//! Which loops run in step.

use crate::analysis::launch::loop_var;
use crate::analysis::loop_carried::{self, InStep};
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::LoopKind;
use tc_ir::{Func, Op};
use tc_support::{Diagnostic, Diagnostics};

/// At most this many virtual threads are made of one loop.
const MAX_THREADS: i64 = 1024;

/// A loop bound to `vthread`.
pub(super) struct VirtualThreadLoop {
    pub(super) op: Op,
    /// Why it stays a loop, if it does.
    pub(super) kept: Option<Diagnostic>,
}

const LOOPS: InStep = InStep {
    kind: LoopKind::Vthread,
    code: "vthread-bounds",
    cannot_be: "virtual threads",
    help: "split it by a constant `nparts` and bind the outer axis",
};

/// The loops, in the order of the text.
pub(super) fn decide(func: &Func) -> Result<Vec<VirtualThreadLoop>, Diagnostics> {
    LOOPS.decide(func, |op, facts| {
        let extent = const_extent(func, op).unwrap_or(0);
        let kept = if extent > MAX_THREADS {
            Some(remark(func, op, &format!("there are {extent} of them, more than {MAX_THREADS}")))
        } else if extent > 1 {
            let found = loop_carried::obstacle(facts, op, |_| false, |reason| remark(func, op, reason));
            found.map(|found| {
                found.help("make the buffer inside the loop, or let the iterations write different elements")
            })
        } else {
            None
        };
        VirtualThreadLoop { op, kept }
    })
}

/// Says that the virtual threads of the loop `op` run one after another.
pub(super) fn remark(func: &Func, op: Op, reason: &str) -> Diagnostic {
    let var = func.value_text(loop_var(func, op));
    let text = format!("the virtual threads `{var}` run one after another: {reason}");
    Diagnostic::remark("vthread-serial", func.asked_location(op), text)
}
