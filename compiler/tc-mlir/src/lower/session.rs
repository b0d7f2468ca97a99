//! One text through MLIR: read, verified, run through the pipeline, and the object taken out.

use super::complaints::Complaints;
use super::{annotate, bug, registry};
use melior::ir::block::BlockLike;
use melior::ir::operation::OperationLike;
use melior::ir::{Attribute, AttributeLike, Module, attribute::ArrayAttribute};
use melior::pass::PassManager;
use melior::utility::parse_pass_pipeline;
use mlir_sys::{mlirAttributeIsAGPUObjectAttr, mlirGPUObjectAttrGetObject};
use tc_support::{Diagnostics, Severity};

/// The object that `pipelines` make of a text.
pub(super) fn object(text: &str, pipelines: &[String]) -> Result<Vec<u8>, Diagnostics> {
    let context = registry::context();
    let complaints = Complaints::of(&context);
    // An error of MLIR fails the step even where the step says that it went well.
    let judge = |step: &str, went_well: bool| {
        let found = complaints.diagnostics(text, step, !went_well);
        if found.iter().any(|one| one.severity == Severity::Error) { Err(found) } else { Ok(()) }
    };
    let module = Module::parse(&context, text);
    judge("the text", module.is_some())?;
    let Some(mut module) = module else { return Err(bug("MLIR read no module")) };
    let verified = module.as_operation().verify();
    judge("what the text says", verified)?;
    for pipeline in pipelines {
        annotate::module(module.as_operation());
        let manager = PassManager::new(&context);
        let parsed = parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline);
        parsed.map_err(|why| bug(&format!("MLIR does not know the pipeline: {why}")))?;
        let ran = manager.run(&mut module);
        judge("to lower the text", ran.is_ok())?;
    }
    let mut objects = objects(&module);
    match (objects.pop(), objects.is_empty()) {
        (Some(object), true) => Ok(object),
        (Some(_), false) => Err(bug("MLIR made several objects of one text")),
        (None, _) => Err(bug("MLIR made no object of the text")),
    }
}

/// The objects of all `gpu.binary` of a module.
fn objects(module: &Module<'_>) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut next = module.body().first_operation();
    while let Some(op) = next {
        if let Ok(list) = op.attribute("objects")
            && let Ok(list) = ArrayAttribute::try_from(list)
        {
            let objects = (0..list.len()).filter_map(|nth| list.element(nth).ok());
            found.extend(objects.filter_map(bytes));
        }
        next = op.next_in_block();
    }
    found
}

/// The bytes of an object, where `object` is one.
fn bytes(object: Attribute<'_>) -> Option<Vec<u8>> {
    let raw = object.to_raw();
    // SAFETY: the attribute belongs to a context that is alive; the string that is returned lives as long as that, and is
    // copied at once. Only objects are asked for their string.
    unsafe {
        if !mlirAttributeIsAGPUObjectAttr(raw) {
            return None;
        }
        let string = mlirGPUObjectAttrGetObject(raw);
        if string.data.is_null() {
            return Some(Vec::new());
        }
        Some(std::slice::from_raw_parts(string.data.cast::<u8>(), string.length).to_vec())
    }
}
