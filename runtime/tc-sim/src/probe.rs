//! A program on inputs of the simulator's choice, for what can be found that way.

use crate::check::CheckOptions;
use crate::oracle::exercise;
use crate::{Findings, Result};
use tc_ir::Module;

/// Runs the program `@name` of `module` on integers and on reals, and tells what was found. Arguments are filled as
/// for [`crate::agree()`]; a large launch is run by some of its blocks.
pub fn probe(module: &Module, name: &str, options: &CheckOptions) -> Result<Findings> {
    exercise(module, name, options).map(|report| report.findings)
}
