//! What the emitter of CUDA writes and this one does not, each at its place and with help.

use crate::{arith, stmt};
use tc_dialects::arith as ops;
use tc_ir::{Func, Op};
use tc_kernel::accepts::Emitter;
use tc_target::Target;

/// What this emitter has words for.
pub(crate) const EMITTER: Emitter = Emitter {
    language: "MLIR",
    has: stmt::has_row,
    spells: arith::spells,
    lacks,
    refuses: crate::fragments::refuses,
    // The one that there always is.
    way_out: Some("CUDA C++ says it: `--emit=cuda`"),
};

/// Why the table of arithmetic has no words for `op`, where they are not missing because a pass has not run.
fn lacks(func: &Func, op: Op, target: &Target) -> Option<String> {
    let (opcode, result) = (func.opcode(op), func.result(op));
    let elem = |value| func.value_scalar(value).map(|scalar| scalar.elem);
    let mut elems = func.operands(op).iter().copied().chain(result).filter_map(elem);
    if let Some(elem) = elems.find(|elem| elem.is_float8()) {
        return Some(format!("MLIR's way to PTX has no arithmetic of `{}`: it moves such numbers only", elem.name()));
    }
    let (from, to) = (func.operands(op).first().copied().and_then(elem)?, result.and_then(elem)?);
    let name = to.name();
    if opcode == ops::CAST && to.is_half() && to.is_cut_f32() && from.bits() == 64 && !from.is_float() {
        return Some(format!("MLIR's way to PTX rounds twice where a `{}` becomes a `{name}`", from.name()));
    }
    (opcode == ops::FMA && to.is_half() && !target.computes_in(to))
        .then(|| format!("MLIR's way to PTX rounds `fma` of `{name}` twice for `{target}`"))
}
