//! Kernels that are written by hand, in the arithmetic that the emitter has words for.

use std::sync::Arc;
use tc_ir::Module;
use tc_pass::{Manager, PassTable, RunOptions, parse_pipeline};
use tc_target::Target;

/// `module` after the passes that the pipeline `cuda` ends in; as it is if it is wrong, which the emitter then tells.
pub(crate) fn legal(module: &Module, target: &Target) -> Module {
    let mut passes = PassTable::new();
    for info in tc_passes::table::PASSES {
        passes.add_pass(info).expect("names in the table differ");
    }
    let mut legal = module.clone();
    let text = "tir.func(legalize-dtype,legalize-arith)";
    let registry = tc_dialects::shared_registry();
    let pipeline = parse_pipeline(text, &passes, &registry, &mut legal.sources).expect("a pipeline");
    let options = RunOptions { extensions: vec![Arc::new(*target)], ..RunOptions::default() };
    if Manager::new(&passes, options).run(&pipeline, &mut legal).is_ok() { legal } else { module.clone() }
}
