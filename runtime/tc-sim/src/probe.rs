//! A program on inputs of the simulator's choice, for what can be found that way.

use crate::agree::Params;
use crate::check::{CheckOptions, Round};
use crate::run::{Execution, program_named};
use crate::tolerance::{Tolerance, with_callees};
use crate::{Findings, Result};
use tc_ir::Module;

/// Runs the program `@name` of `module` on integers and on reals, and tells what was found. Arguments are filled as
/// for [`crate::agree()`]; a large launch is run by some of its blocks.
pub fn probe(module: &Module, name: &str, options: &CheckOptions) -> Result<Findings> {
    let func = program_named(module, name)?;
    let params = Params::of(module, func, options)?;
    let tolerance = Tolerance::of(with_callees(module, func), params.n_terms);
    let mut found = Findings::default();
    for round in Round::all(options, tolerance) {
        let args = params.args(&round);
        let execution = Execution::of(module, func, &args, &options.run_options(&round), false, options.sampling())?;
        found.merge(execution.findings, options.limits.findings);
    }
    Ok(found)
}
