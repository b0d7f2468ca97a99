//! Products of matrices, and the copies that feed them: how they are written, and what cannot be.
//!
//! What a thread holds of a fragment or a tile lies in private memory, a register to an element or to a few numbers. The
//! loops over such buffers are unrolled whole, so that every position is a constant and LLVM makes registers of them.
//! The ops are those of `nvvm`, which name what each operand is: a factor that was loaded by columns cannot be
//! multiplied as one by rows, since both read the layout in the fragment's type. Values of `gpu.subgroup_mma` cannot lie
//! in memory, so that arrays of fragments would have to become values of loops first, and they know no bf16.

use crate::types;
use tc_ir::Func;
use tc_ir::walk::all_ops;
use tc_kernel::facts::{Facts, fragment_of};
use tc_support::{Diagnostic, Diagnostics};
use tc_target::Target;

/// What of the fragments of `func` MLIR has no words for.
pub(crate) fn refuses(func: &Func, _facts: &Facts, _target: &Target, found: &mut Diagnostics) {
    for op in all_ops(func) {
        let fragment = func.results(op).find_map(|value| fragment_of(func, value));
        if let Some(elem) = fragment.map(|fragment| fragment.elem).filter(|&elem| !types::has_fragments(elem)) {
            let name = elem.name();
            let text = format!("MLIR 22 has no `wmma` fragments of `{name}`");
            let help = format!(
                "an intrinsic of `mma` multiplies `{name}` too (docs/intrinsics.md), and so does `--emit=cuda`"
            );
            found.push(Diagnostic::error("no-emitter", func.op_location(op), text).help(help));
        }
    }
}
