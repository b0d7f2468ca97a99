//! Which loops run in step.

use crate::analysis::launch::loop_var;
use crate::analysis::loop_carried::{self, NestByNest};
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::walk::all_ops;
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

/// The loops, in the order of the text.
pub(super) fn decide(func: &Func) -> Result<Vec<VirtualThreadLoop>, Diagnostics> {
    let loops: Vec<Op> = all_ops(func)
        .filter(|&op| func.opcode(op) == tir::FOR && tir::loop_kind(func, op) == Some(LoopKind::Vthread))
        .collect();
    let mut found = Diagnostics::new();
    for &op in &loops {
        if const_extent(func, op).is_none() {
            let var = func.value_text(loop_var(func, op));
            let text = format!("the bounds of the loop `{var}` are not constant, so it cannot be virtual threads");
            let help = "split it by a constant `nparts` and bind the outer axis";
            found.push(Diagnostic::error("vthread-bounds", func.op_location(op), text).help(help));
        }
    }
    if !found.is_empty() {
        return Err(found);
    }
    let mut steps = Vec::new();
    let mut nests = NestByNest::new(func);
    for op in loops {
        let known = nests.facts(op);
        let extent = const_extent(func, op).unwrap_or(0);
        let kept = if extent > MAX_THREADS {
            let reason = format!("there are {extent} of them, more than {MAX_THREADS}");
            Some(remark(func, op, &reason))
        } else if extent > 1 {
            loop_carried::obstacle(known, op).map(|obstacle| {
                let (reason, at, label) = loop_carried::reason(func, obstacle);
                remark(func, op, &reason)
                    .label(func.op_location(at), label)
                    .help("make the buffer inside the loop, or let the iterations write different elements")
            })
        } else {
            None
        };
        steps.push(VirtualThreadLoop { op, kept });
    }
    Ok(steps)
}

/// Says that the virtual threads of the loop `op` run one after another.
pub(super) fn remark(func: &Func, op: Op, reason: &str) -> Diagnostic {
    let var = func.value_text(loop_var(func, op));
    let text = format!("the virtual threads `{var}` run one after another: {reason}");
    Diagnostic::remark("vthread-serial", func.op_location(op), text)
}
