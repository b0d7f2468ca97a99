//! Loops whose iterations run in step, as lanes of a vector or as virtual threads: which there are, and what becomes of
//! each.

use super::access::NestFacts;
use super::launch::loop_var;
use super::loop_carried::{self, NestByNest};
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::walk::all_ops;
use tc_ir::{Func, Op};
use tc_support::{Diagnostic, Diagnostics};

/// Loops of a kind, and what is told of one without constant bounds.
pub(crate) struct InStep {
    pub(crate) kind: LoopKind,
    pub(crate) code: &'static str,
    /// What such a loop cannot be.
    pub(crate) cannot_be: &'static str,
    pub(crate) help: &'static str,
}

impl InStep {
    /// Is `op` such a loop?
    pub(crate) fn is(&self, func: &Func, op: Op) -> bool {
        func.opcode(op) == tir::FOR && tir::loop_kind(func, op) == Some(self.kind)
    }

    /// What `verdict` says of each such loop, in the order of the text; an error for each without constant bounds.
    pub(crate) fn decide<T>(
        &self,
        func: &Func,
        verdict: impl Fn(Op, &mut NestFacts<'_>) -> T,
    ) -> Result<Vec<T>, Diagnostics> {
        let loops: Vec<Op> = all_ops(func).filter(|&op| self.is(func, op)).collect();
        let mut found = Diagnostics::new();
        for &op in loops.iter().filter(|&&op| const_extent(func, op).is_none()) {
            let var = func.value_text(loop_var(func, op));
            let text = format!("the bounds of the loop `{var}` are not constant, so it cannot be {}", self.cannot_be);
            found.push(Diagnostic::error(self.code, func.op_location(op), text).help(self.help));
        }
        if !found.is_empty() {
            return Err(found);
        }
        let mut nests = NestByNest::new(func);
        Ok(loops.into_iter().map(|op| verdict(op, nests.facts(op))).collect())
    }
}

/// What keeps the iterations of the loop `op` from running in step, as `remark` says that for a reason.
pub(crate) fn obstacle(
    facts: &mut NestFacts<'_>,
    op: Op,
    remark: fn(&Func, Op, &str) -> Diagnostic,
) -> Option<Diagnostic> {
    let obstacle = loop_carried::obstacle(facts, op)?;
    let (reason, at, label) = loop_carried::reason(facts.func, obstacle);
    Some(remark(facts.func, op, &reason).label(facts.func.op_location(at), label))
}
