//! A program on inputs of the simulator's choice, for what can be found that way.

use crate::check::CheckOptions;
use crate::oracle::exercise;
use crate::trials::sizes_to_try;
use crate::{Result, SimDiagnostics};
use tc_ir::Module;
use tc_support::{Diagnostic, Location};

/// Runs the program `@name` of `module` on integers and on reals, and tells what was found. Arguments are filled as
/// for [`crate::agree()`]; a large launch is run by some of its blocks. Where sizes are open, several are tried.
pub fn probe(module: &Module, name: &str, options: &CheckOptions) -> Result<SimDiagnostics> {
    let mut diagnostics = SimDiagnostics::default();
    let trials = sizes_to_try(module, name, &options.sizes);
    if trials.is_empty() {
        let text = format!("no sizes were found for which the facts of `@{name}` hold");
        return Err(Diagnostic::error("size", Location::None, text).into());
    }
    for sizes in trials {
        let options = CheckOptions { sizes, ..options.clone() };
        diagnostics.merge(exercise(module, name, &options)?.diagnostics, options.limits.diagnostics);
    }
    Ok(diagnostics)
}
