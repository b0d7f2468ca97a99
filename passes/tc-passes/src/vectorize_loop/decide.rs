//! Which loops become vectors, and of how many lanes.

use crate::analysis::access::NestFacts;
use crate::analysis::launch::loop_var;
use crate::analysis::loop_carried::{self, InStep};
use crate::analysis::variance::Variance;
use tc_dialects::algebra::const_extent;
use tc_dialects::tir::{self, LoopKind};
use tc_ir::walk::{ancestors, ops_under};
use tc_ir::{Func, Op, TypeData};
use tc_support::{Diagnostic, Diagnostics};

/// The most bytes that one access touches.
const ACCESS_BYTES: i64 = 16;

/// A loop of kind `vectorize`.
pub(super) struct VectorLoop {
    pub(super) op: Op,
    pub(super) verdict: Verdict,
}

/// What becomes of it.
pub(super) enum Verdict {
    /// A serial loop, for the reason told.
    Serial(Diagnostic),
    /// Vectors of so many lanes; one lane stands for a loop that runs once or never.
    Lanes(i64),
    /// The same, where accesses have room for more.
    Fewer(i64),
}

const LOOPS: InStep = InStep {
    kind: LoopKind::Vectorize,
    code: "vectorize-bounds",
    cannot_be: "vectorized",
    help: "split it by a constant factor and vectorize the inner axis",
};

/// The loops, in the order of the text.
pub(super) fn decide(func: &Func) -> Result<Vec<VectorLoop>, Diagnostics> {
    LOOPS.decide(func, |op, facts| VectorLoop { op, verdict: verdict(func, op, facts) })
}

fn verdict(func: &Func, op: Op, facts: &mut NestFacts<'_>) -> Verdict {
    if let Some(outer) = ancestors(func, op).find(|&outer| LOOPS.is(func, outer)) {
        let name = func.value_text(loop_var(func, outer));
        let found = remark(func, op, &format!("the loop `{name}` around it is vectorized"))
            .help("vectorize the inner loop alone; lanes are those of one loop");
        return Verdict::Serial(found);
    }
    let extent = const_extent(func, op).unwrap_or(0);
    if extent <= 1 {
        return Verdict::Lanes(1);
    }
    let room = room(func, op);
    let lanes = room.min(1 << extent.trailing_zeros().min(62));
    if lanes < 2 {
        let found = remark(func, op, &format!("no vector of 2, 4, 8 or 16 lanes divides its extent of {extent}"))
            .help("split the axis by a power of two, and vectorize the inner part");
        return Verdict::Serial(found);
    }
    if let Some(mut found) = loop_carried::obstacle(facts, op, |_| false, |reason| remark(func, op, reason)) {
        if !facts.is_noalias() {
            found = found.help("if no two parameters are one buffer, say so: `attributes {noalias}`");
        }
        return Verdict::Serial(found);
    }
    if lanes < room.min(extent) { Verdict::Fewer(lanes) } else { Verdict::Lanes(lanes) }
}

/// How many of the narrowest elements one access holds.
pub(super) fn room(func: &Func, op: Op) -> i64 {
    let variance = Variance::by(func, op);
    let accesses = ops_under(func, func.op_regions(op)[0])
        .filter(|&inner| matches!(func.opcode(inner), tir::LOAD | tir::STORE))
        .filter(|&inner| func.operands(inner)[1..].iter().any(|&operand| variance.value(operand)));
    let narrowest = accesses.filter_map(|inner| element_bytes(func, inner)).min().unwrap_or(4);
    ACCESS_BYTES / narrowest.clamp(1, ACCESS_BYTES)
}

fn element_bytes(func: &Func, access: Op) -> Option<i64> {
    match func.type_data(func.value_type(func.operand(access, 0))) {
        TypeData::Shaped { elem, .. } | TypeData::Ref { elem, .. } => {
            func.as_scalar(*elem).map(|scalar| i64::from(scalar.bytes()))
        }
        _ => None,
    }
}

/// Says that the loop `op` has fewer lanes than there is room for.
pub(super) fn fewer(func: &Func, op: Op, lanes: i64, room: i64) -> Diagnostic {
    let (var, extent) = (func.value_text(loop_var(func, op)), const_extent(func, op).unwrap_or(0));
    let text = format!(
        "the loop `{var}` is vectorized by {lanes}, not by {room}: its extent of {extent} is no multiple of {room}"
    );
    let help = format!("split the axis by a multiple of {room}, and vectorize the inner part");
    Diagnostic::remark("fewer-lanes", func.asked_location(op), text).help(help)
}

/// Says that the loop `op` stays scalar.
pub(super) fn remark(func: &Func, op: Op, reason: &str) -> Diagnostic {
    let var = func.value_text(loop_var(func, op));
    let text = format!("the loop `{var}` is not vectorized: {reason}");
    Diagnostic::remark("not-vectorized", func.asked_location(op), text)
}
