//! What each thread of one block of a case does to one buffer, on the simulator.

use super::build::Define;
use super::cases::Case;
use crate::compiler::Compiler;
use crate::failure::Failure;
use crate::guard::guarded;
use tc_ir::Module;
use tc_sim::watch::{Subject, Watched};
use tc_sim::{CheckOptions, Limits, Sizes};
use tc_support::{Location, Sources};

/// A block that was watched.
#[derive(Clone, Debug)]
pub struct WatchedCase {
    /// What was seen.
    pub watched: Watched,
    /// The text that lines of accesses are lines of: the program as it was built, or the author's where no schedule made it.
    pub program: String,
    /// The files that locations point into.
    pub sources: Sources,
}

/// Builds `case` of `module` as [`check`](super::check()) does, runs it up to the end of the block that `subject` names, and tells
/// what its threads did. Sizes that stay open have the first values that a check would try.
pub fn watch(
    compiler: &Compiler,
    module: &Module,
    case: &Case,
    (defines, limits): (&[Define], Limits),
    subject: Subject<'_>,
) -> Result<WatchedCase, Failure> {
    guarded("watching a block", &module.sources, || {
        let (built, given) = compiler.build_for(module, case, (defines, &[]), false)?;
        let failed = |wrong| Failure { diagnostics: wrong, sources: built.module.sources.clone() };
        let given: Sizes = given.into_iter().collect();
        let first = tc_sim::plan(&built.module, &built.name, &given).trials.into_iter().next();
        let options = CheckOptions { sizes: first.unwrap_or(given), limits, ..CheckOptions::default() };
        let watched = tc_sim::watch(&built.module, &built.name, &options, subject);
        let watched = watched.map_err(|wrong| failed((*wrong).into()))?;
        let sources = built.module.sources.clone();
        let program = text_of(&watched, &sources).unwrap_or_else(|| built.module.to_string());
        Ok(WatchedCase { watched, program, sources })
    })
}

/// The text of the file that accesses stand in.
fn text_of(watched: &Watched, sources: &Sources) -> Option<String> {
    let file = watched.accesses.iter().find_map(|access| match access.location {
        Location::Span(span) => sources.line_col(span.start),
        _ => None,
    });
    file.map(|(file, _)| file.text.clone())
}
