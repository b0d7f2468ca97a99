//! The program as it was before a pass that failed.
//!
//! No copy is kept while a pipeline runs. Passes give the same each time, so the text is read again and the passes
//! before the one that failed are run again: a run that goes well pays nothing, one that fails pays twice.

use tc_ir::print::{PrintOptions, print_module};
use tc_ir::{Module, Registry};
use tc_pass::{Manager, PassTable, Pipeline, RunOptions, parse_pipeline};
use tc_support::{Diagnostics, Sources};
use tc_syntax::{ParseOptions, parse_module};

/// A program before a pass, and the passes from there on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PrintedBefore {
    /// The program, with the place in the author's file that each op comes from.
    pub program: String,
    /// The rest of the pipeline.
    pub pipeline: String,
}

/// Runs the first `n` passes of `pipeline` over `module`, which is as it was before the run, and writes the program
/// down.
///
/// The error is what one of the passes said: then the first run did not come that far either, or something outside
/// changed in between.
pub fn text_before(
    table: &PassTable,
    options: RunOptions,
    pipeline: &Pipeline,
    n: usize,
    module: &mut Module,
) -> Result<PrintedBefore, Diagnostics> {
    let (first, rest) = divide(table, &module.registry, pipeline, n)?;
    let pipeline = rest.to_string();
    // What the first run found well formed is so again.
    let options = RunOptions { verify: false, ..options };
    let report = Manager::new(table, options).run(&first, module);
    if !report.is_ok() {
        return Err(report.diagnostics);
    }
    Ok(PrintedBefore { program: readable(module), pipeline })
}

/// `pipeline` as two: its first `n` passes, and the others.
pub fn divide(
    table: &PassTable,
    registry: &Registry,
    pipeline: &Pipeline,
    n: usize,
) -> Result<(Pipeline, Pipeline), Diagnostics> {
    let mut first = parse_pipeline(&pipeline.to_string(), table, registry, &mut Sources::new())?;
    let rest = first.passes.split_off(n.min(first.passes.len()));
    Ok((first, Pipeline { passes: rest }))
}

/// The text of `module` with locations; without them, or in the generic form, if that is what reads back.
fn readable(module: &Module) -> String {
    let plain = PrintOptions::default();
    let ways = [PrintOptions { locations: true, ..plain }, plain, PrintOptions { generic: true, ..plain }];
    let texts = ways.iter().map(|way| print_module(module, way));
    let reads = |text: &String| {
        let options = ParseOptions { allow_unknown_ops: true };
        !parse_module("", text, &module.registry, &options).1.has_errors()
    };
    let mut first = None;
    for text in texts {
        if reads(&text) {
            return text;
        }
        first.get_or_insert(text);
    }
    first.unwrap_or_default()
}
