//! What the text says of a loop reaches LLVM.
//!
//! A loop of `scf` that is to be unrolled carries `llvm.loop_annotation`. `convert-scf-to-cf` hands it to the branch back to
//! the loop's head and `convert-gpu-to-nvvm` keeps it there, under that name; LLVM's branches call it `loop_annotation`, and
//! the translation into LLVM IR looks for nothing else. Unless it is renamed, loops stay rolled without a word, and what
//! should be in registers lies in memory.

use melior::StringRef;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike};

use mlir_sys::{mlirOperationGetAttributeByName, mlirOperationRemoveAttributeByName, mlirOperationSetAttributeByName};

/// Renames the annotation on all branches within `top`.
pub(super) fn branches(top: OperationRef<'_, '_>) {
    // Ops may be nested as deep as the text is.
    let mut left = vec![top];
    while let Some(op) = left.pop() {
        for region in op.regions() {
            let mut block = region.first_block();
            while let Some(here) = block {
                let mut next = here.first_operation();
                while let Some(op) = next {
                    next = op.next_in_block();
                    rename(op);
                    left.push(op);
                }
                block = here.next_in_region();
            }
        }
    }
}

fn rename(op: OperationRef<'_, '_>) {
    let is_branch = op.name().as_string_ref().as_str().is_ok_and(|name| matches!(name, "llvm.br" | "llvm.cond_br"));
    if !is_branch {
        return;
    }
    let (from, to) = (StringRef::new("llvm.loop_annotation"), StringRef::new("loop_annotation"));
    let raw = op.to_raw();
    // SAFETY: the op is alive, and the attribute belongs to the same context.
    unsafe {
        let annotation = mlirOperationGetAttributeByName(raw, from.to_raw());
        if !annotation.ptr.is_null() {
            mlirOperationRemoveAttributeByName(raw, from.to_raw());
            mlirOperationSetAttributeByName(raw, to.to_raw(), annotation);
        }
    }
}
