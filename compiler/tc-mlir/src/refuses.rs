//! What the emitter of CUDA writes and this one does not, each at its place and with a way out.

use tc_dialects::arith;
use tc_ir::types::ElemKind;
use tc_ir::walk::all_ops;
use tc_ir::{Elem, Func, Op};
use tc_kernel::accepts::Emitter;
use tc_kernel::facts::Facts;
use tc_support::{Diagnostic, Diagnostics};
use tc_target::{Feature, Target};

/// The way out that there always is.
const WAY_OUT: &str = "CUDA C++ says it: `--emit=cuda`";

/// What this emitter has words for.
pub(crate) const EMITTER: Emitter =
    Emitter { language: "MLIR", has: crate::stmt::has_emitter, refuses, way_out: Some(WAY_OUT) };

fn refuses(func: &Func, facts: &Facts, target: &Target, found: &mut Diagnostics) {
    for op in all_ops(func) {
        if let Some(text) = reason(func, op, target) {
            found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(WAY_OUT));
        }
    }
    crate::fragments::refuses(func, facts, target, found);
}

fn reason(func: &Func, op: Op, target: &Target) -> Option<String> {
    let opcode = func.opcode(op);
    let result = func.result(op);
    if opcode.dialect() != arith::ADD.dialect() || matches!(opcode, arith::SELECT | arith::BROADCAST) {
        return None;
    }
    let elem = |value| func.value_scalar(value).map(|scalar| scalar.elem);
    let mut elems = func.operands(op).iter().copied().chain(result).filter_map(elem);
    if let Some(elem) = elems.find(|elem| elem.is_float8()) {
        return Some(format!("MLIR's way to PTX has no arithmetic of `{}`: it moves such numbers only", elem.name()));
    }
    let (from, to) = (func.operands(op).first().copied().and_then(elem)?, result.and_then(elem)?);
    if opcode == arith::CAST && to == Elem::BF16 && from.bits() == 64 && from.kind() != ElemKind::Float {
        return Some(format!("MLIR's way to PTX rounds twice where a `{}` becomes a `bf16`", from.name()));
    }
    if opcode == arith::FMA && to == Elem::BF16 && !target.has(Feature::Bf16) {
        return Some(format!("MLIR's way to PTX rounds `fma` of `bf16` twice for `{target}`"));
    }
    None
}
