//! What the text says of a loop, and of a tensor map, reaches LLVM.
//!
//! A loop of `scf` that is to be unrolled carries `llvm.loop_annotation`. `convert-scf-to-cf` hands it to the branch back to
//! the loop's head and `convert-gpu-to-nvvm` keeps it there, under that name; LLVM's branches call it `loop_annotation`, and
//! the translation into LLVM IR looks for nothing else. Unless it is renamed, loops stay rolled without a word, and what
//! should be in registers lies in memory.
//!
//! A tensor map is a parameter that is handed over by value and stays where it is, for the engine of copies reads it there.
//! `convert-gpu-to-nvvm` keeps neither; unless they are said again, kernels would take a pointer, or copy the map elsewhere.

use crate::own::{MAP_PARAM, MAPS};
use melior::StringRef;
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{OperationRef, RegionLike};

use mlir_sys::{
    mlirArrayAttrGet, mlirArrayAttrGetElement, mlirArrayAttrGetNumElements, mlirAttributeIsAInteger,
    mlirAttributeParseGet, mlirIntegerAttrGetValueInt, mlirOperationGetAttributeByName, mlirOperationGetContext,
    mlirOperationRemoveAttributeByName, mlirOperationSetAttributeByName,
};

/// Renames the annotation on all branches within `top`, and says what tensor maps among parameters are.
pub(super) fn module(top: OperationRef<'_, '_>) {
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
                    hand_over_maps(op);
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

/// Says that the last parameters of the function `op` are tensor maps, where it has any.
fn hand_over_maps(op: OperationRef<'_, '_>) {
    let is_func = op.name().as_string_ref().as_str().is_ok_and(|name| name == "llvm.func");
    let entry = op.regions().next().and_then(|region| region.first_block());
    let Some(entry) = entry.filter(|_| is_func) else { return };
    let n_params = entry.argument_count();
    let text = format!("{{{MAP_PARAM}, nvvm.grid_constant}}");
    let (of_params, of_maps) = (StringRef::new("arg_attrs"), StringRef::new(MAPS));
    let raw = op.to_raw();
    // SAFETY: the op is alive, and what is made belongs to its context.
    unsafe {
        let n_maps = mlirOperationGetAttributeByName(raw, of_maps.to_raw());
        if n_maps.ptr.is_null() || !mlirAttributeIsAInteger(n_maps) {
            return;
        }
        let n_maps = usize::try_from(mlirIntegerAttrGetValueInt(n_maps)).unwrap_or(0).min(n_params);
        let context = mlirOperationGetContext(raw);
        let parse = |text: &str| mlirAttributeParseGet(context, StringRef::new(text).to_raw());
        let known = mlirOperationGetAttributeByName(raw, of_params.to_raw());
        let n_known = if known.ptr.is_null() { 0 } else { mlirArrayAttrGetNumElements(known) };
        let mut all: Vec<_> = (0..n_params)
            .map(|nth| isize::try_from(nth).unwrap_or(isize::MAX))
            .map(|nth| if nth < n_known { mlirArrayAttrGetElement(known, nth) } else { parse("{}") })
            .collect();
        for attributes in all.iter_mut().skip(n_params - n_maps) {
            *attributes = parse(&text);
        }
        let all = mlirArrayAttrGet(context, isize::try_from(all.len()).unwrap_or(0), all.as_ptr());
        mlirOperationSetAttributeByName(raw, of_params.to_raw(), all);
    }
}
