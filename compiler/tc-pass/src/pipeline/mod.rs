//! Pipelines as text: `module(schedule{name=v5},tir.func(storage-flatten,simplify,cse))`.
//!
//! The syntax is MLIR's. Elements are separated by commas and run in their order, across nested pipelines too:
//!
//! - `anchor(…)` runs what is inside on every item of that kind. `module` (also `builtin.module`) is the outermost
//!   one and may be left out; the others are item keywords such as `tir.func`.
//! - `pass{key=value key=value,key}`: options are separated by spaces or commas, a bare key stands for `true`, a
//!   value may be quoted or stand in braces. A pass over functions may stand directly in `module`.
//! - `name{…}` of a named pipeline stands for its lines, and for what an embedder put at its places
//!   ([`PassTable::add_at`](crate::PassTable::add_at)).
//! - `@file` stands for what the file holds; `//` opens a comment there and everywhere.
//!
//! Every error is reported at its place in the string, which becomes a source file called `<pass-pipeline>`.

mod print;
mod resolve;
pub(crate) mod syntax;

pub use print::quote_value;
pub use resolve::parse_pipeline;

use crate::options::RawOption;
use crate::pass::{PassInfo, PassKind};
use tc_support::Span;

/// The name of the source file that a pipeline string becomes.
pub const SOURCE_NAME: &str = "<pass-pipeline>";

/// A pass at its place in a pipeline, made and ready to run.
pub struct Planned {
    /// Its row.
    pub info: &'static PassInfo,
    /// The pass, made from its options.
    pub pass: PassKind,
    /// The options as they were given.
    pub options: Vec<RawOption>,
    /// Where it stands in the string of the user; a pass of a named pipeline stands where that is named.
    pub span: Span,
}

/// A pipeline, ready to run: passes in their order, files and named pipelines expanded.
#[derive(Default)]
pub struct Pipeline {
    /// The passes.
    pub passes: Vec<Planned>,
}
